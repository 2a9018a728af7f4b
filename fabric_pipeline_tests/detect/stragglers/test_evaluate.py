"""Slow intervals: when, how slow, which shape, and which ranks came late."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fabric_pipeline.detect.stragglers.evaluate import (
    Straggler,
    find_stragglers,
    waiting_groups,
)
from fabric_pipeline.detect.stragglers.series import latency_series
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.schemas.validation import validate
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline_tests.detect.stragglers.test_series import run
from fabric_pipeline_tests.detect.telemetry import Row, at, put_timings, timing


def stragglers_of(connection: Any, rows: list[Row]) -> list[Straggler]:
    put_timings(connection, rows)
    return find_stragglers(latency_series(connection))


def test_an_interval_with_its_figures(connection: Any) -> None:
    durations = [1000.0] * 20 + [2500.0] * 6 + [1000.0] * 20
    (found,) = stragglers_of(connection, run(durations))
    assert (found.run, found.communicator, found.op, found.bytes) == (
        "r1",
        "world",
        "all_reduce",
        1024,
    )
    assert (found.kind, found.shape, found.collectives) == ("whole_collective", "transient", 6)
    assert (found.latency_us, found.baseline_us) == (2500, 1000)
    assert found.deviation_pct == pytest.approx(150)
    assert found.lost_s == pytest.approx(6 * 1500e-6)
    assert (found.start_ts, found.end_ts) == (at(200), at(250.0025))
    assert (found.file, found.line, found.last_line) == ("a.csv", 22, 27)
    assert (found.nodes, found.gpus, found.late_ranks) == (["n1", "n2"], 16, [])


def test_intervals_are_numbered_within_the_operation(connection: Any) -> None:
    durations = [1000.0] * 20 + [2500.0] * 6 + [1000.0] * 20 + [2000.0] * 4 + [1000.0] * 5
    rows = run(durations) + run(durations, bytes=4096) + run(durations, communicator="dp-1")
    found = stragglers_of(connection, rows)
    assert [(s.communicator, s.bytes, s.interval) for s in found] == [
        ("dp-1", 1024, 1),
        ("dp-1", 1024, 2),
        ("world", 1024, 1),
        ("world", 1024, 2),
        ("world", 4096, 3),
        ("world", 4096, 4),
    ]
    table = TABLES["stragglers"]
    connection.execute(f"create or replace temp table stragglers as {table.empty_sql()}")
    columns = [(column.name, column.type) for column in table.columns]
    insert_columns(connection, table.name, columns, [s.row("d1") for s in found])
    assert validate(connection, table, table.name) == []


@pytest.mark.parametrize(
    ("tail", "shape"),
    [
        ([2000.0] * 10, "step"),
        ([2000.0] * 9, "transient"),
        ([2000.0] * 10 + [1000.0] * 5, "transient"),
        ([2000.0] * 29 + [2001.0], "step"),  # many equal values are no trend
        ([1100.0 + 20 * n for n in range(30)], "drift"),
        ([1100.0 + 20 * n for n in range(30)] + [1000.0] * 5, "drift"),
        ([2000.0 - 20 * n for n in range(30)], "step"),  # it gets better, slowly
    ],
)
def test_shapes(connection: Any, tail: list[float], shape: str) -> None:
    (found,) = stragglers_of(connection, run([1000.0] * 60 + tail))
    assert found.shape == shape


def test_a_training_step_is_its_own_kind(connection: Any) -> None:
    rows = run([1000.0] * 20 + [2000.0] * 6 + [1000.0] * 9, unit_kind="step")
    assert [s.kind for s in stragglers_of(connection, rows)] == ["step"]


def with_ranks(durations: list[float], ranks_us: list[list[float]]) -> list[Row]:
    """Whole durations, and per-rank durations of each slow collective."""
    rows = run(durations)
    for n, duration in enumerate(durations):
        if duration > 1000:
            rows += [
                timing(n, us, n * 10.0, rank=rank, node=f"n{rank}", gpu=rank + 4)
                for rank, us in enumerate(ranks_us[n % len(ranks_us)])
            ]
    return rows


SLOW = [1000.0] * 20 + [3000.0] * 6 + [1000.0] * 20


def test_the_late_rank_has_the_shortest_kernel(connection: Any) -> None:
    (found,) = stragglers_of(connection, with_ranks(SLOW, [[3000.0, 1000.0, 3000.0, 2900.0]]))
    assert (found.kind, found.late_ranks, found.late_places) == ("late_rank", [1], ["n1:gpu5"])


def test_when_every_kernel_is_slow_nobody_is_late(connection: Any) -> None:
    (found,) = stragglers_of(connection, with_ranks(SLOW, [[3000.0, 2700.0, 3000.0, 2900.0]]))
    assert (found.kind, found.late_ranks) == ("whole_collective", [])


def test_ranks_that_end_together_name_nobody(connection: Any) -> None:
    (found,) = stragglers_of(connection, with_ranks(SLOW, [[1049.0, 1000.0, 1020.0, 1030.0]]))
    assert found.late_ranks == []


def test_a_rank_must_be_late_in_half_of_the_collectives(connection: Any) -> None:
    by_turns = [[1000.0 if rank == late else 3000.0 for rank in range(4)] for late in range(4)]
    (found,) = stragglers_of(connection, with_ranks(SLOW, by_turns))
    assert found.late_ranks == []
    (found,) = stragglers_of(connection, with_ranks(SLOW, by_turns[:2]))
    assert sorted(found.late_ranks) == [0, 1]


def test_a_stated_arrival_is_taken_before_durations(connection: Any) -> None:
    rows = with_ranks(SLOW, [[1000.0, 1000.0, 1000.0]])
    for row in rows:
        if row["rank"] is not None:
            row["arrival_us"] = 900.0 if row["rank"] == 2 else 0.0
    (found,) = stragglers_of(connection, rows)
    assert (found.late_ranks, found.late_places) == ([2], ["n2:gpu6"])


def test_a_late_rank_of_an_unnamed_node_stays_unnamed(connection: Any) -> None:
    rows = with_ranks(SLOW, [[3000.0, 1000.0]])
    rows = [row | {"node": "", "gpu": None} for row in rows]
    (found,) = stragglers_of(connection, rows)
    assert (found.late_ranks, found.late_places) == ([1], ["unknown:unknown"])


def ranks_only(late: range, late_us: list[float], usual: float = 1000.0) -> list[Row]:
    """Four ranks of which each is timed; in the collectives of `late` they take `late_us`."""
    return [
        timing(
            n,
            (late_us[rank] if n in late else usual) + rank,
            n * 10.0,
            rank=rank,
            node="n1",
            gpu=rank,
        )
        for n in range(60)
        for rank in range(4)
    ]


def test_a_late_rank_is_found_where_only_ranks_are_timed(connection: Any) -> None:
    rows = ranks_only(range(20, 40), [3000.0, 3000.0, 1000.0, 3000.0])
    (found,) = stragglers_of(connection, rows)
    assert (found.kind, found.late_ranks, found.late_places) == ("late_rank", [2], ["n1:gpu2"])
    assert (found.collectives, found.latency_us, found.baseline_us) == (20, 3003, 1003)
    assert waiting_groups([found]) == {("r1", "world")}


@pytest.mark.parametrize(
    ("late_us", "kinds"),
    [
        ([1400.0, 1400.0, 1000.0, 1400.0], ["late_rank"]),
        ([1300.0, 1300.0, 1000.0, 1300.0], []),  # they wait less than a third of a collective
        (
            [3000.0, 3000.0, 2000.0, 3000.0],
            ["whole_collective"],
        ),  # the communication itself is slow
        ([3000.0, 3000.0, 3000.0, 3000.0], ["whole_collective"]),
    ],
)
def test_waiting_is_told_from_slow_communication(
    connection: Any, late_us: list[float], kinds: list[str]
) -> None:
    assert [s.kind for s in stragglers_of(connection, ranks_only(range(20, 40), late_us))] == kinds


def test_ranks_that_are_late_by_turns_name_nobody(connection: Any) -> None:
    rows = ranks_only(range(0), [])
    for row in rows:
        if 20 <= row["seq"] < 40 and row["rank"] != row["seq"] % 4:
            row["duration_us"] = 3000.0
    assert stragglers_of(connection, rows) == []


def test_rows_round_trip_through_json(connection: Any) -> None:
    (found,) = stragglers_of(connection, with_ranks(SLOW, [[3000.0, 1000.0]]))
    row = dict(zip(TABLES["stragglers"].column_names, found.row("d1"), strict=True))
    assert json.loads(row["late_ranks"]) == [1]
    assert json.loads(row["late_nodes"]) == ["n1:gpu5"]
    assert row["deviation_pct"] == pytest.approx(200)


def straggler(communicator: str, kind: str, collectives: int) -> Straggler:
    return Straggler(
        "r1", communicator, "all_reduce", 8, 1, None, None, kind, "transient", collectives, 2.0, 1.0, "learnt", [], [], [], 8, 0.0, "f", 1, 2,
    )  # fmt: skip


def test_a_group_waits_when_most_of_its_slow_collectives_do() -> None:
    found = [
        straggler("a", "late_rank", 11),
        straggler("a", "whole_collective", 10),
        straggler("b", "late_rank", 10),
        straggler("b", "whole_collective", 10),
        straggler("c", "step", 3),
    ]
    assert waiting_groups(found) == {("r1", "a")}
