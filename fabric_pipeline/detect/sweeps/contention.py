"""Communicators of one shape against each other: a whole group that is slower than another one.

When all ranks of a slow communicator are alike, no rank and no link stands out. Several slow ones on
the same machine at a time share something: that is contention.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median
from typing import Any

from fabric_pipeline.detect.sweeps.groups import by_rank, evidence, op_text, size_text
from fabric_pipeline.detect.sweeps.thresholds import (
    EQUAL_RANKS_SPREAD,
    MIN_JUDGED_BYTES,
    NEIGHBOUR_RATIO,
    SLOW_COMMUNICATOR_FACTOR,
)
from fabric_pipeline.model.components import component_id
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import CollectiveTiming, Run


@dataclass(slots=True)
class _Communicator:
    """One group of ranks doing one operation; `by_size` has one timing list per message size."""

    op: str
    name: str
    run: str
    ranks: int | None
    by_size: dict[int, list[CollectiveTiming]] = field(default_factory=lambda: defaultdict(list))
    files: set[str] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)

    def pure_us(self, size: int) -> float:
        """Median over repetitions of the shortest rank, which did not wait."""
        shortest: dict[int, float] = {}
        for timing in self.by_size[size]:
            known = shortest.get(timing.seq)
            shortest[timing.seq] = min(known or timing.duration_us, timing.duration_us)
        return median(shortest.values())

    def ranks_equal(self, size: int) -> bool:
        """True when the medians of the ranks lie close together, or only one rank was seen."""
        own: dict[int | None, list[float]] = defaultdict(list)
        for timing in self.by_size[size]:
            own[timing.rank].append(timing.duration_us)
        middles = [median(values) for values in own.values()]
        return max(middles) - min(middles) <= EQUAL_RANKS_SPREAD * max(middles)


@dataclass(slots=True)
class _Slow:
    slow: _Communicator
    fast: _Communicator
    size: int
    factor: float


def judge_communicators(timings: Sequence[CollectiveTiming], runs: Sequence[Run]) -> list[Finding]:
    """`contention` for several slow communicators of one machine, `slow_run` for a single one."""
    shapes: dict[tuple[object, ...], list[_Communicator]] = defaultdict(list)
    for each in _communicators(timings):
        shapes[each.op, each.ranks, tuple(sorted(each.nodes))].append(each)
    findings = []
    for shape in shapes.values():
        slow = _slow_ones(shape)
        spans = {run.run: (run.start, run.end) for run in runs}
        together = [
            each for each in slow if any(_overlap(spans, each, o) for o in slow if o is not each)
        ]
        if together:
            findings.append(_contention(together))
        findings += [_single(each) for each in slow if each not in together]
    return findings


def _communicators(timings: Sequence[CollectiveTiming]) -> list[_Communicator]:
    """Communicators of collectives whose sizes are known, one per operation."""
    found: dict[tuple[str, str, str], _Communicator] = {}
    for timing in by_rank(timings):
        if timing.bytes is None or timing.bytes < MIN_JUDGED_BYTES or not timing.node:
            continue  # without a host, communicators of unlike machines would be compared
        key = (timing.run, timing.communicator, timing.op)
        each = found.setdefault(
            key, _Communicator(timing.op, timing.communicator, timing.run, timing.ranks)
        )
        each.by_size[timing.bytes].append(timing)
        each.files.add(timing.file)
        each.nodes.add(timing.node)
    return list(found.values())


def _slow_ones(shape: list[_Communicator]) -> list[_Slow]:
    slow = []
    for each in shape:
        rivals = [
            rival for rival in shape if rival is not each and each.files.isdisjoint(rival.files)
        ]
        compared = [found for rival in rivals if (found := _compare(each, rival))]
        if compared:
            slow.append(max(compared, key=lambda found: found.factor))
    return slow


def _compare(each: _Communicator, rival: _Communicator) -> _Slow | None:
    """The comparison at the largest common size, if `each` is slower there and at the next one."""
    sizes = sorted(set(each.by_size) & set(rival.by_size))
    if not sizes or not each.ranks_equal(sizes[-1]) or not rival.ranks_equal(sizes[-1]):
        return None
    factors = [each.pure_us(size) / rival.pure_us(size) for size in sizes[-2:]]
    if factors[-1] < SLOW_COMMUNICATOR_FACTOR or min(factors) * NEIGHBOUR_RATIO < 1.0:
        return None
    return _Slow(each, rival, sizes[-1], factors[-1])


def _overlap(
    spans: dict[str, tuple[datetime | None, datetime | None]], one: _Slow, other: _Slow
) -> bool:
    """True when both ran at the same time, or when the times are not known."""
    first, second = spans.get(one.slow.run), spans.get(other.slow.run)
    if not first or not second or None in first or None in second:
        return True
    (start, end), (other_start, other_end) = first, second
    return bool(
        start and end and other_start and other_end and start <= other_end and other_start <= end
    )


def _contention(slow: list[_Slow]) -> Finding:
    worst = max(slow, key=lambda each: each.factor)
    parts = [f"{_ms(each.slow, each.size)} ms ({each.factor:.2f} times as long)" for each in slow]
    numbers = {
        "slow_communicators": len(slow),
        "factors": [round(each.factor, 3) for each in slow],
        "slow_ms": [_ms(each.slow, each.size) for each in slow],
        "alone_ms": _ms(worst.fast, worst.size),
        "bytes": worst.size,
    }
    reason = (
        f"{len(slow)} jobs on the same machine need {' and '.join(parts)} for {op_text(worst.slow.op)} of "
        f"{size_text(worst.size)} where one job of the same shape needs {_ms(worst.fast, worst.size)} ms; "
        "within each job all ranks are alike, so they slow each other down and no link stands out"
    )
    return _finding("contention", slow, reason, numbers)


def _single(each: _Slow) -> Finding:
    own, other = _ms(each.slow, each.size), _ms(each.fast, each.size)
    numbers = {
        "slow_ms": own,
        "fast_ms": other,
        "factor": round(each.factor, 3),
        "bytes": each.size,
    }
    reason = (
        f"communicator {each.slow.name} needs {own} ms for {op_text(each.slow.op)} of "
        f"{size_text(each.size)}, {each.factor:.2f} times as long as one of the same shape ({other} ms), with "
        "all its ranks alike: no rank and no link stands out"
    )
    return _finding("slow_run", [each], reason, numbers)


def _finding(kind: str, slow: list[_Slow], reason: str, numbers: dict[str, Any]) -> Finding:
    nodes = sorted(node for node in slow[0].slow.nodes if node)
    rows = [each.slow.by_size[each.size][0] for each in slow]
    rows.append(slow[0].fast.by_size[slow[0].size][0])
    return Finding(
        component_id(nodes[0] if len(nodes) == 1 else "", ""),
        kind,
        "warning",
        "cause",
        reason,
        [evidence(row) for row in rows],
        is_link=False,
        numbers=numbers,
        rules=[f"communicator-{kind.replace('_', '-')}"],
        alternatives=["other jobs on the same machine", "another placement of the ranks"],
    )


def _ms(communicator: _Communicator, size: int) -> float:
    return round(communicator.pure_us(size) / 1e3, 1)
