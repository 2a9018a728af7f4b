"""Pair tables: which node makes its pairs slow.

A node of a fast pair is cleared. A node that stands in two or more slow pairs whose other ends are
cleared is named; where both ends of a slow pair remain, nobody is, and both are unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from fabric_pipeline.detect.sweeps.groups import busbw, evidence
from fabric_pipeline.detect.sweeps.thresholds import SLOW_PAIR_RATIO, SLOW_PAIRS_TO_NAME
from fabric_pipeline.model.components import component_id, natural_key
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import CollectiveTiming, UnknownFact

PAIR_OP = "pair_bandwidth"


def judge_pairs(
    timings: Sequence[CollectiveTiming],
) -> tuple[list[Finding], list[UnknownFact]]:
    """Findings and undecidable ends of all pair tables, table by table."""
    tables: dict[tuple[str, str], list[CollectiveTiming]] = defaultdict(list)
    for timing in timings:
        if timing.op == PAIR_OP and busbw(timing) > 0 and timing.communicator.count(",") == 1:
            tables[timing.file, timing.run].append(timing)
    findings: list[Finding] = []
    unknown: list[UnknownFact] = []
    for table in tables.values():
        _judge_table(table, findings, unknown)
    return findings, unknown


def _judge_table(
    table: list[CollectiveTiming], findings: list[Finding], unknown: list[UnknownFact]
) -> None:
    best = max(busbw(row) for row in table)
    slow = [row for row in table if busbw(row) <= SLOW_PAIR_RATIO * best]
    cleared = {node for row in table if row not in slow for node in _ends(row)}
    suspects: dict[str, list[CollectiveTiming]] = defaultdict(list)
    for row in slow:
        left = [node for node in _ends(row) if node not in cleared]
        if len(left) == 1:
            suspects[left[0]].append(row)
    named = {node for node, rows in suspects.items() if len(rows) >= SLOW_PAIRS_TO_NAME}
    findings += [_named(node, suspects[node], best) for node in sorted(named, key=natural_key)]
    for row in slow:
        if named.isdisjoint(_ends(row)):
            findings.append(_undecided(row, best, cleared))
            unknown += _unknown(row, best, cleared)


def _ends(row: CollectiveTiming) -> list[str]:
    return row.communicator.split(",")


def _named(node: str, rows: list[CollectiveTiming], best: float) -> Finding:
    partners = [end for row in rows for end in _ends(row) if end != node]
    worst = min(rows, key=busbw)
    numbers = {
        "slow_pairs": len(rows),
        "busbw_worst_gbs": busbw(worst),
        "busbw_best_pair_gbs": best,
        "ratio": round(busbw(worst) / best, 3),
    }
    reason = (
        f"{node} is slow with {len(rows)} partners ({', '.join(partners)}; down to {busbw(worst):g} GB/s, "
        f"best pair {best:g} GB/s) that are fast with others"
    )
    finding = Finding(
        component_id(node, ""),
        "slow_node",
        "warning",
        "cause",
        reason,
        [evidence(row) for row in rows],
        numbers=numbers,
        rules=["pair-slow-node"],
    )
    remarks = sorted({row.variant for row in rows if row.variant})
    if remarks:
        finding.alternatives.append(f"remarks of the table: {', '.join(remarks)}")
    return finding


def _undecided(row: CollectiveTiming, best: float, cleared: set[str]) -> Finding:
    left, right = _ends(row)
    said = (
        "both are fast elsewhere, so the path between them is" if _both(row, cleared) else "one is"
    )
    reason = (
        f"{left} and {right} reach {busbw(row):g} GB/s together (best pair {best:g} GB/s); {said} slow, "
        "and this table cannot tell more"
    )
    return Finding(
        component_id("", ""),
        "slow_pair",
        "watch",
        "context",
        reason,
        [evidence(row)],
        numbers={"busbw_gbs": busbw(row), "busbw_best_pair_gbs": best},
        rules=["pair-undecided"],
    )


def _unknown(row: CollectiveTiming, best: float, cleared: set[str]) -> list[UnknownFact]:
    """One entry for each end that no fast pair clears."""
    facts = []
    for node, other in (_ends(row), _ends(row)[::-1]):
        if node in cleared:
            continue
        only = "the only measurement of" if other not in cleared else "the only slow measurement of"
        reason = f"{busbw(row):g} of {best:g} GB/s with {other} is {only} {node}"
        facts.append(
            UnknownFact(node, "", f"whether {node} or its pair with {other} is slow", reason)
        )
    return facts


def _both(row: CollectiveTiming, cleared: set[str]) -> bool:
    return cleared.issuperset(_ends(row))
