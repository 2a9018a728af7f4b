"""Findings of slow runs that no link explains: late ranks, and slow time with clean links.

Most stragglers are not links; the negative verdict is a result of its own and names what would help.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fabric_pipeline.detect.stragglers.evaluate import Straggler
from fabric_pipeline.diagnose.correlate import Correlation
from fabric_pipeline.diagnose.slow_places import place_alternatives, place_text
from fabric_pipeline.diagnose.thresholds import IsolationLimits
from fabric_pipeline.model.components import UNKNOWN, parse_component
from fabric_pipeline.model.findings import EvidenceRef, Finding


def straggler_findings(
    stragglers: Sequence[Straggler],
    explained_runs: set[str],
    guilty: Mapping[str, Sequence[str]],
    limits: IsolationLimits,
    places: Mapping[str, Sequence[Correlation]] | None = None,
) -> list[Finding]:
    """One finding per run that is slow without a guilty link.

    `guilty`: run -> components held responsible for its slow time. A rank that comes late on the node
    of such a link waits for that link in another group: a symptom, no cause of its own. `places`: run ->
    rows of places that were slow without an erring link, the strongest first.
    """
    by_run: dict[str, list[Straggler]] = {}
    for straggler in stragglers:
        if straggler.deviation_pct > limits.noise_pct:
            by_run.setdefault(straggler.run, []).append(straggler)
    findings = []
    for run, found in by_run.items():
        late = [s for s in found if s.kind == "late_rank"]
        other = [s for s in found if s.kind != "late_rank"]
        if late:
            findings.append(_late_finding(run, late, guilty.get(run, ()), limits))
        if other and run not in explained_runs:
            findings.append(_unexplained_finding(run, other, (places or {}).get(run, ()), limits))
    return findings


def _late_finding(
    run: str, late: Sequence[Straggler], guilty: Sequence[str], limits: IsolationLimits
) -> Finding:
    worst = max(late, key=lambda s: s.deviation_pct)
    place = worst.late_places[0] if worst.late_places else f"{UNKNOWN}:{UNKNOWN}"
    ranks = ", ".join(str(rank) for rank in worst.late_ranks)
    node = parse_component(place).node
    cause = next((c for c in guilty if node and parse_component(c).node == node), "")
    if cause:
        return _late_symptom(run, late, place, cause)
    count = sum(s.collectives for s in late)
    lasting = count >= limits.lasting_collectives
    return Finding(
        component=place,
        kind="late_rank",
        severity="warning" if lasting else "watch",
        role="cause" if lasting else "context",
        reason=f"In {run} rank {ranks} arrives last in {count} slow collectives and has the shortest kernel, while the "
        f"communication itself keeps its baseline: the others wait {worst.deviation_pct:.0f} % longer for it. That points to slow compute, "
        "a throttled GPU, a slow host or its storage, not to a link.",
        evidence=_evidence(late),
        is_link=False,
        first_seen=min((s.start_ts for s in late if s.start_ts), default=None),
        last_seen=max((s.end_ts for s in late if s.end_ts), default=None),
        numbers=_numbers(run, late),
        rules=["late_rank"],
    )


def _late_symptom(run: str, late: Sequence[Straggler], place: str, cause: str) -> Finding:
    return Finding(
        component=place,
        kind="late_rank",
        severity="watch",
        role="symptom",
        reason=f"In {run} ranks of this node arrive late in {sum(s.collectives for s in late)} collectives of other groups while {cause} is slow: "
        "the node waits for that link first.",
        evidence=_evidence(late),
        is_link=False,
        cause=cause,
        rules=["late_rank"],
    )


def _unexplained_finding(
    run: str, slow: Sequence[Straggler], places: Sequence[Correlation], limits: IsolationLimits
) -> Finding:
    worst = max(slow, key=lambda s: s.deviation_pct)
    count = sum(s.collectives for s in slow)
    lasting = count >= limits.lasting_collectives
    return Finding(
        component=f"{UNKNOWN}:{UNKNOWN}",
        kind="slow_without_link_evidence",
        severity="warning" if lasting else "watch",
        role="cause" if lasting else "context",
        reason=f"{run} was slow in {count} collectives, up to {worst.latency_us:.0f} us against a baseline of {worst.baseline_us:.0f} us "
        f"({worst.deviation_pct:.1f} % more), and no link's errors fit that time. {place_text(places)}",
        evidence=_evidence(slow),
        is_link=False,
        first_seen=min((s.start_ts for s in slow if s.start_ts), default=None),
        last_seen=max((s.end_ts for s in slow if s.end_ts), default=None),
        numbers=_numbers(run, slow),
        rules=["slow_without_link_evidence"],
        alternatives=place_alternatives(places),
    )


def _numbers(run: str, found: Sequence[Straggler]) -> dict[str, object]:
    worst = max(found, key=lambda s: s.deviation_pct)
    return {
        "degradation_pct": worst.deviation_pct,
        "latency_us": worst.latency_us,
        "baseline_us": worst.baseline_us,
        "runs": [run],
        "late_ranks": sorted({rank for s in found for rank in s.late_ranks}),
        "lost_gpu_s": sum(s.lost_s * (s.gpus or 0) for s in found),
    }


def _evidence(found: Sequence[Straggler]) -> list[EvidenceRef]:
    return [
        EvidenceRef(
            s.file,
            s.line,
            s.last_line,
            f"{s.run}: {s.latency_us:.0f} us, baseline {s.baseline_us:.0f} us",
        )
        for s in sorted(found, key=lambda s: -s.deviation_pct)[:6]
    ]
