"""How long after a link began to slow collectives it is named for good.

A scenario is observed anew at some moments after the onset, each time without anything later. Lasting
means named at that moment and at every later one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.baselines import METHODS
from benchmarks.fleet_window import Observed, observe
from benchmarks.judging import JUDGE_LAWS, OURS, answers_of, localised
from benchmarks.scoring import NAMED_FROM
from fabric_pipeline.diagnose.localise.judge import ACCUSE_FROM
from fabric_pipeline.synth.fleet import FleetScenario, generate_fleet, suite
from fabric_pipeline.synth.fleet.faults import draw_faults
from fabric_pipeline.synth.fleet.latency import FELT_FACTOR
from fabric_pipeline.synth.fleet.topology_arrays import shape_of
from fabric_pipeline.synth.fleet.workload import draw_workload

SUITE, SCENARIOS = "base", 60
MINUTES = (1, 2, 3, 4, 5, 8, 12, 20)
RIVALS = ("limits + straggler + state", "Pearson + state")
_RULES = {method.name: method for method in METHODS}


@dataclass(frozen=True, slots=True)
class DetectJob:
    """One scenario, and the parameters of the baselines that answer too."""

    index: int
    seed: int
    parameters: Mapping[str, float]


@dataclass(slots=True)
class Naming:
    """One guilty link: minutes from the onset to lasting naming by method, None never.

    `is_older`: it slowed collectives from the first bin of the window on, so nothing was seen before.
    """

    index: int
    link: int
    is_older: bool
    minutes: dict[str, int | None] = field(default_factory=dict)


def jobs(
    seeds: Callable[[int], int], parameters: Mapping[str, float], number: int = SCENARIOS
) -> list[DetectJob]:
    """The first scenarios in which a link with errors was felt."""
    chosen = {name: value for name, value in parameters.items() if name in RIVALS}
    found: list[DetectJob] = []
    index = 0
    while len(found) < number:
        scenario = generate_fleet(suite(SUITE, JUDGE_LAWS)(index), seeds(index))
        if any(_onsets(scenario)):
            found.append(DetectJob(index, seeds(index), chosen))
        index += 1
    return found


def watch(job: DetectJob) -> list[Naming]:
    """Name the links of one scenario again and again."""
    scenario = generate_fleet(suite(SUITE, JUDGE_LAWS)(job.index), job.seed)
    found = []
    for link, onset in _onsets(scenario):
        seen = [observe(scenario, until) for until in _moments(scenario, onset)]
        naming = Naming(job.index, link, onset == 0)
        for name in (OURS, *job.parameters):
            naming.minutes[name] = lasting([link in _named(name, job, one) for one in seen])
        found.append(naming)
    return found


def lasting(named: Sequence[bool]) -> int | None:
    """The first of MINUTES from which a link was named at every one that follows."""
    last_miss = max((n for n, hit in enumerate(named) if not hit), default=-1)
    return MINUTES[last_miss + 1] if last_miss + 1 < len(named) else None


def _onsets(scenario: FleetScenario) -> Iterator[tuple[int, int]]:
    """Each guilty link with errors, and the first bin in which it slowed a recorded collective.

    The plan is drawn again from the seed; the scenario does not keep which cells a link slowed.
    """
    spec, seed = scenario.spec, scenario.seed
    shape = shape_of(spec.platform, spec.nodes, spec.gpu_totals)
    plan = draw_faults(spec, shape, draw_workload(spec, shape, seed), seed)
    for slow in plan.slowdowns:
        truth = scenario.truth[slow.truth]
        recorded = ~np.isnan(scenario.whole_us[slow.groups])
        bins = np.flatnonzero((recorded & (slow.factor >= FELT_FACTOR)).any(axis=0))
        if truth.felt and not truth.silent and len(bins):
            yield truth.link, int(bins[0])


def _moments(scenario: FleetScenario, onset: int) -> list[int]:
    """Bins up to which to look; the window may end before the last of MINUTES."""
    steps = [round(minutes * 60 / scenario.spec.step_s) for minutes in MINUTES]
    return [onset + step for step in steps if onset + step <= scenario.spec.bins]


def _named(name: str, job: DetectJob, seen: Observed) -> set[int]:
    """Links that a method names."""
    if name == OURS:
        answers, threshold = answers_of(seen, localised(seen)), ACCUSE_FROM
    else:
        answers, threshold = _RULES[name].accuse(seen, job.parameters[name]), NAMED_FROM
    return {one.link for one in answers if one.confidence >= threshold}
