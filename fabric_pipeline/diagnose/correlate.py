"""Does a link's error time fit a run's slow time: lag-tolerant overlap against circular shifts.

Shifting the errors around the clock of the run keeps both their bursts together, so the chance is not
flattered by autocorrelation. No random numbers: all shifts are tried.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import log10
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from fabric_pipeline.detect.spikes.surprise import benjamini_hochberg
from fabric_pipeline.detect.stragglers.series import LatencySeries
from fabric_pipeline.model.components import component_id, parse_component
from fabric_pipeline.model.topology import Topology

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
_LAGS = (0, -1, 1)
_MIN_BINS = 8
DEFAULT_STEP_S = 30.0
_STEP_RANGE_S = (5.0, 600.0)
_EDGE_S = 1e-3
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_STEPS = 5  # errors counted over more steps than this cannot be placed in time

# Increments of the link ends on which a rule fired, with the interval each covers. A sum over all links of
# a GPU takes part only where no link of that GPU has errors of its own to tell.
_INCREMENTS_SQL = """
with active as (
    select node, interface, ts, elapsed_s, delta, scope from {counted}
    semi join (from spike_detections where start_ts is not null) using (node, interface, counter)
    where delta > 0 and elapsed_s > 0 and error_class <> '' and counter <> 'corrected_bits' and scope <> 'switch_sum' and quality <> 'clock_skew'
), told as (
    select distinct node, split_part(interface, '/', 1) as device from active where scope <> 'gpu_sum'
)
select node, interface, ts, elapsed_s, delta from active a
where scope <> 'gpu_sum' or not exists (select 1 from told t where t.node = a.node and t.device = split_part(a.interface, '/', 1))
order by node, interface, ts
"""
# The tenth of all steps, interpolated as `quantile_cont` does; that would keep every one of them in memory.
_STEP_SQL = """
with steps as (
    select elapsed_s, sum(count(*)) over (order by elapsed_s) as until, 0.1::double * (sum(count(*)) over () - 1)::double as place
    from {counted} where delta > 0 and elapsed_s > 0 and error_class <> '' group by elapsed_s
), beside as (
    select min(elapsed_s) filter (until > floor(place)) as low, min(elapsed_s) filter (until > ceil(place)) as high,
        any_value(place) - floor(any_value(place)) as share from steps
)
select coalesce(low * (1 - share) + high * share, 0) from beside
"""


def increments_sql(counted: str = "link_counters") -> str:
    """(node, interface, ts, elapsed_s, delta) of `correlate`, from link_counters or its error_increments alone."""
    return _INCREMENTS_SQL.format(counted=counted)


def step_sql(counted: str = "link_counters") -> str:
    """Seconds between readings with errors that nine of ten exceed, 0 without any."""
    return _STEP_SQL.format(counted=counted)


@dataclass(slots=True)
class Correlation:
    """One row of straggler_correlations; see the table for the meaning of each field."""

    run: str
    communicator: str
    component: str
    far_end: str
    in_path: str
    bins: int
    slow_bins: int
    error_bins: int
    overlap_bins: int
    lag_bins: int
    overlap_share: float
    covered_share: float
    effect_pct: float | None
    p_value: float | None
    q_value: float | None = None
    score: float = 0.0
    candidate_rank: int = 1
    covered_bins: list[int] = field(default_factory=list)
    verdict: str = "not_weighed"
    confidence: float | None = None
    log_odds: float | None = None
    share_slow: float | None = None
    slow_anyway: float | None = None
    edges_fitting: int | None = None
    edges_visible: int | None = None
    dose: float | None = None
    because: dict[str, float] = field(default_factory=dict)
    behind: list[str] = field(default_factory=list)

    def row(self, drop: str) -> tuple[Any, ...]:
        """Values in the column order of straggler_correlations."""
        parsed = parse_component(self.component)
        return (
            drop, self.run, self.communicator, parsed.node, parsed.interface, self.far_end, self.in_path, self.bins, self.slow_bins, self.error_bins,
            self.overlap_bins, self.lag_bins, self.overlap_share, self.covered_share, self.effect_pct, self.p_value, self.q_value,
            self.score, self.candidate_rank, json.dumps(self.covered_bins), self.verdict, self.confidence, self.log_odds, self.share_slow,
            self.slow_anyway, self.edges_fitting, self.edges_visible, self.dose, json.dumps(self.because), json.dumps(self.behind),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Grid:
    """Equal time bins over one run."""

    start: datetime
    step_s: float
    bins: int

    def index(self, time: datetime) -> int:
        """Bin of a moment; may lie outside 0..bins-1."""
        return int((time - self.start).total_seconds() // self.step_s)


def correlate(
    series: Sequence[LatencySeries],
    increments: Iterable[tuple[str, str, datetime, float, float]],
    topology: Topology,
    step_s: float = 0.0,
    late_only: Collection[tuple[str, str]] = (),
) -> list[Correlation]:
    """Every run with slow time against every link with errors, both ends of a link folded.

    `increments` are (node, interface, ts, elapsed_s, delta); `late_only` the (run, communicator) groups
    that only wait for a late rank, which no link of theirs explains. Ranks candidates per run.
    """
    step_s = min(max(step_s or DEFAULT_STEP_S, _STEP_RANGE_S[0]), _STEP_RANGE_S[1])
    links = _Links(increments, topology, _MAX_STEPS * step_s)
    found: list[Correlation] = []
    for one in series:
        if bool(one.is_slow.any()) and (one.run, one.communicator) not in late_only:
            found += _run_correlations(one, links, step_s)
    return _best_per_run(found)


@dataclass(slots=True)
class _ErringLink:
    """One link with its errors: samples by their end (us since 1970) and the seconds each covers."""

    component: str
    far_end: str
    nodes: list[str]
    end_us: npt.NDArray[np.int64]
    span_us: npt.NDArray[np.int64]


class _Links:
    """All links with errors in the order in which they first occur, found by the nodes of their ends.

    Asking every link whether a run can have used it grows with the square of the fleet.
    """

    def __init__(
        self,
        increments: Iterable[tuple[str, str, datetime, float, float]],
        topology: Topology,
        longest_s: float,
    ) -> None:
        names: dict[tuple[str, str], tuple[str, str]] = {}
        by_link: dict[str, list[tuple[str, datetime, float, float]]] = {}
        for node, interface, ts, elapsed_s, delta in increments:
            if elapsed_s > longest_s:
                continue
            if (node, interface) not in names:
                component = topology.resolve(component_id(node, interface))
                names[node, interface] = component, topology.link_key(component)
            component, key = names[node, interface]
            by_link.setdefault(key, []).append((component, ts, elapsed_s, delta))
        self._links = [_erring(samples, topology) for samples in by_link.values()]
        self._of_node: dict[str, list[int]] = {}
        for number, link in enumerate(self._links):
            for node in set(link.nodes) or {""}:
                self._of_node.setdefault(node, []).append(number)

    def over(self, nodes: Sequence[str]) -> list[_ErringLink]:
        """Links that collectives between these nodes may cross; all when the nodes are not known."""
        if not nodes:
            return self._links
        numbers = {n for node in {*nodes, ""} for n in self._of_node.get(node, ())}
        return [self._links[number] for number in sorted(numbers)]


def _erring(samples: list[tuple[str, datetime, float, float]], topology: Topology) -> _ErringLink:
    component = _louder_end(samples)
    far_end = topology.far_end(component)
    nodes = [parse_component(end).node for end in (component, far_end) if end]
    end_us = np.array([_microseconds(ts) for _, ts, _, _ in samples], dtype=np.int64)
    # Rounded as `timedelta` does. A sample that ends where a bin ends belongs to that bin alone, hence
    # the millisecond.
    spans = [round((elapsed_s - _EDGE_S) * 1e6) for _, _, elapsed_s, _ in samples]
    return _ErringLink(
        component,
        far_end,
        [node for node in nodes if node],
        end_us,
        np.array(spans, dtype=np.int64),
    )


def _microseconds(ts: datetime) -> int:
    return (ts - _EPOCH) // timedelta(microseconds=1)


def _run_correlations(series: LatencySeries, links: _Links, step_s: float) -> list[Correlation]:
    grid = _grid(series, step_s)
    deviation, slow_share = _slow_bins(series, grid)
    measured = ~np.isnan(deviation)  # in other bins nobody knows whether the run was slow
    if measured.sum() < _MIN_BINS:
        return []
    deviation, slow = deviation[measured], slow_share[measured] > 0
    found = []
    for link in links.over(series.nodes):
        errors = _error_bins(link, grid)[measured]
        if errors.any():
            in_path = "yes" if series.nodes and link.nodes else "unknown"
            found.append(_compare(series, link, in_path, errors, slow, deviation))
    return found


def _compare(
    series: LatencySeries,
    link: _ErringLink,
    in_path: str,
    has_error: Flags,
    slow: Flags,
    deviation: Floats,
) -> Correlation:
    overlaps = _overlaps(has_error, slow)
    lag = max(_LAGS, key=lambda value: overlaps[value % len(slow)])
    overlap = float(overlaps[lag % len(slow)])
    shifted = np.max([np.roll(overlaps, -step) for step in _LAGS], axis=0)
    p_value = float(np.mean(shifted >= overlap)) if overlap else 1.0
    error_bins, slow_bins = int(has_error.sum()), int(slow.sum())
    moved = np.roll(has_error, lag)
    return Correlation(
        run=series.run, communicator=series.communicator, component=link.component, far_end=link.far_end, in_path=in_path, bins=len(slow), slow_bins=slow_bins,
        error_bins=error_bins, overlap_bins=int(overlap), lag_bins=lag, overlap_share=overlap / max(error_bins, 1),
        covered_share=min(overlap / max(slow_bins, 1), 1.0), effect_pct=_effect_pct(deviation, moved), p_value=p_value,
        covered_bins=[int(bin_) for bin_ in np.flatnonzero(moved & slow)],
    )  # fmt: skip


def _overlaps(has_error: Flags, slow: Flags) -> npt.NDArray[np.int64]:
    """[bins] slow bins with an error after the errors were shifted around the clock by so many bins.

    A product of Fourier transforms is the same sum for every shift; counts are whole, so rounding them
    makes it exact.
    """
    spectrum = np.conj(np.fft.rfft(has_error.astype(float))) * np.fft.rfft(slow.astype(float))
    return np.rint(np.fft.irfft(spectrum, len(slow))).astype(np.int64)


def _effect_pct(deviation: Floats, has_error: npt.NDArray[np.bool_]) -> float | None:
    with_errors, without = deviation[has_error], deviation[~has_error]
    if not len(with_errors) or not len(without):
        return None
    return float((np.exp(np.median(with_errors) - np.median(without)) - 1) * 100)


def _grid(series: LatencySeries, step_s: float) -> Grid:
    """Bins of the counters' step, wider where collectives are recorded less often than that."""
    times = sorted(series.times())
    gaps = [(b - a).total_seconds() for a, b in pairwise(times)]
    step_s = min(max(step_s, median(gaps)), _STEP_RANGE_S[1])
    span_s = (times[-1] - times[0]).total_seconds()
    return Grid(times[0], step_s, int(span_s // step_s) + 1)


def _slow_bins(series: LatencySeries, grid: Grid) -> tuple[Floats, Floats]:
    sums: list[list[float]] = [[] for _ in range(grid.bins)]
    slow: list[list[bool]] = [[] for _ in range(grid.bins)]
    for time, deviation, flag in zip(series.times(), series.deviation, series.is_slow, strict=True):
        sums[grid.index(time)].append(float(deviation))
        slow[grid.index(time)].append(bool(flag))
    medians = np.array([np.median(values) if values else np.nan for values in sums])
    flags = np.array([float(np.mean(values) >= 0.5) if values else 0.0 for values in slow])
    return medians, flags


def _error_bins(link: _ErringLink, grid: Grid) -> Flags:
    """Bins that a sample with errors covers any part of."""
    last_us, start_us = link.end_us - round(_EDGE_S * 1e6), _microseconds(grid.start)
    first, last = (
        (us - start_us) / 1e6 // grid.step_s for us in (link.end_us - link.span_us, last_us)
    )
    first, last = np.maximum(first, 0).astype(int), np.minimum(last, grid.bins - 1).astype(int)
    inside = last >= first
    begun = np.bincount(first[inside], minlength=grid.bins + 1)
    ended = np.bincount(last[inside] + 1, minlength=grid.bins + 1)
    has_error: Flags = np.cumsum(begun - ended)[: grid.bins] > 0
    return has_error


def _louder_end(samples: list[tuple[str, datetime, float, float]]) -> str:
    totals: dict[str, float] = {}
    for component, _, _, delta in samples:
        totals[component] = totals.get(component, 0.0) + delta
    return min(totals, key=lambda name: (-totals[name], name))


def _best_per_run(found: list[Correlation]) -> list[Correlation]:
    """Keep the strongest comparison per run and link; add q over all and ranks per run."""
    best: dict[tuple[str, str], Correlation] = {}
    for one in found:
        key = (one.run, one.component)
        if key not in best or (one.p_value or 1.0, -one.overlap_bins) < (
            best[key].p_value or 1.0,
            -best[key].overlap_bins,
        ):
            best[key] = one
    kept = list(best.values())
    q_values = benjamini_hochberg(
        [log10(max(one.p_value or 1.0, 1e-300)) for one in kept], len(kept)
    )
    for one, q_value in zip(kept, q_values, strict=True):
        one.q_value = q_value
        one.score = _score(one)
    kept.sort(key=lambda one: (one.run, -one.score, one.component))
    place: dict[str, int] = {}
    for one in kept:
        place[one.run] = one.candidate_rank = place.get(one.run, 0) + 1
    return kept


def _score(one: Correlation) -> float:
    """Evidence in tens: improbability of the overlap, how much of either side it explains, effect."""
    effect = max(one.effect_pct or 0.0, 0.0)
    return (
        -log10(max(one.p_value or 1.0, 1e-12))
        + 2 * one.overlap_share
        + 2 * one.covered_share
        + min(effect / 25, 2.0)
    )
