"""The diagnosis of one drop or one set of files: all evidence in, findings and a verdict out.

Pure: spikes, stragglers, correlations, states, events, sweeps and topology are handed in; nothing is
read, stored or drawn here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabric_pipeline.detect.link_state.evaluate import evaluate_link_state
from fabric_pipeline.detect.port_counters.evaluate import evaluate_port_snapshots
from fabric_pipeline.detect.port_state.evaluate import evaluate_port_state
from fabric_pipeline.detect.spikes.evaluate import Spike
from fabric_pipeline.detect.stragglers.evaluate import Straggler
from fabric_pipeline.detect.sweeps.evaluate import judge_sweeps
from fabric_pipeline.detect.sweeps.job_events import judge_job_events
from fabric_pipeline.diagnose.alternatives import alternatives
from fabric_pipeline.diagnose.event_roles import judge_events
from fabric_pipeline.diagnose.evidence import Evidence
from fabric_pipeline.diagnose.gpu_sums import note_sums, sum_of_links, unread_links
from fabric_pipeline.diagnose.isolate import hold_responsible
from fabric_pipeline.diagnose.link_cases import LinkCase, link_cases
from fabric_pipeline.diagnose.link_findings import link_finding
from fabric_pipeline.diagnose.machines import by_machine, unnamed_hosts
from fabric_pipeline.diagnose.merge import merge_findings
from fabric_pipeline.diagnose.slow_places import slow_places
from fabric_pipeline.diagnose.state_effects import explain_by_state, state_findings
from fabric_pipeline.diagnose.straggler_findings import straggler_findings
from fabric_pipeline.diagnose.thresholds import IsolationLimits
from fabric_pipeline.diagnose.verdict import verdict
from fabric_pipeline.diagnose.witnesses import (
    add_witnesses,
    contradictions,
    note_links_up,
    settled,
    told,
)
from fabric_pipeline.model.components import parse_component
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import UnknownFact

PORT_LINKS = frozenset({"infiniband", "roce", "ethernet"})


@dataclass(slots=True)
class Diagnosis:
    """The answer: findings in order of weight, what is unknown, and one verdict."""

    findings: list[Finding]
    unknown: list[UnknownFact]
    verdict: str


def diagnose(evidence: Evidence, limits: IsolationLimits | None = None) -> Diagnosis:
    """Judge all evidence together, that of machines without a name each by itself."""
    limits = limits or IsolationLimits()
    found: list[Finding] = []
    unknown = [*evidence.unknown, *unnamed_hosts(evidence.machines)]
    for machine, part in by_machine(evidence):
        said, gaps = _judged(part, limits)
        for finding in said:
            finding.machine = machine
        found += said
        unknown += gaps
    findings = merge_findings(found, evidence.topology)
    add_witnesses(findings, evidence.witnesses, evidence.topology)
    unknown += note_links_up(findings, evidence.states, evidence.formats, evidence.topology)
    unknown += told(contradictions(evidence.witnesses, evidence.topology))
    answer = verdict(findings, evidence.has_measurements)
    return Diagnosis(findings, unknown, answer)


def _judged(evidence: Evidence, limits: IsolationLimits) -> tuple[list[Finding], list[UnknownFact]]:
    """Findings and gaps of evidence that may be compared with each other."""
    links = [link.attributes for link in evidence.topology.links]
    cases = link_cases(judged_here(evidence.spikes), evidence.correlations, evidence.topology)
    note_sums(cases)
    explained = hold_responsible(cases, evidence.correlations)
    found = _link_findings(cases, evidence, limits)
    found += _far_end_symptoms(found)
    found += judge_events(evidence.events) + judge_job_events(evidence.events)
    states = settled(evidence.states, evidence.formats, evidence.topology)
    found += evaluate_link_state(states) + evaluate_port_state(states, links)
    found += state_findings(evidence.correlations, states, found, evidence.topology)
    explained |= explain_by_state(
        found, evidence.stragglers, explained, evidence.topology, evidence.correlations
    )
    found += straggler_findings(
        evidence.stragglers,
        explained,
        _guilty_by_run(cases),
        limits,
        slow_places(evidence.correlations),
    )
    ports = evaluate_port_snapshots(evidence.port_snapshots, links)
    sweeps = judge_sweeps(evidence.sweeps, evidence.events, evidence.runs)
    found += [*ports.findings, *sweeps.findings, *evidence.absences]
    of_sums = {name for case in cases for name in case.links_of_sum}
    named = [case for case in cases if case.component in of_sums]
    gaps = [gap for case in cases for gap in unread_links(case, named)]
    return found, [*ports.unknown, *sweeps.unknown, *gaps]


def _link_findings(
    cases: Sequence[LinkCase], evidence: Evidence, limits: IsolationLimits
) -> list[Finding]:
    found = []
    places = slow_places(evidence.correlations)
    near = _Neighbours(cases, evidence.stragglers)
    for case in cases:
        slow = near.stragglers(case)
        finding = link_finding(case, slow, _is_timed(case, evidence), limits)
        if finding is not None and case.links_of_sum:
            found.append(sum_of_links(finding, case))
        elif finding is not None:
            finding.alternatives += alternatives(case, near.cases(case), slow, places)
            found.append(finding)
    return found


class _Neighbours:
    """What can have to do with a link that is held responsible: stragglers and links of its runs, links of its node.

    Looking through all of them for every link grows with the square of the fleet.
    """

    def __init__(self, cases: Sequence[LinkCase], stragglers: Sequence[Straggler]) -> None:
        self._cases, self._stragglers = cases, stragglers
        self._slow_of: dict[str, list[int]] = {}
        self._of_run: dict[str, list[int]] = {}
        self._of_node: dict[str, list[int]] = {}
        for number, straggler in enumerate(stragglers):
            self._slow_of.setdefault(straggler.run, []).append(number)
        for number, case in enumerate(cases):
            self._of_node.setdefault(parse_component(case.component).node, []).append(number)
            for run in {one.run for one in case.correlations}:
                self._of_run.setdefault(run, []).append(number)

    def stragglers(self, case: LinkCase) -> list[Straggler]:
        """Slow intervals of the runs that the link is held responsible for, in their order."""
        runs = {one.run for one in case.guilty_of}
        numbers = sorted(number for run in runs for number in self._slow_of.get(run, ()))
        return [self._stragglers[number] for number in numbers]

    def cases(self, case: LinkCase) -> list[LinkCase]:
        """Links with errors in these runs or on its node, in their order; none for an innocent link."""
        runs = {one.run for one in case.guilty_of}
        numbers = {number for run in runs for number in self._of_run.get(run, ())}
        if runs:
            numbers |= set(self._of_node[parse_component(case.component).node])
        return [self._cases[number] for number in sorted(numbers)]


def _is_timed(case: LinkCase, evidence: Evidence) -> bool:
    """True when a timed run may have used the link: only then can "no effect" be said of it."""
    ends = {parse_component(end).node for end in (case.component, case.far_end) if end} - {""}
    unknown = not evidence.timed_nodes or not ends
    return evidence.has_timing and (unknown or bool(ends & evidence.timed_nodes))


def _guilty_by_run(cases: Sequence[LinkCase]) -> dict[str, list[str]]:
    by_run: dict[str, list[str]] = {}
    for case in cases:
        for one in case.guilty_of:
            by_run.setdefault(one.run, []).append(case.component)
    return by_run


def judged_here(spikes: Sequence[Spike]) -> list[Spike]:
    """Spikes that are judged as links: totals of network ports have rules of their own (`detect.port_counters`)."""
    return [s for s in spikes if s.start_ts is not None or s.link_type not in PORT_LINKS]


def _far_end_symptoms(findings: Sequence[Finding]) -> list[Finding]:
    """The end that only repeats what its partner could not read, named as a symptom."""
    return [
        Finding(
            component=component,
            kind="far_end_replays",
            severity="watch",
            role="symptom",
            reason=f"{component} repeated what {finding.component} could not read: most likely the other end of the same link.",
            evidence=finding.evidence,
            cause=finding.component,
        )
        for finding in findings
        for component in finding.numbers.get("sympathetic", ())
    ]
