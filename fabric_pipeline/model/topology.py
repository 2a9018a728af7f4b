"""The fabric as a graph: where things sit, which two ends a link has, which names mean one device.

Built from topology parts of any source; nothing here reads files or judges. The first statement of a
value holds: that of `topology.json`, then those of the tools' files in their order, then those of lists
that people keep. What later ones state differently is kept in `conflicts`, never averaged away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from fabric_pipeline.model.components import (
    Component,
    component_id,
    device_of,
    gpu_index,
    parse_component,
)
from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.model.topology_checks import alone, node_switches
from fabric_pipeline.model.topology_conflicts import Conflicts, in_file, in_other
from fabric_pipeline.model.topology_entries import Entries, says_same
from fabric_pipeline.model.topology_links import (
    Link,
    end_component,
    link_from,
    renamed_link,
    under_its_ends,
)
from fabric_pipeline.model.topology_names import Names
from fabric_pipeline.model.topology_pci import PciNames
from fabric_pipeline.model.topology_ports import PortAliases

__all__ = ["Link", "Topology", "end_component"]

# What cannot differ between two descriptions of one link and its cable.
_CABLE = frozenset(
    {"cable", "medium", "length_m", "connector", "colour", "cable_serial", "cable_part_number"}
)
_NOMINAL = ("lanes", "speed_gbps")
_PLACE = ("hall", "cage", "row", "rack", "unit", "face", "serial", "asset_tag")
# No GPU has more NVLinks than this; it bounds the look-up of them.
_MAX_NVLINKS = 64


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
        self._conflicts = Conflicts()
        self._entries = Entries(self._conflicts)
        self._sources: dict[tuple[str, str], list[str]] = {}  # of each entity, in their order
        self._link_by_end: dict[str, Link] = {}
        self._position: dict[str, int] = {}  # of a link in `links`, by its end a
        self._links_at: dict[str, list[Link]] | None = None
        self._links_of_device: dict[tuple[str, str], list[str]] | None = None
        self._bundles: list[tuple[Link, str]] = []
        merged = list(parts)
        self._names = Names(merged, self._conflicts)
        for part in merged:
            self._add_entries(part)
        for name, node in self.nodes.items():
            self._entries.settle(name, node)
        self._by_pci = PciNames(self.nodes)
        self._ports = PortAliases([], frozenset())
        self._add_links(merged)
        self._add_bundles()
        self._check_leaf_switches()

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

    def links_at(self, end: str) -> list[Link]:
        """All links with this end as it is written, several GPUs' bundles among them, in their order."""
        if self._links_at is None:
            self._links_at = {}
            for link in self.links:
                for name in dict.fromkeys((link.a, link.b)):
                    self._links_at.setdefault(name, []).append(link)
        return self._links_at.get(end, [])

    def ends_of_device(self, node: str, device: str) -> list[str]:
        """Ends of the links that the sources state for a device, in their order."""
        if self._links_of_device is None:
            self._links_of_device = {}
            for end in (end for link in self.links for end in (link.a, link.b)):
                parsed = parse_component(end)
                place = parsed.node, device_of(parsed.interface)
                self._links_of_device.setdefault(place, []).append(end)
        return self._links_of_device.get((node, device), [])

    def link_key(self, component: str) -> str:
        """One key for both ends of a link, so that they can be folded; the component when unknown."""
        link = self.link_of(component)
        return _without_lane(component) if link is None else min(link.a, link.b)

    def resolve(self, component: str) -> str:
        """The same device under its kept name: `n07:gpu3/nvlink-4` for `n07:pci-0000:5d:00.0/nvlink-4`."""
        return self._by_pci(self.kept(component))

    @property
    def conflicts(self) -> list[str]:
        """What the sources state differently, in sentences that name the files."""
        return self._conflicts.texts

    @property
    def has_aliases(self) -> bool:
        """True when sources call any machine or port by several names."""
        return self._names.has_aliases or bool(self._ports)

    def kept(self, component: str) -> str:
        """A port, switch or node under the name that is kept for it; PCI addresses stay as they are."""
        return self._ports(self._names.component(component))

    def kept_node(self, node: str) -> str:
        """The name under which a node is kept."""
        return self._names.node(node)

    @property
    def expected_nodes(self) -> set[str]:
        """Nodes that should have telemetry: all but those that only a list of a whole site names."""
        return {name for name, node in self.nodes.items() if not node.get("inventory")}

    def parts(self) -> Iterator[TopologyPart]:
        """What was merged, each entity once under the file that stated it first, for the table."""
        made: dict[str, TopologyPart] = {}
        known = [("node", name, {"node": name, **node}) for name, node in self.nodes.items()]
        known += [
            ("switch", name, {"name": name, **switch}) for name, switch in self.switches.items()
        ]
        known += [("link", link.a, _stated(link)) for link in self.links]
        for kind, name, entry in known:
            sources = self._sources.get((kind, name)) or [""]
            part = made.setdefault(sources[0], TopologyPart(source=sources[0]))
            own = {**entry, "stated_in": sources} if len(sources) > 1 else entry
            getattr(part, _LISTS[kind]).append(own)
        if self.site or self.service or self.spares:
            first = self._first_source("site", "")
            part = made.setdefault(first, TopologyPart(source=first))
            part.site, part.service, part.spares = self.site, self.service, self.spares
        yield from made.values()

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

    def _state(self, kind: str, name: str, source: str) -> None:
        sources = self._sources.setdefault((kind, name), [])
        if source and source not in sources:
            sources.append(source)

    def _add_entries(self, part: TopologyPart) -> None:
        source = part.source
        if part.site and self.site and part.site != self.site:
            first = self._first_source("site", "")
            self._conflicts.differ("site", (self.site, first), (part.site, source))
        self.site = self.site or part.site
        if part.site or part.service or part.spares:
            self._state("site", "", source)
        self._add_service(part.service, source)
        for spare in part.spares:
            self._add_spare(spare, source)
        nodes, switches = self._names.entries(part)
        for kind, known, entries, key in (
            ("node", self.nodes, nodes, "node"),
            ("switch", self.switches, switches, "name"),
        ):
            for entry in entries:
                name = str(entry[key])
                self._state(kind, name, source)
                is_new = name not in known
                kept = known.setdefault(name, {})
                if not is_new and not entry.get("inventory"):
                    kept.pop("inventory", None)
                more = entry if is_new else {k: v for k, v in entry.items() if k != "inventory"}
                self._entries.entry(name, kept, more, source)

    def _add_service(self, service: dict[str, Any], source: str) -> None:
        """Field by field and priority by priority: the first source wins, differences are noted."""
        for key, value in service.items():
            known = self.service.setdefault(key, {} if isinstance(value, dict) else "")
            if isinstance(value, dict) and isinstance(known, dict):
                self._entries.texts(f"service {key}", known, value, source)
            else:
                self._entries.texts("service", self.service, {key: value}, source)

    def _add_spare(self, spare: dict[str, Any], source: str) -> None:
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
        self._entries.texts(place, same[0], {"quantity": spare.get("quantity")}, source)

    def _add_links(self, parts: list[TopologyPart]) -> None:
        """All links under the names of the graph; names of ports are learnt from all of them first."""
        named: list[tuple[str, list[Link]]] = []
        for part in parts:
            links = []
            for raw in part.links:
                a, b = raw.get("a"), raw.get("b")
                if not (isinstance(a, dict) and isinstance(b, dict)):
                    continue
                near, far = self._names.end(a), self._names.end(b)
                is_same = near is a and far is b
                link = link_from(raw if is_same else {**raw, "a": near, "b": far})
                if link is not None:
                    link = (
                        link
                        if is_same
                        else under_its_ends(link, end_component(a), end_component(b))
                    )
                    links.append(renamed_link(link, self._by_pci))
            if links:
                named.append((part.source, links))
        pairs = [[(one.a, one.b) for one in links if not one.is_bundle] for _, links in named]
        self._ports = PortAliases(pairs, self._names.switches)
        for source, links in named:
            for link in links:
                kept = renamed_link(link, self._ports) if self._ports else link
                if kept.is_bundle:
                    self._bundles.append((kept, source))
                elif kept.a != kept.b:
                    self._add_link(kept, source)

    def _add_link(self, link: Link, source: str) -> None:
        """A new link, more on a known one, or one whose ends other links have taken already."""
        known = self._link_by_end.get(link.a) or self._link_by_end.get(link.b)
        if known is None:
            self._position[link.a] = len(self.links)
            self.links.append(link)
            self._link_by_end[link.a] = self._link_by_end[link.b] = link
            self._state("link", link.a, source)
        elif {link.a, link.b} == {known.a, known.b}:
            self._complete(known, link, source)
        else:
            self._note_far_ends(link, source)

    def _note_far_ends(self, link: Link, source: str) -> None:
        for end, far in ((link.a, link.b), (link.b, link.a)):
            known = self._link_by_end.get(end)
            if known is not None and far not in (known.a, known.b):
                other = known.b if known.a == end else known.a
                first = self._first_source("link", known.a)
                self._conflicts.note(
                    f"{end} ends at {other} {in_file(first)} and at {far} {in_other(source)}"
                )

    def _complete(self, known: Link, more: Link, source: str) -> None:
        """Fill in what the first source of a link left open; another cable or speed is a conflict."""
        self._state("link", known.a, source)
        stated = {
            name: getattr(more, name)
            for name in ("link_type", "lanes", "speed_gbps", "cable_id", "part")
            if getattr(known, name) in (None, "") and getattr(more, name) not in (None, "")
        }
        first = self._first_source("link", known.a)
        for name in _NOMINAL:
            one, other = getattr(known, name), getattr(more, name)
            if None not in (one, other) and not says_same(name, one, other):
                what = f"{known.link_id}: {name}"
                self._conflicts.differ(what, (one, first), (other, source))
        attributes = known.attributes
        for key, other in more.attributes.items():
            one = attributes.get(key)
            if other in (None, "") or one == other:
                continue
            if one in (None, ""):
                attributes = {**attributes, key: other}
            elif key in _CABLE and not says_same(key, one, other):
                self._conflicts.differ(f"{known.link_id}: {key}", (one, first), (other, source))
        if stated or attributes is not known.attributes:
            link = replace(known, **stated, attributes=attributes)
            self.links[self._position[link.a]] = link
            self._link_by_end[link.a] = self._link_by_end[link.b] = link

    def _first_source(self, kind: str, name: str) -> str:
        return (self._sources.get((kind, name)) or [""])[0]

    def _add_bundles(self) -> None:
        def source_of(link: Link) -> str:
            return self._first_source("link", link.a)

        for bundle, source in alone(self._bundles, self.links, source_of, self._conflicts):
            self._state("link", bundle.a, source)
            self.links.append(bundle)

    def _check_leaf_switches(self) -> None:
        """Slurm places a node below a switch of the fabric that none of its cables goes to."""
        if not any(node.get("leaf_switches") for node in self.nodes.values()):
            return
        cabled, switches = node_switches(self.links)
        for name, node in self.nodes.items():
            above = {self._names.switch(str(one)) for one in node.get("leaf_switches") or []}
            known, ends = above & switches, cabled.get(name, {})
            if known and ends and not known & set(ends):
                slurm = (self._sources.get(("node", name)) or [""])[-1]
                plan = self._first_source("link", next(iter(ends.values())).a)
                self._conflicts.note(
                    f"{name} is cabled to {', '.join(sorted(ends)[:4])} {in_file(plan)} and stands "
                    f"below {', '.join(sorted(known)[:4])} {in_other(slurm)}"
                )


_LISTS = {"node": "nodes", "switch": "switches", "link": "links"}


def _stated(link: Link) -> dict[str, Any]:
    """A link as an entry of a topology part, with what other sources filled in."""
    filled = {
        "id": link.link_id,
        "type": link.link_type,
        "lanes": link.lanes,
        "speed_gbps": link.speed_gbps,
        "cable": link.cable_id,
        "part": link.part,
    }
    return {
        **link.attributes,
        **{key: value for key, value in filled.items() if value not in (None, "")},
    }


def _first(items: Any, wanted: Any) -> dict[str, Any]:
    return next((item for item in items or [] if isinstance(item, dict) and wanted(item)), {})


def _without_lane(component: str) -> str:
    parsed = parse_component(component)
    return component if parsed.lane is None else Component(parsed.node, parsed.interface).id
