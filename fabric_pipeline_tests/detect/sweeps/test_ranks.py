"""Per-rank records: late arrivals, contention, slow computing, rails, steps."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from fabric_pipeline.detect.sweeps.evaluate import judge_sweeps
from fabric_pipeline.detect.sweeps.late_ranks import join_ranks
from fabric_pipeline.model.records import CollectiveTiming, Run

from .rows import ranked

START = datetime(2031, 1, 1, tzinfo=UTC)


def kinds(timings: list[CollectiveTiming], runs: list[Run] | None = None) -> list[tuple[str, str]]:
    findings = judge_sweeps(timings, runs=runs or []).findings
    assert not any(f.is_link for f in findings if f.accuses)
    return [(f.kind, f.component) for f in findings if f.accuses]


def group(durations: dict[int, float], repeats: int = 20, **more: Any) -> list[CollectiveTiming]:
    return [ranked(r, us, seq, **more) for seq in range(repeats) for r, us in durations.items()]


def test_equal_ranks_are_fine() -> None:
    assert kinds(group({0: 9000.0, 1: 9010.0, 2: 8990.0}, node="h")) == []


def test_the_short_one_came_late() -> None:
    rows = group({0: 9000.0, 1: 3000.0, 2: 9100.0}, node="h")
    findings = judge_sweeps(rows).findings
    assert [(f.kind, f.numbers["rank"], f.component) for f in findings] == [
        ("late_rank", 1, "h:unknown")
    ]
    assert "comes late" in findings[0].reason


def test_warm_up_jitter_and_turns_accuse_nobody() -> None:
    assert kinds(group({0: 30.0, 1: 10.0})) == []
    rows = group({0: 9000.0, 1: 9000.0}, repeats=18)
    rows[1].duration_us = 10.0
    assert kinds(rows) == []
    turns = [
        ranked(r, 9000.0 if (seq + r) % 2 else 3000.0, seq) for seq in range(20) for r in (0, 1)
    ]
    assert kinds(turns) == []


def test_profiler_ranks_are_joined_by_their_common_end() -> None:
    rows = []
    for number in range(12):
        end = START + timedelta(milliseconds=50 * number)
        for rank, us in ((0, 8000.0), (1, 2000.0)):
            shifted = number - 3 if rank else number
            if shifted >= 0:
                rows.append(ranked(rank, us, shifted, start=end - timedelta(microseconds=us)))
    joined = join_ranks(rows)
    assert len(joined) == 9
    assert all(ranks[0].seq == ranks[1].seq + 3 for ranks in joined)
    assert [kind for kind, _ in kinds(rows)] == ["late_rank"]


def job(name: str, us: float, file: str, begin: int = 0) -> tuple[list[CollectiveTiming], Run]:
    rows = [
        ranked(
            r,
            us * (1 + 0.001 * r),
            seq,
            communicator=name,
            run=name,
            node="h",
            ranks=2,
            file=f"{file}{r}",
        )
        for seq in range(10)
        for r in (0, 1)
    ]
    start = START + timedelta(seconds=begin)
    return rows, Run(name, ["h"], start, start + timedelta(seconds=10))


def test_two_slow_jobs_at_a_time_are_contention() -> None:
    alone, first, second = (
        job("a", 26_000.0, "a", 100),
        job("b", 55_000.0, "b"),
        job("c", 56_000.0, "c"),
    )
    rows = alone[0] + first[0] + second[0]
    runs = [alone[1], first[1], second[1]]
    findings = judge_sweeps(rows, runs=runs).findings
    assert [(f.kind, f.component, f.is_link) for f in findings] == [
        ("contention", "h:unknown", False)
    ]
    assert "2.12 times" in findings[0].reason
    later = job("c", 56_000.0, "c", 500)
    assert (
        kinds(rows[:40] + later[0], [alone[1], first[1], later[1]])
        == [("slow_run", "h:unknown")] * 2
    )
    assert kinds(alone[0]) == []


def test_unlike_communicators_are_not_compared() -> None:
    alone, other = job("a", 26_000.0, "a"), job("b", 90_000.0, "b")
    for row in other[0]:
        row.ranks = 8
    assert kinds(alone[0] + other[0]) == []
    shared = [
        *alone[0],
        *(
            ranked(0, 90_000.0, n, communicator="b", run="b", node="h", ranks=2, file="a0")
            for n in range(9)
        ),
    ]
    assert kinds(shared) == []


def compute(rank: int, us: float, stage: str = "", op: str = "forward") -> CollectiveTiming:
    return ranked(rank, us, op=op, variant=stage, unit_kind="compute", file="f1", bytes=None)


def test_slow_computing_beside_equal_collectives() -> None:
    rows = [compute(r, 17_200.0 if r == 2 else 12_800.0) for r in range(4)]
    for which, us in (("median", 340_000.0), ("max", 341_000.0)):
        rows.append(ranked(0, us, op="sync", variant=which, file="f1"))
    findings = judge_sweeps(rows).findings
    assert [(f.kind, f.numbers["rank"]) for f in findings] == [("slow_compute", 2)]
    assert "sync lasts alike on all ranks" in findings[0].reason
    assert "17.20 ms" in findings[0].reason


def stages(slow: dict[tuple[int, int], float], scatter: float = 0.02) -> list[CollectiveTiming]:
    chance = random.Random(5)  # noqa: S311 - test data
    return [
        compute(
            rank,
            200_000.0 * slow.get((rank, stage), 1.0) * chance.uniform(1 - scatter, 1 + scatter),
            f"PP {stage}",
        )
        for rank in range(4)
        for stage in range(4)
        for _ in range(40)
    ]


def test_worker_stage_and_uneven_work_are_told_apart() -> None:
    assert kinds(stages({})) == []
    assert kinds(stages({(0, 1): 2.0})) == [("slow_compute", "unknown:unknown")]
    assert kinds(stages({(rank, 3): 1.6 for rank in range(4)})) == [
        ("uneven_stage", "unknown:unknown")
    ]
    assert kinds(stages({}, 0.6)) == [("uneven_work", "unknown:unknown")]


def rails(rows: list[list[float]]) -> list[CollectiveTiming]:
    return [
        ranked(rail, us, seq, communicator=f"Group-{rail}", file="f1", gpu=rail)
        for seq, row in enumerate(rows)
        for rail, us in enumerate(row)
    ]


def test_rails_warm_up_lone_rows_and_shape_are_no_fault() -> None:
    rows = [[9000.0, 8000.0, 7000.0, 400.0], [20_000.0, 500.0, 500.0, 500.0]]
    rows += [[500.0, 500.0, 900.0, 400.0] for _ in range(8)]
    rows[6][1] = 11_000.0
    assert judge_sweeps(rails(rows)).findings == []


def test_rails_slow_at_once_have_one_common_cause() -> None:
    rows = [[500.0] * 4 for _ in range(9)]
    rows[8] = [1000.0, 500.0, 1100.0, 1200.0]
    findings = judge_sweeps(rails(rows)).findings
    assert [(f.kind, f.severity) for f in findings] == [("common_disturbance", "watch")]


def test_a_rail_that_stays_slow() -> None:
    rows = [[500.0] * 4 for _ in range(7)] + [[500.0, 1500.0, 500.0, 500.0] for _ in range(4)]
    assert kinds(rails(rows)) == [("slow_rail", "unknown:gpu1")]


def steps(durations: list[float]) -> list[CollectiveTiming]:
    return [
        CollectiveTiming(n + 1, "training_step", us, run="t", seq=n, unit_kind="step", file="f1")
        for n, us in enumerate(durations)
    ]


def test_training_steps() -> None:
    assert kinds(steps([4000.0, 1300.0, *[1200.0] * 9])) == []
    assert kinds(steps([1200.0] * 10 + [9000.0] + [1200.0] * 10)) == []
    assert kinds(steps([1200.0] * 10 + [2500.0] * 6)) == [("slow_steps", "unknown:unknown")]
