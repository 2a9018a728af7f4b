"""The fabric as a graph: where things sit, which two ends a link has, which names mean one device.

Built from topology parts of any source; nothing here reads files or judges. Conflicts between
sources are kept in `conflicts`, never averaged away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from fabric_pipeline.model.components import (
    Component,
    component_id,
    device_of,
    gpu_index,
    link_type_of,
    normalise_pci,
    parse_component,
)
from fabric_pipeline.model.records import TopologyPart

_PORT_NUMBER = re.compile(r"^\d+$")
# Keys by which sources name the devices of a node, the most telling first, and fields that cannot differ.
_NAMING = {
    "gpus": ("gpu", "uuid", "pci"),
    "nics": ("hca", "pci", "name"),
    "nvswitches": ("nvswitch", "pci", "name"),
    "pcie_switches": ("pcie_switch", "pci", "name"),
}
_STEADY = frozenset({"uuid", "serial", "slot", "socket", "pci", "pcie_switch", "part_number"})
# What cannot differ between two descriptions of one cable.
_CABLE = ("cable", "medium", "length_m", "connector", "colour", "cable_serial", "cable_part_number")
_PLACE = ("hall", "cage", "row", "rack", "unit", "face", "serial", "asset_tag")
# No GPU has more NVLinks than this; it bounds the look-up of them.
_MAX_NVLINKS = 64


@dataclass(frozen=True, slots=True)
class Link:
    """One link with both ends. `lanes` and `speed_gbps` are nominal, None when not stated."""

    link_id: str
    link_type: str
    a: str
    b: str
    lanes: int | None = None
    speed_gbps: float | None = None
    cable_id: str = ""
    part: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)


class Topology:
    """Look-ups over nodes, switches and links; empty when no source states anything."""

    def __init__(self, parts: Iterable[TopologyPart] = ()) -> None:
        """Merge the parts; the first source that states a field wins, differences are noted."""
        self.site = ""
        self.nodes: dict[str, dict[str, Any]] = {}
        self.switches: dict[str, dict[str, Any]] = {}
        self.links: list[Link] = []
        self.service: dict[str, Any] = {}
        self.spares: list[dict[str, Any]] = []
        self.conflicts: list[str] = []
        self._link_by_end: dict[str, Link] = {}
        self._position: dict[str, int] = {}  # of a link in `links`, by its end a
        for part in parts:
            self._add(part)
        self._gpu_by_pci = self._index_pci()

    def __bool__(self) -> bool:
        """True when anything is known."""
        return bool(self.nodes or self.switches or self.links)

    def link_of(self, component: str) -> Link | None:
        """The link that ends at this component, or None."""
        return self._link_by_end.get(_without_lane(component))

    def far_end(self, component: str) -> str:
        """Component id of the other end, "" when unknown."""
        link = self.link_of(component)
        if link is None:
            return ""
        return link.b if link.a == _without_lane(component) else link.a

    def link_key(self, component: str) -> str:
        """One key for both ends of a link, so that they can be folded; the component when unknown."""
        link = self.link_of(component)
        return _without_lane(component) if link is None else min(link.a, link.b)

    def resolve(self, component: str) -> str:
        """The same device by its index: `n07:gpu3/nvlink-4` for `n07:pci-0000:5d:00.0/nvlink-4`."""
        parsed = parse_component(component)
        device = device_of(parsed.interface)
        gpu = self._gpu_by_pci.get((parsed.node, device))
        if gpu is None:
            return component
        rest = parsed.interface[len(device) :]
        return component_id(parsed.node, f"gpu{gpu}{rest or '/pcie'}", parsed.lane)

    def device(self, component: str) -> dict[str, Any]:
        """What is stated of the GPU, NIC or switch a component belongs to; {} when nothing."""
        parsed = parse_component(component)
        node = self.nodes.get(parsed.node, {})
        index = gpu_index(parsed.interface)
        if index is not None:
            return _first(node.get("gpus"), lambda gpu: gpu.get("gpu") == index)
        name = device_of(parsed.interface)
        nic = _first(node.get("nics"), lambda item: item.get("hca") == name)
        return nic or self.switches.get(name, {})

    def gpu_beside(self, component: str) -> int | None:
        """Index of the GPU that shares a PCIe switch with this NIC, None when not stated or not unique."""
        parsed = parse_component(component)
        switch = self.device(component).get("pcie_switch")
        gpus = self.nodes.get(parsed.node, {}).get("gpus") or []
        beside = [gpu["gpu"] for gpu in gpus if switch and gpu.get("pcie_switch") == switch]
        return int(beside[0]) if len(beside) == 1 else None

    def place(self, component: str) -> dict[str, Any]:
        """Site, hall, cage, row, rack, unit, face, serial and asset tag of the node or switch, as far as stated."""
        parsed = parse_component(component)
        owner = self.nodes.get(parsed.node) or self.switches.get(device_of(parsed.interface)) or {}
        found = {key: owner[key] for key in _PLACE if owner.get(key) not in (None, "")}
        return {"site": self.site, **found} if self.site else found

    def port_label(self, component: str) -> str:
        """What is printed beside this port of an adapter or switch, "" when no source states it."""
        device = self.device(component)
        labels = device.get("port_labels")
        if isinstance(labels, dict):
            port = parse_component(component).interface.partition("/")[2]
            label = labels.get(port) or labels.get(port.removeprefix("port-"))
            return str(label or "")
        return str(device.get("port_label") or "")

    def nvlinks_of(self, component: str) -> list[tuple[str, str]]:
        """(end, far end) of the NVLinks that the sources list for the GPU of this component, by number."""
        parsed = parse_component(component)
        if gpu_index(parsed.interface) is None:
            return []
        gpu = device_of(parsed.interface)
        ends = [component_id(parsed.node, f"{gpu}/nvlink-{n}") for n in range(_MAX_NVLINKS)]
        return [(end, self.far_end(end)) for end in ends if end in self._link_by_end]

    def _note_conflict(self, text: str) -> None:
        if text not in self.conflicts:
            self.conflicts.append(text)

    def _add(self, part: TopologyPart) -> None:
        if part.site and self.site and part.site != self.site:
            self._note_conflict(f"site is {self.site!r} in one source and {part.site!r} in another")
        self.site = self.site or part.site
        self._add_service(part.service)
        for spare in part.spares:
            self._add_spare(spare)
        for node in part.nodes:
            self._merge(self.nodes, str(node["node"]), node)
        for switch in part.switches:
            self._merge(self.switches, str(switch["name"]), switch)
        for raw in part.links:
            link = _link(raw)
            if link is not None:
                self._add_link(link)

    def _add_service(self, service: dict[str, Any]) -> None:
        """Field by field and priority by priority: the first source wins, differences are noted."""
        for key, value in service.items():
            known = self.service.setdefault(key, {} if isinstance(value, dict) else "")
            if isinstance(value, dict) and isinstance(known, dict):
                self._merge_texts(f"service {key}", known, value)
            else:
                self._merge_texts("service", self.service, {key: value})

    def _add_spare(self, spare: dict[str, Any]) -> None:
        """One entry for a part at a place; another quantity for it in a second source is a conflict."""
        named = [str(spare.get(key) or "") for key in ("part", "location", "fits")]
        same = [
            one
            for one in self.spares
            if [str(one.get(key) or "") for key in ("part", "location", "fits")] == named
        ]
        if not same:
            self.spares.append(dict(spare))
            return
        place = f"spare {named[0]} at {named[1]}"
        self._merge_texts(place, same[0], {"quantity": spare.get("quantity")})

    def _merge_texts(self, place: str, known: dict[str, Any], new: dict[str, Any]) -> None:
        for key, value in new.items():
            if value in (None, ""):
                continue
            if known.get(key) in (None, ""):
                known[key] = value
            elif known[key] != value:
                self._note_conflict(
                    f"{place}: {key} is {known[key]!r} in one source and {value!r} in another"
                )

    def _merge(self, known: dict[str, dict[str, Any]], name: str, new: dict[str, Any]) -> None:
        old = known.setdefault(name, {})
        for key, value in new.items():
            if value in (None, "", []):
                continue
            if isinstance(value, dict) and isinstance(old.get(key), dict):
                old[key] = dict(old[key])
                self._merge_texts(f"{name} {key}", old[key], value)
                continue
            if key in old and old[key] != value and not isinstance(value, list):
                self._note_conflict(
                    f"{name}: {key} is {old[key]!r} in one source and {value!r} in another"
                )
            if isinstance(value, list) and isinstance(old.get(key, []), list):
                old[key] = self._merged_items((name, key), old.get(key, []), value)
            else:
                old.setdefault(key, value)

    def _merged_items(self, place: tuple[str, str], old: list[Any], new: list[Any]) -> list[Any]:
        """Devices of both lists; what is said of one device by two sources becomes one entry."""
        naming = _NAMING.get(place[1], ())
        if not old and _are_distinct(new, naming[:1]):
            return [dict(item) for item in new]
        merged = list(old)
        for item in new:
            known = _first(merged, lambda other, item=item: _is_same_device(other, item, naming))
            if not isinstance(item, dict) or not known:
                if item not in merged:
                    merged.append(dict(item) if isinstance(item, dict) else item)
                continue
            which = next(f"{key} {known[key]}" for key in naming if known.get(key) is not None)
            for key, value in item.items():
                if known.get(key) in (None, ""):
                    known[key] = value
                elif key in _STEADY and value not in (None, "") and not _is_same(known, item, key):
                    self._note_conflict(
                        f"{place[0]}: {key} of {which} is {known[key]!r} in one source and {value!r} in another"
                    )
        return merged

    def _complete(self, known: Link, more: Link) -> None:
        """Fill in what the first source of a link left open; another cable is a conflict."""
        stated = {
            name: getattr(more, name)
            for name in ("link_type", "lanes", "speed_gbps", "cable_id", "part")
            if getattr(known, name) in (None, "") and getattr(more, name) not in (None, "")
        }
        attributes = dict(known.attributes)
        cable = {key: more.attributes.get(key) for key in _CABLE}
        self._merge_texts(known.link_id, attributes, cable)
        attributes = {**more.attributes, **attributes}
        link = replace(known, **stated, attributes=attributes)
        self.links[self._position[link.a]] = link
        self._link_by_end |= {
            end: link for end in (link.a, link.b) if self._link_by_end[end] is known
        }

    def _add_link(self, link: Link) -> None:
        for end, far in ((link.a, link.b), (link.b, link.a)):
            known = self._link_by_end.get(end)
            if known is not None and far not in (known.a, known.b):
                other = known.b if known.a == end else known.a
                self._note_conflict(f"{end} ends at {other} in one source and at {far} in another")
        known = self._link_by_end.get(link.a)
        if known is not None:
            if link.b in (known.a, known.b):
                self._complete(known, link)
            return
        self._position[link.a] = len(self.links)
        self.links.append(link)
        self._link_by_end.setdefault(link.a, link)
        self._link_by_end.setdefault(link.b, link)

    def _index_pci(self) -> dict[tuple[str, str], int]:
        index = {}
        for name, node in self.nodes.items():
            for gpu in node.get("gpus") or []:
                if gpu.get("pci") and gpu.get("gpu") is not None:
                    index[name, f"pci-{normalise_pci(str(gpu['pci']))}"] = int(gpu["gpu"])
        return index


def end_component(end: dict[str, Any]) -> str:
    """Component id of one link end as `topology.json` writes it (`node` or `switch`, and `port`)."""
    port = str(end.get("port") if end.get("port") is not None else "")
    if end.get("switch"):
        name = str(end["switch"])
        if port.startswith(f"{name}/"):
            return Component("", port).id
        return Component(
            "", f"{name}/port-{port}" if _PORT_NUMBER.match(port) else f"{name}/{port}"
        ).id
    return Component(str(end.get("node") or ""), port).id


def _link(raw: dict[str, Any]) -> Link | None:
    a, b = raw.get("a"), raw.get("b")
    if not (isinstance(a, dict) and isinstance(b, dict)):
        return None
    near, far = end_component(a), end_component(b)
    lanes, speed = raw.get("lanes"), raw.get("speed_gbps")
    return Link(
        link_id=str(raw.get("id") or f"{near}<->{far}"),
        link_type=str(raw.get("type") or link_type_of(parse_component(near).interface)),
        a=near,
        b=far,
        lanes=int(lanes) if isinstance(lanes, int | float) else None,
        speed_gbps=float(speed) if isinstance(speed, int | float) else None,
        cable_id=str(raw.get("cable") or ""),
        part=str(raw.get("part") or ""),
        attributes=raw,
    )


def _is_same_device(a: Any, b: Any, naming: tuple[str, ...]) -> bool:
    """True when the first of the naming keys that both entries have says the same."""
    if not (isinstance(a, dict) and isinstance(b, dict)):
        return False
    shared = [key for key in naming if a.get(key) is not None and b.get(key) is not None]
    return bool(shared) and _is_same(a, b, shared[0])


def _are_distinct(items: list[Any], naming: tuple[str, ...]) -> bool:
    """True when every entry has the first naming key and no two say the same, as one source lists them."""
    names = [item.get(name) for item in items for name in naming if isinstance(item, dict)]
    plain = all(isinstance(name, str | int) for name in names)
    return plain and naming != ("pci",) and len(names) == len(items) == len(set(names))


def _is_same(a: dict[str, Any], b: dict[str, Any], key: str) -> bool:
    if key == "pci":
        return normalise_pci(str(a[key])) == normalise_pci(str(b[key]))
    return bool(a[key] == b[key])


def _first(items: Any, wanted: Any) -> dict[str, Any]:
    return next((item for item in items or [] if isinstance(item, dict) and wanted(item)), {})


def _without_lane(component: str) -> str:
    parsed = parse_component(component)
    return component if parsed.lane is None else Component(parsed.node, parsed.interface).id
