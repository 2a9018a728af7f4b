"""Everything about one link of one drop, as plain values for a panel or a page.

Filled by `workflows.link_view`; nothing here reads tables or judges. None is "not measured" and never
stands for zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from fabric_pipeline.incidents.lifecycle import LifeState
from fabric_pipeline.incidents.record import CableFacts, IncidentRecord, Place
from fabric_pipeline.store.ledger_tickets import TicketRow
from fabric_pipeline.workflows.fabric_view_model import End, Link

Quality = Literal["ok", "reset", "ceiling", "unsure", "total", "once", "no_data", "absent"]
# In words a reader can act on; `absent` and `no_data` are never a zero.
QUALITY_WORDS: dict[str, str] = {
    "ok": "counted without a break",
    "reset": "at least this: the counter was set back in between",
    "ceiling": "at least this: the counter stands at its ceiling",
    "unsure": "at least this: clocks or order of the readings are in doubt",
    "total": "a total since an unknown time: no rate can be given",
    "once": "read once: no growth is known",
    "no_data": "listed without a value: not measured",
    "absent": "not in the files for this end, though sibling links have it",
}
# Qualities after which the figure is a lower bound.
LOWER_BOUND = ("reset", "ceiling", "unsure")


@dataclass(frozen=True, slots=True)
class Count:
    """One counter at one end. `value` is what stands against `limit`, both in `unit`.

    `events` is the growth over the drop (a total where `quality` is `total`); `per_hour` over all
    observed time, `peak_per_hour` in the worst interval. `siblings_median` is of the same counter at
    like link ends.
    """

    counter: str
    says: str
    role: str
    lane: int | None
    quality: Quality
    events: float | None = None
    per_hour: float | None = None
    peak_per_hour: float | None = None
    value: float | None = None
    limit: float | None = None
    unit: str = ""
    source: str = ""
    siblings_median: float | None = None
    first_seen: datetime | None = None
    last_seen: datetime | None = None

    @property
    def share(self) -> float | None:
        """Value as a share of the limit, None where either is unknown."""
        return None if self.value is None or not self.limit else self.value / self.limit

    @property
    def words(self) -> str:
        """What a reader has to know of the reading."""
        return QUALITY_WORDS[self.quality]


@dataclass(frozen=True, slots=True)
class CountPair:
    """One counter at both ends of the link; None at an end that does not have it."""

    counter: str
    says: str
    lane: int | None
    a: Count | None
    b: Count | None

    @property
    def counts(self) -> Iterator[Count]:
        """The ends that have it."""
        return (one for one in (self.a, self.b) if one is not None)

    @property
    def worse(self) -> Count:
        """The end nearer to its limit, else the one that counted more."""
        return max(self.counts, key=lambda one: (one.share or 0.0, one.events or -1.0))

    @property
    def has_errors(self) -> bool:
        """True when either end counted anything."""
        return any(one.events for one in self.counts)


@dataclass(frozen=True, slots=True)
class BitSplit:
    """Corrected errors with one wrong bit beside those with several, and what that rests on.

    `single` and `multi` are None unless a counter of this link tells them apart; `basis` is then
    `measured` or `reported`, else `proxy` or "" and `words` say why there is no split.
    """

    words: str
    basis: str = ""
    single: float | None = None
    multi: float | None = None

    @property
    def multi_share(self) -> float | None:
        """Share of the errors with several wrong bits, None without a split or without an error."""
        if self.single is None or self.multi is None or not self.single + self.multi:
            return None
        return self.multi / (self.single + self.multi)


@dataclass(frozen=True, slots=True)
class Coincidence:
    """How the errors of the link and the slow time of one run go together, against chance.

    Bins are of equal time. `expected_bins` is the overlap that chance alone would give. `for_it` and
    `against_it` are the facts that weigh most, each with the natural log odds that it adds.
    """

    run: str
    communicator: str
    in_path: str
    verdict: str
    verdict_words: str
    bins: int
    slow_bins: int
    error_bins: int
    overlap_bins: int
    expected_bins: float
    lag_bins: int
    covered_share: float
    effect_pct: float | None
    p_value: float | None
    q_value: float | None
    confidence: float | None
    share_slow: float | None
    slow_anyway: float | None
    for_it: tuple[tuple[str, float], ...] = ()
    against_it: tuple[tuple[str, float], ...] = ()
    behind: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkEnd:
    """One end: where it is, what it is, and its states as read last.

    `now` are (what, value, unit) of states such as the width; `kind` is `gpu`, `nic`, `nvswitch`,
    `switch`, `pcie_switch` or `other`.
    """

    end: End
    kind: str
    place: Place
    now: tuple[tuple[str, float, str], ...] = ()


@dataclass(frozen=True, slots=True)
class LinkIncident:
    """An incident on this link, where it stands in its life, and its ticket where there is one."""

    record: IncidentRecord
    life: LifeState | None = None
    ticket: TicketRow | None = None


@dataclass(slots=True)
class LinkView:
    """One link with all that is known of it. `ends` has one entry when no source names the far end."""

    drop: str
    link: Link
    ends: tuple[LinkEnd, ...]
    cable: CableFacts
    counts: list[CountPair] = field(default_factory=list)
    bits: BitSplit | None = None
    coincidences: list[Coincidence] = field(default_factory=list)
    incidents: list[LinkIncident] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def component(self) -> str:
        """Component id of the near end, by which the link is addressed."""
        return self.link.a.component

    @property
    def incident(self) -> LinkIncident | None:
        """The gravest incident that accuses this link, else the first that names it."""
        accused = [one for one in self.incidents if one.record.role == "cause"]
        return next(iter(accused or self.incidents), None)
