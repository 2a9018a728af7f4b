"""How long the collectives of every group take in every bin, and what the records say of it.

Lays link faults, congestion and late hosts over the normal times, with noise by one of the four
latency laws. One collective per group and bin is recorded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fabric_pipeline.synth.fleet.disturbance import Disturbance, make_late
from fabric_pipeline.synth.fleet.plan import Plan
from fabric_pipeline.synth.fleet.spec import FleetSpec
from fabric_pipeline.synth.fleet.streams import Purpose, stream
from fabric_pipeline.synth.fleet.topology_arrays import NVLINK, Shape
from fabric_pipeline.synth.fleet.workload import Workload

Cells = NDArray[np.float64]

OUTLIERS, MISSING = 0.012, 0.03
JITTER = 0.03  # spread of ordinary arrivals, as a share of the base time
NAMED_LATE = 0.03  # a host that is later than this is the last one for certain
PROPAGATION = 0.6  # share of scenarios in which NVLink trouble delays the node's next collective
RECORD_NOISE = 0.01
FELT_FACTOR, FELT_CELLS = 1.02, 3
DRIFT_STEP = 0.004
STUDENT_DEGREES, STUDENT_LARGEST = 3, 8.0


@dataclass(slots=True)
class Timings:
    """Recorded times, groups x bins; see FleetScenario for what each array says."""

    whole_us: Cells
    pure_us: Cells | None
    late_node: NDArray[np.int32]
    late_gpu: NDArray[np.int32]


def draw_timings(
    spec: FleetSpec, shape: Shape, work: Workload, plan: Plan, found: Disturbance, seed: int
) -> Timings:
    """Times of all collectives; also settles which guilty links were felt."""
    arrivals, records = stream(seed, Purpose.ARRIVALS), stream(seed, Purpose.RECORDS)
    cells = work.bins.shape
    link_factor, source = _link_factor(plan, cells)
    if arrivals.random() < PROPAGATION:
        _pass_on(shape, work, plan, found, arrivals)
    noise = _noise(spec.latency_law, cells, stream(seed, Purpose.NOISE))
    base = work.base_us[:, None]
    pure = base * link_factor * found.congestion * noise
    waited = base * (found.late_share + np.abs(arrivals.normal(0, JITTER, cells)))
    observed = work.bins & (records.random(cells) >= MISSING)
    _settle_felt(plan, link_factor, source, observed)
    recorded = pure * np.exp(records.normal(0, RECORD_NOISE, cells))
    whole = np.where(observed, np.maximum(pure + waited, recorded), np.nan)
    per_rank = bool(records.random() < 0.5) if spec.per_rank is None else spec.per_rank
    if not per_rank:
        unknown = np.full(cells, -1, np.int32)
        return Timings(whole, None, unknown, unknown.copy())
    node, gpu = _last_to_arrive(shape, work, found, records)
    for array in (node, gpu):
        array[~observed] = -1
    return Timings(whole, np.where(observed, recorded, np.nan), node, gpu)


def _link_factor(plan: Plan, cells: tuple[int, ...]) -> tuple[Cells, NDArray[np.int8]]:
    """A collective runs at the speed of its slowest link; also which fault that is (-1 none)."""
    factor, source = np.ones(cells), np.full(cells, -1, np.int8)
    for slow in plan.slowdowns:
        worse = slow.factor > factor[slow.groups]
        source[slow.groups] = np.where(worse, slow.truth, source[slow.groups])
        factor[slow.groups] = np.maximum(factor[slow.groups], slow.factor)
    return factor, source


def _settle_felt(
    plan: Plan, factor: Cells, source: NDArray[np.int8], observed: NDArray[np.bool_]
) -> None:
    slowed = observed & (factor >= FELT_FACTOR)
    for number, truth in enumerate(plan.truth):
        truth.felt = int((slowed & (source == number)).sum()) >= FELT_CELLS


def _pass_on(
    shape: Shape, work: Workload, plan: Plan, found: Disturbance, rng: np.random.Generator
) -> None:
    """A node whose tensor-parallel collective is slow comes late to its data-parallel ones."""
    for slow in plan.slowdowns:
        link = plan.truth[slow.truth].link
        if shape.kind[link] != NVLINK:
            continue
        node, gpu = int(shape.links.node_index[link]), int(shape.links.gpu[link])
        for group, factor in zip(slow.groups, slow.factor, strict=True):
            next_ones = np.flatnonzero((work.job == work.job[group]) & (work.rail >= 0))
            more = np.maximum(factor - 1, 0)[None, :]
            share = more * rng.uniform(0.3, 0.8, (len(next_ones), work.bins.shape[1]))
            make_late(work, found, next_ones, share, node, gpu)


def _noise(law: str, cells: tuple[int, ...], rng: np.random.Generator) -> Cells:
    """Factor of median about one on every cell, rare outliers included."""
    sigma = rng.uniform(0.02, 0.05)
    laws = {"lognormal": _wandering, "ar1": _autoregressive, "student": _heavy, "sawtooth": _swing}
    noise = np.exp(laws[law](sigma, cells, rng))
    outlier = rng.random(cells) < OUTLIERS
    noise[outlier] *= rng.uniform(1.2, 2.0, int(outlier.sum()))
    return np.asarray(noise, np.float64)


def _wandering(sigma: float, cells: tuple[int, ...], rng: np.random.Generator) -> Cells:
    """Independent noise over a slow random walk."""
    walk = np.cumsum(rng.normal(0, DRIFT_STEP, cells), axis=1)
    walk -= np.median(walk, axis=1, keepdims=True)
    return np.asarray(walk + rng.normal(0, sigma, cells))


def _autoregressive(sigma: float, cells: tuple[int, ...], rng: np.random.Generator) -> Cells:
    """A bin resembles the one before it."""
    memory = rng.uniform(0.7, 0.92)
    steps = rng.normal(0, sigma, cells)
    steps[:, 1:] *= np.sqrt(1 - memory**2)
    for bin_ in range(1, cells[1]):
        steps[:, bin_] += memory * steps[:, bin_ - 1]
    return np.asarray(steps)


def _heavy(sigma: float, cells: tuple[int, ...], rng: np.random.Generator) -> Cells:
    """Student's t with three degrees of freedom: far values are common."""
    draws = rng.standard_t(STUDENT_DEGREES, cells)
    return np.asarray(0.6 * sigma * np.clip(draws, -STUDENT_LARGEST, STUDENT_LARGEST))


def _swing(sigma: float, cells: tuple[int, ...], rng: np.random.Generator) -> Cells:
    """A sawtooth of a few per cent, each group with a period and phase of its own."""
    period, phase = rng.uniform(20, 90, (cells[0], 1)), rng.random((cells[0], 1))
    height = rng.uniform(0.02, 0.06, (cells[0], 1))
    tooth = (np.arange(cells[1]) / period + phase) % 1.0 - 0.5
    return np.asarray(height * tooth + rng.normal(0, 0.6 * sigma, cells))


def _last_to_arrive(
    shape: Shape, work: Workload, found: Disturbance, rng: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The late host where one stands out, else any member."""
    cells = work.bins.shape
    place = (rng.random(cells) * work.size[:, None]).astype(np.int32)
    node = work.member_node[work.member_start[:-1, None] + place]
    gpu = rng.integers(0, shape.platform.gpus, cells, np.int32)
    gpu = np.where(work.rail[:, None] < 0, gpu, work.rail[:, None])
    known = (found.late_share > NAMED_LATE) & (found.late_node >= 0)
    return np.where(known, found.late_node, node), np.where(known, found.late_gpu, gpu)
