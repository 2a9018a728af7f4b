"""Step times of a training log by themselves: a lasting slowdown, never warm-up or a lone step.

A step time mixes computing, data and network, so that a slowdown is reported and no link is named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from fabric_pipeline.detect.sweeps.groups import evidence
from fabric_pipeline.detect.sweeps.thresholds import (
    STEP_MIN_BEFORE,
    STEP_MIN_SLOW,
    STEP_SLOW_FACTOR,
    WARM_UP_ROWS,
)
from fabric_pipeline.model.components import component_id
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import CollectiveTiming


def judge_steps(timings: Sequence[CollectiveTiming]) -> list[Finding]:
    """At most one `slow_steps` finding per log: all steps from some step to the end are slow."""
    logs: dict[tuple[str, str, str], list[CollectiveTiming]] = defaultdict(list)
    for timing in timings:
        if timing.unit_kind == "step" and timing.rank is None:
            logs[timing.file, timing.run, timing.variant].append(timing)
    findings = []
    for steps in logs.values():
        settled = steps[WARM_UP_ROWS:]
        start = _slow_from(settled)
        if start is not None:
            findings.append(_finding(settled, start))
    return findings


def _slow_from(settled: list[CollectiveTiming]) -> int | None:
    """Index of the first step of a slow stretch that lasts to the end, or None."""
    if len(settled) < STEP_MIN_BEFORE + STEP_MIN_SLOW:
        return None
    usual = median(step.duration_us for step in settled[: max(len(settled) // 2, STEP_MIN_BEFORE)])
    start = len(settled)
    while start and settled[start - 1].duration_us >= STEP_SLOW_FACTOR * usual:
        start -= 1
    long_enough = len(settled) - start >= STEP_MIN_SLOW and start >= STEP_MIN_BEFORE
    return start if long_enough else None


def _finding(settled: list[CollectiveTiming], start: int) -> Finding:
    before = median(step.duration_us for step in settled[:start]) / 1e3
    after = median(step.duration_us for step in settled[start:]) / 1e3
    first = settled[start]
    reason = (
        f"steps take {after:.1f} ms from step {first.seq} to the end of the log, after {before:.1f} ms before "
        f"({after / before:.2f} times as long); a step time alone names no link"
    )
    numbers = {
        "before_ms": round(before, 3),
        "after_ms": round(after, 3),
        "factor": round(after / before, 3),
        "steps_slow": len(settled) - start,
    }
    return Finding(
        component_id("", ""),
        "slow_steps",
        "warning",
        "cause",
        reason,
        [evidence(first)],
        is_link=False,
        numbers=numbers,
        rules=["steps-lasting-slowdown"],
    )
