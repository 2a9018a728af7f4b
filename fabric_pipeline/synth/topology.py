"""Builds the `topology.json` of a synthetic cluster: nodes, switches, and both ends of every link.

The result has the shape of the normalized drop. `port` of a link end is always the interface name
that the `link` column of the counters uses, for switches too (`leaf-2/port-6`). The same
specification and seed give the same serial numbers, so all shipped drops share one cluster.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

import numpy as np

from fabric_pipeline.errors import UsageError
from fabric_pipeline.synth import hardware as hw
from fabric_pipeline.synth.site_facts import SERVICE, Cabling, site_place, spares

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """Size and names of a cluster. `seed` decides serial numbers, UUIDs and cable ids only."""

    nodes: int = 8
    cluster: str = "larch"
    site: str = "kiruna-2"
    row: str = "B"
    first_rack: int = 11
    nodes_per_rack: int = 4
    seed: int = 4711

    def __post_init__(self) -> None:
        limit = hw.MAX_PODS * hw.NODES_PER_POD
        if not 1 <= self.nodes <= limit:
            raise UsageError(f"a synthetic cluster has 1 to {limit} nodes, not {self.nodes}")

    @property
    def leaves(self) -> int:
        """Number of leaf switches: eight per group of 32 nodes, one per rail."""
        return hw.GPUS_PER_NODE * -(-self.nodes // hw.NODES_PER_POD)

    @property
    def racks(self) -> int:
        """Number of racks that hold GPU nodes."""
        return -(-self.nodes // self.nodes_per_rack)

    def rack_of(self, index: int) -> str:
        """Rack of a GPU node."""
        return f"r{self.first_rack + index // self.nodes_per_rack:02d}"

    def node_name(self, index: int) -> str:
        """Host name of a GPU node."""
        return f"gpu-{self.rack_of(index)}-n{index % self.nodes_per_rack + 1:02d}"

    @property
    def node_pattern(self) -> str:
        """Regular expression that finds the rack in a host name (`drop.yaml`)."""
        return r"^gpu-(?P<rack>r\d+)-(?P<node>n\d+)$"


def build_topology(spec: ClusterSpec) -> Json:
    """The whole `topology.json` as a dict."""
    rng = np.random.default_rng([spec.seed, spec.nodes])
    nodes = [_node(spec, index, rng) for index in range(spec.nodes)]
    links = [link for index in range(spec.nodes) for link in _node_links(spec.node_name(index))]
    links += _rail_links(spec, rng) + _uplinks(spec, rng)
    switches = _switches(spec, rng)
    # Drawn from a stream of its own, so that serials and cable ids stay what they are without it.
    cabling = Cabling(np.random.default_rng([spec.seed, spec.nodes, 2]))
    return {
        "site": spec.site,
        "nodes": [cabling.tagged(node) for node in nodes],
        "switches": [cabling.tagged(switch) for switch in switches],
        "links": [cabling.laid(link) for link in links],
        "service": SERVICE,
        "spares": spares(spec.site),
    }


def _digits(rng: np.random.Generator, count: int) -> str:
    return "".join(str(digit) for digit in rng.integers(0, 10, count))


def _node(spec: ClusterSpec, index: int, rng: np.random.Generator) -> Json:
    unit = 3 + 8 * (index % spec.nodes_per_rack)
    return {
        "node": spec.node_name(index),
        "platform": hw.PLATFORM,
        **site_place(),
        "row": spec.row,
        "rack": spec.rack_of(index),
        "unit": f"U{unit:02d}",
        "serial": f"KX24{_digits(rng, 7)}",
        "sockets": [0, 1],
        "gpus": [_gpu(gpu, rng) for gpu in range(hw.GPUS_PER_NODE)],
        "nvswitches": [
            {
                "nvswitch": f"nvswitch-{switch}",
                "pci": hw.pci_address(bus),
                "ports": hw.NVSWITCH_PORTS,
            }
            for switch, bus in enumerate(hw.NVSWITCH_PCI_BUSES)
        ],
        "pcie_switches": [
            {"pcie_switch": f"pcie-switch-{gpu}", "socket": gpu // hw.GPUS_PER_SOCKET}
            for gpu in range(hw.GPUS_PER_NODE)
        ],
        "nics": [_nic(rail, rng) for rail in range(hw.GPUS_PER_NODE)],
    }


def _gpu(gpu: int, rng: np.random.Generator) -> Json:
    return {
        "gpu": gpu,
        "socket": gpu // hw.GPUS_PER_SOCKET,
        "uuid": f"GPU-{uuid.UUID(bytes=rng.bytes(16), version=4)}",
        "serial": f"165{_digits(rng, 10)}",
        "slot": f"SXM5-{gpu + 1}",
        "model": hw.GPU_MODEL,
        "pci": hw.pci_address(hw.GPU_PCI_BUSES[gpu]),
        "pcie_switch": f"pcie-switch-{gpu}",
    }


def _nic(rail: int, rng: np.random.Generator) -> Json:
    return {
        "hca": hw.HCAS[rail],
        "model": hw.NIC_MODEL,
        "slot": f"network module {rail // hw.GPUS_PER_SOCKET}",
        "socket": rail // hw.GPUS_PER_SOCKET,
        "pcie_switch": f"pcie-switch-{rail}",
        "port_label": hw.PORT_LABELS[rail],
        "pci": hw.pci_address(hw.NIC_PCI_BUSES[rail]),
        "serial": f"MT24{_digits(rng, 2)}X{_digits(rng, 5)}",
    }


def _switches(spec: ClusterSpec, rng: np.random.Generator) -> list[Json]:
    rack = spec.first_rack + spec.racks
    leaves = [
        ("leaf", leaf, rack + leaf // hw.GPUS_PER_NODE, 10 + 2 * (leaf % hw.GPUS_PER_NODE))
        for leaf in range(spec.leaves)
    ]
    spine_rack = rack + spec.leaves // hw.GPUS_PER_NODE
    spines = [("spine", spine, spine_rack, 20 + 2 * spine) for spine in range(hw.SPINES)]
    return [
        {
            "name": f"{tier}-{number}",
            "tier": tier,
            **site_place(),
            "row": spec.row,
            "rack": f"r{place:02d}",
            "unit": f"U{unit:02d}",
            "ports": hw.IB_SWITCH_PORTS,
            "serial": f"MT23{_digits(rng, 2)}X{_digits(rng, 5)}",
            "port_labels": {
                str(port): hw.cage_label(port) for port in range(1, hw.IB_SWITCH_PORTS + 1)
            },
        }
        for tier, number, place, unit in leaves + spines
    ]


def _node_links(node: str) -> list[Json]:
    """NVLinks and PCIe links of one node; none of them is a cable of its own."""
    links = []
    for gpu in range(hw.GPUS_PER_NODE):
        links += [
            _inside(node, "nvlink", f"gpu{gpu}/nvlink-{nvlink}", hw.nvswitch_port(gpu, nvlink))
            for nvlink in range(hw.NVLINKS_PER_GPU)
        ]
        switch = f"pcie-switch-{gpu}"
        root = hw.pci_address(hw.ROOT_PORT_PCI_BUSES[gpu], device=1)
        links += [
            _inside(node, "pcie", f"gpu{gpu}/pcie", f"{switch}/port-1"),
            _inside(node, "pcie", f"{hw.HCAS[gpu]}/pcie", f"{switch}/port-2"),
            _inside(node, "pcie", f"{switch}/port-0", f"pci-{root}"),
        ]
    return links


def _inside(node: str, link_type: str, near: str, far: str) -> Json:
    nvlink = link_type == "nvlink"
    return {
        "id": f"{node}:{near}",
        "type": link_type,
        "a": {"node": node, "port": near},
        "b": {"node": node, "port": far},
        "cable": None,
        "part": hw.PART_BASEBOARD if nvlink else hw.PART_PCIE_PATH,
        "lanes": hw.NVLINK_LANES if nvlink else hw.PCIE_LANES,
        "speed_gbps": hw.NVLINK_GBPS if nvlink else hw.PCIE_GBPS,
    }


def _rail_links(spec: ClusterSpec, rng: np.random.Generator) -> list[Json]:
    """NIC r of every node to the leaf of rail r: the rail-optimised wiring."""
    links = []
    for index in range(spec.nodes):
        node, (pod, place) = spec.node_name(index), divmod(index, hw.NODES_PER_POD)
        for rail, hca in enumerate(hw.HCAS):
            leaf = f"leaf-{pod * hw.GPUS_PER_NODE + rail}"
            near = {"node": node, "port": f"{hca}/1"}
            far = {"switch": leaf, "port": f"{leaf}/port-{place + 1}"}
            links.append(_cabled(f"{node}:{hca}/1", near, far, hw.PART_RAIL_OPTICS, rng))
    return links


def _uplinks(spec: ClusterSpec, rng: np.random.Generator) -> list[Json]:
    links = []
    for leaf in range(spec.leaves):
        for spine in range(hw.SPINES):
            port = f"leaf-{leaf}/port-{hw.FIRST_UPLINK_PORT + spine}"
            near = {"switch": f"leaf-{leaf}", "port": port}
            far = {"switch": f"spine-{spine}", "port": f"spine-{spine}/port-{leaf + 1}"}
            links.append(_cabled(port, near, far, hw.PART_UPLINK_OPTICS, rng))
    return links


def _cabled(link_id: str, a: Json, b: Json, part: str, rng: np.random.Generator) -> Json:
    return {
        "id": link_id,
        "type": "infiniband",
        "a": a,
        "b": b,
        "cable": f"IB-{_digits(rng, 6)}",
        "part": part,
        "lanes": hw.IB_LANES,
        "speed_gbps": hw.IB_GBPS,
    }
