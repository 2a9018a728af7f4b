"""Several instruments that read one counter: one is counted, the others stand beside it without an increment."""

from __future__ import annotations

from typing import Any

import pytest

from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.schemas.validation import validate
from fabric_pipeline_tests.detect.telemetry import Row, count, count_readings, reading, series

SMI, DCGM = "nvidia_smi_nvlink_errors", "dcgm_exporter"


def told(rows: list[Row]) -> list[tuple[float | None, float | None, str]]:
    return [(row["value"], row["delta"], row["quality"]) for row in rows]


def test_a_snapshot_beside_a_series_is_no_step_of_it(connection: Any) -> None:
    rows = series("replay", [100, 104, 110], format=DCGM)
    rows += [reading("replay", 7, 45, 1, file="b.csv", format=SMI)]
    counted = count(connection, rows)
    assert told(counted) == [(7, None, "other_witness"), (100, None, "ok"), (104, 4, "ok"), (110, 6, "ok")]  # fmt: skip
    assert [row["sample"] for row in counted] == [1, 2, 3, 4]
    assert validate(connection, TABLES["link_counters"], "link_counters") == []


@pytest.mark.parametrize("order", [("a.csv", "b.csv"), ("b.csv", "a.csv")])
def test_of_two_snapshots_the_higher_is_counted(connection: Any, order: tuple[str, str]) -> None:
    rows = [
        reading("replay", 1200, None, 1, file=order[0], format=DCGM),
        reading("replay", 0, None, 1, file=order[1], format=SMI),
    ]
    assert told(count(connection, rows)) == [(0, None, "other_witness"), (1200, None, "ok")]


def test_what_was_read_again_goes_before_a_single_snapshot(connection: Any) -> None:
    rows = [
        reading("replay", value, None, 1, file=file, format=SMI)
        for value, file in ((10, "a.csv"), (30, "b.csv"))
    ]
    rows += [reading("replay", 900, None, 1, file="c.csv", format=DCGM)]
    assert told(count(connection, rows)) == [(900, None, "other_witness"), (10, None, "ok"), (30, 20, "ok")]  # fmt: skip


def test_two_spellings_in_one_capture_are_two_witnesses(connection: Any) -> None:
    rows = [reading("replay", 5, None, 1), reading("replay", 70, None, 2, counter_text="replay_2")]
    assert told(count(connection, rows)) == [(5, None, "other_witness"), (70, None, "ok")]


def test_a_spelling_that_changed_over_time_stays_one_series(connection: Any) -> None:
    rows = series("replay", [10, 12]) + series("replay", [15], line=9, file="b.csv", counter_text="replays")  # fmt: skip
    rows[2]["ts"] = rows[1]["ts"] + (rows[1]["ts"] - rows[0]["ts"])
    assert told(count(connection, rows)) == [(10, None, "ok"), (12, 2, "ok"), (15, 3, "ok")]


def test_states_of_several_tools_all_stay(connection: Any) -> None:
    rows = [
        reading("link_up", 1, None, 1, file="a.csv", format=DCGM),
        reading("link_up", 0, None, 1, file="b.csv", format=SMI),
    ]
    assert {quality for _, _, quality in told(count(connection, rows))} == {"ok"}


def test_machines_without_a_name_have_no_steps_between_them(connection: Any) -> None:
    rows = [
        reading("symbol_error", value, None, 1, file=file, node="", interface="mlx5_0/1", link_type="infiniband")
        for value, file in ((100, "a.csv"), (9000, "b.csv"))
    ]  # fmt: skip
    assert told(count(connection, rows)) == [(100, None, "ok"), (9000, 8900, "ok")]
    count_readings(connection, {"a.csv": "one", "b.csv": "two"})
    steps = connection.execute(
        "select value, delta, quality from link_counters order by value"
    ).fetchall()
    assert steps == [(100, None, "ok"), (9000, None, "ok")]
