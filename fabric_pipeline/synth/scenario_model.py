"""What a scenario consists of: cluster, time, jobs, planted faults and confounders, layout of the files.

The ready-made ones are in `scenario` and `life_series`; turning one into files is in `generate`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fabric_pipeline.synth.effects import Plant
from fabric_pipeline.synth.rows import Layout
from fabric_pipeline.synth.timegrid import TimeGrid
from fabric_pipeline.synth.timings import Sampling
from fabric_pipeline.synth.topology import ClusterSpec
from fabric_pipeline.synth.workload import Job


@dataclass(frozen=True, slots=True)
class PutIn:
    """Another GPU board in a slot: a new one with this serial, or the cluster's board of `taken_from`.

    `taken_from` is (node, GPU) as the cluster was built; its UUID moves along.
    """

    node: int
    gpu: int
    serial: str = ""
    taken_from: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything about a synthetic drop but its seed. Job and fault times are minutes of `grid`."""

    name: str
    says: str
    grid: TimeGrid
    jobs: tuple[Job, ...]
    plants: tuple[Plant, ...] = ()
    layout: Layout = field(default_factory=Layout)
    sampling: Sampling = field(default_factory=Sampling)
    cluster: ClusterSpec = field(default_factory=ClusterSpec)
    put_in: tuple[PutIn, ...] = ()
