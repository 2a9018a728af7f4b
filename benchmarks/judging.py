"""One judged scenario: generated, observed once, answered by every method, beside what was true.

What is specific to some suites is noted here too: places named for links without a trace, swapped
cables, and which class of cause was meant.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from benchmarks.baselines import METHODS, outcome_of
from benchmarks.causes import said_cause, true_cause
from benchmarks.fleet_window import Observed, observe
from benchmarks.scoring import Answer, Outcome, shortened
from fabric_pipeline.diagnose.localise.build import Built
from fabric_pipeline.diagnose.localise.judge import ACCUSE_FROM, EXPLAIN_FROM, MIN_BINS
from fabric_pipeline.diagnose.localise.localise import Localised, localise
from fabric_pipeline.diagnose.localise.scorecard import shipped_card
from fabric_pipeline.diagnose.localise.window import Flags, Floats
from fabric_pipeline.model.components import component_id
from fabric_pipeline.synth.fleet import FleetScenario, GuiltyLink, generate_fleet, suite

OURS = "ours"
JUDGE_LAWS = "judge"
EMPTY = Localised([], [], [], np.zeros(0))


@dataclass(frozen=True, slots=True)
class Job:
    """One scenario to judge: `parameters` of the baselines that answer too, by name."""

    suite: str
    index: int
    seed: int
    parameters: Mapping[str, float]
    with_ours: bool = True


@dataclass(slots=True)
class Judged:
    """Outcomes of one scenario by method, and what is told of it besides.

    `places` has an entry for each guilty link without a trace: "named", "among others" that fit nearly
    as well, or "not named". `swapped` are the two cables that the topology states wrongly. `cause` is
    the class of the one slow cause and the class that was said, None with several causes.
    """

    suite: str
    index: int
    seed: int
    node_days: float
    outcomes: dict[str, Outcome]
    places: list[str] = field(default_factory=list)
    swapped: tuple[int, int] | None = None
    cause: tuple[str, str] | None = None
    spikes_s: float = 0.0
    window_s: float = 0.0
    localise_s: float = 0.0
    peak_mb: float = 0.0


def judge(job: Job) -> Judged:
    """Let the chosen methods answer one scenario."""
    spec = suite(job.suite, JUDGE_LAWS)(job.index)
    seen = observe(generate_fleet(spec, job.seed))
    days = spec.nodes * spec.bins * spec.step_s / 86_400
    result = Judged(job.suite, job.index, job.seed, days, {}, swapped=seen.scenario.miswired)
    result.spikes_s, result.window_s = seen.spikes_s, seen.window_s
    if job.with_ours:
        _judge_ours(seen, result)
    for method in METHODS:
        if method.name in job.parameters:
            answers = method.accuse(seen, job.parameters[method.name])
            result.outcomes[method.name] = shortened(outcome_of(seen, answers))
    result.peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return result


def _judge_ours(seen: Observed, result: Judged) -> None:
    started = time.perf_counter()
    found = localised(seen)
    result.localise_s = time.perf_counter() - started
    outcome = outcome_of(seen, answers_of(seen, found))
    outcome.weighed = _weighed(seen, found, outcome)
    result.outcomes[OURS] = outcome
    felt = [one for one in seen.scenario.truth if one.link in outcome.untraceable]
    result.places = [_place_named(seen, found, one) for one in felt]
    cause = true_cause(seen.scenario)
    if cause is not None:
        accuses = bool(outcome.named(ACCUSE_FROM))
        result.cause = cause, said_cause(found, seen.built, accuses)


def localised(seen: Observed) -> Localised:
    """What the product makes of a window, too short ones included."""
    if seen.built is None or seen.built.window.bins < MIN_BINS:
        return EMPTY
    return localise(seen.built.window, shipped_card(), EXPLAIN_FROM)


def answers_of(seen: Observed, found: Localised) -> list[Answer]:
    """Accepted links by number; one that was weighed by errors and by state counts once, as on a ticket."""
    surest: dict[int, float] = {}
    unknown: list[Answer] = []
    for one in found.accepted:
        link = link_of(seen, one.candidate.link)
        if link < 0:
            unknown.append(Answer(link, one.confidence))
        else:
            surest[link] = max(surest.get(link, 0.0), one.confidence)
    return [Answer(link, confidence) for link, confidence in surest.items()] + unknown


def link_of(seen: Observed, component: str) -> int:
    """Number of the named link; where the topology is wrong, of the guilty one if either end is its."""
    ends = [seen.names.get(end, -1) for end in (component, seen.topology.far_end(component))]
    guilty = {one.link for one in seen.scenario.truth}
    return next((link for link in ends if link in guilty), ends[0])


def _weighed(seen: Observed, found: Localised, outcome: Outcome) -> list[tuple[float, bool]]:
    guilty = outcome.guilty | outcome.untraceable
    every = (*found.accepted, *found.others)
    return [(one.confidence, link_of(seen, one.candidate.link) in guilty) for one in every]


def _place_named(seen: Observed, found: Localised, guilty: GuiltyLink) -> str:
    """Whether the place of a guilty link was named while the link slowed things."""
    if seen.built is None:
        return "not named"
    place, active = _place_of(seen, seen.built, guilty), _on_clock(seen, seen.built, guilty.active)
    meanwhile = [one for one in found.places if (one.active & active).any()]
    if place in [one.place for one in meanwhile]:
        return "named"
    return "among others" if any(place in one.alike for one in meanwhile) else "not named"


def _place_of(seen: Observed, built: Built, guilty: GuiltyLink) -> int | None:
    links, link = seen.scenario.links, guilty.link
    near = component_id(links.near_node[link], links.near_interface[link])
    route = built.router.route(near, seen.topology.far_end(near), str(links.link_type[link]))
    return route.place if route is not None and route.place >= 0 else None


def _on_clock(seen: Observed, built: Built, bins: Flags) -> Flags:
    """Flags of the scenario's bins on the clock of the window."""
    clock = built.fleet.clock
    at = clock.index(_middles(seen.scenario)[bins])
    flags = np.zeros(clock.bins, dtype=bool)
    flags[at[(at >= 0) & (at < clock.bins)]] = True
    return flags


def _middles(scenario: FleetScenario) -> Floats:
    bins = np.arange(scenario.spec.bins, dtype=np.float64)
    seconds: Floats = scenario.start.timestamp() + (bins + 0.5) * float(scenario.spec.step_s)
    return seconds
