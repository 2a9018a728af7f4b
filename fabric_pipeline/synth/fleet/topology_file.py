"""The `topology.json` of a fleet, as a dict: nodes, switches and both ends of every link.

Has the shape of design section 10. Serial numbers and other details that no method needs are left
out here; the hand-written scenarios of `synth.topology` have them.
"""

from __future__ import annotations

from typing import Any

from fabric_pipeline.synth.fleet.platforms import IB_LANES, PCIE_LANES, Platform
from fabric_pipeline.synth.fleet.topology_arrays import NVLINK, RAIL, UPLINK, Shape

Json = dict[str, Any]


def topology_of(shape: Shape, swapped: tuple[int, int] | None = None) -> Json:
    """The whole file; `swapped` names two links whose far ends the file has mixed up."""
    far = list(zip(shape.links.far_node, shape.links.far_interface, strict=True))
    if swapped is not None:
        first, second = swapped
        far[first], far[second] = far[second], far[first]
    return {
        "site": "fleet",
        "nodes": [_node(shape, index) for index in range(shape.nodes)],
        "switches": _switches(shape),
        "links": [_link(shape, index, far[index]) for index in range(shape.size)],
    }


def _node(shape: Shape, index: int) -> Json:
    facts = shape.platform
    rack, place = divmod(index, facts.rack_nodes)
    per_socket = max(1, facts.gpus // 2)
    switches = facts.gpus // facts.gpus_per_pcie_switch
    beside = [f"pcie-switch-{gpu // facts.gpus_per_pcie_switch}" for gpu in range(facts.gpus)]
    nvswitches = [] if facts.shared_switches else sorted(set(facts.nvswitch_of))
    return {
        "node": shape.node_names[index],
        "rack": f"r{11 + rack:02d}",
        "unit": f"U{3 + place * (2 if facts.shared_switches else 8):02d}",
        "sockets": [0, 1],
        "gpus": [
            {"gpu": gpu, "socket": gpu // per_socket, "pcie_switch": beside[gpu]}
            for gpu in range(facts.gpus)
        ],
        "nvswitches": [{"nvswitch": f"nvswitch-{switch}"} for switch in nvswitches],
        "pcie_switches": [
            {
                "pcie_switch": f"pcie-switch-{n}",
                "socket": n * facts.gpus_per_pcie_switch // per_socket,
            }
            for n in range(switches)
        ],
        "nics": [
            {"hca": facts.hcas[gpu], "socket": gpu // per_socket, "pcie_switch": beside[gpu]}
            for gpu in range(facts.gpus)
        ],
    }


def _switches(shape: Shape) -> list[Json]:
    facts = shape.platform
    leaves = [{"name": f"leaf-{n}", "tier": "leaf"} for n in range(shape.pods * facts.gpus)]
    spines = [{"name": f"spine-{n}", "tier": "spine"} for n in range(shape.spines)]
    return leaves + spines + (_rack_switches(shape, facts) if facts.shared_switches else [])


def _rack_switches(shape: Shape, facts: Platform) -> list[Json]:
    racks = -(-shape.nodes // facts.rack_nodes)
    return [
        {
            "name": f"nvswitch-r{11 + rack:02d}-{chip}",
            "tier": "nvswitch",
            "rack": f"r{11 + rack:02d}",
        }
        for rack in range(racks)
        for chip in range(len(facts.nvswitch_of))
    ]


def _link(shape: Shape, index: int, far: tuple[str, str]) -> Json:
    links, facts, kind = shape.links, shape.platform, int(shape.kind[index])
    near = _end(links.near_node[index], links.near_interface[index])
    if kind == NVLINK:
        lanes, speed = facts.nvlink_lanes, facts.nvlink_gbps
    elif kind < RAIL:
        lanes, speed = PCIE_LANES, facts.pcie_gbps
    else:
        lanes, speed = IB_LANES, facts.ib_gbps
    owner = links.near_node[index]
    name = links.near_interface[index]
    return {
        "id": name if kind == UPLINK else f"{owner}:{name}",
        "type": links.link_type[index],
        "a": near,
        "b": _end(*far),
        "lanes": lanes,
        "speed_gbps": speed,
    }


def _end(node: str, interface: str) -> Json:
    if node:
        return {"node": node, "port": interface}
    return {"switch": interface.partition("/")[0], "port": interface}
