"""Errors of one link over time: how many in each bin, by one of the four burst laws.

Turns "this link errs at so many an hour in these bins" into sparse counts of the canonical
counters. Why a link errs, and what of it gets recorded, is decided elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

COUNTERS = (
    "crc_single_bit",
    "crc_multi_bit",
    "replay",
    "pcie_replay",
    "aer_correctable",
    "symbol_error",
    "rx_errors",
    "plr_retry",
)
# What a link type counts: every error, the repeats it led to, the rare grave ones (-1: no counter).
EVERY, REPEATS, GRAVE = range(3)
COUNTED = {"nvlink": (0, 2, 1), "pcie": (4, 3, -1), "infiniband": (5, 7, 6)}

Active = NDArray[np.bool_]
Counts = NDArray[np.int64]

MARKOV_STAY_ON, MARKOV_STAY_OFF = 0.72, 0.55
PARETO_SHAPE = 1.5
PARETO_LARGEST = 100.0  # times the mean cluster


@dataclass(slots=True)
class Burst:
    """Errors of one link: `rate_h` while active, `repeats` and `grave` as shares of the errors.

    `far_share` 0: only the end `side` counts; else the other end counts that share of it.
    `growth` multiplies the rate bin by bin (1 for all but slow drifts).
    """

    link: int
    active: Active
    rate_h: float
    repeats: float
    grave: float
    side: int
    far_share: float
    growth: NDArray[np.float64] | None = None


@dataclass(slots=True)
class Counted:
    """Sparse counts: parallel arrays of ends, counters (index into COUNTERS), bins and numbers."""

    end: NDArray[np.int64]
    counter: NDArray[np.int64]
    bin: NDArray[np.int64]
    count: NDArray[np.float64]


def merged(parts: list[Counted]) -> Counted:
    """All parts in one; the same end, counter and bin may stand in it more than once."""
    return Counted(
        np.concatenate([part.end for part in parts]).astype(np.int64),
        np.concatenate([part.counter for part in parts]).astype(np.int64),
        np.concatenate([part.bin for part in parts]).astype(np.int64),
        np.concatenate([part.count for part in parts]).astype(np.float64),
    )


def draw_burst(
    burst: Burst, link_type: str, step_s: float, law: str, rng: np.random.Generator
) -> list[Counted]:
    """Counts of both ends of a burst."""
    mean = np.full(len(burst.active), burst.rate_h * step_s / 3600.0)
    if burst.growth is not None:
        mean = mean * burst.growth
    parts = []
    for side, share in ((burst.side, 1.0), (1 - burst.side, burst.far_share)):
        if share > 0:
            errors = error_counts(mean * share, burst.active, law, rng)
            parts += _split(2 * burst.link + side, errors, burst, link_type, rng)
    return parts


def error_counts(
    mean: NDArray[np.float64], active: Active, law: str, rng: np.random.Generator
) -> Counts:
    """Errors per bin with the given means, zero where not active."""
    bins = np.flatnonzero(active)
    wanted = mean[bins]
    counts = np.zeros(len(active), np.int64)
    if law == "pareto":
        counts[bins] = _clusters(wanted, rng)
        return counts
    if law == "gamma":
        wanted = wanted * rng.standard_gamma(1.0, len(bins))
    elif law == "markov":
        wanted = wanted * _on_off(len(bins), rng)
    counts[bins] = rng.poisson(wanted)
    return counts


def _on_off(bins: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """A two-state chain as a factor of mean about one; it starts erring."""
    share_on = (1 - MARKOV_STAY_OFF) / (2 - MARKOV_STAY_ON - MARKOV_STAY_OFF)
    draws, state = rng.random(bins), True
    factors = np.zeros(bins)
    for place, draw in enumerate(draws):
        if place:
            state = bool(draw < (MARKOV_STAY_ON if state else 1 - MARKOV_STAY_OFF))
        factors[place] = state / share_on
    return factors


def _clusters(mean: NDArray[np.float64], rng: np.random.Generator) -> Counts:
    """Clusters at random times, their sizes heavy-tailed; about two fall into a bin of a high rate."""
    if not len(mean) or mean.sum() <= 0:
        return np.zeros(len(mean), np.int64)
    typical = max(8.0, float(mean.mean()) / 2)
    number = int(rng.poisson(mean.sum() / typical))
    sizes = 1.0 + rng.pareto(PARETO_SHAPE, number)
    sizes = np.minimum(sizes * typical * (1 - 1 / PARETO_SHAPE), PARETO_LARGEST * typical)
    places = rng.choice(len(mean), number, p=mean / mean.sum())
    return np.rint(np.bincount(places, sizes, len(mean))).astype(np.int64)


def _split(
    end: int, errors: Counts, burst: Burst, link_type: str, rng: np.random.Generator
) -> list[Counted]:
    """The errors of one end in the counters its link type has."""
    grave = rng.binomial(errors, burst.grave)
    repeats = rng.poisson(errors * burst.repeats)
    columns = COUNTED[link_type]
    per_counter = {columns[EVERY]: errors, columns[REPEATS]: repeats, columns[GRAVE]: grave}
    return [
        _sparse(end, counter, counts) for counter, counts in per_counter.items() if counter >= 0
    ]


def _sparse(end: int, counter: int, counts: Counts) -> Counted:
    bins = np.flatnonzero(counts)
    size = len(bins)
    return Counted(np.full(size, end), np.full(size, counter), bins, counts[bins].astype(float))
