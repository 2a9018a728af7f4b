"""What slows collectives without any link's fault: late hosts, and congestion of the fabric.

Both are laid over the groups as shares of their normal time and noted for the answer key; the
evidence they leave (throttle flags, waiting ports) comes with them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fabric_pipeline.synth.fleet.confounders import some_span
from fabric_pipeline.synth.fleet.faults import solid
from fabric_pipeline.synth.fleet.plan import Plan
from fabric_pipeline.synth.fleet.spec import FleetSpec
from fabric_pipeline.synth.fleet.streams import Purpose, log_uniform, stream
from fabric_pipeline.synth.fleet.topology_arrays import RAIL, Shape
from fabric_pipeline.synth.fleet.workload import Workload

LATE_HOSTS_SHARE, THROTTLE_SEEN = 0.55, 0.5
CONGESTION_SHARE, CONGESTION_SEEN, CONGESTION_EVERYWHERE = 0.45, 0.7, 0.75
# A waiting port counts ticks in a tenth to a half of the time; a busy healthy one far less.
WAIT_TICKS_PER_S = (2.0e5, 1.0e6)

WaitTicks = tuple[int, NDArray[np.int64], NDArray[np.float64]]  # end, bins, ticks
Throttled = tuple[int, int, int, int]  # node, gpu, first bin, last bin


@dataclass(slots=True)
class Disturbance:
    """What slows collectives besides links, as arrays of groups x bins.

    `late_share` is how late the latest host comes (share of the group's base time), `late_node` and
    `late_gpu` who that is (-1 nobody), `congestion` a factor on the time of the transfer.
    """

    late_share: NDArray[np.float64]
    late_node: NDArray[np.int32]
    late_gpu: NDArray[np.int32]
    congestion: NDArray[np.float64]
    wait_ticks: list[WaitTicks] = field(default_factory=list)
    throttled: list[Throttled] = field(default_factory=list)


def draw_disturbance(
    spec: FleetSpec, shape: Shape, work: Workload, plan: Plan, seed: int
) -> Disturbance:
    """Late hosts and congestion of the scenario."""
    cells = work.bins.shape
    found = Disturbance(
        np.zeros(cells), np.full(cells, -1, np.int32), np.full(cells, -1, np.int32), np.ones(cells)
    )
    _add_late_hosts(spec, shape, work, plan, found, stream(seed, Purpose.LATE_HOSTS))
    _add_congestion(spec, shape, work, plan, found, seed)
    return found


def _add_late_hosts(
    spec: FleetSpec,
    shape: Shape,
    work: Workload,
    plan: Plan,
    found: Disturbance,
    rng: np.random.Generator,
) -> None:
    """A slow GPU makes its node late in all groups of the node."""
    if rng.random() >= LATE_HOSTS_SHARE:
        return
    for _ in range(round(int(rng.integers(1, 3)) * spec.confounder_scale)):
        node, gpu = int(rng.integers(shape.nodes)), int(rng.integers(shape.platform.gpus))
        first, last = some_span(spec.bins, 8, int(0.35 * spec.bins), rng)
        delay, seen = log_uniform(rng, 0.15, 2.0), bool(rng.random() < THROTTLE_SEEN)
        groups = work.on_node(node)
        share = delay * np.where(work.is_tp[groups], 1.0, rng.uniform(0.4, 1.0, len(groups)))
        make_late(work, found, groups, share[:, None] * solid(spec.bins, first, last), node, gpu)
        if seen:
            found.throttled.append((node, gpu, first, last))
        plan.confounders.append(
            {
                "kind": "late_host",
                "node": node,
                "gpu": gpu,
                "first_bin": first,
                "last_bin": last,
                "delay": round(delay, 3),
                "throttle_seen": seen,
            }
        )


def make_late(
    work: Workload,
    found: Disturbance,
    groups: NDArray[np.int64],
    share: NDArray[np.float64],
    node: int,
    gpu: int,
) -> None:
    """Let a node come late by `share` (groups x bins) where nobody comes later; rails name their GPU."""
    later = share > found.late_share[groups]
    found.late_share[groups] = np.maximum(found.late_share[groups], share)
    found.late_node[groups] = np.where(later, node, found.late_node[groups])
    gpus = np.where(work.rail[groups] < 0, gpu, work.rail[groups])[:, None]
    found.late_gpu[groups] = np.where(later, gpus, found.late_gpu[groups])


def _add_congestion(
    spec: FleetSpec, shape: Shape, work: Workload, plan: Plan, found: Disturbance, seed: int
) -> None:
    rng, waiting = stream(seed, Purpose.CONGESTION), stream(seed, Purpose.WAITING)
    if rng.random() >= CONGESTION_SHARE:
        return
    leaves = shape.pods * shape.platform.gpus
    ticks = np.zeros((2 * shape.nodes * shape.platform.gpus, spec.bins))
    for _ in range(int(rng.integers(1, 3))):
        first, last = some_span(spec.bins, 6, 40, rng)
        factor, seen = float(rng.uniform(1.12, 2.0)), bool(rng.random() < CONGESTION_SEEN)
        everywhere = rng.random() < CONGESTION_EVERYWHERE
        where = np.arange(leaves) if everywhere else rng.integers(leaves, size=1)
        groups = work.over_leaves(shape, where)
        slowed = np.where(solid(spec.bins, first, last), factor, 1.0)
        found.congestion[groups] = np.maximum(found.congestion[groups], slowed)
        if seen:
            _add_waits(ticks[:, first:last], spec.step_s, shape, where, waiting)
        plan.confounders.append(
            {
                "kind": "congestion",
                "leaves": "all" if everywhere else [int(leaf) for leaf in where],
                "first_bin": first,
                "last_bin": last,
                "factor": round(factor, 3),
                "seen": seen,
            }
        )
    first_end = 2 * shape.rail_link(0, 0)
    for row in np.flatnonzero(ticks.any(axis=1)):
        bins = np.flatnonzero(ticks[row])
        found.wait_ticks.append((first_end + int(row), bins, ticks[row, bins]))


def _add_waits(
    ticks: NDArray[np.float64],
    step_s: float,
    shape: Shape,
    leaves: NDArray[np.int64],
    rng: np.random.Generator,
) -> None:
    """Ticks of the leaves' ports toward the nodes and of the NICs, in about 80 % of the bins."""
    leaf = shape.links.leaf[shape.kind == RAIL]
    rows = np.flatnonzero(np.repeat(np.isin(leaf, leaves), 2))
    size = (len(rows), ticks.shape[1])
    amount = np.rint(rng.uniform(*WAIT_TICKS_PER_S, size) * step_s)
    ticks[rows] += amount * (rng.random(size, np.float32) < 0.8)
