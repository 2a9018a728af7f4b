"""Compute times per rank: a slow worker, an uneven stage, uneven work between microbatches.

All three make collectives look slow without any bad link, so that every finding here says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median, quantiles
from typing import Any

from fabric_pipeline.detect.sweeps.groups import evidence, is_node_figure
from fabric_pipeline.detect.sweeps.thresholds import (
    EQUAL_RANKS_SPREAD,
    SLOW_COMPUTE_FACTOR,
    UNEVEN_WORK_FACTOR,
    UNEVEN_WORK_MIN,
)
from fabric_pipeline.model.components import component_id
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import CollectiveTiming

# Operation -> stage -> rank -> timings.
_Table = dict[str, dict[str, dict[int, list[CollectiveTiming]]]]
_AGGREGATES = frozenset(("median", "max", "min"))


def judge_compute(timings: Sequence[CollectiveTiming]) -> list[Finding]:
    """Findings of every run that has compute times per rank."""
    runs: dict[tuple[str, str], list[CollectiveTiming]] = defaultdict(list)
    for timing in timings:
        if timing.unit_kind in ("compute", "collective") and not is_node_figure(timing):
            runs[timing.file, timing.run].append(timing)
    findings: list[Finding] = []
    for run in runs.values():
        table = _table(run)
        if not table:
            continue
        slow = _slow_ranks(table)
        collectives = _equal_collectives(run)
        findings += [_slow_compute(rank, cases, collectives) for rank, cases in slow.items()]
        findings += _uneven_stages(table, set(slow))
        findings += _uneven_work(table)
    return findings


def _table(run: list[CollectiveTiming]) -> _Table:
    table: _Table = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for timing in run:
        usable = timing.unit_kind == "compute" and timing.rank is not None
        if usable and timing.rank is not None and timing.variant not in _AGGREGATES:
            table[timing.op][timing.variant][timing.rank].append(timing)
    return table


def _middle(timings: list[CollectiveTiming]) -> float:
    return median(timing.duration_us for timing in timings)


def _slow_ranks(table: _Table) -> dict[int, list[tuple[CollectiveTiming, float, float]]]:
    """Rank -> (a timing, its median, the median of its equals) for every operation it is slow in."""
    slow: dict[int, list[tuple[CollectiveTiming, float, float]]] = defaultdict(list)
    for stages in table.values():
        for ranks in stages.values():
            middles = {rank: _middle(own) for rank, own in ranks.items()}
            cases = []
            for rank, own in middles.items():
                others = [value for other, value in middles.items() if other != rank]
                if others and _is_slow(ranks[rank], own, median(others)):
                    cases.append((rank, own, median(others)))
            if len(cases) * 2 <= len(middles):  # a minority; otherwise nobody is the odd one
                for rank, own, peers in cases:
                    slow[rank].append((ranks[rank][0], own, peers))
    return slow


def _is_slow(timings: list[CollectiveTiming], own: float, peers: float) -> bool:
    """Slow in the middle and in nearly every call, so that scattering work accuses nobody."""
    lowest = sorted(timing.duration_us for timing in timings)[len(timings) // 10]
    return own >= SLOW_COMPUTE_FACTOR * peers and lowest >= peers


def _equal_collectives(run: list[CollectiveTiming]) -> str:
    """Half a sentence when the run's collectives last alike on all ranks, else ""."""
    values: dict[str, list[float]] = defaultdict(list)
    for timing in run:
        if timing.unit_kind == "collective" and timing.variant in _AGGREGATES:
            values[timing.op].append(timing.duration_us)
    alike = [
        op
        for op, found in values.items()
        if len(found) > 1 and max(found) - min(found) <= EQUAL_RANKS_SPREAD * max(found)
    ]
    return f"{', '.join(alike)} lasts alike on all ranks" if alike else ""


def _slow_compute(
    rank: int, cases: list[tuple[CollectiveTiming, float, float]], collectives: str
) -> Finding:
    cases = sorted(cases, key=lambda case: case[1] - case[2], reverse=True)
    first = cases[0][0]
    parts = [
        f"{_seconds(own)} for {timing.op} where its equals need {_seconds(peers)} "
        f"({own / peers:.2f} times as long)"
        for timing, own, peers in cases[:3]
    ]
    numbers = {
        "rank": rank,
        "own_ms": {timing.op: round(own / 1e3, 3) for timing, own, _ in cases[:3]},
        "peers_ms": {timing.op: round(peers / 1e3, 3) for timing, _, peers in cases[:3]},
        "factor": round(cases[0][1] / cases[0][2], 3),
    }
    place = f" ({first.variant})" if first.variant else ""
    tail = collectives or "collectives of the others hold the time they wait for it"
    reason = (
        f"rank {rank}{place} computes slowly: {'; '.join(parts)}; {tail}: a slow device, not a link"
    )
    interface = f"gpu{first.gpu}" if first.gpu is not None else ""
    return Finding(
        component_id(first.node, interface),
        "slow_compute",
        "warning",
        "cause",
        reason,
        [evidence(first)],
        is_link=False,
        numbers=numbers,
        rules=["compute-slow-rank"],
        alternatives=["a throttled or shared GPU", "more work on this rank"],
    )


def _uneven_stages(table: _Table, slow: set[int]) -> list[Finding]:
    """One finding when a whole stage computes longer than the others on every rank."""
    cases = []
    for op, stages in table.items():
        middles = {}
        for stage, ranks in stages.items():
            own = [_middle(found) for rank, found in ranks.items() if rank not in slow]
            if own:
                middles[stage] = median(own)
        if len(middles) < 2:
            continue
        stage = max(middles, key=lambda name: middles[name])
        others = median(value for name, value in middles.items() if name != stage)
        if middles[stage] >= SLOW_COMPUTE_FACTOR * others:
            timing = next(iter(stages[stage].values()))[0]
            cases.append((op, stage, middles[stage], others, timing))
    if not cases:
        return []
    op, stage, own_us, others_us, timing = max(cases, key=lambda case: case[2] - case[3])
    numbers = {"own_ms": round(own_us / 1e3, 3), "other_stages_ms": round(others_us / 1e3, 3)}
    reason = (
        f"the stage {stage} needs {_seconds(own_us)} for {op} on all ranks alike where the other stages "
        f"need {_seconds(others_us)} ({own_us / others_us:.2f} times as long): the stages are uneven, no link is slow"
    )
    return [_job_finding("uneven_stage", reason, timing, numbers, "compute-uneven-stage")]


def _uneven_work(table: _Table) -> list[Finding]:
    """One finding when the same operation of one worker takes very different times."""
    spreads = []
    for stages in table.values():
        for ranks in stages.values():
            for found in ranks.values():
                if len(found) >= UNEVEN_WORK_MIN:
                    deciles = quantiles((t.duration_us for t in found), n=10)
                    spreads.append((deciles[-1] / deciles[0], deciles, found[0]))
    uneven = [spread for spread in spreads if spread[0] >= UNEVEN_WORK_FACTOR]
    if not uneven or len(uneven) * 2 < len(spreads):
        return []
    factor, deciles, timing = max(uneven, key=lambda spread: spread[1][-1])
    numbers = {
        "low_ms": round(deciles[0] / 1e3, 3),
        "high_ms": round(deciles[-1] / 1e3, 3),
        "factor": round(factor, 3),
        "workers_uneven": len(uneven),
        "workers": len(spreads),
    }
    reason = (
        f"{timing.op} takes between {_seconds(deciles[0])} and {_seconds(deciles[-1])} on one and the same "
        f"worker (rank {timing.rank}), and most workers scatter like that: the microbatches are uneven, for "
        "example sequences of different length; no link is slow"
    )
    return [_job_finding("uneven_work", reason, timing, numbers, "compute-uneven-work")]


def _job_finding(
    kind: str, reason: str, timing: CollectiveTiming, numbers: dict[str, Any], rule: str
) -> Finding:
    return Finding(
        component_id("", ""),
        kind,
        "warning",
        "cause",
        reason,
        [evidence(timing)],
        is_link=False,
        numbers=numbers,
        rules=[rule],
    )


def _seconds(duration_us: float) -> str:
    """`17.16 ms` or `0.546 s`."""
    return f"{duration_us / 1e3:.2f} ms" if duration_us < 1e5 else f"{duration_us / 1e6:.3f} s"
