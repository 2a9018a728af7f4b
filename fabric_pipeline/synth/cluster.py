"""Index over a topology dict: link ends with their place, and the link at a given interface.

Faults, counters and workloads find their way through this; nothing here invents anything that the
topology does not state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.model.components import component_id, gpu_index
from fabric_pipeline.synth import hardware as hw


@dataclass(frozen=True, slots=True)
class LinkEnd:
    """One end of a link. `node` is "" for a port of an InfiniBand switch."""

    node: str
    interface: str
    link_type: str
    socket: int | None = None
    gpu: int | None = None
    gpu_uuid: str = ""

    @property
    def id(self) -> str:
        """Component id."""
        return component_id(self.node, self.interface)


@dataclass(frozen=True, slots=True)
class Link:
    """A link with both ends; `near` is the GPU or NIC side where there is one."""

    id: str
    link_type: str
    near: LinkEnd
    far: LinkEnd
    lanes: int
    speed_gbps: float

    @property
    def ends(self) -> tuple[LinkEnd, LinkEnd]:
        """Near end, far end."""
        return self.near, self.far


@dataclass(slots=True)
class Cluster:
    """Links and nodes of a topology, in its order."""

    topology: dict[str, Any]
    nodes: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    _at: dict[tuple[str, str], Link] = field(default_factory=dict)

    @classmethod
    def of(cls, topology: dict[str, Any]) -> Cluster:
        """Index a topology dict."""
        cluster = cls(topology, [node["node"] for node in topology["nodes"]])
        devices = {node["node"]: _devices(node) for node in topology["nodes"]}
        for raw in topology["links"]:
            near, far = (_end(raw[side], raw["type"], devices) for side in ("a", "b"))
            link = Link(raw["id"], raw["type"], near, far, raw["lanes"], raw["speed_gbps"])
            cluster.links.append(link)
            for end in link.ends:
                cluster._at[end.node, end.interface] = link
        return cluster

    def link_at(self, node: str, interface: str) -> Link:
        """The link whose either end this is."""
        try:
            return self._at[node, interface]
        except KeyError:
            place = component_id(node, interface)
            raise NotFoundError(
                f"the synthetic cluster has no link at {place}",
                "name a node of the cluster and an interface such as gpu5/nvlink-11",
            ) from None

    def node_at(self, index: int) -> str:
        """Name of a node by its position in the cluster."""
        if not 0 <= index < len(self.nodes):
            raise NotFoundError(
                f"the synthetic cluster has nodes 0 to {len(self.nodes) - 1}, not {index}"
            )
        return self.nodes[index]

    def rail_link(self, node: str, gpu: int) -> Link:
        """The InfiniBand link of the NIC that is paired with a GPU."""
        return self.link_at(node, f"{hw.HCAS[gpu]}/1")


def _devices(node: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Device name -> what the topology states of it."""
    devices: dict[str, dict[str, Any]] = {f"gpu{gpu['gpu']}": gpu for gpu in node["gpus"]}
    devices.update({nic["hca"]: nic for nic in node["nics"]})
    devices.update({switch["pcie_switch"]: switch for switch in node["pcie_switches"]})
    return devices


def _end(
    raw: dict[str, Any], link_type: str, devices: dict[str, dict[str, dict[str, Any]]]
) -> LinkEnd:
    node, interface = raw.get("node", ""), raw["port"]
    device = devices.get(node, {}).get(interface.partition("/")[0], {})
    return LinkEnd(
        node,
        interface,
        link_type,
        device.get("socket"),
        gpu_index(interface),
        device.get("uuid", ""),
    )
