"""Putting nodes, devices, switches and links of a fabric picture together from columns of the lake.

Columns come in ready joined; what a link end's state is was decided before, in `fabric_view_state`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from fabric_pipeline.model.components import (
    component_id,
    gpu_index,
    link_type_of,
    natural_key,
)
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.workflows.fabric_link_columns import COLUMNS, LinkColumns
from fabric_pipeline.workflows.fabric_view_model import (
    DOWN,
    LINK_KINDS,
    NO_DATA,
    QUIET,
    UNJUDGED,
    Device,
    Links,
    NodeView,
    SwitchView,
)
from fabric_pipeline.workflows.fabric_view_state import FabricState, Key

Columns = dict[str, Any]
_LISTS = (
    ("gpu", "gpus", ("gpu",)),
    ("nic", "nics", ("hca", "name")),
    ("nvswitch", "nvswitches", ("nvswitch", "name")),
    ("pcie_switch", "pcie_switches", ("pcie_switch", "name")),
)
_TIER = re.compile(r"^(spine|leaf|core)", re.IGNORECASE)
_SWITCH_PORT = "/port-"


class Builder:
    """Collects nodes and switches, then hangs the links onto them; see `load_fabric_view` for the order."""

    def __init__(self, state: FabricState, is_judged: bool) -> None:
        """`is_judged` False: a measured end without trouble is not called healthy."""
        self._state = state
        # Without a reading of its own an end is not measured, measured, or down: places 0, 1, 2.
        self.readings = [NO_DATA, QUIET if is_judged else UNJUDGED, DOWN, *state.readings.values()]
        self.marked = {key: place for place, key in enumerate(state.readings, 3)}
        self._nodes: dict[str, NodeView] = {}
        self._switches: dict[str, SwitchView] = {}

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

    def links(self, found: Columns, whole: Iterable[tuple[str, str]] = ()) -> Links:
        """Links from the columns of `LINKS_SQL`, hung onto the devices of both ends.

        `whole` are devices that were measured as a sum over their links. What only spikes or incidents
        name becomes a link of its own, or the reading of its device or node.
        """
        whole = list(whole)
        found = self._with_far_ends(found)
        used = {int(at) for side in ("reading", "far_reading") for at in np.unique(found[side])}
        used |= {self.marked[key] for key in whole if key in self.marked}
        rest = [key for key, place in self.marked.items() if place not in used]
        ends = [key for key in rest if _is_link_end(key[1]) and not self._is_device(key, found)]
        links = Links(LinkColumns.of(self._with_ends(found, ends), self.readings).in_order())
        for node, device, interface, link_type in links.devices():
            self._holder(node, device, interface, link_type).ports = links.ports(node, device)
        for key in whole:
            place = self.marked.get(key, 1)
            self._holder(*key, key[1], "").reading = self.readings[place]
        for key in [key for key in rest if key not in set(ends)]:
            self._mark(key)
        return links

    def sorted_nodes(self) -> list[NodeView]:
        """Nodes in the order of rack unit and name, each with its devices in order."""
        in_order = cache(natural_key)
        for node in self._nodes.values():
            names = sorted(node.devices, key=in_order)
            node.devices = {name: node.devices[name] for name in names}
        return sorted(
            self._nodes.values(), key=lambda node: (in_order(node.unit), in_order(node.name))
        )

    def sorted_switches(self) -> list[SwitchView]:
        """Switches by name."""
        return sorted(self._switches.values(), key=lambda switch: natural_key(switch.name))

    def _with_far_ends(self, found: Columns) -> Columns:
        """Where only an incident says what is at the far end, the two ends become one link."""
        is_open = found["far_interface"] == ""
        if not self._state.far_ends or not is_open.any():
            return found
        readings = found["reading"][~is_open], found["far_reading"][~is_open]
        taken = {int(place) for side in readings for place in np.unique(side.astype(int))}
        rows = {int(found["reading"][at]): int(at) for at in np.flatnonzero(is_open)}
        gone: list[int] = []
        for near, far in self._state.far_ends.items():
            own, other = self.marked.get(near, -1), self.marked.get(far, -1)
            if own not in rows or other < 0 or {own, other} & taken:
                continue
            at = rows[own]
            found["far_node"][at], found["far_interface"][at] = far
            found["far_reading"][at] = other
            taken |= {own, other}
            gone += [rows[other]] if other in rows else []
        return {name: np.delete(column, gone) for name, column in found.items()}

    def _with_ends(self, found: Columns, ends: Sequence[Key]) -> Columns:
        """Further rows for link ends that no topology and no counter knows."""
        taken: set[Key] = set()
        rows = []
        for near in ends:
            far = self._state.far_ends.get(near)
            if near in taken:
                continue
            if far not in ends or far in taken:
                far = None
            taken |= {near, far} if far else {near}
            rows.append(_row(near, far, self.marked))
        if not rows:
            return found
        return {
            name: np.concatenate([np.asarray(column, object), np.array([row[name] for row in rows], object)])
            for name, column in found.items()
        }  # fmt: skip

    def _is_device(self, key: Key, found: Columns) -> bool:
        """Whether a name such as `pcie-switch-1` is that of a device and not of a link end."""
        node, name = key
        if "/" in name:
            return False
        if name in self._switches or (node in self._nodes and name in self._nodes[node].devices):
            return True
        sides = (("node", "interface"), ("far_node", "far_interface"))
        return any(
            owner == node and interface.startswith(f"{name}/")
            for a, b in sides
            for owner, interface in zip(found[a], found[b], strict=True)
        )

    def _mark(self, key: Key) -> None:
        """The reading of a whole node, switch or device."""
        node, interface = key
        reading = self.readings[self.marked[key]]
        if interface:
            self._holder(node, interface, interface, "").reading = reading
        elif node:
            self._node(node).reading = reading

    def _holder(
        self, node: str, device: str, interface: str, link_type: str
    ) -> Device | SwitchView:
        """The device of a node, or the switch, that an interface belongs to; made when new."""
        if not node and _SWITCH_PORT in interface and not device.startswith("nvswitch"):
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


def columns_of_rows(rows: Iterable[Sequence[Any]]) -> Columns:
    """Columns from rows in the order of `COLUMNS`."""
    listed = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in COLUMNS]
    return {name: np.array(column, object) for name, column in zip(COLUMNS, listed, strict=True)}


def _row(near: Key, far: Key | None, places: dict[Key, int]) -> dict[str, Any]:
    """One link that has nothing but its ends."""
    far_node, far_interface = far or ("", "")
    values = (component_id(*near), "", *near, far_node, far_interface, -1, math.nan, "", "", places[near], places[far] if far else 0)  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


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
