"""From latency series to straggler intervals: when, how slow, what shape, which ranks were late."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from fabric_pipeline.detect.stragglers.series import LatencySeries, as_waiting_ranks_see_it
from fabric_pipeline.detect.stragglers.thresholds import StragglerLimits

_MAX_PAUSE_ROWS = 2  # normal rows that do not end a slow interval
_STEP_MIN_ROWS = 10
_DRIFT_MIN_ROWS = 20


@dataclass(slots=True)
class Straggler:
    """One row of stragglers; see the table for the meaning and units of each field."""

    run: str
    communicator: str
    op: str
    bytes: int | None
    interval: int
    start_ts: datetime | None
    end_ts: datetime | None
    kind: str
    shape: str
    collectives: int
    latency_us: float
    baseline_us: float
    baseline_source: str
    late_ranks: list[int]
    late_places: list[str]
    nodes: list[str]
    gpus: int | None
    lost_s: float
    file: str
    line: int | None
    last_line: int | None

    @property
    def deviation_pct(self) -> float:
        """Latency above baseline in percent."""
        return (self.latency_us - self.baseline_us) * 100 / self.baseline_us

    def row(self, drop: str) -> tuple[Any, ...]:
        """Values in the column order of stragglers."""
        return (
            drop, self.run, self.communicator, self.op, self.bytes, self.interval, self.start_ts, self.end_ts, self.kind, self.shape,
            self.collectives, self.latency_us, self.baseline_us, self.deviation_pct, self.baseline_source,
            json.dumps(self.late_ranks), json.dumps(self.late_places), json.dumps(self.nodes), self.gpus, self.lost_s,
            self.file, self.line, self.last_line,
        )  # fmt: skip


def find_stragglers(
    series: Sequence[LatencySeries], limits: StragglerLimits | None = None
) -> list[Straggler]:
    """Slow intervals of all series, in order.

    They are numbered within run, group and operation, so that message sizes do not share a number.
    """
    limits = limits or StragglerLimits()
    found: list[Straggler] = []
    numbers: Counter[tuple[str, str, str]] = Counter()
    for one in series:
        slow = [_straggler(one, a, b, limits) for a, b in slow_intervals(one)]
        for straggler in slow + _waiting_for_a_rank(one, limits):
            numbers[one.run, one.communicator, one.op] += 1
            straggler.interval = numbers[one.run, one.communicator, one.op]
            found.append(straggler)
    return found


def _waiting_for_a_rank(series: LatencySeries, limits: StragglerLimits) -> list[Straggler]:
    """Where only ranks are timed, a late rank leaves the shortest duration as it is: look at the longest."""
    if not series.of_ranks:
        return []
    longest = as_waiting_ranks_see_it(series, limits)
    found = [_straggler(longest, a, b, limits) for a, b in slow_intervals(longest)]
    return [one for one in found if one.late_ranks]


def waiting_groups(stragglers: Sequence[Straggler]) -> set[tuple[str, str]]:
    """(run, communicator) whose slow collectives mostly wait for a late rank: no link of theirs is slow."""
    by_group: dict[tuple[str, str], list[Straggler]] = {}
    for straggler in stragglers:
        by_group.setdefault((straggler.run, straggler.communicator), []).append(straggler)
    return {
        group
        for group, found in by_group.items()
        if sum(s.collectives for s in found if s.kind == "late_rank") * 2
        > sum(s.collectives for s in found)
    }


def slow_intervals(series: LatencySeries) -> list[tuple[int, int]]:
    """Index ranges (first, last inclusive) of slow rows, short pauses bridged."""
    intervals: list[tuple[int, int]] = []
    for index in np.flatnonzero(series.is_slow):
        if intervals and index - intervals[-1][1] <= _MAX_PAUSE_ROWS + 1:
            intervals[-1] = (intervals[-1][0], int(index))
        else:
            intervals.append((int(index), int(index)))
    # Two rows at least are slow themselves: one outlier can only lift its neighbours' medians.
    return [
        (a, b)
        for a, b in intervals
        if int(np.sum(series.deviation[a : b + 1] > series.threshold)) >= 2
    ]


def _straggler(series: LatencySeries, start: int, end: int, limits: StragglerLimits) -> Straggler:
    """One interval, not numbered yet."""
    rows = series.rows[start : end + 1]
    duration_us = series.duration_us[start : end + 1]
    late = _late_ranks(rows, series, limits)
    times = [row["ts"] for row in rows if row["ts"] is not None]
    last = timedelta(microseconds=float(duration_us[-1]))
    return Straggler(
        run=series.run, communicator=series.communicator, op=series.op, bytes=series.bytes, interval=0,
        start_ts=min(times) if times else None, end_ts=max(times) + last if times else None,
        kind="step" if series.unit_kind == "step" else "late_rank" if late else "whole_collective",
        shape=_shape(series, start, end), collectives=len(rows), latency_us=float(np.median(duration_us)),
        baseline_us=series.baseline_us, baseline_source=series.baseline_source, late_ranks=[rank for rank, _ in late],
        late_places=[place for _, place in late], nodes=series.nodes, gpus=series.ranks,
        lost_s=_lost_s(series, start, end),
        file=rows[0]["file"], line=rows[0]["line"], last_line=rows[-1]["line"],
    )  # fmt: skip


def _lost_s(series: LatencySeries, start: int, end: int) -> float:
    """Seconds lost against the baseline by the recorded collectives of the interval.

    A lower bound: where a source records only a sample of all collectives, the others lost time too.
    """
    excess_us = np.maximum(series.duration_us[start : end + 1] - series.baseline_us, 0.0)
    return float(np.sum(excess_us)) / 1e6


def _late_ranks(
    rows: list[dict[str, Any]], series: LatencySeries, limits: StragglerLimits
) -> list[tuple[int, str]]:
    """Ranks that were last to arrive in half of the slow collectives that have per-rank times.

    Empty when the shortest duration is itself above the baseline: then the communication is slow.
    """
    with_ranks = [row for row in rows if row["rank_rows"] >= 2 and row["longest_us"]]
    if not with_ranks:
        return []
    wait_share = limits.waiting_share if series.of_ranks else limits.late_share
    votes: Counter[tuple[int, str]] = Counter()
    for row in with_ranks:
        spread_us = (
            row["latest_us"]
            if row["latest_us"] is not None
            else row["longest_us"] - row["shortest_us"]
        )
        is_communication_slow = row["shortest_us"] > series.pure_us * (1 + limits.late_share)
        if spread_us <= wait_share * series.pure_us or is_communication_slow:
            continue
        prefix = "latest" if row["latest_rank"] is not None else "shortest"
        node, gpu = row[f"{prefix}_node"] or "unknown", row[f"{prefix}_gpu"]
        place = f"{node}:gpu{gpu}" if gpu is not None else f"{node}:unknown"
        votes[int(row[f"{prefix}_rank"]), place] += 1
    return [rank for rank, count in votes.most_common(8) if count * 2 >= len(with_ranks)]


def _shape(series: LatencySeries, start: int, end: int) -> str:
    length = end - start + 1
    part = series.deviation[start : end + 1]
    if length >= _DRIFT_MIN_ROWS:
        order = np.unique(part, return_inverse=True)[1]  # equal values have equal ranks
        trend = float(np.corrcoef(order, np.arange(length))[0, 1]) if np.ptp(part) > 0 else 0.0
        if trend > 0.8:
            return "drift"
    return "step" if end == len(series.rows) - 1 and length >= _STEP_MIN_ROWS else "transient"
