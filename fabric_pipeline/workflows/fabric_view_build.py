"""Putting nodes, devices, switches and links of a fabric picture together from rows of the lake.

Rows come in ready joined; what a link end's state is was decided before, in `fabric_view_state`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from fabric_pipeline.model.components import (
    component_id,
    device_of,
    gpu_index,
    link_type_of,
    natural_key,
)
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.workflows.fabric_view_model import (
    DOWN,
    LINK_KINDS,
    NO_DATA,
    QUIET,
    UNJUDGED,
    Device,
    End,
    EndReading,
    Link,
    NodeView,
    Port,
    SwitchView,
)
from fabric_pipeline.workflows.fabric_view_state import FabricState, Key

_LISTS = (
    ("gpu", "gpus", ("gpu",)),
    ("nic", "nics", ("hca", "name")),
    ("nvswitch", "nvswitches", ("nvswitch", "name")),
    ("pcie_switch", "pcie_switches", ("pcie_switch", "name")),
)
_TIER = re.compile(r"^(spine|leaf|core)", re.IGNORECASE)
_MOST_DIGITS = 9


class Builder:
    """Collects nodes and switches while links are added; see `load_fabric_view` for the order."""

    def __init__(self, state: FabricState, is_judged: bool) -> None:
        """`is_judged` False: a measured end without trouble is not called healthy."""
        self._state = state
        self._plain = {"measured": QUIET if is_judged else UNJUDGED, "down": DOWN}
        self._nodes: dict[str, NodeView] = {}
        self._switches: dict[str, SwitchView] = {}
        self._used: set[Key] = set()
        self._holders: dict[Key, Device | SwitchView] = {}

    def place(self, topology: Topology) -> None:
        """Nodes with their devices, and switches, as the topology states them."""
        for name, stated in topology.nodes.items():
            node = self._nodes[name] = NodeView(name, *_where(stated), is_stated=True)
            node.serial = str(stated.get("serial") or "")
            for kind, listed, names in _LISTS:
                for item in stated.get(listed) or []:
                    device = _stated_device(kind, item, names)
                    node.devices.setdefault(device.name, device)
        for name, stated in topology.switches.items():
            switch = self._switches[name] = SwitchView(
                name, str(stated.get("tier") or _tier(name)), *_where(stated)
            )
            switch.serial = str(stated.get("serial") or "")

    def links(self, rows: Iterable[Sequence[Any]]) -> list[Link]:
        """Links from the rows of `LINKS_SQL`, hung onto the devices of both ends."""
        return [self._link(row) for row in rows]

    def devices(self, rows: Iterable[tuple[str, str]]) -> None:
        """Whole devices that were measured as a sum over their links."""
        for node, interface in rows:
            holder = self._holder(node, interface, interface, "")
            holder.reading = self._reading((node, interface), "measured")

    def leftovers(self) -> list[Link]:
        """Links, devices and nodes that only spikes or incidents name."""
        found = []
        for key in [key for key in self._state.readings if key not in self._used]:
            if key not in self._used:
                link = self._leftover(*key)
                found += [link] if link else []
        return found

    def sorted_nodes(self) -> list[NodeView]:
        """Nodes in the order of rack unit and name, each with its devices and ports in order."""
        for node in self._nodes.values():
            names = sorted(node.devices, key=natural_key)
            node.devices = {name: node.devices[name] for name in names}
            for device in node.devices.values():
                device.ports.sort(key=_port_order)
        return sorted(
            self._nodes.values(), key=lambda node: (natural_key(node.unit), natural_key(node.name))
        )

    def sorted_switches(self) -> list[SwitchView]:
        """Switches by name, with their ports in order."""
        for switch in self._switches.values():
            switch.ports.sort(key=_port_order)
        return sorted(self._switches.values(), key=lambda switch: natural_key(switch.name))

    def _link(self, row: Sequence[Any]) -> Link:
        (link_id, link_type, node, interface, far_node, far_interface, lanes, speed, cable, part, near_seen, far_seen,
         device, far_device) = row  # fmt: skip
        a = End(node, interface, device, self._reading((node, interface), near_seen))
        far = self._state.far_ends.get((node, interface)) if not far_interface else None
        b = None
        if far_interface:
            reading = self._reading((far_node, far_interface), far_seen)
            b = End(far_node, far_interface, far_device, reading)
        elif far is not None and far not in self._used and far in self._state.readings:
            b = End(*far, device_of(far[1]), self._reading(far, ""))
        link = Link(link_id, link_type or link_type_of(interface), a, b, lanes, speed, cable, part)
        self._hang(link)
        return link

    def _hang(self, link: Link) -> None:
        for end in link.ends:
            key = (end.node, end.device)
            if key not in self._holders:
                self._holders[key] = self._holder(*key, end.interface, link.link_type)
            self._holders[key].ports.append(Port(link, end))

    def _reading(self, key: Key, seen: str) -> EndReading:
        known = self._state.readings.get(key)
        if known is not None:
            self._used.add(key)
            return known
        return self._plain.get(seen, NO_DATA)

    def _holder(
        self, node: str, device: str, interface: str, link_type: str
    ) -> Device | SwitchView:
        """The device of a node, or the switch, that an interface belongs to; made when new."""
        if not node and "/port-" in interface and not device.startswith("nvswitch"):
            return self._switch(device)
        if not node and device in self._switches:
            return self._switches[device]
        owner = self._node(node)
        if device not in owner.devices:
            kind = _kind_of(device, link_type)
            facts = {"gpu": gpu_index(device)} if kind == "gpu" else {}
            owner.devices[device] = Device(kind, device, facts)
        return owner.devices[device]

    def _node(self, name: str) -> NodeView:
        if name not in self._nodes:
            self._nodes[name] = NodeView(name, *_where(self._state.places.get(name, {})))
        return self._nodes[name]

    def _switch(self, name: str) -> SwitchView:
        return self._switches.setdefault(name, SwitchView(name, _tier(name)))

    def _leftover(self, node: str, interface: str) -> Link | None:
        reading = self._reading((node, interface), "")
        if not interface:
            if node:
                self._node(node).reading = reading
            return None
        known = self._switches if not node else self._node(node).devices
        if interface in known or not _is_link_end(interface):
            self._holder(node, interface, interface, "").reading = reading
            return None
        row = (component_id(node, interface), "", node, interface, "", "", None, None, "", "", "", "", device_of(interface), "")  # fmt: skip
        return self._link(row)


def _where(stated: dict[str, Any]) -> tuple[str, str, str]:
    """Row, rack and unit, "" where not stated."""
    row, rack, unit = (stated.get(key) for key in ("row", "rack", "unit"))
    return _said(row), _said(rack), _said(unit)


def _said(value: Any) -> str:
    return "" if value is None else str(value)


def _stated_device(kind: str, item: Any, names: tuple[str, ...]) -> Device:
    facts = item if isinstance(item, dict) else {"name": str(item)}
    found = next((facts[name] for name in names if facts.get(name) is not None), kind)
    return Device(kind, f"gpu{found}" if kind == "gpu" else str(found), facts)


def _kind_of(device: str, link_type: str) -> str:
    if gpu_index(device) is not None:
        return "gpu"
    if device.startswith("nvswitch"):
        return "nvswitch"
    if device.startswith("pcie-switch"):
        return "pcie_switch"
    is_port = link_type in LINK_KINDS["nic"] or link_type_of(f"{device}/1") == "infiniband"
    return "nic" if is_port else "other"


def _tier(name: str) -> str:
    found = _TIER.match(name)
    return found.group(1).lower() if found else ""


def _is_link_end(interface: str) -> bool:
    return "/" in interface or interface.startswith(("nvlink", "pcie", "pci-"))


def _port_order(port: Port) -> tuple[int, str]:
    interface = port.end.interface
    number = interface[len(interface.rstrip("0123456789")) :][:_MOST_DIGITS]
    return (int(number) if number else 10**_MOST_DIGITS, interface)
