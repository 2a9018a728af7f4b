"""Jobs of a fleet and the groups of GPUs that communicate: who runs where, when, how long it takes.

A job is flat (one all-reduce over all its GPUs) or hybrid (tensor-parallel groups inside an NVLink
domain, one data-parallel group per rail). Faults and latencies are laid over this elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fabric_pipeline.synth.fleet.schedule import Job, draw_jobs
from fabric_pipeline.synth.fleet.spec import FleetSpec
from fabric_pipeline.synth.fleet.streams import Purpose, stream
from fabric_pipeline.synth.fleet.topology_arrays import NVLINK, UPLINK, Ints, Shape

LAUNCH_US = 25.0
HYBRID_SHARE = 0.65
BYTES = {"tp": 1.7e8, "dp": 2.8e8, "flat": 2.1e8}  # of a message of unit size
MESSAGE_SIZES = (0.5, 1.0, 2.0, 4.0)
SIZE_COST = 0.02  # each doubling of the nodes makes a collective this much slower


@dataclass(slots=True)
class FleetGroup:
    """One communicator: `nodes` are indices, `rail` is -1 unless kind is dp, `last_bin` is exclusive.

    `base_us` is its normal time as stated in the records; use it only when `baseline_given`.
    """

    run: str
    name: str
    kind: str
    nodes: NDArray[np.int64]
    rail: int
    first_bin: int
    last_bin: int
    base_us: float
    bytes: int
    baseline_given: bool


@dataclass(slots=True)
class Workload:
    """All groups, and the same as arrays. `member_group`/`member_node` list who belongs to what.

    `base_us` is the true normal time. `path` is the hidden number from which a group's way through
    the spines follows. `bins` tells for each group and bin whether it runs.
    """

    groups: list[FleetGroup]
    is_tp: NDArray[np.bool_]
    rail: Ints
    job: Ints
    size: Ints
    base_us: NDArray[np.float64]
    path: NDArray[np.int64]
    member_group: Ints
    member_node: Ints
    member_start: Ints
    bins: NDArray[np.bool_]

    def on_node(self, node: int) -> NDArray[np.int64]:
        """Groups with members on a node."""
        return np.asarray(self.member_group[self.member_node == node], np.int64)

    def crossing(self, shape: Shape, link: int) -> NDArray[np.int64]:
        """Groups whose traffic really crosses a link."""
        kind, rail = int(shape.kind[link]), int(shape.links.rail[link])
        if kind == UPLINK:
            return self._over_spine(shape, link)
        groups: NDArray[np.int64] = self.on_node(int(shape.links.node_index[link]))
        if kind == NVLINK:
            return np.asarray(groups[self.rail[groups] < 0])
        uses_rail = (self.rail[groups] == rail) | (self.rail[groups] < 0)
        return np.asarray(groups[~self.is_tp[groups] & (self.size[groups] > 1) & uses_rail])

    def over_leaves(self, shape: Shape, leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """Groups of several nodes that use at least one of these leaves."""
        rails, pods = leaves % shape.platform.gpus, leaves // shape.platform.gpus
        rail = self.rail[self.member_group]
        pod = self.member_node // shape.pod_nodes
        used = np.zeros(len(rail), bool)
        for one in np.unique(rails):
            used |= ((rail == one) | (rail < 0)) & np.isin(pod, pods[rails == one])
        groups = np.unique(self.member_group[used]).astype(np.int64)
        return np.asarray(groups[~self.is_tp[groups] & (self.size[groups] > 1)])

    def _over_spine(self, shape: Shape, link: int) -> NDArray[np.int64]:
        leaf = int(shape.links.leaf[link])
        groups = self.over_leaves(shape, np.array([leaf]))
        ends = self.member_start[groups], self.member_start[groups + 1] - 1
        pods = [self.member_node[place] // shape.pod_nodes for place in ends]
        chosen = groups[pods[0] != pods[1]]  # the nodes of a group are sorted
        spine = (self.path[chosen] + leaf * 2654435761 >> 7) % shape.spines
        return np.asarray(chosen[spine == shape.spine[link]])


def draw_workload(spec: FleetSpec, shape: Shape, seed: int) -> Workload:
    """The jobs of a scenario and their groups."""
    rng = stream(seed, Purpose.MESSAGES)
    groups: list[FleetGroup] = []
    jobs: list[int] = []
    for number, job in enumerate(draw_jobs(spec, stream(seed, Purpose.SCHEDULE))):
        fresh = list(_groups_of(number, job, spec, shape, rng))
        groups += fresh
        jobs += [number] * len(fresh)
    workload = _as_arrays(groups, jobs, spec.bins, stream(seed, Purpose.PATHS))
    if spec.wrong_baseline:
        _misstate(groups, stream(seed, Purpose.BASELINES))
    return workload


def _groups_of(
    number: int, job: Job, spec: FleetSpec, shape: Shape, rng: np.random.Generator
) -> Iterator[FleetGroup]:
    nodes, first, last = job
    run, size = f"run-{number + 1:04d}", float(rng.choice(MESSAGE_SIZES))
    given, hybrid = bool(rng.random() < 0.5), bool(rng.random() < HYBRID_SHARE)

    def group(kind: str, name: str, members: NDArray[np.int64], rail: int = -1) -> FleetGroup:
        message = int(BYTES[kind] * size)
        base = _all_reduce_us(kind, message, len(members), shape)
        return FleetGroup(run, name, kind, members, rail, first, last, base, message, given)

    if spec.one_job or not (hybrid or len(nodes) == 1):
        yield group("flat", "world", nodes)
        return
    for place, domain in enumerate(_tensor_domains(nodes, shape, rng)):
        yield group("tp", f"tp-{place}", domain)
    if len(nodes) > 1:
        for rail in range(shape.platform.gpus):
            yield group("dp", f"dp-{rail}", nodes, rail)


def _tensor_domains(
    nodes: NDArray[np.int64], shape: Shape, rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """One domain per node; in racks with shared NVSwitches up to four nodes of a rack."""
    if not shape.platform.shared_switches:
        return [nodes[i : i + 1] for i in range(len(nodes))]
    size = int(rng.choice((1, 2, 4)))
    racks = nodes // shape.platform.rack_nodes
    parts = [nodes[racks == rack] for rack in np.unique(racks)]
    return [part[i : i + size] for part in parts for i in range(0, len(part), size)]


def _all_reduce_us(kind: str, size: int, nodes: int, shape: Shape) -> float:
    facts = shape.platform
    ranks = nodes if kind == "dp" else nodes * facts.gpus
    inside = kind == "tp" or nodes == 1
    busbw = facts.nvlink_busbw if inside else facts.rail_busbw
    cost = 1 + SIZE_COST * float(np.log2(max(1, nodes)))
    return LAUNCH_US + 2 * (ranks - 1) / ranks * size / busbw * 1e6 * cost


def _as_arrays(
    groups: list[FleetGroup], jobs: list[int], bins: int, rng: np.random.Generator
) -> Workload:
    size = np.array([len(group.nodes) for group in groups], np.int32)
    bin_ = np.arange(bins)
    first = np.array([group.first_bin for group in groups])[:, None]
    last = np.array([group.last_bin for group in groups])[:, None]
    return Workload(
        groups=groups,
        is_tp=np.array([group.kind == "tp" for group in groups]),
        rail=np.array([group.rail for group in groups], np.int32),
        job=np.array(jobs, np.int32),
        size=size,
        base_us=np.array([group.base_us for group in groups]),
        path=rng.integers(0, 1 << 30, len(groups)),
        member_group=np.repeat(np.arange(len(groups), dtype=np.int32), size),
        member_node=np.concatenate([group.nodes for group in groups]).astype(np.int32),
        member_start=np.concatenate(([0], np.cumsum(size))).astype(np.int32),
        bins=(bin_ >= first) & (bin_ < last),
    )


def _misstate(groups: list[FleetGroup], rng: np.random.Generator) -> None:
    """Stated baselines of another machine, message size or library: off by up to 1.7 times."""
    for group in groups:
        group.base_us *= float(np.exp(rng.uniform(-0.5, 0.5)))
        group.baseline_given = group.baseline_given or bool(rng.random() < 0.6)
