"""Timed groups of ranks on one common clock: which nodes and rail each uses, and its deviation bin by bin.

What a group crosses is decided in `paths`; how slow a cell counts in `cells`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from fabric_pipeline.detect.stragglers.series import LatencySeries
from fabric_pipeline.diagnose.localise.window import FLAT, LOCAL, RAIL, Floats, GroupSeries, Ints

# A learnt baseline is the 20th percentile, which lies below the healthy median by up to the noise.
_CENTRE_QUANTILE, _CENTRE_LIMIT = 0.4, 0.05
_INSIDE_A_NODE = re.compile(r"(?:^|[^a-z])(?:tp|tensor|intra|local)", re.IGNORECASE)
_LAST_NUMBER = re.compile(r"^(.*?)(\d+)$")


@dataclass(slots=True)
class TimedGroup:
    """One series of like collectives.

    `times_s` [n] are seconds since 1970 (UTC), `deviation` [n] ln(duration / baseline) of the communication
    alone where ranks are timed. `nodes` are all nodes with a rank, [] unknown; `gpus` the GPU indices that
    are named, [] unknown. `late_nodes` [n] name who came last, "" unknown.
    """

    run: str
    communicator: str
    nodes: Sequence[str]
    gpus: Sequence[int]
    ranks: int | None
    times_s: Floats
    deviation: Floats
    has_ranks: bool = False
    late_nodes: Sequence[str] = ()
    rail: int = -1


@dataclass(frozen=True, slots=True)
class Clock:
    """Equal time bins: `start_s` in seconds since 1970."""

    start_s: float
    step_s: float
    bins: int

    def index(self, times_s: Floats) -> Ints:
        """Bin of each moment; may lie outside 0..bins-1."""
        return np.floor((times_s - self.start_s) / self.step_s).astype(np.int64)

    def moment(self, bin_: int) -> datetime:
        """Start of a bin."""
        return datetime.fromtimestamp(self.start_s + bin_ * self.step_s, UTC)


@dataclass(slots=True)
class Fleet:
    """All groups on one clock: their series, the nodes in order, and the groups with a rank on each node.

    Lists, not a matrix: groups times nodes grows with the square of the fleet.
    """

    clock: Clock
    groups: list[TimedGroup]
    series: GroupSeries
    nodes: list[str]
    of_node: list[Ints]
    sizes: Ints  # [G] nodes with a rank of the group
    kind: Ints
    rail: Ints
    node_index: dict[str, int] = field(default_factory=dict)


def timed_group(series: LatencySeries) -> TimedGroup:
    """The group behind a latency series; ranks, where timed, give the communication alone."""
    rows = series.rows
    shortest = np.array([row.get("shortest_us") or np.nan for row in rows], dtype=float)
    timed = sum((row.get("rank_rows") or 0) >= 2 for row in rows) * 2 >= len(rows)
    deviation = series.deviation
    if timed and not series.of_ranks and not np.isnan(shortest).all():
        usual = float(np.nanquantile(shortest, 0.2))
        base = (
            min(series.baseline_us, usual)
            if series.baseline_source == "learnt"
            else series.baseline_us
        )
        deviation = np.log(np.maximum(shortest, 1e-3) / max(base, 1e-3))
    late = (
        [str(row.get("latest_node") or row.get("shortest_node") or "") for row in rows]
        if timed
        else ()
    )
    times_s = np.array([time.timestamp() for time in series.times()])
    return TimedGroup(
        series.run,
        series.communicator,
        series.nodes,
        series.gpus,
        series.ranks,
        times_s,
        deviation,
        timed,
        late,
    )


def on_one_clock(groups: Sequence[TimedGroup], step_s: float, most_bins: int = 2000) -> Fleet:
    """All groups in common bins; bins are wider where collectives are recorded less often than `step_s`."""
    name_rails(groups)
    clock = _clock(groups, step_s, most_bins)
    nodes = sorted({node for group in groups for node in group.nodes})
    index = {node: number for number, node in enumerate(nodes)}
    members: list[list[int]] = [[] for _ in nodes]
    used = [set(group.nodes) for group in groups]
    for number, names in enumerate(used):
        for node in names:
            members[index[node]].append(number)
    of_node = [np.array(numbers, dtype=np.int64) for numbers in members]
    sizes = np.array([len(names) for names in used], dtype=np.int64)
    kind = np.array([_kind(group) for group in groups], dtype=np.int64)
    runs = {run: number for number, run in enumerate(sorted({group.run for group in groups}))}
    deviation = np.full((len(groups), clock.bins), np.nan)
    late = np.full((len(groups), clock.bins), -1, dtype=np.int64)
    for number, group in enumerate(groups):
        at = clock.index(group.times_s)
        deviation[number] = _per_bin(at, group.deviation, clock.bins)
        for place, node in zip(at, group.late_nodes, strict=False):
            if node in index and 0 <= place < clock.bins:
                late[number, place] = index[node]
    run = np.array([runs[group.run] for group in groups], dtype=np.int64)
    has_ranks = np.array([group.has_ranks for group in groups], dtype=bool)
    series = GroupSeries(deviation, late, run, kind, has_ranks)
    rail = np.array([group.rail for group in groups], dtype=np.int64)
    return Fleet(clock, list(groups), series, nodes, of_node, sizes, kind, rail, index)


def name_rails(groups: Sequence[TimedGroup]) -> None:
    """Fill in the rail of groups with one GPU index per node, named by the source or by their order.

    Where nothing names GPUs, groups `x0 .. x7` of one run over the same nodes are its rails: that is how
    frameworks number data-parallel groups. Groups named as tensor-parallel, one for each node of the run,
    stay inside their nodes, in the order in which the run lists them.
    """
    by_stem: dict[tuple[str, tuple[str, ...], str], dict[int, list[TimedGroup]]] = {}
    for group in groups:
        if len(group.nodes) < 2:
            continue
        if len(group.gpus) == 1:
            group.rail = int(group.gpus[0])
            continue
        found = _LAST_NUMBER.match(group.communicator)
        if found and not group.gpus:
            key = (group.run, tuple(sorted(group.nodes)), found.group(1))
            by_stem.setdefault(key, {}).setdefault(int(found.group(2)), []).append(group)
    for (_, nodes, stem), numbered in by_stem.items():
        if sorted(numbered) != list(range(len(numbered))):
            continue
        is_local = bool(_INSIDE_A_NODE.search(stem)) and len(numbered) == len(nodes)
        for number, members in numbered.items():
            for group in members:
                if is_local:
                    group.nodes = [group.nodes[number]]
                elif len(numbered) in (4, 8):
                    group.rail = number


def _kind(group: TimedGroup) -> int:
    if len(group.nodes) == 1:
        return LOCAL
    return RAIL if group.rail >= 0 else FLAT


def _clock(groups: Iterable[TimedGroup], step_s: float, most_bins: int) -> Clock:
    starts = [group.times_s.min() for group in groups]
    first, last = min(starts), max(group.times_s.max() for group in groups)
    gaps = [float(np.median(np.diff(np.sort(g.times_s)))) for g in groups if len(g.times_s) > 1]
    step_s = max(
        step_s, float(np.median(gaps)) if gaps else step_s, (last - first) / most_bins, 1e-3
    )
    # A collective that starts as its bin starts belongs there, whatever the floats say.
    return Clock(first - 1e-6, step_s, int((last - first) // step_s) + 1)


def _per_bin(at: Ints, values: Floats, bins: int) -> Floats:
    """Median of the values of each bin, NaN in empty bins."""
    out = np.full(bins, np.nan)
    fits = (at >= 0) & (at < bins) & ~np.isnan(values)
    at, values = at[fits], values[fits]
    if not len(at):
        return out
    order = np.lexsort((values, at))
    at, values = at[order], values[order]
    first = np.flatnonzero(np.concatenate([[True], at[1:] != at[:-1]]))
    count = np.diff(np.concatenate([first, [len(at)]]))
    out[at[first]] = (values[first + (count - 1) // 2] + values[first + count // 2]) / 2
    return out


def centred(deviation: Floats) -> Floats:
    """Deviation with the healthy level at zero: a learnt baseline lies a little below it."""
    known = deviation[~np.isnan(deviation)]
    if not len(known):
        return deviation
    return deviation - float(np.clip(np.quantile(known, _CENTRE_QUANTILE), 0.0, _CENTRE_LIMIT))
