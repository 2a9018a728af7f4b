"""Latency series per run, group, operation and size, with baseline and slow flags.

Only collectives with a start time make a series; benchmark sweeps without times are `detect.sweeps`'.

One value per collective: the whole duration where the source gives it, else the minimum over ranks,
which is the pure communication time because the late rank has the shortest kernel.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from fabric_pipeline.detect.stragglers.thresholds import StragglerLimits

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# One row per collective. Per-rank durations: minimum = communication alone, the rank that has it came
# last; the spread is how long the others waited.
_SQL = """
select run, communicator, op, bytes, variant, unit_kind, seq, min(ts) as ts, any_value(run_nodes) as run_nodes, max(ranks) as ranks,
    median(duration_us) filter ("rank" is null) as whole_us, min(duration_us) filter ("rank" is not null) as shortest_us,
    max(duration_us) filter ("rank" is not null) as longest_us, count(distinct "rank") as rank_rows, arg_min("rank", duration_us) as shortest_rank,
    arg_min(node, duration_us) filter ("rank" is not null) as shortest_node, arg_min(gpu, duration_us) filter ("rank" is not null) as shortest_gpu,
    arg_max("rank", arrival_us) as latest_rank, arg_max(node, arrival_us) filter (arrival_us is not null) as latest_node,
    arg_max(gpu, arrival_us) filter (arrival_us is not null) as latest_gpu, max(arrival_us) as latest_us,
    median(baseline_us) as baseline_us, min(file) as file, min(line) as line, list(distinct node) filter (node <> '') as rank_nodes,
    list(distinct node) filter ("rank" is null and node <> '') as group_nodes, list(distinct gpu) filter (gpu is not null) as gpus
from collective_timings where unit_kind in ('collective', 'step') and ts is not null and duration_us is not null
group by run, communicator, op, bytes, variant, unit_kind, seq
order by run, communicator, op, bytes, variant, unit_kind, ts nulls last, seq
"""


@dataclass(slots=True)
class LatencySeries:
    """Durations of like collectives of one run in order.

    `deviation` is ln(duration / baseline); `is_slow` flags rows above the limit; `rows` are the
    database rows behind them (warm-up rows already set aside). `pure_us` is the usual duration of
    the communication alone; `of_ranks`: only ranks are timed, the durations are minima over them;
    `gpus` are the GPU indices that the source names, [] when it names none.
    """

    run: str
    communicator: str
    op: str
    bytes: int | None
    unit_kind: str
    nodes: list[str]
    ranks: int | None
    rows: list[dict[str, Any]]
    duration_us: Floats
    baseline_us: float
    baseline_source: str
    deviation: Floats
    is_slow: Flags
    threshold: float
    pure_us: float
    of_ranks: bool = False
    gpus: list[int] = field(default_factory=list)

    def times(self) -> list[datetime]:
        """Start times of the rows."""
        return [row["ts"] for row in self.rows]


def latency_series(connection: Any, limits: StragglerLimits | None = None) -> list[LatencySeries]:
    """All series of `collective_timings` in the connection that are long enough to be judged."""
    if not connection.execute("select 1 from collective_timings limit 1").fetchall():
        return []  # planning the statement takes longer than all else for a capture without timings
    limits = limits or StragglerLimits()
    cursor = connection.execute(_SQL)
    names = [column[0] for column in cursor.description]
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for values in cursor.fetchall():
        row = dict(zip(names, values, strict=True))
        key = tuple(
            row[name] for name in ("run", "communicator", "op", "bytes", "variant", "unit_kind")
        )
        groups.setdefault(key, []).append(row)
    kept = {key: rows for key, rows in groups.items() if len(rows) >= limits.min_rows}
    settled = {key: _without_warm_up(rows, limits) for key, rows in kept.items()}
    own = {
        _like(key, rows): float(np.quantile(_durations(rows), 0.2)) for key, rows in settled.items()
    }
    alike: dict[tuple[Any, ...], list[tuple[tuple[Any, ...], float]]] = {}
    for key, value in own.items():
        alike.setdefault(key[2:], []).append((key, value))
    return [
        _series(key, rows, own, _sisters(_like(key, rows), alike), limits)
        for key, rows in settled.items()
    ]


def _sisters(
    like: tuple[Any, ...], alike: dict[tuple[Any, ...], list[tuple[tuple[Any, ...], float]]]
) -> list[float]:
    """20th percentiles of the other groups of the same kind; none when the number of ranks is unknown.

    Groups of one run are alike only when they are known to span equally many nodes: eight ranks inside
    a node and eight ranks on eight nodes have nothing in common.
    """
    ranks, nodes = like[-2:]
    if ranks is None:
        return []
    return [value for key, value in alike[like[2:]] if key != like and (nodes or key[0] != like[0])]


def _like(key: tuple[Any, ...], rows: list[dict[str, Any]]) -> tuple[Any, ...]:
    """The key of a series with its number of ranks, and of nodes where its rows say which part of the run it is."""
    names_its_place = any(row["group_nodes"] or row["rank_nodes"] or row["gpus"] for row in rows)
    return (*key, _ranks(rows), len(_nodes(rows)) if names_its_place else 0)


def as_waiting_ranks_see_it(series: LatencySeries, limits: StragglerLimits) -> LatencySeries:
    """The longest duration of each collective in place of the shortest: it grows when a rank is late."""
    longest_us = np.array(
        [row["longest_us"] or row["whole_us"] for row in series.rows], dtype=float
    )
    is_given = series.baseline_source == "given"
    baseline_us = series.baseline_us if is_given else max(float(np.quantile(longest_us, 0.2)), 1e-3)
    deviation = np.log(np.maximum(longest_us, 1e-3) / baseline_us)
    threshold = _threshold(deviation, limits)
    return replace(
        series, duration_us=longest_us, baseline_us=baseline_us, baseline_source="given" if is_given else "learnt", deviation=deviation,
        is_slow=_median_of_three(deviation) > threshold, threshold=threshold,
    )  # fmt: skip


def _series(
    key: tuple[Any, ...],
    rows: list[dict[str, Any]],
    own: dict[tuple[Any, ...], float],
    sisters: Sequence[float],
    limits: StragglerLimits,
) -> LatencySeries:
    duration_us = _durations(rows)
    baseline_us, source = _baseline(key, rows, own, sisters, limits)
    deviation = np.log(np.maximum(duration_us, 1e-3) / baseline_us)
    threshold = _threshold(deviation, limits)
    nodes = _nodes(rows)
    return LatencySeries(
        run=key[0], communicator=key[1], op=key[2], bytes=key[3], unit_kind=key[5], nodes=nodes,
        ranks=_ranks(rows), rows=rows,
        duration_us=duration_us, baseline_us=baseline_us, baseline_source=source, deviation=deviation,
        is_slow=_median_of_three(deviation) > threshold, threshold=threshold, pure_us=baseline_us,
        of_ranks=not _has_whole(rows), gpus=sorted({gpu for row in rows for gpu in row["gpus"] or []}),
    )  # fmt: skip


def _ranks(rows: list[dict[str, Any]]) -> int | None:
    return max((row["ranks"] or row["rank_rows"] or 0 for row in rows), default=0) or None


def _nodes(rows: list[dict[str, Any]]) -> list[str]:
    """Nodes of the group where its rows or its ranks name them all, else of the whole run."""
    of_group = {node for row in rows for node in row["group_nodes"] or []}
    of_ranks = {node for row in rows for node in row["rank_nodes"] or []}
    of_run = json.loads(rows[0]["run_nodes"] or "[]")
    if not of_group and (not of_run or _all_ranks_seen(rows)):
        of_group = of_ranks
    return sorted(of_group) or of_run


def _all_ranks_seen(rows: list[dict[str, Any]]) -> bool:
    """True when the ranks that were timed are all there are, so that their nodes are the group's."""
    seen = max(row["rank_rows"] or 0 for row in rows)
    return seen >= max(row["ranks"] or 2 for row in rows)


def _durations(rows: list[dict[str, Any]]) -> Floats:
    # A series speaks of whole durations or of minima over ranks, never of a mixture of both.
    if _has_whole(rows):
        filled = [
            row["whole_us"] if row["whole_us"] is not None else row["longest_us"] for row in rows
        ]
        return np.array(filled, dtype=float)
    return np.array(
        [row["shortest_us"] if row["shortest_us"] is not None else row["whole_us"] for row in rows],
        dtype=float,
    )


def _has_whole(rows: list[dict[str, Any]]) -> bool:
    return sum(row["whole_us"] is not None for row in rows) * 2 >= len(rows)


def _without_warm_up(rows: list[dict[str, Any]], limits: StragglerLimits) -> list[dict[str, Any]]:
    duration_us = _durations(rows)
    limit_us = limits.warm_up_ratio * float(np.median(duration_us))
    most = min(limits.warm_up_rows, len(rows) - limits.min_rows)
    skipped = 0
    while skipped < most and duration_us[skipped] > limit_us:
        skipped += 1
    # A fault from the first row on looks like warm-up; it is warm-up only when it ends within the limit.
    still_slow = skipped == most and duration_us[skipped] > limit_us
    return rows if still_slow else rows[skipped:]


def _baseline(
    key: tuple[Any, ...],
    rows: list[dict[str, Any]],
    own: dict[tuple[Any, ...], float],
    sisters: Sequence[float],
    limits: StragglerLimits,
) -> tuple[float, str]:
    given = [row["baseline_us"] for row in rows if row["baseline_us"]]
    if given:
        return float(np.median(given)), "given"
    return learnt_baseline(own[_like(key, rows)], sisters, limits)


def learnt_baseline(
    own_us: float, sisters_us: Sequence[float], limits: StragglerLimits
) -> tuple[float, str]:
    """Baseline of a series whose source gives none, and where it comes from.

    `own_us` is its own 20th percentile, `sisters_us` those of at least two other groups (of this or of
    other runs) of the same operation, message size and number of ranks, which tell when a series was
    slow from its first row on.
    """
    if len(sisters_us) >= 2:
        of_sisters = float(np.median(sisters_us)) * (1 + limits.sister_margin)
        if of_sisters < own_us:
            return max(of_sisters, 1e-3), "sister_run"
    return max(own_us, 1e-3), "learnt"


def _threshold(deviation: Floats, limits: StragglerLimits) -> float:
    steps = np.abs(np.diff(deviation))
    sigma = 1.4826 * float(np.median(steps)) / np.sqrt(2) if len(steps) else 0.0
    return float(np.log1p(min(max(limits.sigmas * sigma, limits.floor), limits.ceiling)))


def _median_of_three(values: Floats) -> Floats:
    """Each value's median with its neighbours, so that a lone slow row is no interval."""
    if len(values) < 3:
        return values
    padded = np.concatenate(([values[1]], values, [values[-2]]))
    medians: Floats = np.median(np.stack([padded[:-2], padded[1:-1], padded[2:]]), axis=0)
    return medians
