"""Slow runs that a link's state explains: a lost width, a lower speed, a link that is down or flaps.

Such a fault may count no error at all. Where its change lies inside the window the weighing decides; a state
that is low all the time shows no change, and is held responsible for a slow run only when it is the one
accused link in that run's path and their times do not contradict.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from fabric_pipeline.detect.state_words import moment, state_words
from fabric_pipeline.detect.stragglers.evaluate import Straggler
from fabric_pipeline.diagnose.correlate import Correlation
from fabric_pipeline.diagnose.link_cases import is_switch_end
from fabric_pipeline.diagnose.link_findings import coincidence_text, weighing_numbers
from fabric_pipeline.diagnose.localise.judge import RESPONSIBLE
from fabric_pipeline.model.components import component_id, parse_component
from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.model.findings import SEVERITIES, EvidenceRef, Finding
from fabric_pipeline.model.records import Reading
from fabric_pipeline.model.topology import Topology

# A state is sampled now and then, so its change may be seen up to this much after the slowdown.
_SLACK = timedelta(minutes=5)
_STATES = ("width", "speed_gbps", "link_up")


def explain_by_state(
    findings: Sequence[Finding],
    stragglers: Sequence[Straggler],
    explained: set[str],
    topology: Topology,
    correlations: Sequence[Correlation] = (),
) -> set[str]:
    """Attach slow runs to the state fault that explains them; returns the runs explained now.

    Where the times of a state change were weighed, the verdict of `correlations` decides; else the one
    state fault in the path of an unexplained run is taken.
    """
    weighed = _attach_weighed(findings, stragglers, topology, correlations)
    return weighed | _attach_alone(findings, stragglers, explained | weighed, topology)


def _attach_weighed(
    findings: Sequence[Finding],
    stragglers: Sequence[Straggler],
    topology: Topology,
    correlations: Sequence[Correlation],
) -> set[str]:
    responsible: dict[str, list[Correlation]] = {}
    for one in correlations:
        if one.verdict == RESPONSIBLE:
            key = topology.link_key(topology.resolve(one.component))
            responsible.setdefault(key, []).append(one)
    found = set()
    slow_of = _by_run(stragglers)
    by_errors = {
        topology.link_key(topology.resolve(f.component)) for f in findings if "p_value" in f.numbers
    }
    told: set[str] = (
        set()
    )  # several findings may speak of one link: the gravest carries the weighing
    for finding in sorted(findings, key=lambda one: -SEVERITIES.index(one.severity)):
        key = topology.link_key(topology.resolve(finding.component))
        is_known = key in by_errors or key in told
        if not finding.is_link or finding.role == "symptom" or is_known:
            continue
        told.add(key)
        rows = responsible.get(key, [])
        for one in rows:
            slow = slow_of.get(one.run, [])
            if slow and one.overlap_bins:
                _attach(finding, one.run, slow)
                found.add(one.run)
        if rows:
            best = max(rows, key=lambda one: one.overlap_bins)
            finding.reason += (
                f" {coincidence_text(best, finding.numbers.get('runs') or [best.run])}"
            )
            finding.numbers |= {"p_value": best.p_value, **weighing_numbers(best)}
            if finding.severity in ("info", "watch"):
                finding.severity, finding.role = "warning", "cause"
    return found


def state_findings(
    correlations: Sequence[Correlation],
    states: Sequence[Reading],
    known: Sequence[Finding],
    topology: Topology,
) -> list[Finding]:
    """Links held responsible for slow time by a lost width or speed alone, of which no rule spoke before.

    A state that is low for part of the time is within what the link may do, so no limit is broken; that
    collectives slowed with it makes it a fault.
    """
    told = {topology.link_key(topology.resolve(f.component)) for f in known if f.is_link}
    responsible = dict.fromkeys(
        topology.link_key(topology.resolve(one.component))
        for one in correlations
        if one.verdict == RESPONSIBLE
    )
    lost = _lost_states(states, topology, responsible)
    return [
        _state_finding(lost[key], topology)
        for key in responsible
        if key in lost and key not in told
    ]


def _lost_states(
    states: Sequence[Reading], topology: Topology, wanted: Collection[str]
) -> dict[str, list[Reading]]:
    """Readings of these links whose width or speed was lower at some time than at another, by link key."""
    series: dict[tuple[str, str], list[Reading]] = {}
    keys: dict[tuple[str, str], str] = {}
    for reading in states if wanted else ():
        if reading.counter in _STATES and reading.value is not None and reading.time is not None:
            end = reading.node, reading.interface
            if end not in keys:
                keys[end] = topology.link_key(topology.resolve(component_id(*end)))
            if keys[end] in wanted:
                series.setdefault((keys[end], reading.counter), []).append(reading)
    lost: dict[str, list[Reading]] = {}
    for (key, _), readings in series.items():
        best = max(one.value for one in readings if one.value is not None)
        low = [one for one in readings if one.value is not None and one.value < best]
        if low:
            full = next(one for one in readings if one.value == best)
            lost.setdefault(key, []).extend([*low, full])
    return lost


def _state_finding(readings: Sequence[Reading], topology: Topology) -> Finding:
    first = readings[0]
    same = [r for r in readings if r.counter == first.counter and r.value is not None]
    low, full = min(r.value or 0.0 for r in same), max(r.value or 0.0 for r in same)
    unit = COUNTERS[first.counter].unit
    named = min(
        (component_id(r.node, r.interface) for r in readings),
        key=lambda name: (is_switch_end(name), name),
    )
    component = topology.resolve(named)
    times = [r.time for r in same if r.time is not None and r.value == low]
    kind = {"width": "width_downgrade", "speed_gbps": "speed_downgrade"}.get(
        first.counter, "link_down"
    )
    fell = f"{component} went from {full:g} to {low:g} {unit}"
    if first.counter == "link_up":
        fell = f"{component} went down"
    change = f"{fell} on {moment(min(times))}" if times else fell
    return Finding(
        component=component,
        kind=kind,
        severity="watch",
        role="context",
        reason=f"{change} ({COUNTERS[first.counter].says}) without any error counted.",
        summary=change,
        evidence=[
            EvidenceRef(r.file, r.line, None, f"{r.interface}: {state_words(r, full)}")
            for r in readings[:6]
        ],
        far_end=topology.far_end(component),
        first_seen=min(times, default=None),
        last_seen=max(times, default=None),
        rules=[kind],
    )


def _attach_alone(
    findings: Sequence[Finding],
    stragglers: Sequence[Straggler],
    explained: set[str],
    topology: Topology,
) -> set[str]:
    accused = [f for f in findings if f.accuses and f.is_link and "p_value" not in f.numbers]
    of_node: dict[str, list[int]] = {}
    for number, finding in enumerate(accused):
        for node in _nodes_of(finding, topology):
            of_node.setdefault(node, []).append(number)
    found = set()
    for run, slow in _by_run(stragglers).items():
        if run in explained:
            continue
        in_path = {number for node in set(slow[0].nodes) for number in of_node.get(node, ())}
        fitting = [accused[n] for n in sorted(in_path) if _fits_in_time(accused[n], slow)]
        if len({topology.link_key(f.component) for f in fitting}) == 1:
            _attach(fitting[0], run, slow)
            fitting[0].reason += " No other link in its path is accused."
            found.add(run)
    return found


def _by_run(stragglers: Sequence[Straggler]) -> Mapping[str, list[Straggler]]:
    """Run -> its slow intervals, without those of late ranks."""
    by_run: dict[str, list[Straggler]] = {}
    for straggler in stragglers:
        if straggler.kind != "late_rank":
            by_run.setdefault(straggler.run, []).append(straggler)
    return by_run


def _nodes_of(finding: Finding, topology: Topology) -> set[str]:
    ends = (finding.component, finding.far_end or topology.far_end(finding.component))
    return {parse_component(end).node for end in ends if end}


def _fits_in_time(finding: Finding, slow: Sequence[Straggler]) -> bool:
    """False only when known times exclude each other."""
    starts, ends = [s.start_ts for s in slow if s.start_ts], [s.end_ts for s in slow if s.end_ts]
    if finding.first_seen is None or not starts or not ends:
        return True
    last_seen = finding.last_seen or finding.first_seen
    return finding.first_seen - _SLACK <= max(ends) and last_seen + _SLACK >= min(starts)


def _attach(finding: Finding, run: str, slow: Sequence[Straggler]) -> None:
    worst = max(slow, key=lambda s: s.deviation_pct)
    finding.reason += (
        f" {run} runs over this link and was slow at that time, up to {worst.latency_us:.0f} us against a baseline of "
        f"{worst.baseline_us:.0f} us ({worst.deviation_pct:.1f} % more)."
    )
    known = finding.numbers
    if worst.deviation_pct > (known.get("degradation_pct") or 0.0):
        known |= {
            "degradation_pct": worst.deviation_pct,
            "latency_us": worst.latency_us,
            "baseline_us": worst.baseline_us,
        }
    known["runs"] = sorted({*(known.get("runs") or ()), run})
    known["lost_gpu_s"] = (known.get("lost_gpu_s") or 0.0) + sum(
        s.lost_s * (s.gpus or 0) for s in slow
    )
