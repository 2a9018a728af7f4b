"""Findings of links with errors: severity from error axis and latency axis, reason with figures.

Two axes judged apart (detection.md section 6): how many errors, and how much slower. Evidence without
effect stays a watch unless the errors alone are severe.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fabric_pipeline.detect.spikes.evaluate import Spike
from fabric_pipeline.detect.stragglers.evaluate import Straggler
from fabric_pipeline.diagnose.correlate import Correlation
from fabric_pipeline.diagnose.count_words import count_words
from fabric_pipeline.diagnose.link_cases import LinkCase
from fabric_pipeline.diagnose.thresholds import IsolationLimits
from fabric_pipeline.diagnose.witnesses import SAME_COUNTER
from fabric_pipeline.model.components import component_id, parse_component
from fabric_pipeline.model.findings import EvidenceRef, Finding

# Error classes from which no layer above repairs anything, worst last.
_CLASS_RANK = {
    "corrected_single": 0, "detected_retransmitted": 1, "recovered_link": 2, "corrected_multi": 3, "uncorrected": 4, "link_down": 5,
}  # fmt: skip
_ALONE_ENOUGH = frozenset({"crc_per_second", "link_flapping", "repeated_retrains"})
_MAX_EVIDENCE = 24


def link_finding(
    case: LinkCase, stragglers: Sequence[Straggler], has_timing: bool, limits: IsolationLimits
) -> Finding | None:
    """The finding of one link case, or None when its errors are not worth a line.

    `has_timing`: collectives with times are in the drop, so that "no effect" can be told from "unknown".
    """
    if case.guilty_of:
        return _guilty(case, stragglers, limits)
    severity = case.rule_severity
    if case.suspected_of:
        return _suspected(case)
    if severity == "info":
        return None
    if has_timing and not case.is_snapshot:
        severity = "warning" if _alone_enough(case) else "watch"
        kind = _kind(case) if _is_flapping(case) else "link_errors_without_effect"
        return _finding(case, kind, severity, _no_effect_text(case), {})
    if severity == "watch":
        return _finding(case, "link_errors", "watch", "Too little to accuse the link.", {})
    text = "No collective timing is in these files, so an effect on jobs is not shown."
    return _finding(case, _kind(case), severity, text, {})


def coincidence_text(one: Correlation, runs: Sequence[str]) -> str:
    """How errors and slow time go together, with the figures, in sentences."""
    lag = f" after a clock difference of {one.lag_bins} bins is taken out" if one.lag_bins else ""
    sentences = []
    if one.share_slow is not None:
        sentences.append(
            f"While it erred {one.share_slow:.0%} of the collectives that cross it were slow{lag}, against "
            f"{one.slow_anyway or 0.0:.0%} in other runs or while it was quiet."
        )
    if one.edges_visible:
        sentences.append(
            f"Latency moved with {one.edges_fitting} of the {one.edges_visible} starts and ends of its errors."
        )
    sentences.append(
        f"Its error time and the slow time of {', '.join(runs)} coincide: {one.overlap_bins} of {one.error_bins} error intervals are slow "
        f"(chance {one.p_value or 0.0:.3g} under circular shifts), and they cover {one.covered_share:.0%} of the slow time."
    )
    if one.dose is not None and one.dose >= 0.3:
        sentences.append(
            f"The more errors, the slower (rank correlation {one.dose:.2f} over the erring time)."
        )
    return " ".join(sentences)


def weighing_numbers(one: Correlation) -> dict[str, Any]:
    """Figures of the weighing that records keep; only what was weighed."""
    names = ("confidence", "log_odds", "share_slow", "slow_anyway", "edges_fitting", "edges_visible", "dose")  # fmt: skip
    known = {name: getattr(one, name) for name in names if getattr(one, name) is not None}
    return known | ({"because": one.because} if one.because else {})


def _guilty(case: LinkCase, stragglers: Sequence[Straggler], limits: IsolationLimits) -> Finding:
    runs = sorted({one.run for one in case.guilty_of})
    slow = [s for s in stragglers if s.run in runs and s.kind != "late_rank"]
    worst = max(slow, key=lambda s: s.deviation_pct, default=None)
    best = max(case.guilty_of, key=lambda one: one.score)
    degradation = worst.deviation_pct if worst else (best.effect_pct or 0.0)
    is_severe = degradation > limits.severe_pct and case.rule_severity in ("warning", "critical")
    text = f"{coincidence_text(best, runs)} Confidence {best.confidence or 0.0:.2f}."
    numbers: dict[str, Any] = {
        "degradation_pct": degradation,
        "latency_us": worst.latency_us if worst else None,
        "baseline_us": worst.baseline_us if worst else None,
        "p_value": best.p_value,
        "q_value": best.q_value,
        "overlap_share": best.overlap_share,
        "covered_share": best.covered_share,
        "effect_pct": best.effect_pct,
        "score": best.score,
        **weighing_numbers(best),
        "runs": runs,
        "lost_gpu_s": sum(s.lost_s * (s.gpus or 0) for s in slow),
        "late_ranks": sorted({rank for s in slow for rank in s.late_ranks}),
    }
    finding = _finding(case, _kind(case), "critical" if is_severe else "warning", text, numbers)
    finding.evidence += [
        EvidenceRef(
            s.file,
            s.line,
            s.last_line,
            f"{s.run}: {s.latency_us:.0f} us, baseline {s.baseline_us:.0f} us",
        )
        for s in slow[:4]
    ]
    return finding


def _suspected(case: LinkCase) -> Finding:
    """A link that may slow runs, not surely enough to be named as the cause."""
    best = max(case.suspected_of, key=lambda one: one.score)
    runs = sorted({one.run for one in case.suspected_of})
    text = (
        f"It may slow {', '.join(runs)}, with a confidence of {best.confidence or 0.0:.2f} too little to accuse it. {coincidence_text(best, runs)} "
        "A second episode, per-rank timing, or a run over this link alone would settle it."
    )
    if best.behind:
        text += f" {', '.join(best.behind)} erred in the same pattern: which of them it is cannot be told from these data."
    severity = "warning" if _alone_enough(case) else "watch"
    return _finding(
        case,
        _kind(case) if severity == "warning" else "link_suspected",
        severity,
        text,
        weighing_numbers(best),
    )


def _finding(
    case: LinkCase, kind: str, severity: str, text: str, numbers: dict[str, Any]
) -> Finding:
    worst = _worst_spike(case)
    counts = _counts(case)
    other_end = f" Its other end is {case.far_end}." if case.far_end else ""
    role = "cause" if severity in ("warning", "critical") else "context"
    return Finding(
        component=case.component,
        kind=kind,
        severity=severity,
        role=role,
        summary=_headline(case),
        reason=f"{counts}{_bound_text(case)}{_allowance_text(case)}{_sum_text(case)}{_position_text(case)}{other_end} {text}".strip(),
        evidence=_evidence(case),
        far_end=case.far_end,
        error_class=worst.error_class,
        class_basis=worst.class_basis,
        first_seen=case.first_seen,
        last_seen=case.last_seen,
        numbers={**_figures(case), **numbers},
        rules=[hit.rule_id for hit in case.hits],
    )


def _kind(case: LinkCase) -> str:
    if _is_flapping(case):
        return "link_flapping"
    if any(spike.scope == "gpu_sum" for spike in case.spikes):
        return "gpu_link_errors"
    return "physical_link_degradation"


def _is_flapping(case: LinkCase) -> bool:
    return any(hit.rule_id == "link_flapping" for hit in case.hits)


def _worst_spike(case: LinkCase) -> Spike:
    return max(case.spikes, key=lambda s: (_CLASS_RANK.get(s.error_class, 0), s.events))


def end_totals(spikes: Iterable[Spike]) -> dict[str, tuple[float, bool]]:
    """Counter -> (count, is it a lower bound) of the end that counted more.

    Ends, and GPUs that were exchanged, are never added up. Two names of one counter are one count.
    """
    per_end: dict[tuple[str, ...], tuple[float, bool]] = {}
    for spike in spikes:
        key = (spike.counter, spike.node, spike.interface, spike.gpu_uuid)
        known, bound = per_end.get(key, (0.0, False))
        per_end[key] = (known + spike.events, bound or spike.is_lower_bound)
    totals: dict[str, tuple[float, bool]] = {}
    for (counter, *_), (count, bound) in per_end.items():
        if counter not in totals or count > totals[counter][0]:
            totals[counter] = (count, bound)
    for name, same in SAME_COUNTER.items():
        if name in totals and same in totals:
            del totals[same if totals[name][0] >= totals[same][0] else name]
    return totals


def _headline(case: LinkCase) -> str:
    """The two largest counts in one short sentence."""
    largest = sorted(end_totals(case.spikes).items(), key=lambda item: -item[1][0])[:2]
    said = (
        f"{'at least ' if bound else ''}{count_words(name, count)}"
        for name, (count, bound) in largest
    )
    return f"{case.component} counted {' and '.join(said)}"


def _counts(case: LinkCase) -> str:
    parts = [
        f"{'at least ' if bound else ''}{count_words(name, count)}"
        for name, (count, bound) in sorted(
            end_totals(case.spikes).items(), key=lambda item: -item[1][0]
        )
    ]
    rates = [s.rate_per_hour for s in case.spikes if s.rate_per_hour]
    rate = f", up to {max(rates):.0f} per hour" if rates else _without_rate(case)
    return f"{case.component} counted {'; '.join(parts)}{rate}."


def _without_rate(case: LinkCase) -> str:
    """Growth between captures is sure where there were several, its rate never."""
    grown = [spike for spike in case.spikes if spike.is_growth]
    if not grown:
        return " as totals without a time span"
    values = (h.value for s in grown for h in s.hits if h.rule_id == "snapshot_total")
    totals = f" ({'; '.join(dict.fromkeys(values))})" if any(s.hits for s in grown) else ""
    if len(grown) < len(case.spikes):
        return f" as totals, or between captures, without a time span{totals}"
    return f" between captures{totals}; the time between them is not stated, so a rate is not known"


def _bound_text(case: LinkCase) -> str:
    if any(
        spike.is_lower_bound and spike.events in (15, 255, 65535, 4294967295)
        for spike in case.spikes
    ):
        return " The counter stands at its ceiling: the true number is at least that, and further growth cannot be seen."
    return ""


def _allowance_text(case: LinkCase) -> str:
    """What the specification allows, where only the operators' stricter limit was passed."""
    says = next((hit.says for hit in case.hits if hit.rule_id == "replay_plain_limit"), "")
    _, _, beside = says.partition("; ")
    return f" {beside[:1].upper()}{beside[1:]}." if beside else ""


def _sum_text(case: LinkCase) -> str:
    if any(spike.scope == "gpu_sum" for spike in case.spikes):
        return " These are sums over all links of the GPU: which link it is, is not known."
    return ""


def _position_text(case: LinkCase) -> str:
    counts = case.counts_by_gpu
    if len(counts) < 2:
        return ""
    each = ", ".join(f"{count:.0f} with {uuid}" for uuid, count in counts.items())
    return (
        f" The same position counted errors before and after its GPU was exchanged ({each}), so the fault stays with the slot or "
        "baseboard path: no further GPU should be ordered."
    )


def _figures(case: LinkCase) -> dict[str, Any]:
    rates = [s.rate_per_hour for s in case.spikes if s.rate_per_hour]
    return {
        "counts": {name: count for name, (count, _) in end_totals(case.spikes).items()},
        "max_rate_per_hour": max(rates) if rates else None,
        "surprise": max((s.surprise for s in case.spikes if s.surprise), default=None),
        "peers": max(s.peers for s in case.spikes),
        "rules": [hit.as_dict() for hit in case.hits],
        "is_snapshot": case.is_snapshot,
        "sympathetic": case.sympathetic,
        "link_type": case.link_type,
    }


def _evidence(case: LinkCase) -> list[EvidenceRef]:
    """The largest counts, those of the named end first; the other end keeps a third of the places."""
    ranked = sorted(case.spikes, key=lambda s: -s.events)
    parsed = parse_component(case.component)
    named = component_id(parsed.node, parsed.interface)
    own = [s for s in ranked if component_id(s.node, s.interface) == named]
    other = [s for s in ranked if component_id(s.node, s.interface) != named]
    room = _MAX_EVIDENCE - min(len(other), _MAX_EVIDENCE // 3)
    chosen = own[:room]
    chosen += other[: _MAX_EVIDENCE - len(chosen)]
    return [
        EvidenceRef(s.file, s.line, s.last_line if s.last_line != s.line else None, _spike_text(s))
        for s in chosen
    ]


def _spike_text(spike: Spike) -> str:
    span = ""
    if spike.start_ts and spike.end_ts:
        day = "" if spike.start_ts.date() == spike.end_ts.date() else f"{spike.end_ts:%Y-%m-%d} "
        span = f" from {spike.start_ts:%Y-%m-%d %H:%M:%S} to {day}{spike.end_ts:%H:%M:%S} UTC"
    # A switch port stands for itself; `unknown:` in front of it would read as if something were missing.
    place = f"{spike.node}:{spike.interface}" if spike.node else spike.interface
    bound = "at least " if spike.is_lower_bound else ""
    span = " between captures" if spike.is_growth else span
    return (
        f"{place} counted {bound}{count_words(spike.counter, spike.events)} ({spike.counter}){span}"
    )


def _alone_enough(case: LinkCase) -> bool:
    return any(hit.rule_id in _ALONE_ENOUGH for hit in case.hits)


def _no_effect_text(case: LinkCase) -> str:
    related = max(case.correlations, key=lambda one: one.score, default=None)
    if related is None:
        return "No run is known to have been slow over this link while it counted errors."
    if case.outweighed_by:
        better = ", ".join(sorted(set(case.outweighed_by)))
        return f"Its errors fit the slow time of {related.run} too, which {better} explains better: its own effect cannot be measured meanwhile."
    share = f"{related.overlap_bins} of {related.error_bins} error intervals are slow"
    return f"Its errors do not fit the slow time of {related.run}: {share} (chance {related.p_value:.3g})."
