"""Do latencies move when the errors do: edges, circular shifts, and other places as a control.

Exact and deterministic: every shift is tried, nothing is drawn at random. Shifting a whole error pattern
keeps its bursts together, so the chance is not flattered by autocorrelation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fabric_pipeline.diagnose.localise.cells import widened
from fabric_pipeline.diagnose.localise.window import Flags, Floats

_EDGE_BINS = 5
_NEAR_BINS = 12
_FREE_BINS = 15
_NO_EDGE = 0.35  # what an error pattern without any visible edge is worth


@dataclass(frozen=True, slots=True)
class Edges:
    """Mean signed step at the starts and ends of the errors (1 every edge fits, -1 opposite) and their number."""

    score: float
    worst: float
    number: int
    fitting: int


def edges(active: Flags, deviation: Floats, unit: float, bins: int = _EDGE_BINS) -> Edges:
    """Step of the mean deviation over each start and end of the errors, in units of `unit`, one bin of slack."""
    change = np.diff(active.astype(np.int8))
    steps = []
    for at in np.flatnonzero(change):
        before = deviation[max(0, at - bins) : at]
        after = deviation[at + 2 : at + 2 + bins]
        before, after = before[~np.isnan(before)], after[~np.isnan(after)]
        if min(len(before), len(after)) >= min(2, bins - 1):
            step = float(change[at]) * (float(np.median(after)) - float(np.median(before)))
            steps.append(float(np.clip(step / unit, -1.0, 1.0)))
    if not steps:
        return Edges(_NO_EDGE, _NO_EDGE, 0, 0)
    return Edges(float(np.mean(steps)), min(steps), len(steps), sum(step > 0.5 for step in steps))


def contrast(active: Flags, deviation: Floats) -> float:
    """Median deviation while erring minus while quiet, ln units; 0 when either is missing."""
    known = ~np.isnan(deviation)
    during, outside = deviation[active & known], deviation[~widened(active, 1) & known]
    if not len(during) or not len(outside):
        return 0.0
    return float(np.median(during) - np.median(outside))


def shift_chance(active: Flags, deviation: Floats) -> float:
    """Share of all circular shifts of the errors whose mean contrast is at least the observed one."""
    known = (~np.isnan(deviation)).astype(float)
    values = np.nan_to_num(deviation) * known
    bins = len(active)
    spectrum = np.conj(np.fft.rfft(active.astype(float)))
    inside = np.fft.irfft(spectrum * np.fft.rfft(values), bins)
    counted = np.fft.irfft(spectrum * np.fft.rfft(known), bins)
    total, number = values.sum(), known.sum()
    possible = (counted > 0.5) & (number - counted > 0.5)
    if not possible[0]:
        return 1.0
    during = inside / np.maximum(counted, 1e-9)
    outside = (total - inside) / np.maximum(number - counted, 1e-9)
    contrasts = np.where(possible, during - outside, -np.inf)
    return float((contrasts >= contrasts[0] - 1e-12).sum()) / bins


def local_contrast(active: Flags, deviation: Floats) -> float:
    """Median deviation while erring minus that of as many bins close by, ln units; 0 when there are none."""
    known = ~np.isnan(deviation)
    near = widened(active, 2 + min(int(active.sum()), _NEAR_BINS)) & ~widened(active, 1) & known
    during = deviation[active & known]
    if not len(during) or near.sum() < 3:
        return 0.0
    return float(np.median(during) - np.median(deviation[near]))


def misfit(active: Flags, odds: Floats) -> float:
    """Nats per edge by which freely chosen starts and ends fit better than those of the errors; 0 at best.

    `odds` [T] are log odds of slow against normal per bin. Each edge may move one bin for nothing (a fault
    starts inside a bin), and up to _FREE_BINS in search of a better fit, never into another burst.
    """
    sums = np.concatenate([[0.0], np.cumsum(odds)])
    bounds = np.flatnonzero(np.diff(np.concatenate([[0], active.astype(np.int8), [0]])))
    starts, ends = bounds[::2], bounds[1::2]
    total, number = 0.0, 0
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        low = max(start - _FREE_BINS, ends[place - 1] if place else 0)
        high = min(end + _FREE_BINS, starts[place + 1] if place + 1 < len(starts) else len(active))
        own = max(
            sums[min(max(end + b, start + 1), len(active))] - sums[max(start + a, 0)]
            for a in (-1, 0, 1) for b in (-1, 0, 1) if start + a < end + b
        )  # fmt: skip
        free = (
            sums[start + 1 : high + 1]
            - np.minimum.accumulate(sums[low:high])[
                np.minimum(np.arange(start + 1, high + 1), end) - 1 - low
            ]
        )
        total += max(float(free.max()) - float(own), 0.0)
        number += int(start > 0) + int(end < len(active))
    return total / max(number, 1)
