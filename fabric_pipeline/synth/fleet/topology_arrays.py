"""The links of a fleet as parallel arrays: what each is, where its two ends are, what they are called.

One layout per shape (platform, size, totals or lanes) is kept and shared by all scenarios of that
shape, so its arrays are read-only. The `topology.json` made from it lives in `topology_file`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabric_pipeline.synth import hardware as hw
from fabric_pipeline.synth.fleet.platforms import PLATFORMS, Platform

Ints = NDArray[np.int32]
Names = NDArray[np.object_]

NVLINK, PCIE_GPU, PCIE_NIC, RAIL, UPLINK = range(5)
LINK_TYPES = ("nvlink", "pcie", "pcie", "infiniband", "infiniband")


@dataclass(slots=True)
class FleetLinks:
    """Links of a fleet; near is the GPU or NIC side, of an uplink the leaf.

    A port of a switch outside the nodes has the node "". `gpu`, `rail`, `node_index` and `leaf` are
    -1 where they do not apply. With GPU totals an NVLink row stands for all links of one GPU: its
    near interface is `gpu<n>` and its far end has no name.
    """

    link_type: Names
    near_node: Names
    near_interface: Names
    far_node: Names
    far_interface: Names
    gpu: Ints
    rail: Ints
    node_index: Ints
    leaf: Ints


@dataclass(frozen=True, slots=True)
class Shape:
    """Layout of one fleet: its links, and the numbers that only the generator needs.

    `kind` is NVLINK .. UPLINK, `spine` the far end of an uplink, `weight` the number of real links
    a row stands for, `end_node` the node whose clock and driver an end (2 x link + side) has.
    """

    platform: Platform
    nodes: int
    pod_nodes: int
    spines: int
    node_names: tuple[str, ...]
    links: FleetLinks
    kind: Ints
    spine: Ints
    weight: Ints
    end_node: Ints

    @property
    def size(self) -> int:
        """Number of links."""
        return len(self.kind)

    @property
    def pods(self) -> int:
        """Number of pods; each has one leaf per rail."""
        return -(-self.nodes // self.pod_nodes)

    def rail_link(self, node: int, rail: int) -> int:
        """Index of the cable from a NIC to its leaf."""
        first = int(np.searchsorted(self.kind, RAIL))
        return first + node * self.platform.gpus + rail


@lru_cache(maxsize=8)
def shape_of(platform: str, nodes: int, gpu_totals: bool) -> Shape:
    """The layout of a fleet; links stand in the order of their kind, then of their place."""
    facts = PLATFORMS[platform]
    pod_nodes, spines = _fabric_of(facts, nodes)
    names = tuple(_node_name(facts, index) for index in range(nodes))
    pods = -(-nodes // pod_nodes)
    parts = [_nvlinks(facts, names, gpu_totals), *_pcie(facts, names)]
    parts += [_rails(facts, names, pod_nodes), _uplinks(facts.gpus, pods, spines, pod_nodes)]
    merged = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    for array in merged.values():
        array.setflags(write=False)
    kind, spine, weight = merged.pop("kind"), merged.pop("spine"), merged.pop("weight")
    node = merged["node_index"]
    inside = np.where(kind < RAIL, node, -1)
    if facts.shared_switches:
        inside = np.where(kind == NVLINK, -1, inside)
    end_node = np.stack([node, inside], axis=1).ravel().astype(np.int32)
    end_node.setflags(write=False)
    links = FleetLinks(**merged)
    return Shape(facts, nodes, pod_nodes, spines, names, links, kind, spine, weight, end_node)


def _fabric_of(facts: Platform, nodes: int) -> tuple[int, int]:
    """Nodes of a pod and number of spines: small fleets still span pods."""
    if nodes <= 16:
        return 4, 4
    return (facts.rack_nodes, 4) if facts.shared_switches else (hw.NODES_PER_POD, 16)


def _node_name(facts: Platform, index: int) -> str:
    rack, place = divmod(index, facts.rack_nodes)
    return f"gpu-r{11 + rack:02d}-n{place + 1:02d}"


def _part(kind: int, near: tuple[Any, Any], far: tuple[Any, Any], **numbers: Any) -> dict[str, Any]:
    """Columns of the links of one kind; numbers not given are -1 (weight: 1)."""
    count = len(near[1])
    columns: dict[str, Any] = {
        "link_type": _names([LINK_TYPES[kind]] * count),
        "near_node": _names(near[0]),
        "near_interface": _names(near[1]),
        "far_node": _names(far[0]),
        "far_interface": _names(far[1]),
        "kind": np.full(count, kind, np.int32),
    }
    defaults = {"gpu": -1, "rail": -1, "node_index": -1, "leaf": -1, "spine": -1, "weight": 1}
    for name, default in defaults.items():
        values = np.asarray(numbers.get(name, default), np.int32)
        columns[name] = np.broadcast_to(values, (count,)).copy()
    return columns


def _names(values: list[str]) -> Names:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _nvlinks(facts: Platform, names: tuple[str, ...], totals: bool) -> dict[str, Any]:
    lanes = 1 if totals else facts.nvlinks
    node, gpu = np.divmod(np.repeat(np.arange(len(names) * facts.gpus), lanes), facts.gpus)
    near_names = [names[index] for index in node]
    if totals:
        near = [f"gpu{index}" for index in gpu]
        far_names, far = [""] * len(near), [""] * len(near)
    else:
        one = [f"gpu{g}/nvlink-{k}" for g in range(facts.gpus) for k in range(lanes)]
        near = one * len(names)
        far = [port for index in range(len(names)) for port in _switch_ports(facts, index)]
        far_names = [""] * len(near) if facts.shared_switches else near_names
    weight = facts.nvlinks if totals else 1
    return _part(
        NVLINK, (near_names, near), (far_names, far), gpu=gpu, node_index=node, weight=weight
    )


@lru_cache(maxsize=64)
def _switch_ports(facts: Platform, index: int) -> list[str]:
    """NVSwitch ports at the far ends of all NVLinks of one node, in their order."""
    rack, place = divmod(index, facts.rack_nodes)
    prefix, first = "nvswitch-", 0
    if facts.shared_switches:
        prefix, first = f"nvswitch-r{11 + rack:02d}-", place * facts.gpus
    return [
        prefix + facts.nvswitch_port(first + gpu, nvlink)
        for gpu in range(facts.gpus)
        for nvlink in range(facts.nvlinks)
    ]


def _pcie(facts: Platform, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """GPU to PCIe switch, then NIC to PCIe switch; port 0 of a switch leads to the processor."""
    node, gpu = np.divmod(np.arange(len(names) * facts.gpus), facts.gpus)
    switch, place = np.divmod(gpu, facts.gpus_per_pcie_switch)
    nodes = [names[index] for index in node]
    parts = []
    for kind, device in ((PCIE_GPU, "gpu{}/pcie"), (PCIE_NIC, "{}/pcie")):
        owner = gpu if kind == PCIE_GPU else [facts.hcas[index] for index in gpu]
        port = place + 1 + (facts.gpus_per_pcie_switch if kind == PCIE_NIC else 0)
        far = [f"pcie-switch-{s}/port-{p}" for s, p in zip(switch, port, strict=True)]
        near = [device.format(name) for name in owner]
        whose = gpu if kind == PCIE_GPU else -1
        parts.append(_part(kind, (nodes, near), (nodes, far), gpu=whose, rail=gpu, node_index=node))
    return parts


def _rails(facts: Platform, names: tuple[str, ...], pod_nodes: int) -> dict[str, Any]:
    node, rail = np.divmod(np.arange(len(names) * facts.gpus), facts.gpus)
    leaf = node // pod_nodes * facts.gpus + rail
    near = [f"{facts.hcas[index]}/1" for index in rail]
    far = [f"leaf-{i}/port-{n % pod_nodes + 1}" for i, n in zip(leaf, node, strict=True)]
    nodes = [names[index] for index in node]
    return _part(RAIL, (nodes, near), ([""] * len(far), far), rail=rail, node_index=node, leaf=leaf)


def _uplinks(rails: int, pods: int, spines: int, pod_nodes: int) -> dict[str, Any]:
    leaf, spine = np.divmod(np.arange(pods * rails * spines), spines)
    first = max(hw.FIRST_UPLINK_PORT, pod_nodes + 1)
    near = [f"leaf-{i}/port-{first + s}" for i, s in zip(leaf, spine, strict=True)]
    far = [f"spine-{s}/port-{i + 1}" for i, s in zip(leaf, spine, strict=True)]
    blank = [""] * len(near)
    return _part(UPLINK, (blank, near), (blank, far), rail=leaf % rails, leaf=leaf, spine=spine)
