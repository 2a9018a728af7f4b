"""The guilty links of a scenario: which, when, how badly, and which collectives feel it.

A fault gives errors (`Burst`), a lowered state (`StateSpan`) or nothing to see at all, and a factor
on the groups that cross the link. Harmless errors are drawn in `confounders`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fabric_pipeline.synth.fleet.bursts import Active, Burst
from fabric_pipeline.synth.fleet.plan import GuiltyLink, Plan, Slowdown, StateSpan
from fabric_pipeline.synth.fleet.platforms import IB_LANES, PCIE_LANES
from fabric_pipeline.synth.fleet.spec import FleetSpec
from fabric_pipeline.synth.fleet.streams import Purpose, log_uniform, stream
from fabric_pipeline.synth.fleet.topology_arrays import (
    NVLINK,
    PCIE_GPU,
    PCIE_NIC,
    RAIL,
    UPLINK,
    Shape,
)
from fabric_pipeline.synth.fleet.workload import Workload

GUILTY_RATE_H = (500.0, 60_000.0)
FROM_THE_START = 0.2  # share of faults that are older than the window
LEAST_USE = 0.35  # a guilty link is crossed in this share of the window (summed over groups)
TRIALS = 400


def draw_faults(spec: FleetSpec, shape: Shape, work: Workload, seed: int) -> Plan:
    """The guilty links of the scenario's class; none when no link of the kind is used enough."""
    plan = Plan()
    rng, feeling = stream(seed, Purpose.FAULT), stream(seed, Purpose.FEELING)
    for _ in range(2 if spec.fault == "two_links" else 1):
        kinds = _kinds(spec.fault, rng)
        link = _used_link(kinds, shape, work, plan.taken, rng) if kinds else None
        if link is not None:
            plan.taken.add(link)
            _add_fault(link, spec, shape, work, plan, (rng, feeling))
    return plan


def _kinds(fault: str, rng: np.random.Generator) -> tuple[int, ...]:
    draw = rng.random()
    if fault in ("none", "idle_errors"):
        return ()
    if fault in ("nvlink", "nic_leaf", "pcie", "leaf_spine"):
        plain = {"nvlink": (NVLINK,), "nic_leaf": (RAIL,), "pcie": (PCIE_GPU, PCIE_NIC)}
        return plain.get(fault, (UPLINK,))
    if fault.startswith("silent"):
        return (NVLINK,) if draw < 0.3 else (RAIL, PCIE_NIC, PCIE_GPU)
    if fault == "two_links":
        return (NVLINK,) if draw < 0.5 else (RAIL, PCIE_NIC)
    return (NVLINK,) if draw < 0.5 else (RAIL,)


def _used_link(
    kinds: tuple[int, ...],
    shape: Shape,
    work: Workload,
    taken: set[int],
    rng: np.random.Generator,
) -> int | None:
    """A random link of these kinds that collectives cross often enough to feel it."""
    candidates = np.flatnonzero(np.isin(shape.kind, kinds))
    bins = work.bins.sum(axis=1)
    for link in candidates[rng.integers(0, len(candidates), TRIALS)]:
        used = bins[work.crossing(shape, int(link))].sum()
        if used > LEAST_USE * work.bins.shape[1] and int(link) not in taken:
            return int(link)
    return None


def _add_fault(
    link: int,
    spec: FleetSpec,
    shape: Shape,
    work: Workload,
    plan: Plan,
    streams: tuple[np.random.Generator, np.random.Generator],
) -> None:
    rng, feeling = streams
    silent = spec.fault.partition("_")[2] if spec.fault.startswith("silent") else ""
    if spec.fault == "drift":
        first, last = int(spec.bins * rng.uniform(0.05, 0.3)), spec.bins
    elif spec.fault == "flap" and spec.bins * spec.step_s > 86_400:
        first, last = int(spec.bins * rng.uniform(0.0, 0.3)), spec.bins
    else:
        first, last = span_of_guilt(spec.bins, rng)
    active = pulses(spec.bins, first, last, rng) if spec.fault == "flap" else None
    active = solid(spec.bins, first, last) if active is None else active
    effect = _effect(spec, silent, rng)
    truth = GuiltyLink(link, first, last, active, effect, silent)
    if not silent:
        both = spec.fault == "both_ends" or bool(rng.random() < 0.3)
        burst = guilty_burst(link, active, both, bool(shape.weight[link] > 1), rng)
        burst.growth = _drift_growth(spec, first, last)
        plan.bursts.append(burst)
    if silent == "state":
        plan.states += _lowered(truth, shape, rng)
    groups = work.crossing(shape, link)
    factor = _factors(truth, spec, len(groups), feeling)
    plan.slowdowns.append(Slowdown(len(plan.truth), groups, factor * work.bins[groups]))
    plan.truth.append(truth)


def span_of_guilt(bins: int, rng: np.random.Generator) -> tuple[int, int]:
    """First and last bin of a fault."""
    old = rng.random() < FROM_THE_START
    first = 0 if old else int(rng.integers(int(0.2 * bins), int(0.6 * bins)))
    if rng.random() < 0.6:
        return first, bins
    return first, min(bins, first + int(rng.integers(int(0.12 * bins), int(0.5 * bins))))


def solid(bins: int, first: int, last: int) -> Active:
    """Active from first to before last."""
    active = np.zeros(bins, bool)
    active[first:last] = True
    return active


def pulses(bins: int, first: int, last: int, rng: np.random.Generator) -> Active:
    """On for 2 to 8 bins, off for 4 to 24, again and again."""
    active, place = np.zeros(bins, bool), first
    while place < last:
        length = int(rng.integers(2, 9))
        active[place : min(last, place + length)] = True
        place += length + int(rng.integers(4, 25))
    return active


def guilty_burst(
    link: int, active: Active, both: bool, near_only: bool, rng: np.random.Generator
) -> Burst:
    """Errors as guilty links have them; hard scenarios give the same to harmless links."""
    rate = log_uniform(rng, *GUILTY_RATE_H)
    repeats, grave = rng.uniform(0.15, 1.0), rng.choice((0.0, 0.01, 0.05), p=(0.4, 0.3, 0.3))
    side, share = int(rng.integers(2)), float(rng.uniform(0.2, 1.0))
    if near_only:
        return Burst(link, active, rate, float(repeats), float(grave), 0, 0.0)
    return Burst(link, active, rate, float(repeats), float(grave), side, share if both else 0.0)


def _effect(spec: FleetSpec, silent: str, rng: np.random.Generator) -> float:
    if silent:
        return float(rng.uniform(1.3, 2.2))
    return log_uniform(rng, 1.08, 1.7) if spec.hard else log_uniform(rng, 1.10, 3.5)


def _drift_growth(spec: FleetSpec, first: int, last: int) -> NDArray[np.float64] | None:
    """Errors of a drifting link grow a hundredfold up to their rate."""
    if spec.fault != "drift":
        return None
    return np.asarray(0.01 ** (1 - _progress(spec.bins, first, last - first)), np.float64)


def _progress(bins: int, first: int, length: float) -> NDArray[np.float64]:
    """0 before `first`, 1 after `length` bins more."""
    return np.clip((np.arange(bins) - first + 1) / max(1.0, length), 0.0, 1.0)


def _factors(
    truth: GuiltyLink, spec: FleetSpec, groups: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Factor on each crossing group and bin, by the effect law; 0 outside the active bins."""
    more = np.full((groups, spec.bins), truth.effect - 1)
    if spec.fault == "drift":
        more *= _progress(spec.bins, truth.first_bin, truth.last_bin - truth.first_bin)
    if spec.effect_law == "factor":
        more *= rng.uniform(0.7, 1.0, (groups, 1))
    elif spec.effect_law == "share":
        more *= rng.random(more.shape) < rng.uniform(0.5, 0.9)
    else:
        grown = _progress(spec.bins, truth.first_bin, rng.uniform(4, 16))
        more *= rng.uniform(0.85, 1.0, (groups, 1)) * (1.0 if truth.first_bin == 0 else grown)
    return np.asarray((1 + more) * truth.active, np.float64)


def _lowered(truth: GuiltyLink, shape: Shape, rng: np.random.Generator) -> list[StateSpan]:
    """Both ends of a link agree on a lower width or speed."""
    facts, kind = shape.platform, int(shape.kind[truth.link])
    if kind == NVLINK:
        width, speed = facts.nvlink_lanes, facts.nvlink_gbps
    elif kind in (PCIE_GPU, PCIE_NIC):
        width, speed = PCIE_LANES, facts.pcie_gbps
    else:
        width, speed = IB_LANES, facts.ib_gbps
    counter = "width" if rng.random() < 0.6 else "speed_gbps"
    normal = float(width if counter == "width" else speed)
    value = normal / 2 if kind == NVLINK or rng.random() < 0.7 else normal / 4
    sides = (0,) if shape.weight[truth.link] > 1 else (0, 1)
    span = (counter, normal, value, truth.first_bin, truth.last_bin)
    return [StateSpan(truth.link, side, *span) for side in sides]
