"""Counter and state series of every link end: what stood at each sample time.

Counters are cumulative from a small old value, fall to zero at a reset, and grow where plants say
so; traffic follows the jobs. Which of these values get written, and how, is decided in `rows`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fabric_pipeline.synth.cluster import Link, LinkEnd
from fabric_pipeline.synth.effects import Counts, Effects, Factors, Site

NVLINK_ERRORS = ("crc_single_bit", "crc_multi_bit", "replay", "recovery")
PCIE_ERRORS = ("pcie_replay", "aer_correctable")
IB_ERRORS = (
    "crc_single_bit",
    "symbol_error",
    "rx_errors",
    "plr_retry",
    "link_error_recovery",
    "link_downed",
)
NIC_LOSSES = ("packet_seq_err", "out_of_sequence")
BACKGROUND = ("tx_wait", "tx_bytes", "rx_bytes")
LEVELS = ("link_up", "width", "speed_gbps")

# A few old counts lie on healthy links of any fleet; a lifetime value above zero is no fault.
OLD_COUNT_SHARE = 0.03
OLD_COUNTERS = ("crc_single_bit", "replay", "pcie_replay", "aer_correctable", "link_downed")

# Mean traffic of a busy link (bytes per second) and of an idle one.
BUSY_BYTES_PER_S = {"nvlink": 2.4e9, "infiniband": 1.7e10}
IDLE_BYTES_PER_S = 2.0e4
WAIT_TICKS_PER_S = 6.0e3

Values = NDArray[np.float64] | NDArray[np.int64]  # one entry per sample
SeriesKey = tuple[LinkEnd, str]


@dataclass(slots=True)
class EndSeries:
    """All series of one link end, or of one of its lanes.

    `changing` names the series that tell of something: error counters and states that are not
    constant. Traffic changes all the time and is not among them.
    """

    end: LinkEnd
    lane: int | None
    values: dict[str, Values]
    changing: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.changing = frozenset(
            name
            for name, values in self.values.items()
            if name not in BACKGROUND and bool((values != values[0]).any())
        )

    @property
    def counted_anything(self) -> bool:
        """True when an error counter is above zero at any sample."""
        return any(
            bool(values.any())
            for name, values in self.values.items()
            if name not in BACKGROUND and name not in LEVELS
        )


@dataclass(slots=True)
class _Planned:
    """Plants' effects on counters, found by series."""

    counts: dict[SeriesKey, Counts] = field(default_factory=dict)
    lanes: dict[SeriesKey, int] = field(default_factory=dict)
    history: dict[SeriesKey, int] = field(default_factory=dict)
    levels: dict[SeriesKey, NDArray[np.float64]] = field(default_factory=dict)
    resets: dict[LinkEnd, list[int]] = field(default_factory=lambda: defaultdict(list))


def end_series(
    site: Site, effects: list[Effects], busy: dict[str, Factors], rng: np.random.Generator
) -> Iterator[EndSeries]:
    """Series of every link end of the cluster, in the order of the topology.

    `busy` says for each node and bin what share of the time a job used it (0 to 1).
    """
    planned = _plan(effects)
    for link in site.cluster.links:
        traffic = _traffic(link, site, busy, rng)
        for end, background in zip(link.ends, traffic, strict=True):
            values = _errors(end, site, planned, rng)
            for name, counts in background.items():
                counts = counts + planned.counts.get((end, name), 0)
                values[name] = _cumulate(counts, int(rng.integers(10**9, 10**12)), [])
            values.update(_levels(link, end, site, planned))
            yield from _by_lane(end, values, planned)


def _plan(effects: list[Effects]) -> _Planned:
    planned = _Planned()
    for effect in effects:
        for step in effect.increments:
            key = (step.end, step.counter)
            planned.counts[key] = planned.counts.get(key, 0) + step.counts
            if step.lane is not None:
                planned.lanes[key] = step.lane
        for old in effect.history:
            planned.history[old.end, old.counter] = old.value
        for level in effect.levels:
            planned.levels[level.end, level.counter] = level.values
        for reset in effect.resets:
            for end in reset.ends:
                planned.resets[end].append(reset.sample)
    return planned


def error_counters(end: LinkEnd) -> tuple[str, ...]:
    """Error and loss counters that this end has."""
    if end.link_type == "nvlink":
        return NVLINK_ERRORS
    if end.link_type == "pcie":
        return PCIE_ERRORS if end.gpu is not None else PCIE_ERRORS[1:]
    return IB_ERRORS + NIC_LOSSES if end.node else IB_ERRORS


def _errors(
    end: LinkEnd, site: Site, planned: _Planned, rng: np.random.Generator
) -> dict[str, Values]:
    values: dict[str, Values] = {}
    for name in error_counters(end):
        key = (end, name)
        old = planned.history.get(key)
        if old is None:
            has_old = name in OLD_COUNTERS and rng.random() < OLD_COUNT_SHARE
            old = int(rng.integers(1, 10)) if has_old else 0
        counts = planned.counts.get(key, np.zeros(site.grid.bins, dtype=np.int64))
        values[name] = _cumulate(counts, old, planned.resets.get(end, []))
    return values


def _cumulate(counts: Counts, old: int, resets: list[int]) -> NDArray[np.int64]:
    """Value at each sample: old value plus growth, zero at each reset sample."""
    values = np.concatenate(([old], old + np.cumsum(counts))).astype(np.int64)
    for sample in resets:
        values[sample:] -= values[sample]
    return values


def _traffic(
    link: Link, site: Site, busy: dict[str, Factors], rng: np.random.Generator
) -> tuple[dict[str, Counts], dict[str, Counts]]:
    """Background counts per bin of both ends; what one end sends the other receives."""
    if link.link_type not in BUSY_BYTES_PER_S:
        return {}, {}
    used = busy.get(link.near.node, np.zeros(site.grid.bins))
    rate = used * BUSY_BYTES_PER_S[link.link_type] + IDLE_BYTES_PER_S
    there, back = (
        (rate * site.grid.step_s * rng.lognormal(0.0, 0.04, site.grid.bins)).astype(np.int64)
        for _ in range(2)
    )
    near = {"tx_bytes": there, "rx_bytes": back}
    far = {"tx_bytes": back, "rx_bytes": there}
    if link.link_type == "nvlink":
        return near, {}
    for end in (near, far):
        mean = (used + 0.01) * WAIT_TICKS_PER_S * site.grid.step_s
        end["tx_wait"] = rng.poisson(mean).astype(np.int64)
    return near, far


def _levels(link: Link, end: LinkEnd, site: Site, planned: _Planned) -> dict[str, Values]:
    normal = {"link_up": 1.0, "width": float(link.lanes), "speed_gbps": link.speed_gbps}
    if link.link_type == "pcie":
        del normal["link_up"]
    return {
        name: planned.levels.get((end, name), np.full(site.grid.samples, value))
        for name, value in normal.items()
    }


def _by_lane(end: LinkEnd, values: dict[str, Values], planned: _Planned) -> Iterator[EndSeries]:
    """One series set for the whole end and one for each lane that a counter was reported for."""
    lanes: dict[int, dict[str, Values]] = defaultdict(dict)
    whole: dict[str, Values] = {}
    for name, series in values.items():
        lane = planned.lanes.get((end, name))
        (whole if lane is None else lanes[lane])[name] = series
    yield EndSeries(end, None, whole)
    for lane, series_of_lane in sorted(lanes.items()):
        yield EndSeries(end, lane, series_of_lane)
