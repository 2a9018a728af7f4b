"""Runs of one shape against each other: the slower compared with the fastest at the largest common size.

A slow run is a finding about the run. A node is named only when the lists of nodes leave exactly one
that no fast run used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from fabric_pipeline.detect.sweeps.groups import Sweep, busbw, evidence, op_text, size_text
from fabric_pipeline.detect.sweeps.thresholds import (
    MIN_JUDGED_BYTES,
    NEIGHBOUR_RATIO,
    SAME_FACTOR_SPREAD,
    SEVERE_RATIO,
    SLOW_PAIRS_TO_NAME,
    SLOW_RUN_RATIO,
)
from fabric_pipeline.model.components import component_id
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import FabricEvent


@dataclass(slots=True)
class _Comparison:
    """One run beside the fastest run of its shape."""

    slow: Sweep
    fast: Sweep
    size: int
    ratio: float
    severity: str


def compare_runs(found: Sequence[Sweep], events: Sequence[FabricEvent]) -> list[Finding]:
    """One `slow_run` finding per slow run; `watch` where the shapes are not known to be equal."""
    groups: dict[tuple[object, ...], list[Sweep]] = defaultdict(list)
    for sweep in found:
        groups[sweep.shape].append(sweep)
    findings = []
    for group in groups.values():
        compared = _compare(group)
        named = _named_nodes(group, compared)
        findings += [_finding(each, events, named.get(id(each.slow), "")) for each in compared]
    return findings


def _compare(group: list[Sweep]) -> list[_Comparison]:
    sizes = set.intersection(*(set(sweep.best_by_size()) for sweep in group))
    judged = sorted(size for size in sizes if size >= MIN_JUDGED_BYTES)
    if len(group) < 2 or not judged:
        return []
    size = judged[-1]
    fast = max(group, key=lambda sweep: busbw(sweep.best_by_size()[size]))
    compared = []
    for slow in group:
        unlike = slow is fast or not _same_operation(slow, fast, size)
        severity = "" if unlike else _severity(slow, fast, judged)
        if severity:
            compared.append(_Comparison(slow, fast, size, _ratio(slow, fast, size), severity))
    return compared


def _ratio(slow: Sweep, fast: Sweep, size: int) -> float:
    reference = busbw(fast.best_by_size()[size])
    return busbw(slow.best_by_size()[size]) / reference if reference else 1.0


def _same_operation(slow: Sweep, fast: Sweep, size: int) -> bool:
    """False when bus and algorithm bandwidth stand in different proportions.

    The proportion follows from operation and number of ranks, which excerpts often do not state.
    """
    factors = []
    for row in (slow.best_by_size()[size], fast.best_by_size()[size]):
        algbw = size / row.duration_us / 1e3
        factors.append(busbw(row) / algbw if algbw > 0 else 0.0)
    return abs(factors[0] - factors[1]) <= SAME_FACTOR_SPREAD * max(factors)


def _severity(slow: Sweep, fast: Sweep, judged: list[int]) -> str:
    """`warning`, `watch` when the two runs may be unlike, or nothing when the run is not slow."""
    ratio = _ratio(slow, fast, judged[-1])
    neighbour = _ratio(slow, fast, judged[-2]) if len(judged) > 1 else ratio
    if ratio > SLOW_RUN_RATIO or (neighbour > NEIGHBOUR_RATIO and ratio > SEVERE_RATIO):
        return ""
    if slow.file == fast.file:
        # Tables of one file are often one job under other settings; only a large gap is trouble.
        return "warning" if ratio <= SEVERE_RATIO else "watch"
    return "warning" if slow.ranks is not None else "watch"


def _named_nodes(group: list[Sweep], compared: list[_Comparison]) -> dict[int, str]:
    """Node to blame by id of the slow run: the one that every slow run and no fast run used."""
    slow = [each.slow for each in compared if each.severity == "warning" and each.slow.nodes]
    good = {node for sweep in group if all(sweep is not s for s in slow) for node in sweep.nodes}
    if not slow or not good:
        return {}
    suspects = set.intersection(*(set(sweep.nodes) - good for sweep in slow))
    alone = all(len(sweep.nodes) == 1 for sweep in slow)
    if len(suspects) != 1 or (len(slow) < SLOW_PAIRS_TO_NAME and not alone):
        return {}
    return {id(sweep): next(iter(suspects)) for sweep in slow}


def _finding(each: _Comparison, events: Sequence[FabricEvent], node: str) -> Finding:
    slow, fast = each.slow.best_by_size()[each.size], each.fast.best_by_size()[each.size]
    lowest = min(each.slow.variants_at(each.size))
    numbers = {
        "busbw_gbs": busbw(slow),
        "busbw_lowest_variant_gbs": lowest,
        "busbw_faster_run_gbs": busbw(fast),
        "bytes": each.size,
        "ratio": round(each.ratio, 3),
        "ranks": each.slow.ranks,
    }
    also = f" ({lowest:g} in the slower variant)" if lowest < busbw(slow) else ""
    ranks = f" of {each.slow.ranks} ranks" if each.slow.ranks else ""
    reason = (
        f"at {size_text(each.size)} this {op_text(each.slow.op)}{ranks} reaches {busbw(slow):g} GB/s{also} "
        f"where another run of the same shape reaches {busbw(fast):g} GB/s ({each.ratio:.2f} of it)"
    )
    complaints = _complaints(each.slow, events)
    if complaints:
        reason += "; the slow run also says: " + "; ".join(complaints)
    reason += (
        f"; only {node} took part in no fast run" if node else "; no node or link can be named"
    )
    return Finding(
        component_id(node, "") if node else each.slow.component,
        "slow_run",
        each.severity,
        "cause" if each.severity == "warning" else "context",
        reason,
        [evidence(slow), evidence(fast)],
        is_link=bool(node),
        numbers=numbers,
        rules=["sweep-slow-run"],
        alternatives=["other jobs on the fabric", "other settings of the run", "another placement"],
    )


def _complaints(sweep: Sweep, events: Sequence[FabricEvent]) -> list[str]:
    said = [
        event.reason
        for event in events
        if event.file == sweep.file and event.details.get("run") == sweep.run and event.reason
    ]
    return list(dict.fromkeys(said))[:3]
