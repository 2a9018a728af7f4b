"""Per-rank collectives: which rank keeps the others waiting.

The rank with the SHORT collective came late and the long ones waited, so the short one is named, as a
late arrival and never as a link. Ranks are joined by sequence number, or by their common end.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import median

from fabric_pipeline.detect.sweeps.groups import by_rank, evidence, op_text
from fabric_pipeline.detect.sweeps.thresholds import (
    COMMON_END_SHARE,
    COMMON_END_US,
    LATE_DOMINANCE,
    LATE_MIN_GROUPS,
    LATE_MIN_US,
    LATE_SCORE,
    LATE_SHARE,
    WARM_UP_ROWS,
)
from fabric_pipeline.model.components import component_id
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import CollectiveTiming

Joined = dict[int, CollectiveTiming]


def judge_late_ranks(timings: Sequence[CollectiveTiming]) -> list[Finding]:
    """At most one finding per run and communicator: the operation in which most was waited.

    A run whose compute times per rank are known is left out, because they show the cause itself.
    """
    explained = {t.run for t in timings if t.unit_kind == "compute" and t.rank is not None}
    groups: dict[tuple[str, str, str], list[CollectiveTiming]] = defaultdict(list)
    for timing in by_rank(timings):
        if timing.run not in explained:
            groups[timing.run, timing.communicator, timing.op].append(timing)
    findings: dict[tuple[str, str], Finding] = {}
    for (run, communicator, _), group in groups.items():
        if len({timing.rank for timing in group}) > 1:
            for finding in _judge(join_ranks(group)):
                known = findings.get((run, communicator))
                if known is None or finding.numbers["others_ms"] > known.numbers["others_ms"]:
                    findings[run, communicator] = finding
    return list(findings.values())


def join_ranks(group: Sequence[CollectiveTiming]) -> list[Joined]:
    """The same collective on several ranks, in order: rank -> its timing.

    Sequence numbers are used when they fit; profilers that only count their own events are joined by
    the time at which the kernels end, because a collective ends on all ranks together.
    """
    joined = _by_sequence(group)
    return joined if _fits(joined) else _by_end(group)


def _by_sequence(group: Sequence[CollectiveTiming]) -> list[Joined]:
    found: dict[tuple[str, str, int], list[CollectiveTiming]] = defaultdict(list)
    for timing in group:
        found[timing.op, timing.variant, timing.seq].append(timing)
    joined = []
    for same in found.values():
        ranks = {timing.rank: timing for timing in same}
        if 1 < len(ranks) == len(same):
            joined.append({rank: timing for rank, timing in ranks.items() if rank is not None})
    return joined


def _fits(joined: list[Joined]) -> bool:
    """True when joined timings have equal sizes and, where known, a common end."""
    fitting = sum(1 for ranks in joined if _same(list(ranks.values())))
    return bool(joined) and fitting >= COMMON_END_SHARE * len(joined)


def _same(ranks: list[CollectiveTiming]) -> bool:
    if len({timing.bytes for timing in ranks}) > 1:
        return False
    ends = [end for timing in ranks if (end := _end_us(timing)) is not None]
    return len(ends) < 2 or max(ends) - min(ends) <= COMMON_END_US


def _end_us(timing: CollectiveTiming) -> float | None:
    if timing.start is None:
        return None
    return timing.start.timestamp() * 1e6 + timing.duration_us


def _by_end(group: Sequence[CollectiveTiming]) -> list[Joined]:
    """Walk all ends in order; those of one operation and size that fall together are one collective."""
    queues: dict[tuple[str, int | None], list[tuple[float, CollectiveTiming]]] = defaultdict(list)
    for timing in group:
        end = _end_us(timing)
        if end is not None:
            queues[timing.op, timing.bytes].append((end, timing))
    joined: list[Joined] = []
    for queue in queues.values():
        queue.sort(key=lambda item: item[0])
        current: Joined = {}
        last = float("-inf")
        for end, timing in queue:
            if end - last > COMMON_END_US or timing.rank in current:
                joined.append(current)
                current = {}
            if timing.rank is not None:
                current[timing.rank] = timing
            last = end
        joined.append(current)
    return [ranks for ranks in joined if len(ranks) > 1]


def _judge(joined: list[Joined]) -> list[Finding]:
    settled = joined[WARM_UP_ROWS:] if len(joined) > 2 * WARM_UP_ROWS else joined
    late: Counter[int] = Counter()
    shorter: dict[int, list[tuple[CollectiveTiming, float]]] = defaultdict(list)
    for ranks in settled:
        for rank, timing in ranks.items():
            others = median(t.duration_us for r, t in ranks.items() if r != rank)
            waited = others - timing.duration_us
            if timing.duration_us <= LATE_SCORE * others and waited >= LATE_MIN_US:
                late[rank] += 1
                shorter[rank].append((timing, others))
    if not late:
        return []
    (rank, count), *rest = late.most_common()
    share = count / len(settled)
    dominates = not rest or count >= LATE_DOMINANCE * rest[0][1]
    if count < LATE_MIN_GROUPS or share < LATE_SHARE or not dominates:
        return []
    return [_finding(rank, shorter[rank], len(settled))]


def _finding(rank: int, cases: list[tuple[CollectiveTiming, float]], total: int) -> Finding:
    own = median(timing.duration_us for timing, _ in cases)
    others = median(waited for _, waited in cases)
    timing = max(cases, key=lambda case: case[1] - case[0].duration_us)[0]
    numbers = {
        "rank": rank,
        "late_in": len(cases),
        "collectives": total,
        "own_ms": round(own / 1e3, 3),
        "others_ms": round(others / 1e3, 3),
    }
    reason = (
        f"rank {rank} comes late to {len(cases)} of {total} {op_text(timing.op)} collectives: it is in them "
        f"for {own / 1e3:.2f} ms (median) while the others wait in them for {others / 1e3:.2f} ms; what it "
        "did before is slow, not the network"
    )
    interface = f"gpu{timing.gpu}" if timing.gpu is not None and timing.node else ""
    return Finding(
        component_id(timing.node, interface),
        "late_rank",
        "warning",
        "cause",
        reason,
        [evidence(timing)],
        is_link=False,
        numbers=numbers,
        rules=["rank-late-arrival"],
        alternatives=["slow computing", "slow data loading", "a host that schedules late"],
    )
