"""Errors that slow nothing: harmless bursts, and errors of links that nobody uses meanwhile.

They are added to the plan and noted for the answer key. What slows collectives without any link's
fault is in `disturbance`, what is wrong with the telemetry itself in `flaws`.
"""

from __future__ import annotations

import numpy as np

from fabric_pipeline.synth.fleet.bursts import Active, Burst
from fabric_pipeline.synth.fleet.faults import guilty_burst, pulses, solid, span_of_guilt
from fabric_pipeline.synth.fleet.plan import Plan
from fabric_pipeline.synth.fleet.schedule import SMALL_FLEET
from fabric_pipeline.synth.fleet.spec import FleetSpec
from fabric_pipeline.synth.fleet.streams import Purpose, log_uniform, stream
from fabric_pipeline.synth.fleet.topology_arrays import RAIL, UPLINK, Shape
from fabric_pipeline.synth.fleet.workload import Workload

HARMLESS_SHARE = 0.8  # of base scenarios have harmless bursts; all hard ones do
HARMLESS_RATE_H = (200.0, 20_000.0)
LEAST_IDLE = 0.12  # share of the window in which nothing crosses a link with idle errors


def add_harmless_errors(
    spec: FleetSpec, shape: Shape, work: Workload, plan: Plan, seed: int
) -> None:
    """Bursts on links that slow nothing; with `idle_errors` also one that errs when nobody uses it."""
    rng = stream(seed, Purpose.HARMLESS)
    if spec.fault == "idle_errors":
        _add_idle_errors(shape, work, plan, rng)
    if not spec.hard and rng.random() >= HARMLESS_SHARE:
        return
    number = int(rng.integers(3, 9) if spec.hard else rng.integers(1, 5))
    for _ in range(round(number * spec.confounder_scale)):
        link = _any_link(shape, plan.taken, rng)
        near_only = bool(shape.weight[link] > 1)
        draw = _like_guilty if spec.hard else _plain_harmless
        _add_burst(draw(link, spec.bins, near_only, rng), "harmless_errors", plan)


def _any_link(shape: Shape, taken: set[int], rng: np.random.Generator) -> int:
    """Any link in a small fleet; in a large one any kind first, as NVLinks would be nearly all."""
    while True:
        link = int(rng.integers(shape.size))
        if shape.nodes > SMALL_FLEET:
            of_kind = np.flatnonzero(shape.kind == rng.integers(UPLINK + 1))
            link = int(of_kind[rng.integers(len(of_kind))])
        if link not in taken:
            taken.add(link)
            return link


def _like_guilty(link: int, bins: int, near_only: bool, rng: np.random.Generator) -> Burst:
    first, last = span_of_guilt(bins, rng)
    active = pulses(bins, first, last, rng) if rng.random() < 0.15 else solid(bins, first, last)
    return guilty_burst(link, active, bool(rng.random() < 0.3), near_only, rng)


def _plain_harmless(link: int, bins: int, near_only: bool, rng: np.random.Generator) -> Burst:
    first, last = some_span(bins, 3, int(0.3 * bins), rng)
    active = pulses(bins, first, last, rng) if rng.random() < 0.3 else solid(bins, first, last)
    rate, repeats = log_uniform(rng, *HARMLESS_RATE_H), float(rng.uniform(0.05, 0.6))
    grave = float(rng.choice((0.0, 0.01, 0.05), p=(0.7, 0.2, 0.1)))
    side, share = int(rng.integers(2)), float(rng.uniform(0.2, 1.0))
    if near_only:
        return Burst(link, active, rate, repeats, grave, 0, 0.0)
    return Burst(link, active, rate, repeats, grave, side, share if rng.random() < 0.4 else 0.0)


def some_span(bins: int, shortest: int, longest: int, rng: np.random.Generator) -> tuple[int, int]:
    """A span that starts anywhere but in the last bins and may run into the end of the window."""
    first = int(rng.integers(0, bins - 10))
    return first, min(bins, first + int(rng.integers(shortest, max(shortest + 1, longest))))


def _add_burst(burst: Burst, kind: str, plan: Plan) -> None:
    bins = np.flatnonzero(burst.active)
    plan.bursts.append(burst)
    plan.confounders.append(
        {
            "kind": kind,
            "link": burst.link,
            "first_bin": int(bins[0]),
            "last_bin": int(bins[-1]) + 1,
            "rate_h": round(burst.rate_h, 1),
        }
    )


def _add_idle_errors(shape: Shape, work: Workload, plan: Plan, rng: np.random.Generator) -> None:
    for _ in range(400):
        link = int(rng.choice(np.flatnonzero(shape.kind == rng.choice((0, RAIL)))))
        active = idle_bins(work, shape, link)
        if LEAST_IDLE < active.mean() < 1 - LEAST_IDLE:
            break
    else:
        return
    plan.taken.add(link)
    near_only = bool(shape.weight[link] > 1)
    both = bool(rng.random() < 0.3)
    _add_burst(guilty_burst(link, active, both, near_only, rng), "idle_errors", plan)


def idle_bins(work: Workload, shape: Shape, link: int) -> Active:
    """Bins in which no group crosses a link."""
    return np.asarray(~work.bins[work.crossing(shape, link)].any(axis=0), bool)
