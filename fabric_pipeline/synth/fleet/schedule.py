"""Which job runs on which nodes when: small fleets are dealt out anew, large ones run in blocks.

What the groups of a job are and how long their collectives take is in `workload`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fabric_pipeline.synth.fleet.spec import FleetSpec

SMALL_FLEET = 16
SMALL_JOBS = ((1, 2, 3, 4, 0), (0.10, 0.25, 0.15, 0.25, 0.25))  # 0: all nodes that are left
LARGE_JOBS = ((2, 4, 8, 16, 32, 64, 128, 256), (0.2, 0.2, 0.2, 0.15, 0.1, 0.08, 0.05, 0.02))
SCATTERED_SHARE = 0.3  # large jobs on nodes from all over the fleet

Job = tuple[NDArray[np.int64], int, int]  # nodes, first bin, last bin (exclusive)


def draw_jobs(spec: FleetSpec, rng: np.random.Generator) -> Iterator[Job]:
    """The jobs of a scenario; a node runs one at a time."""
    if spec.one_job:
        yield np.arange(spec.nodes), 0, spec.bins
        return
    partitions = _small_waves if spec.nodes <= SMALL_FLEET else _large_blocks
    for nodes, first, last in partitions(spec, rng):
        # A job that is still loading its model leaves its links idle.
        idle = spec.fault == "idle_errors" and rng.random() < 0.6
        gap = int((last - first) * rng.uniform(0.25, 0.6)) if idle else 0
        yield np.sort(nodes), first + gap, last


def _spans(spec: FleetSpec, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Consecutive times of jobs, each a sixth to a half of the window."""
    first = 0
    while first < spec.bins:
        last = min(spec.bins, first + int(rng.integers(spec.bins // 6, spec.bins // 2 + 1)))
        yield first, last
        first = last


def _small_waves(spec: FleetSpec, rng: np.random.Generator) -> Iterator[Job]:
    """All nodes are dealt out anew for every span."""
    for first, last in _spans(spec, rng):
        for nodes in _dealt(rng.permutation(spec.nodes), SMALL_JOBS, rng):
            yield nodes, first, last


def _large_blocks(spec: FleetSpec, rng: np.random.Generator) -> Iterator[Job]:
    """Blocks of nodes stay together and run job after job, each in its own rhythm."""
    order = np.arange(spec.nodes)
    scattered = np.sort(rng.choice(spec.nodes, int(spec.nodes * SCATTERED_SHARE), replace=False))
    order[scattered] = rng.permutation(scattered)
    for nodes in _dealt(order, LARGE_JOBS, rng):
        for first, last in _spans(spec, rng):
            yield nodes, first, last


def _dealt(
    order: NDArray[np.int64],
    sizes: tuple[tuple[int, ...], tuple[float, ...]],
    rng: np.random.Generator,
) -> Iterator[NDArray[np.int64]]:
    place = 0
    while place < len(order):
        size = int(rng.choice(sizes[0], p=sizes[1])) or len(order)
        yield order[place : place + size]
        place += size
