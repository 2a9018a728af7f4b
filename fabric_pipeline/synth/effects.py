"""What planted faults and confounders do: counts on link ends, slower collectives, lost data.

Plants (`faults`, `states`, `confounders`) fill one `Effects` each; `counters` and `timings` read
them all. The entries for the answer key travel along, so that key and data cannot drift apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fabric_pipeline.synth.cluster import Cluster, Link, LinkEnd
from fabric_pipeline.synth.timegrid import Minutes, TimeGrid

Counts = NDArray[np.int64]  # one entry per bin, or per sample where the text says so
Factors = NDArray[np.float64]  # one entry per bin


@dataclass(frozen=True, slots=True)
class Increment:
    """Counter growth of one link end, per bin. `lane` only when the feed names the lane."""

    end: LinkEnd
    counter: str
    counts: Counts
    lane: int | None = None


@dataclass(frozen=True, slots=True)
class History:
    """Value that a counter already had when the drop begins."""

    end: LinkEnd
    counter: str
    value: int


@dataclass(frozen=True, slots=True)
class Level:
    """State of one link end, per sample: `link_up`, `width` or `speed_gbps`."""

    end: LinkEnd
    counter: str
    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Reset:
    """All counters of these ends start again from zero at one sample."""

    ends: tuple[LinkEnd, ...]
    sample: int


@dataclass(frozen=True, slots=True)
class Slowdown:
    """Factor on the time of each collective that crosses a place, per bin.

    `path` is `nvlink` (inside `node`) or `rail` (between nodes, through the NIC of `gpu`);
    `node` "" means every node on that rail.
    """

    path: str
    node: str
    gpu: int
    factor: Factors


@dataclass(frozen=True, slots=True)
class Lateness:
    """How late one GPU comes to its collectives, as a share of their normal time, per bin."""

    node: str
    gpu: int
    share: Factors


@dataclass(frozen=True, slots=True)
class Loss:
    """Samples that never arrived: a share of those from `first` up to but without `last`.

    `node` "" means everywhere. The first and the last sample of a drop are never lost, so that
    what was observed and for how long stays known.
    """

    node: str
    share: float
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Event:
    """One line of `events.jsonl`."""

    time: datetime
    node: str
    component: str
    kind: str
    text: str
    code: int | None = None


@dataclass(slots=True)
class Effects:
    """Everything one plant does. `answer` is its entry in the answer key."""

    answer: dict[str, Any]
    increments: list[Increment] = field(default_factory=list)
    history: list[History] = field(default_factory=list)
    levels: list[Level] = field(default_factory=list)
    resets: list[Reset] = field(default_factory=list)
    slowdowns: list[Slowdown] = field(default_factory=list)
    late: list[Lateness] = field(default_factory=list)
    lost: list[Loss] = field(default_factory=list)
    silent_nodes: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Site:
    """Where plants act: the cluster and the time grid."""

    cluster: Cluster
    grid: TimeGrid


class Plant(Protocol):
    """A fault or confounder with its parameters."""

    def plant(self, site: Site, rng: np.random.Generator) -> Effects:
        """What it does to this site; `rng` is its own, so plants do not disturb each other."""
        ...


def burst_counts(
    active: NDArray[np.bool_], mean: float, rng: np.random.Generator, *, at_least: int = 1
) -> Counts:
    """Counts per bin: over-dispersed (log-normal Poisson) where active, zero elsewhere."""
    level = mean * rng.lognormal(0.0, 0.35, active.size)
    return np.where(active, np.maximum(rng.poisson(level), at_least), 0).astype(np.int64)


def share_of(counts: Counts, share: float, rng: np.random.Generator) -> Counts:
    """Each counted event again with this probability."""
    return rng.binomial(counts, share).astype(np.int64)


def slower_where(active: NDArray[np.bool_], factor: float) -> Factors:
    """The factor in active bins, one elsewhere."""
    return np.where(active, factor, 1.0)


def link_answer(kind: str, link: Link, fault_type: str, error_class: str) -> dict[str, Any]:
    """Answer-key entry of a fault of one link."""
    return {
        "kind": kind,
        "is_fault": True,
        "is_link": True,
        "fault_type": fault_type,
        "error_class": error_class,
        "link_id": link.id,
        "link_type": link.link_type,
        "near_end": link.near.id,
        "far_end": link.far.id,
        "lane": None,
    }


def confounder_answer(kind: str, **facts: Any) -> dict[str, Any]:
    """Answer-key entry of something that no link ticket may come out of."""
    return {"kind": kind, "is_fault": False, "is_link": False, **facts}


def timed(answer: dict[str, Any], grid: TimeGrid, periods: tuple[Minutes, ...]) -> dict[str, Any]:
    """The answer with its active bins as (first, last) times added."""
    return {**answer, "periods": grid.spans(grid.mask(periods))}
