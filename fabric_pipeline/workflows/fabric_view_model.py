"""What a picture of the fabric consists of: racks, nodes, devices, switches, links and their state.

Plain values, filled by `workflows.fabric_view` and drawn by the front doors. A state belongs to a link
end; nothing here reads tables, judges counters or knows how anything is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from fabric_pipeline.model.components import component_id

# Mildest first. No data ranks above healthy (it is never healthy) and below any trouble.
STATES = ("healthy", "no_data", "watch", "warning", "critical")
TROUBLE = ("watch", "warning", "critical")
LINK_KINDS = {"nvlink": ("nvlink",), "nic": ("infiniband", "roce", "ethernet"), "pcie": ("pcie",)}
_RANK = {state: rank for rank, state in enumerate(STATES)}


def rank(state: str) -> int:
    """Place of a state in `STATES`; higher is worse."""
    return _RANK[state]


_NO_SHARES = (None, None)
_JOINED = {
    (a, b): a if b == "no_data" else b if a == "no_data" else max(a, b, key=rank)
    for a in STATES
    for b in STATES
}


def worst(states: Iterable[str], default: str = "no_data") -> str:
    """The worst of the states; `default` when there is none."""
    return max(states, key=rank, default=default)


@dataclass(frozen=True, slots=True)
class EndReading:
    """What is known of one link end or device.

    `counter` is the one nearest to (or furthest above) its limit, "" when no error was counted.
    `value` and `limit` are in `unit` (`per hour`, `in total`, `per bit`); `limit` is None for a
    counter without a fixed limit. `events` is the whole count of the drop. `rule` says which rule
    fired, with its figures. `incidents` are ids.
    """

    state: str
    counter: str = ""
    lane: int | None = None
    events: float | None = None
    value: float | None = None
    limit: float | None = None
    unit: str = ""
    is_lower_bound: bool = False
    rule: str = ""
    incidents: tuple[str, ...] = ()

    @property
    def share(self) -> float | None:
        """Value as a share of its limit (1.0 = at the limit), None where either is unknown."""
        if self.value is None or not self.limit:
            return None
        return self.value / self.limit


QUIET = EndReading("healthy")
NO_DATA = EndReading("no_data")
DOWN = EndReading("no_data", rule="the link is down, and no incident says that it should be up")
UNJUDGED = EndReading("no_data", rule="measured, but the diagnosis has not run on this drop")


@dataclass(slots=True)
class End:
    """One end of a link. `node` is "" for a port of a leaf or spine switch."""

    node: str
    interface: str
    device: str
    reading: EndReading

    @property
    def component(self) -> str:
        """Component id of this end."""
        return component_id(self.node, self.interface)

    @property
    def name(self) -> str:
        """The component id without the word that stands for an unknown node."""
        return self.component if self.node else self.interface


@dataclass(slots=True)
class Link:
    """One physical link with both ends; `b` is None when no source names the far end."""

    link_id: str
    link_type: str
    a: End
    b: End | None
    lanes: int | None = None
    speed_gbps: float | None = None
    cable_id: str = ""
    part: str = ""
    state: str = field(init=False)
    share: float | None = field(init=False)

    def __post_init__(self) -> None:
        """State: worst trouble of the ends, healthy when an end was measured, else no data.

        Share of the limit: the larger one of both ends, None without any.
        """
        far = self.b.reading if self.b is not None else NO_DATA
        self.state = _JOINED[self.a.reading.state, far.state]
        shares = (self.a.reading.share, far.share)
        self.share = None if shares == _NO_SHARES else max(share or 0.0 for share in shares)

    @property
    def ends(self) -> tuple[End, ...]:
        """The ends that are known."""
        return (self.a,) if self.b is None else (self.a, self.b)

    @property
    def worst_reading(self) -> EndReading:
        """The reading of the worse end: by state, then by share of the limit, then by count."""
        return max((end.reading for end in self.ends), key=_weight)

    @property
    def incidents(self) -> tuple[str, ...]:
        """Ids of the incidents on either end, each once."""
        return tuple(dict.fromkeys(i for end in self.ends for i in end.reading.incidents))


class Port(NamedTuple):
    """A link seen from one of its ends."""

    link: Link
    end: End

    @property
    def far(self) -> End | None:
        """The other end, None when unknown."""
        return self.link.b if self.end is self.link.a else self.link.a

    @property
    def state(self) -> str:
        """State to show at this end: trouble of the link wherever it shows, else this end's own."""
        return self.link.state if self.link.state in TROUBLE else self.end.reading.state


@dataclass(slots=True)
class Device:
    """A GPU, NIC, NVSwitch, PCIe switch or anything else that link ends belong to.

    `kind`: `gpu`, `nic`, `nvswitch`, `pcie_switch`, `other`. `facts` is what the topology states of
    it. `reading` is of the device as a whole (a sum over its links, or an incident), None mostly.
    """

    kind: str
    name: str
    facts: dict[str, Any] = field(default_factory=dict)
    ports: list[Port] = field(default_factory=list)
    reading: EndReading | None = None

    def ports_of(self, kind: str) -> list[Port]:
        """Ports of one kind of `LINK_KINDS`."""
        return [port for port in self.ports if port.link.link_type in LINK_KINDS[kind]]

    @property
    def state(self) -> str:
        """Worst trouble of device and ports; healthy when anything was measured; else no data."""
        own = [self.reading.state] if self.reading else []
        return _overall([*own, *(port.state for port in self.ports)])


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
        own = [self.reading.state] if self.reading else []
        own += [device.reading.state for device in self.devices.values() if device.reading]
        return _overall([*own, *(port.state for port in self.ports())])


@dataclass
class SwitchView:
    """One leaf, spine or other switch outside the nodes; `tier` as the topology states it."""

    name: str
    tier: str = ""
    row: str = ""
    rack: str = ""
    unit: str = ""
    serial: str = ""
    ports: list[Port] = field(default_factory=list)
    reading: EndReading | None = None

    @cached_property
    def state(self) -> str:
        """As for a node, over the ports of the switch."""
        own = [self.reading.state] if self.reading else []
        return _overall([*own, *(port.state for port in self.ports)])


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


@dataclass(slots=True)
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
    links: list[Link] = field(default_factory=list)
    incidents: list[IncidentView] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def nodes(self) -> list[NodeView]:
        """All nodes, rack by rack."""
        return [node for rack in self.racks for node in rack.nodes]

    def degraded(self) -> list[Link]:
        """Links with trouble, the worst first."""
        found = [link for link in self.links if link.state in TROUBLE]
        return sorted(found, key=lambda link: _weight(link.worst_reading), reverse=True)


def _overall(states: Iterable[str]) -> str:
    return worst(state for state in states if state != "no_data")


def _weight(reading: EndReading) -> tuple[int, float, float]:
    return rank(reading.state), reading.share or 0.0, reading.events or 0.0
