"""Figures of equals side by side: nodes of a fleet test, ranks of an injection test.

The median of at least three equals is the reference. A node or rank below it is reported without
naming a link, because such a figure mixes device, bus and network.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from fabric_pipeline.detect.sweeps.groups import busbw, evidence, is_node_figure, size_text
from fabric_pipeline.detect.sweeps.thresholds import (
    INJECTION_MIN_RANKS,
    INJECTION_SLOW_RATIO,
    MIN_JUDGED_BYTES,
    NODE_MIN_PEERS,
    NODE_SLOW_FACTOR,
    NODE_SLOW_RATIO,
)
from fabric_pipeline.model.components import component_id, natural_key
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import CollectiveTiming


def judge_nodes(timings: Sequence[CollectiveTiming]) -> list[Finding]:
    """One `slow_node_figure` finding per node that differs from its equals."""
    figures: dict[tuple[object, ...], list[CollectiveTiming]] = defaultdict(list)
    for timing in timings:
        large = timing.bytes is None or timing.bytes >= MIN_JUDGED_BYTES
        if is_node_figure(timing) and large:
            figures[timing.file, timing.op, timing.bytes, timing.variant].append(timing)
    odd: dict[str, list[tuple[CollectiveTiming, str]]] = defaultdict(list)
    for same in figures.values():
        if len({timing.node for timing in same}) >= NODE_MIN_PEERS:
            for timing in same:
                said = _against(timing, same)
                if said:
                    odd[timing.node].append((timing, said))
    return [_node_finding(node, odd[node]) for node in sorted(odd, key=natural_key)]


def _against(timing: CollectiveTiming, same: list[CollectiveTiming]) -> str:
    """What is odd about a figure, in words, or ""."""
    if timing.busbw_gbs is not None:
        usual = median(busbw(each) for each in same)
        if usual > 0 and busbw(timing) <= NODE_SLOW_RATIO * usual:
            return f"{_label(timing)} is {busbw(timing):g} GB/s, usually {usual:g}"
        return ""
    usual = median(each.duration_us for each in same)
    if math.isfinite(usual) and timing.duration_us >= NODE_SLOW_FACTOR * usual:
        return f"{_label(timing)} is {timing.duration_us / 1e3:g} ms, usually {usual / 1e3:g}"
    return ""


def _label(timing: CollectiveTiming) -> str:
    size = f" at {size_text(timing.bytes)}" if timing.bytes else ""
    return f"{timing.op}{':' + timing.variant if timing.variant else ''}{size}"


def _node_finding(node: str, cases: list[tuple[CollectiveTiming, str]]) -> Finding:
    reason = f"{node} differs from its equals: {'; '.join(said for _, said in cases[:4])}"
    if len(cases) > 4:
        reason += f"; and {len(cases) - 4} more figures"
    return Finding(
        component_id(node, ""),
        "slow_node_figure",
        "warning",
        "cause",
        reason,
        [evidence(timing) for timing, _ in cases[:4]],
        is_link=False,
        numbers={"figures": len(cases)},
        rules=["peer-node-figure"],
    )


def judge_injection(timings: Sequence[CollectiveTiming]) -> list[Finding]:
    """One `slow_injection` finding per test whose ranks are not alike."""
    tests: dict[tuple[str, str, str, str], list[CollectiveTiming]] = defaultdict(list)
    for timing in timings:
        if timing.unit_kind == "bandwidth" and timing.rank is not None:
            tests[timing.file, timing.run, timing.op, timing.variant].append(timing)
    findings = []
    for test in tests.values():
        usual = median(busbw(timing) for timing in test)
        slow = [timing for timing in test if busbw(timing) <= INJECTION_SLOW_RATIO * usual]
        if slow and len(test) >= INJECTION_MIN_RANKS:
            findings.append(_injection_finding(slow, usual))
    return findings


def _injection_finding(slow: list[CollectiveTiming], usual: float) -> Finding:
    worst = min(slow, key=busbw)
    ranks = ", ".join(str(timing.rank) for timing in slow[:16])
    reason = (
        f"rank {ranks} reaches {busbw(worst):g} GB/s in the {worst.op} test where ranks usually reach "
        f"{usual:g} GB/s; the test names no host and no link"
    )
    return Finding(
        component_id(worst.node, ""),
        "slow_injection",
        "warning",
        "cause",
        reason,
        [evidence(timing) for timing in slow[:8]],
        is_link=False,
        numbers={"ranks_slow": len(slow), "worst_gbs": busbw(worst), "usual_gbs": usual},
        rules=["peer-injection"],
    )
