"""What telemetry does to true counts: skewed clocks, counter resets, lost samples, silent nodes.

Takes sparse true counts and gives increments as a collector would see them. A value is read at the
start of the window and at the end of every bin; what a lost sample missed shows in the next one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fabric_pipeline.synth.fleet.bursts import COUNTERS, Counted
from fabric_pipeline.synth.fleet.flaws import Flaws
from fabric_pipeline.synth.fleet.spec import FleetSpec
from fabric_pipeline.synth.fleet.topology_arrays import Shape


@dataclass(slots=True)
class Increments:
    """Growth of counters, sorted by (end, counter, bin); only samples that grew.

    `end` is 2 x link + side (0 near, 1 far). A sample is read at the end of its bin; `elapsed_s` is
    longer than a step after lost samples. Growth over a reset is a lower bound and marked.
    """

    end: NDArray[np.int64]
    counter: NDArray[np.int64]
    bin: NDArray[np.int64]
    elapsed_s: NDArray[np.float64]
    delta: NDArray[np.float64]
    is_reset: NDArray[np.bool_]


@dataclass(slots=True)
class Observed:
    """Increments, and for every end the time its samples cover and how many arrived."""

    increments: Increments
    exposure_s: NDArray[np.float32]
    samples: NDArray[np.int32]


def observe(
    true: Counted, flaws: Flaws, spec: FleetSpec, shape: Shape, rng: np.random.Generator
) -> Observed:
    """The true counts as a collector records them."""
    node = shape.end_node[true.end]
    bins = true.bin + np.where(node >= 0, flaws.shift[node], 0)
    kept = (bins >= 0) & (bins < spec.bins)
    counts = Counted(true.end[kept], true.counter[kept], bins[kept], true.count[kept])
    exposure, samples = _quiet_ends(flaws, spec, shape, rng)
    ends, row = _unique(counts.end, 2 * shape.size)
    seen_at = _next_samples(ends, flaws, spec, shape, rng)
    _restart(counts, seen_at[row, counts.bin], flaws, shape, seen_at, row, rng)
    exposure[ends], samples[ends] = _coverage(seen_at, spec)
    increments = _summed(counts, seen_at, row, ends, flaws, spec, shape)
    return Observed(increments, exposure, samples)


def _unique(values: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sorted distinct values below `size` and the place of each value among them."""
    present = np.zeros(size, bool)
    present[values] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[values]


def _quiet_ends(
    flaws: Flaws, spec: FleetSpec, shape: Shape, rng: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Covered time and samples of ends that never count; ends without a name report nothing."""
    ends = 2 * shape.size
    samples = np.full(ends, spec.bins, np.int32)
    last = np.full(ends, spec.bins, np.int32)
    if flaws.lost_share:
        samples = rng.binomial(spec.bins, 1 - flaws.lost_share, ends).astype(np.int32)
        last -= (rng.geometric(1 - flaws.lost_share, ends) - 1).astype(np.int32)
    if flaws.gap is not None:
        node, first, end = flaws.gap
        mine = shape.end_node == node
        samples[mine] = (samples[mine] * (spec.bins - end + first) / spec.bins).astype(np.int32)
        if end == spec.bins:
            last[mine] = np.minimum(last[mine], first)
    nameless = np.zeros(ends, bool)
    nameless[1::2] = shape.weight > 1
    samples[nameless], last[nameless] = 0, 0
    return (np.maximum(last, 0) * spec.step_s).astype(np.float32), samples


def _next_samples(
    ends: NDArray[np.int64], flaws: Flaws, spec: FleetSpec, shape: Shape, rng: np.random.Generator
) -> NDArray[np.int16]:
    """For every end and bin the bin whose sample first shows it; `bins` when none does."""
    bins = np.arange(spec.bins, dtype=np.int16)
    if not flaws.lost_share:
        return np.broadcast_to(bins, (len(ends), spec.bins))
    lost = rng.integers(0, 1 << 16, (len(ends), spec.bins), np.uint16) < flaws.lost_share * (
        1 << 16
    )
    if flaws.gap is not None:
        node, first, last = flaws.gap
        lost[shape.end_node[ends] == node, first:last] = True
    seen_at = np.where(lost, np.int16(spec.bins), bins)
    return np.asarray(np.minimum.accumulate(seen_at[:, ::-1], axis=1)[:, ::-1], np.int16)


def _restart(
    counts: Counted,
    seen: NDArray[np.int16],
    flaws: Flaws,
    shape: Shape,
    seen_at: NDArray[np.int16],
    row: NDArray[np.int64],
    rng: np.random.Generator,
) -> None:
    """Counts between the last sample before a reset and the reset itself are gone."""
    node = shape.end_node[counts.end]
    for one, (bin_, share) in flaws.resets.items():
        mine = np.flatnonzero(node == one)
        same = seen[mine] == seen_at[row[mine], bin_]
        counts.count[mine[same & (counts.bin[mine] < bin_)]] = 0
        there = mine[counts.bin[mine] == bin_]
        counts.count[there] = rng.binomial(counts.count[there].astype(np.int64), 1 - share)


def _coverage(
    seen_at: NDArray[np.int16], spec: FleetSpec
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    is_sample = seen_at == np.arange(spec.bins, dtype=np.int16)
    last = spec.bins - np.argmax(is_sample[:, ::-1], axis=1)
    last = np.where(is_sample.any(axis=1), last, 0)
    return (last * spec.step_s).astype(np.float32), is_sample.sum(axis=1, dtype=np.int32)


def _summed(
    counts: Counted,
    seen_at: NDArray[np.int16],
    row: NDArray[np.int64],
    ends: NDArray[np.int64],
    flaws: Flaws,
    spec: FleetSpec,
    shape: Shape,
) -> Increments:
    """One increment per end, counter and sample."""
    seen = seen_at[row, counts.bin].astype(np.int64)
    kept = (seen < spec.bins) & (counts.count > 0)
    key = (row[kept] * len(COUNTERS) + counts.counter[kept]) * spec.bins + seen[kept]
    order = np.argsort(key, kind="stable")
    key, amount = key[order], counts.count[kept][order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    delta = np.add.reduceat(amount, starts) if len(key) else np.zeros(0)
    rest, bins = np.divmod(key[starts], spec.bins)
    rows, counter = np.divmod(rest, len(COUNTERS))
    before = _sample_before(seen_at, rows, bins)
    end = ends[rows]
    is_reset = np.zeros(len(end), bool)
    node = shape.end_node[end]
    for one, (bin_, _) in flaws.resets.items():
        is_reset |= (node == one) & (before < bin_) & (bin_ <= bins)
    elapsed = np.asarray((bins - before) * spec.step_s, np.float64)
    return Increments(end, counter, bins, elapsed, np.asarray(delta, np.float64), is_reset)


def _sample_before(
    seen_at: NDArray[np.int16], rows: NDArray[np.int64], bins: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Bin of the sample before each given one; -1 is the reading at the start of the window.

    Bins that are first shown by one sample follow each other, so that sample's run starts behind
    the sample before it.
    """
    place = np.arange(seen_at.shape[1], dtype=np.int16)
    is_first = np.ones(seen_at.shape, bool)
    is_first[:, 1:] = seen_at[:, 1:] != seen_at[:, :-1]
    first = np.maximum.accumulate(np.where(is_first, place, np.int16(0)), axis=1)
    return np.asarray(first[rows, bins], np.int64) - 1
