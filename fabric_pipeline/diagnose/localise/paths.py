"""Which groups of ranks cross which link, and which places could be slow without any link's fault.

Routing is used as far as it is known: NVLinks carry traffic inside a node or NVLink domain, a rail's cable
the groups of its rail, a leaf's uplink those that leave the leaf. Which of several spines is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from fabric_pipeline.diagnose.localise.groups import Fleet
from fabric_pipeline.diagnose.localise.window import (
    FABRIC,
    FLAT,
    HOST,
    LEAF,
    LOCAL,
    NODE_NETWORK,
    NODE_RAIL,
    NVLINK_DOMAIN,
    RAIL,
    RUN,
    Flags,
    Ints,
    Place,
    by_number,
)
from fabric_pipeline.model.components import device_of, gpu_index, parse_component
from fabric_pipeline.model.topology import Topology

_NUMBER = re.compile(r"(\d+)(?:/\d+)?$")
_NETWORK = ("infiniband", "roce", "ethernet")


@dataclass(frozen=True, slots=True)
class Route:
    """The path of one link: an index into `Router.paths` and, if part of a place, into `Router.places`."""

    path: int
    place: int
    node: int
    is_nvlink: bool


@dataclass(slots=True)
class Router:
    """Paths and places of one fleet. `path_share`: chance that a group of the path crosses the link."""

    fleet: Fleet
    topology: Topology
    paths: list[Ints] = field(default_factory=list)
    path_share: dict[int, float] = field(default_factory=dict)
    places: list[Place] = field(default_factory=list)
    _path_of: dict[object, int] = field(default_factory=dict)
    _place_of: dict[tuple[int, object, int], int] = field(default_factory=dict)
    _leaf_of: dict[tuple[str, str], str] = field(default_factory=dict)
    _rail_leaf: dict[tuple[int, int], str] = field(default_factory=dict)
    _below: dict[str, list[tuple[int, int]]] = field(default_factory=dict)  # (node, rail) of a leaf
    _uplinks: dict[str, set[str]] = field(default_factory=dict)
    _domain: dict[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._read_topology()
        self._add_places()

    def route(self, component: str, far_end: str, link_type: str) -> Route | None:
        """Where a link lies; None when no timed group can have used it, or when nothing places it."""
        ends = [parse_component(end) for end in (component, far_end) if end]
        index = self.fleet.node_index
        named = next((end for end in ends if end.node in index), None)
        if named is None:
            if any(end.node for end in ends):
                return None
            return self._switch_route([device_of(end.interface) for end in ends])
        node = index[named.node]
        if (
            link_type == "nvlink"
            or "nvlink" in named.interface
            or named.interface.startswith("nvswitch")
        ):
            return self._nvlink_route(named.node, node)
        rail = self._rail_of(
            named.node, named.interface, component if named is ends[0] else far_end
        )
        return self._network_route(node, rail)

    def _nvlink_route(self, name: str, node: int) -> Route:
        domain = self._domain.get(name)
        if domain is None:
            mine = self._of_node(node)
            groups = mine[self._is_inside(mine)]
        else:
            others = [
                self.fleet.node_index[other] for other in domain if other in self.fleet.node_index
            ]
            mine = self._of_node(node)
            used, ranks = self._members(others)
            groups = mine[np.isin(mine, used[ranks > 1]) | self._is_inside(mine)]
        path = self._path(("nvlink", node), groups)
        return Route(path, self._place_of.get((NVLINK_DOMAIN, node, -1), -1), node, True)

    def _network_route(self, node: int, rail: int) -> Route:
        mine = self._of_node(node)
        between = mine[self.fleet.kind[mine] != LOCAL]
        if rail >= 0:
            between = between[
                (self.fleet.rail[between] == rail) | (self.fleet.kind[between] == FLAT)
            ]
        path = self._path(("rail", node, rail), between)
        place = self._place_of.get(
            (NODE_RAIL, node, rail), self._place_of.get((NODE_NETWORK, node, -1), -1)
        )
        return Route(path, place, node, False)

    def _switch_route(self, switches: list[str]) -> Route | None:
        leaf = next((name for name in switches if name in self._uplinks), None)
        if leaf is None:
            return None
        groups = self._leaving(leaf)
        path = self._path(("leaf", leaf), groups)
        spines = len(self._uplinks[leaf])
        if spines > 1:
            self.path_share[path] = 1 / spines
        return Route(path, self._place_of.get((LEAF, leaf, -1), -1), -1, False)

    def _is_inside(self, groups: Ints) -> Flags:
        """True for groups with traffic inside a node: all but those with one rank a node."""
        inside: Flags = self.fleet.kind[groups] != RAIL
        return inside

    def _of_node(self, node: int) -> Ints:
        return self.fleet.of_node[node]

    def _members(self, nodes: Iterable[int]) -> tuple[Ints, Ints]:
        """Groups with a rank on any of these nodes, rising, and on how many of them each has one."""
        of_nodes = [np.zeros(0, dtype=np.int64), *(self._of_node(node) for node in nodes)]
        groups, number = np.unique(np.concatenate(of_nodes), return_counts=True)
        return groups, number

    def _path(self, key: object, groups: Ints) -> int:
        if key not in self._path_of:
            self._path_of[key] = len(self.paths)
            self.paths.append(groups)
        return self._path_of[key]

    def _rail_of(self, node: str, interface: str, component: str) -> int:
        """The rail of a PCIe link or NIC: its GPU's index, else the number of the NIC; -1 unknown."""
        gpu = gpu_index(interface)
        if gpu is not None:
            return gpu
        beside = self.topology.gpu_beside(component)
        if beside is not None:
            return beside
        device = device_of(interface)
        nics = [str(nic.get("hca")) for nic in self.topology.nodes.get(node, {}).get("nics") or []]
        if device in nics:
            return nics.index(device)
        if device.startswith("pcie-switch-"):
            return self._rail_of_switch(node, device)
        found = _NUMBER.search(device)
        return int(found.group(1)) if found and not device.startswith("pci-") else -1

    def _rail_of_switch(self, node: str, device: str) -> int:
        gpus = self.topology.nodes.get(node, {}).get("gpus") or []
        behind = [int(gpu["gpu"]) for gpu in gpus if gpu.get("pcie_switch") == device]
        if gpus:
            return behind[0] if len(behind) == 1 else -1
        return int(device.rsplit("-", 1)[1]) if device.rsplit("-", 1)[1].isdigit() else -1

    def _read_topology(self) -> None:
        """Leaf of every NIC, uplinks of every leaf, NVLink domains that span nodes."""
        domain_of: dict[str, set[str]] = {}
        uplinks: list[tuple[str, str]] = []
        for link in self.topology.links:
            ends = parse_component(link.a), parse_component(link.b)
            nodes = [end for end in ends if end.node]
            switches = [device_of(end.interface) for end in ends if not end.node]
            if link.link_type == "nvlink" and len(nodes) == 1 and switches:
                domain_of.setdefault(switches[0], set()).add(nodes[0].node)
            elif link.link_type in _NETWORK and len(nodes) == 1 and switches:
                self._leaf_of[nodes[0].node, nodes[0].interface] = switches[0]
                node = self.fleet.node_index.get(nodes[0].node)
                if node is not None:
                    rail = self._rail_of(
                        nodes[0].node, nodes[0].interface, link.a if ends[0].node else link.b
                    )
                    self._rail_leaf[node, rail] = switches[0]
            elif link.link_type in _NETWORK and len(switches) == 2:
                uplinks.append((switches[0], switches[1]))
        for place, leaf in self._rail_leaf.items():
            self._below.setdefault(leaf, []).append(place)
        leaves = set(self._leaf_of.values())
        for first, second in uplinks:
            for leaf, spine in ((first, second), (second, first)):
                if leaf in leaves:
                    self._uplinks.setdefault(leaf, set()).add(spine)
        for members in domain_of.values():
            for name in members:
                self._domain[name] = self._domain.get(name, frozenset()) | frozenset(members)

    def _leaving(self, leaf: str) -> Ints:
        """Groups with a rank below the leaf and another elsewhere on the same rail."""
        below = self._below.get(leaf)
        if not below:
            return np.zeros(0, dtype=np.int64)
        rails = {rail for _, rail in below}
        groups, inside = self._members({node for node, _ in below})
        fits = (inside < self.fleet.sizes[groups]) & (self.fleet.kind[groups] != LOCAL)
        fits &= np.isin(self.fleet.rail[groups], sorted(rails)) | (self.fleet.kind[groups] == FLAT)
        leaving: Ints = groups[fits]
        return leaving

    def _add_places(self) -> None:
        kind, rail = self.fleet.kind, self.fleet.rail
        for node, name in enumerate(self.fleet.nodes):
            groups = self._of_node(node)
            between = groups[kind[groups] != LOCAL]
            self._place(
                NVLINK_DOMAIN,
                node,
                -1,
                f"{name}: NVLinks",
                node,
                self.paths[self._nvlink_route(name, node).path],
            )
            self._place(HOST, node, -1, f"{name}: host", node, groups)
            for number in np.unique(rail[between][rail[between] >= 0]):
                mine = between[(rail[between] == number) | (kind[between] == FLAT)]
                self._place(NODE_RAIL, node, int(number), f"{name}: rail {number}", node, mine)
            self._place(
                NODE_NETWORK, node, -1, f"{name}: network", node, between[kind[between] == FLAT]
            )
        for leaf in sorted(set(self._leaf_of.values())):
            self._place(LEAF, leaf, -1, f"switch {leaf}", -1, self._leaving(leaf))
        for run, members in by_number(self.fleet.series.run).items():
            if len(members) > 1:
                self._place(
                    RUN, run, -1, f"run {self.fleet.groups[int(members[0])].run}", -1, members
                )
        self._place(FABRIC, 0, -1, "the whole fabric", -1, np.flatnonzero(kind != LOCAL))

    def _place(self, kind: int, key: object, rail: int, name: str, node: int, groups: Ints) -> None:
        if len(groups):
            self._place_of[kind, key, rail] = len(self.places)
            self.places.append(Place(kind, name, node, groups))

    def congestion_places(self, component: str, far_end: str) -> list[int]:
        """Places that a congested port belongs to: its node's rail, and the leaf."""
        found = []
        for end in (component, far_end):
            parsed = parse_component(end) if end else None
            if parsed is None:
                continue
            node = self.fleet.node_index.get(parsed.node)
            if node is not None:
                rail = self._rail_of(parsed.node, parsed.interface, end)
                found += [
                    self._place_of.get((NODE_RAIL, node, rail), -1),
                    self._place_of.get((NODE_NETWORK, node, -1), -1),
                ]
            elif not parsed.node:
                found.append(self._place_of.get((LEAF, device_of(parsed.interface), -1), -1))
        return sorted({place for place in found if place >= 0})
