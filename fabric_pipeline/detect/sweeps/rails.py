"""Tables of rails: the same collective on several groups of ranks, iteration by iteration.

First rows are warm-up, a lone late row is an event in time, and a constant difference between rails is
the machine's shape. Only a rail that stays slow after having been fast is a finding.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from fabric_pipeline.detect.sweeps.groups import by_rank, evidence, op_text
from fabric_pipeline.detect.sweeps.thresholds import (
    RAIL_COMMON_SHARE,
    RAIL_DISTURBED_FACTOR,
    RAIL_SLOW_FACTOR,
    RAIL_SLOW_ROWS,
    WARM_UP_ROWS,
)
from fabric_pipeline.model.components import component_id
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import CollectiveTiming

_Rails = dict[str, dict[int, CollectiveTiming]]


def judge_rails(timings: Sequence[CollectiveTiming]) -> list[Finding]:
    """`common_disturbance` (watch) and `slow_rail` findings, table by table."""
    tables: dict[tuple[str, str, str], list[CollectiveTiming]] = defaultdict(list)
    for timing in by_rank(timings):
        tables[timing.file, timing.run, timing.op].append(timing)
    findings: list[Finding] = []
    for table in tables.values():
        rails = _rails(table)
        if len(rails) < 2:
            continue
        rows = sorted(next(iter(rails.values())))
        settled = rows[WARM_UP_ROWS:]
        if len(settled) >= RAIL_SLOW_ROWS:
            findings += _common(rails, settled)
            findings += _lasting(rails, settled)
    return findings


def _rails(table: list[CollectiveTiming]) -> _Rails:
    """Rail -> row -> timing, or nothing when this is no table: one rank a rail, equal rows."""
    rails: _Rails = defaultdict(dict)
    for timing in table:
        rails[timing.communicator][timing.seq] = timing
    rows = {tuple(sorted(rail)) for rail in rails.values()}
    whole = len(table) == sum(len(rail) for rail in rails.values())
    return rails if len(rows) == 1 and whole else {}


def _common(rails: _Rails, settled: list[int]) -> list[Finding]:
    """Rows in which half of the rails or more are slow at once."""
    own = {name: median(rail[row].duration_us for row in settled) for name, rail in rails.items()}
    findings = []
    for row in settled:
        slow = [
            rail[row]
            for name, rail in rails.items()
            if rail[row].duration_us >= RAIL_DISTURBED_FACTOR * own[name]
        ]
        if len(slow) > 2 and len(slow) >= RAIL_COMMON_SHARE * len(rails):
            findings.append(_disturbance(row, slow, len(rails)))
    return findings


def _disturbance(row: int, slow: list[CollectiveTiming], rails: int) -> Finding:
    first = slow[0]
    numbers = {"row": row, "rails_slow": len(slow), "rails": rails}
    reason = (
        f"in iteration {row} of {op_text(first.op)} {len(slow)} of {rails} rails take at least "
        f"{RAIL_DISTURBED_FACTOR:g} times their usual time at once: one common disturbance, no list of bad links"
    )
    return Finding(
        component_id("", ""),
        "common_disturbance",
        "watch",
        "context",
        reason,
        [evidence(first)],
        is_link=False,
        numbers=numbers,
        rules=["rail-common-disturbance"],
    )


def _lasting(rails: _Rails, settled: list[int]) -> list[Finding]:
    """Rails that were fast, became slow and stay slow to the end while most others do not."""
    cases = []
    for rail in rails.values():
        durations = [rail[row].duration_us for row in settled]
        before = median(durations[: max(len(durations) // 2, 1)])
        slow = [value >= RAIL_SLOW_FACTOR * before for value in durations]
        tail = slow[::-1].index(False) if False in slow else len(slow)
        if tail >= RAIL_SLOW_ROWS:
            cases.append((rail[settled[-tail]], before, median(durations[-tail:])))
    if len(cases) * 2 > len(rails):
        return []
    return [_slow_rail(*case) for case in cases]


def _slow_rail(timing: CollectiveTiming, before_us: float, after_us: float) -> Finding:
    numbers = {"before_ms": round(before_us / 1e3, 3), "after_ms": round(after_us / 1e3, 3)}
    reason = (
        f"{timing.communicator} needs {after_us / 1e3:.2f} ms for {op_text(timing.op)} from iteration "
        f"{timing.seq} to the end, after {before_us / 1e3:.2f} ms before, while most rails stay as they "
        "were; the log names no link"
    )
    return Finding(
        component_id("", f"gpu{timing.gpu}" if timing.gpu is not None else ""),
        "slow_rail",
        "warning",
        "cause",
        reason,
        [evidence(timing)],
        is_link=False,
        numbers=numbers,
        rules=["rail-slow"],
    )
