"""The door to the sweep judgement: timings and events of benchmark-type files in, findings out.

Every judge looks only at the timings it understands, so that they can be called with everything that
was read from one drop. Findings never name a link by a guess; undecidable ends come back as unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fabric_pipeline.detect.sweeps.cliffs import judge_cliff
from fabric_pipeline.detect.sweeps.compute import judge_compute
from fabric_pipeline.detect.sweeps.contention import judge_communicators
from fabric_pipeline.detect.sweeps.groups import sweeps
from fabric_pipeline.detect.sweeps.late_ranks import judge_late_ranks
from fabric_pipeline.detect.sweeps.node_pairs import judge_pairs
from fabric_pipeline.detect.sweeps.peers import judge_injection, judge_nodes
from fabric_pipeline.detect.sweeps.rails import judge_rails
from fabric_pipeline.detect.sweeps.run_pairs import compare_runs
from fabric_pipeline.detect.sweeps.steps import judge_steps
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import CollectiveTiming, FabricEvent, Run, UnknownFact


@dataclass(slots=True)
class SweepJudgement:
    """What the timings say: findings, and what they cannot decide."""

    findings: list[Finding] = field(default_factory=list)
    unknown: list[UnknownFact] = field(default_factory=list)


def judge_sweeps(
    timings: Sequence[CollectiveTiming],
    events: Sequence[FabricEvent] = (),
    runs: Sequence[Run] = (),
) -> SweepJudgement:
    """Judge benchmark-type timings of one drop.

    `events` are only quoted beside a slow run (see `job_events` for what they say themselves). `runs`
    give the nodes of a run, without which no node can be named, and the times of jobs. Timings without
    a duration carry NaN there and a bandwidth instead.
    """
    found = sweeps(timings, runs)
    slow_runs = compare_runs(found, events)
    explained = {(e.evidence[0].file, e.evidence[0].line) for e in slow_runs if e.accuses}
    findings = list(slow_runs)
    for sweep in found:
        # A run that is slow as a whole beside its equal needs no second finding for its shape.
        if explained.isdisjoint((row.file, row.line) for row in sweep.rows):
            findings += judge_cliff(sweep)
    pairs, unknown = judge_pairs(timings)
    findings += pairs
    findings += judge_communicators(timings, runs)
    findings += judge_late_ranks(timings)
    findings += judge_compute(timings)
    findings += judge_rails(timings)
    findings += judge_nodes(timings)
    findings += judge_injection(timings)
    findings += judge_steps(timings)
    return SweepJudgement(findings, unknown)
