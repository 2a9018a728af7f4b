"""True error counts of a whole fleet: the background of healthy links and the planned bursts.

Everything is sparse, because nearly all ends count nothing in nearly all bins. How counts are read
out (losses, resets, skew) is in `imperfections`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fabric_pipeline.synth.fleet.bursts import COUNTED, EVERY, REPEATS, Counted, draw_burst, merged
from fabric_pipeline.synth.fleet.plan import Plan
from fabric_pipeline.synth.fleet.spec import FleetSpec
from fabric_pipeline.synth.fleet.streams import Purpose, stream
from fabric_pipeline.synth.fleet.topology_arrays import LINK_TYPES, UPLINK, Shape

# Errors per hour: of 70 % of the ends, spread of the next 25 %, level and spread of the last 5 %.
QUIET_H, NOISY_LEVEL_H, NOISY_SPREAD = 0.01, 30.0, 0.7
QUIET, USUAL = 0.70, 0.95
REPEATED = 0.3  # share of background errors that also led to a repeat
MOST_PER_WINDOW = 5000


def true_counts(spec: FleetSpec, shape: Shape, plan: Plan, seed: int) -> Counted:
    """All errors of the window; the same end, counter and bin may stand in it more than once."""
    rng = stream(seed, Purpose.BURSTS)
    parts = [_background(spec, shape, stream(seed, Purpose.BACKGROUND))]
    for burst in plan.bursts:
        link_type = LINK_TYPES[int(shape.kind[burst.link])]
        parts += draw_burst(burst, link_type, spec.step_s, spec.burst_law, rng)
    return _without_missing_counters(merged(parts), shape)


def _background(spec: FleetSpec, shape: Shape, rng: np.random.Generator) -> Counted:
    """Single errors at constant rates; a GPU total adds up the rates of all its NVLinks."""
    ends = np.repeat(np.arange(2 * shape.size), np.repeat(shape.weight, 2))
    mean = _rates_h(len(ends), rng) * spec.step_s * spec.bins / 3600.0
    errors = np.minimum(rng.poisson(mean), MOST_PER_WINDOW)
    end = np.repeat(ends, errors)
    bins = rng.integers(0, spec.bins, len(end))
    columns = np.array([COUNTED[LINK_TYPES[kind]] for kind in range(UPLINK + 1)])
    columns = columns[shape.kind[end // 2]]
    again = rng.random(len(end), np.float32) < REPEATED
    every = Counted(end, columns[:, EVERY], bins, np.ones(len(end)))
    repeats = Counted(end[again], columns[again, REPEATS], bins[again], np.ones(int(again.sum())))
    return merged([every, repeats])


def _rates_h(ends: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Errors per hour of healthy ends."""
    draw = rng.random(ends)
    rate = np.full(ends, QUIET_H)
    usual, noisy = (draw >= QUIET) & (draw < USUAL), draw >= USUAL
    rate[usual] = rng.lognormal(0.0, 1.0, int(usual.sum()))
    rate[noisy] = NOISY_LEVEL_H * rng.lognormal(0.0, NOISY_SPREAD, int(noisy.sum()))
    return rate


def _without_missing_counters(counts: Counted, shape: Shape) -> Counted:
    """PCIe repeats are counted by devices only; the unnamed far end of a GPU total counts nothing."""
    is_far = counts.end % 2 == 1
    link = counts.end // 2
    kept = ~(is_far & (counts.counter == COUNTED["pcie"][REPEATS]))
    kept &= ~(is_far & (shape.weight[link] > 1))
    return Counted(counts.end[kept], counts.counter[kept], counts.bin[kept], counts.count[kept])
