"""What a picture of the fabric consists of: racks, nodes, devices, switches, links and their state.

Plain values, filled by `workflows.fabric_view` and drawn by the front doors. A state belongs to a link
end; nothing here reads tables, judges counters or knows how anything is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from fabric_pipeline.workflows.fabric_link_model import (
    DOWN,
    LINK_KINDS,
    NO_DATA,
    QUIET,
    STATES,
    TROUBLE,
    UNJUDGED,
    End,
    EndReading,
    Link,
    Port,
    overall,
    rank,
    weight,
    worst,
)
from fabric_pipeline.workflows.fabric_links import Links, Ports

# What makes a link stands in `fabric_link_model`; whoever draws a view takes all names from here.
__all__ = [
    "DOWN", "LINK_KINDS", "NO_DATA", "QUIET", "STATES", "TROUBLE", "UNJUDGED", "Device", "End", "EndReading",
    "FabricView", "IncidentView", "Link", "Links", "NodeView", "Port", "Ports", "RackView", "SwitchView", "rank", "worst",
]  # fmt: skip


@dataclass(slots=True)
class Device:
    """A GPU, NIC, NVSwitch, PCIe switch or anything else that link ends belong to.

    `kind`: `gpu`, `nic`, `nvswitch`, `pcie_switch`, `other`. `facts` is what the topology states of
    it. `reading` is of the device as a whole (a sum over its links, or an incident), None mostly.
    """

    kind: str
    name: str
    facts: dict[str, Any] = field(default_factory=dict)
    ports: Ports = field(default_factory=Ports)
    reading: EndReading | None = None

    def ports_of(self, kind: str) -> list[Port]:
        """Ports of one kind of `LINK_KINDS`."""
        return [port for port in self.ports if port.link.link_type in LINK_KINDS[kind]]

    @property
    def state(self) -> str:
        """Worst trouble of device and ports; healthy when anything was measured; else no data."""
        return overall(_states(self.reading, [self.ports]))


@dataclass
class NodeView:
    """One server. Place fields are "" when no topology states them."""

    name: str
    row: str = ""
    rack: str = ""
    unit: str = ""
    serial: str = ""
    is_stated: bool = False
    devices: dict[str, Device] = field(default_factory=dict)
    reading: EndReading | None = None

    def of_kind(self, kind: str) -> list[Device]:
        """Devices of one kind, in natural order."""
        return [device for device in self.devices.values() if device.kind == kind]

    def ports(self) -> Iterator[Port]:
        """All link ends of this node."""
        for device in self.devices.values():
            yield from device.ports

    @cached_property
    def state(self) -> str:
        """Worst trouble of the node; healthy when anything was measured; else no data.

        Kept once asked for: ask when the view is complete.
        """
        return overall(
            [*_states(self.reading, []), *(device.state for device in self.devices.values())]
        )


@dataclass
class SwitchView:
    """One leaf, spine or other switch outside the nodes; `tier` as the topology states it."""

    name: str
    tier: str = ""
    row: str = ""
    rack: str = ""
    unit: str = ""
    serial: str = ""
    ports: Ports = field(default_factory=Ports)
    reading: EndReading | None = None

    @cached_property
    def state(self) -> str:
        """As for a node, over the ports of the switch."""
        return overall(_states(self.reading, [self.ports]))


@dataclass(slots=True)
class RackView:
    """One rack with its nodes in the order of their units; `name` is "" when not stated."""

    name: str
    row: str
    nodes: list[NodeView] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class IncidentView:
    """What the pictures say of an incident.

    `state` is the colour it gives, "" for none; `symptoms` are (component, kind) that follow from it.
    """

    incident_id: str
    severity: str
    role: str
    fault_type: str
    component: str
    far_end: str
    confidence: float
    summary: str
    state: str
    symptoms: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True, eq=False, weakref_slot=True)
class FabricView:
    """The fabric of one drop. Times are UTC and those of the counters.

    `has_topology` is False when the picture was made from link ends alone; `is_judged` is False when
    no diagnosis has run, so that no end may be called healthy. `notes` are sentences for the reader.
    """

    drop: str
    site: str = ""
    window_start: datetime | None = None
    window_end: datetime | None = None
    has_topology: bool = False
    is_judged: bool = False
    racks: list[RackView] = field(default_factory=list)
    switches: list[SwitchView] = field(default_factory=list)
    links: Links = field(default_factory=lambda: Links.of([]))
    incidents: list[IncidentView] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def nodes(self) -> list[NodeView]:
        """All nodes, rack by rack."""
        return [node for rack in self.racks for node in rack.nodes]

    def degraded(self) -> list[Link]:
        """Links with trouble, the worst first."""
        return sorted(
            self.links.in_trouble(), key=lambda link: weight(link.worst_reading), reverse=True
        )


def _states(reading: EndReading | None, ports: Iterable[Ports]) -> list[str]:
    """The states that a thing shows: its own reading's, and the worst of its link ends."""
    return [*([reading.state] if reading else []), *(each.state for each in ports)]
