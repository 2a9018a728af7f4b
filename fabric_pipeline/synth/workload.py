"""Training jobs of open-weight models and the groups of ranks whose collectives they time.

A hybrid job has one tensor-parallel group inside each node and one data-parallel group per rail; a
flat job has one group over all its ranks. How long the collectives take is in `timings`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fabric_pipeline.synth import hardware as hw
from fabric_pipeline.synth.effects import Factors, Site, Slowdown
from fabric_pipeline.synth.timegrid import TimeGrid

MIB = 1 << 20
# Bus bandwidth of a good all-reduce, bytes per second: eight H100 over NVSwitch, one NDR rail, and
# all eight rails of a node together; LATENCY_US is the fixed part.
NVLINK_BUSBW = 3.7e11
RAIL_BUSBW = 4.6e10
FLAT_BUSBW = 3.3e11
LATENCY_US = 28.0


@dataclass(frozen=True, slots=True)
class OpenModel:
    """An open-weight model: bytes of one all-reduce inside a node and of one gradient bucket."""

    name: str
    tensor_bytes: int
    gradient_bytes: int
    step_time_ms: float


LLAMA_70B = OpenModel("Llama 3.1 70B", 128 * MIB, 512 * MIB, 4200.0)
MIXTRAL_8X7B = OpenModel("Mixtral 8x7B", 64 * MIB, 256 * MIB, 2650.0)
OLMO_32B = OpenModel("OLMo 2 32B", 40 * MIB, 320 * MIB, 2300.0)
QWEN_72B = OpenModel("Qwen 2.5 72B", 128 * MIB, 512 * MIB, 4350.0)


@dataclass(frozen=True, slots=True)
class Job:
    """One training run on some nodes (positions in the cluster), from minute to minute."""

    run: str
    model: OpenModel
    nodes: tuple[int, ...]
    first_minute: float
    last_minute: float
    flat: bool = False


@dataclass(frozen=True, slots=True)
class Communicator:
    """One group of ranks. `members` are (node, GPU) in rank order, `ranks` their ranks in the run.

    `node` or `gpu` is set when all members share it.
    """

    job: Job
    name: str
    members: tuple[tuple[str, int], ...]
    ranks: tuple[int, ...]
    message_bytes: int
    base_us: float
    node: str | None = None
    gpu: int | None = None

    @property
    def spans_nodes(self) -> bool:
        """True when its collectives leave the node."""
        return len({node for node, _ in self.members}) > 1

    def crosses(self, slowdown: Slowdown) -> bool:
        """True when its collectives go through the place that a slowdown is about."""
        if slowdown.path == "nvlink":
            return sum(node == slowdown.node for node, _ in self.members) > 1
        return self.spans_nodes and any(
            gpu == slowdown.gpu and slowdown.node in ("", node) for node, gpu in self.members
        )


def communicators(job: Job, site: Site) -> list[Communicator]:
    """The groups of one job."""
    nodes = [site.cluster.node_at(index) for index in job.nodes]
    everyone = tuple((node, gpu) for node in nodes for gpu in range(hw.GPUS_PER_NODE))
    ranks = tuple(range(len(everyone)))
    if job.flat:
        size = job.model.gradient_bytes
        base = _all_reduce_us(size, len(everyone), FLAT_BUSBW)
        return [Communicator(job, "world", everyone, ranks, size, base)]
    groups = []
    size = job.model.tensor_bytes
    base = _all_reduce_us(size, hw.GPUS_PER_NODE, NVLINK_BUSBW)
    for place, node in enumerate(nodes):
        part = slice(place * hw.GPUS_PER_NODE, (place + 1) * hw.GPUS_PER_NODE)
        groups.append(
            Communicator(job, f"tp-{place}", everyone[part], ranks[part], size, base, node=node)
        )
    if len(nodes) > 1:
        size = job.model.gradient_bytes
        base = _all_reduce_us(size, len(nodes), RAIL_BUSBW)
        for gpu in range(hw.GPUS_PER_NODE):
            part = slice(gpu, None, hw.GPUS_PER_NODE)
            groups.append(
                Communicator(job, f"dp-{gpu}", everyone[part], ranks[part], size, base, gpu=gpu)
            )
    return groups


def _all_reduce_us(size: int, ranks: int, busbw: float) -> float:
    """Time of a good all-reduce: nccl-tests' bus bandwidth turned round."""
    return LATENCY_US + 2 * (ranks - 1) / ranks * size / busbw * 1e6


def busy_share(jobs: tuple[Job, ...], site: Site) -> dict[str, Factors]:
    """For each node, the share of each bin in which a job used it."""
    busy = {node: np.zeros(site.grid.bins) for node in site.cluster.nodes}
    for job in jobs:
        active = running(job, site.grid)
        for index in job.nodes:
            busy[site.cluster.node_at(index)] += active
    return {node: np.minimum(share, 1.0) for node, share in busy.items()}


def running(job: Job, grid: TimeGrid) -> Factors:
    """One in each bin whose middle lies in the job's time, else zero."""
    return grid.mask(((job.first_minute, job.last_minute),)).astype(np.float64)
