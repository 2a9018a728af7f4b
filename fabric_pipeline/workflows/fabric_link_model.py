"""One link of a picture: its two ends, what was read at each, and which state that makes.

Plain values. Many links in columns are `fabric_links`, devices and nodes `fabric_view_model`; nothing here
reads tables or judges counters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

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
JOINED = {
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
        self.state = JOINED[self.a.reading.state, far.state]
        shares = (self.a.reading.share, far.share)
        self.share = None if shares == _NO_SHARES else max(share or 0.0 for share in shares)

    @property
    def ends(self) -> tuple[End, ...]:
        """The ends that are known."""
        return (self.a,) if self.b is None else (self.a, self.b)

    @property
    def worst_reading(self) -> EndReading:
        """The reading of the worse end: by state, then by share of the limit, then by count."""
        return max((end.reading for end in self.ends), key=weight)

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


def overall(states: Iterable[str]) -> str:
    """The worst state of what gave data; `no_data` when nothing did."""
    return worst(state for state in states if state != "no_data")


def weight(reading: EndReading) -> tuple[int, float, float]:
    """Sort key of a reading: by state, then by share of the limit, then by count."""
    return rank(reading.state), reading.share or 0.0, reading.events or 0.0
