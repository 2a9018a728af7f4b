"""One size sweep by itself: a fall of bandwidth that lasts to the end, or a stretch that recovers.

Sizes run one after the other, so a slow stretch is a disturbance in time and no effect of size; only a
fall that never recovers is a finding, and it names no link.
"""

from __future__ import annotations

from fabric_pipeline.detect.sweeps.groups import Sweep, busbw, evidence, op_text, size_text
from fabric_pipeline.detect.sweeps.thresholds import CLIFF_MIN_BYTES, CLIFF_MIN_ROWS, CLIFF_RATIO
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import CollectiveTiming


def judge_cliff(sweep: Sweep) -> list[Finding]:
    """At most one finding: `slow_collective` (warning) or `slow_stretch` (watch)."""
    rows = list(sweep.best_by_size().values())
    low = _low_rows(rows)
    if not low:
        return []
    tail = [index for index in range(len(rows)) if set(range(index, len(rows))) <= low]
    if tail and len(rows) - tail[0] >= CLIFF_MIN_ROWS and _is_large(rows[-1]):
        return [_cliff(sweep, rows, tail[0])]
    first = min(low)
    recovered = [row for row in rows[first:] if busbw(row) >= _peak(rows[:first])]
    return [_stretch(sweep, rows, sorted(low))] if len(low) >= CLIFF_MIN_ROWS and recovered else []


def _low_rows(rows: list[CollectiveTiming]) -> set[int]:
    """Rows at most `CLIFF_RATIO` of the best row before them."""
    low: set[int] = set()
    best = 0.0
    for index, row in enumerate(rows):
        if _is_large(row) and best > 0 and busbw(row) <= CLIFF_RATIO * best:
            low.add(index)
        best = max(best, busbw(row))
    return low


def _is_large(row: CollectiveTiming) -> bool:
    return (row.bytes or 0) >= CLIFF_MIN_BYTES


def _peak(rows: list[CollectiveTiming]) -> float:
    return max((busbw(row) for row in rows), default=0.0)


def _cliff(sweep: Sweep, rows: list[CollectiveTiming], start: int) -> Finding:
    before = max(rows[:start], key=busbw)
    after, last = rows[start], rows[-1]
    numbers = {
        "busbw_before_gbs": busbw(before),
        "busbw_after_gbs": busbw(after),
        "busbw_last_gbs": busbw(last),
        "bytes_before": before.bytes,
        "bytes_after": after.bytes,
        "bytes_last": last.bytes,
        "ratio": round(busbw(after) / busbw(before), 3),
        "rows_slow": len(rows) - start,
    }
    reason = (
        f"the bus bandwidth of this {op_text(sweep.op)} falls from {busbw(before):g} GB/s at "
        f"{size_text(before.bytes)} to {busbw(after):g} GB/s at {size_text(after.bytes)} and stays low to "
        f"the end ({busbw(last):g} GB/s at {size_text(last.bytes)}); neither a node nor a link is named"
    )
    return Finding(
        sweep.component,
        "slow_collective",
        "warning",
        "cause",
        reason,
        [evidence(after), evidence(before)],
        is_link=False,
        numbers=numbers,
        rules=["sweep-cliff"],
        alternatives=[
            "a change of algorithm or protocol at this size",
            "a disturbance that began here",
        ],
    )


def _stretch(sweep: Sweep, rows: list[CollectiveTiming], low: list[int]) -> Finding:
    worst = min((rows[index] for index in low), key=busbw)
    numbers = {"rows_slow": len(low), "busbw_worst_gbs": busbw(worst), "bytes_worst": worst.bytes}
    reason = (
        f"{len(low)} sizes of this {op_text(sweep.op)} are slow ({busbw(worst):g} GB/s at "
        f"{size_text(worst.bytes)}) and larger ones recover: a disturbance in time"
    )
    return Finding(
        sweep.component,
        "slow_stretch",
        "watch",
        "context",
        reason,
        [evidence(worst)],
        is_link=False,
        numbers=numbers,
        rules=["sweep-stretch"],
    )
