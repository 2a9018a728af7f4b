"""From readings to increments: nothing is invented, nothing is lost, row order does not matter."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric_pipeline.detect.counting.counters_sql import catalogue_sql
from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.schemas.validation import validate
from fabric_pipeline_tests.detect.telemetry import Row, count, reading, series

RANGE = 2**32


def deltas(rows: list[Row]) -> list[float | None]:
    return [row["delta"] for row in rows]


def qualities(rows: list[Row]) -> list[str]:
    return [row["quality"] for row in rows]


def test_catalogue_holds_every_counter_once(connection: Any) -> None:
    rows = connection.execute(catalogue_sql()).fetchall()
    assert {row[0]: row[5] for row in rows} == {s.name: s.ceiling for s in COUNTERS.values()}
    assert len(rows) == len(COUNTERS)


def test_growth_is_counted_from_the_second_sample_on(connection: Any) -> None:
    rows = count(connection, series("replay", [7, 7, 12], step_s=15))
    assert deltas(rows) == [None, 0, 5]
    assert [row["elapsed_s"] for row in rows] == [None, 15, 15]
    assert [row["sample"] for row in rows] == [1, 2, 3]
    assert {(row["error_class"], row["class_basis"]) for row in rows} == {
        ("detected_retransmitted", "proxy")
    }


def test_a_reset_is_no_error_and_a_lower_bound(connection: Any) -> None:
    rows = count(connection, series("crc_flit", [9120, 9120, 14, 15]))
    assert deltas(rows) == [None, 0, 14, 1]
    assert qualities(rows) == ["ok", "ok", "reset", "ok"]


def test_a_reset_to_zero_counts_nothing(connection: Any) -> None:
    rows = count(connection, series("crc_flit", [9120, 0, 0]))
    assert deltas(rows) == [None, 0, 0]


@pytest.mark.parametrize(
    ("before", "after", "quality", "delta"),
    [
        (RANGE - 10, 5, "wrap", 15),
        (0.9 * RANGE + 1, 0.1 * RANGE - 1, "wrap", 0.2 * RANGE - 2),
        (0.9 * RANGE - 1, 5, "reset", 5),  # too far from the end of the range
        (RANGE - 10, 0.1 * RANGE + 1, "reset", 0.1 * RANGE + 1),  # would have counted too much
        (RANGE + 5, 5, "reset", 5),  # the counter is wider than 32 bits
    ],
)
def test_a_wrap_is_told_from_a_reset(
    connection: Any, before: float, after: float, quality: str, delta: float
) -> None:
    rows = count(connection, series("rx_packets", [before, after]))
    assert rows[1]["quality"] == quality
    assert rows[1]["delta"] == pytest.approx(delta, abs=1)


def test_a_counter_that_stops_at_its_end_never_wraps(connection: Any) -> None:
    assert COUNTERS["tx_wait"].ceiling == RANGE - 1
    rows = count(connection, series("tx_wait", [RANGE - 1, 3]))
    assert (rows[1]["delta"], rows[1]["quality"]) == (3, "reset")


@pytest.mark.parametrize(
    ("counter", "ceiling"),
    [("symbol_error", 65535), ("link_downed", 255), ("local_link_integrity", 15)],
)
def test_at_its_ceiling_a_counter_says_at_least(
    connection: Any, counter: str, ceiling: int
) -> None:
    readings = series(counter, [ceiling - 3, ceiling, ceiling, ceiling])
    for row in readings[1:]:
        row["quality"] = "saturated"
    rows = count(connection, readings)
    assert deltas(rows) == [None, 3, None, None], "standing at the ceiling is unknown, not zero"
    assert qualities(rows) == ["ok", "saturated", "saturated", "saturated"]


def test_equal_times_are_counted_once_with_the_largest_value(connection: Any) -> None:
    readings = [
        reading("replay", 10, 0, line=1),
        reading("replay", 12, 30, line=2),
        reading("replay", 15, 30, line=3),
        reading("replay", 15, 30, line=4),
        reading("replay", 20, 60, line=5),
    ]
    rows = sorted(count(connection, readings), key=lambda row: row["line"])
    assert deltas(rows) == [None, None, 5, None, 5]
    assert qualities(rows) == ["ok", "duplicate", "ok", "duplicate", "ok"]


def test_a_late_line_takes_its_place_by_time(connection: Any) -> None:
    readings = [
        reading("replay", v, t, line=n) for n, (v, t) in enumerate([(1, 0), (9, 60), (4, 30)])
    ]
    rows = count(connection, readings)
    assert [(row["value"], row["delta"]) for row in rows] == [(1, None), (4, 3), (9, 5)]
    assert qualities(rows) == ["ok", "out_of_order", "ok"]


def test_files_are_taken_in_their_order_where_no_time_is_known(connection: Any) -> None:
    readings = [
        reading("replay", 40, None, file="b.csv", line=1),
        reading("replay", 30, None, file="a.csv", line=9),
        reading("replay", 35, None, file="a.csv", line=10),
    ]
    rows = count(connection, readings)
    assert [(row["value"], row["delta"], row["elapsed_s"]) for row in rows] == [
        (30, None, None),
        (35, 5, None),
        (40, 5, None),
    ]
    assert "out_of_order" not in qualities(rows)
    assert "duplicate" not in qualities(rows)


def test_a_gap_is_one_increment_over_its_whole_time(connection: Any) -> None:
    readings = [
        reading("replay", v, t, line=n) for n, (v, t) in enumerate([(0, 0), (0, 30), (8, 930)])
    ]
    rows = count(connection, readings)
    assert (rows[2]["delta"], rows[2]["elapsed_s"]) == (8, 900)


def test_what_was_not_measured_is_passed_over(connection: Any) -> None:
    readings = series("replay", [3, 0, 5])
    readings[1] |= {"value": None, "quality": "not_supported"}
    rows = count(connection, readings)
    assert deltas(rows) == [None, None, 2]
    assert rows[1]["quality"] == "not_supported"
    assert rows[2]["elapsed_s"] == 60


def test_an_exchanged_gpu_starts_a_new_series(connection: Any) -> None:
    old = series("recovery", [500, 505], gpu_uuid="GPU-old")
    new = [row | {"ts": row["ts"], "gpu_uuid": "GPU-new"} for row in series("recovery", [0, 2])]
    rows = count(connection, old + new)
    assert {(row["gpu_uuid"], row["delta"]) for row in rows} == {
        ("GPU-old", None),
        ("GPU-old", 5),
        ("GPU-new", None),
        ("GPU-new", 2),
    }
    assert set(qualities(rows)) == {"ok"}


def test_lanes_and_sums_are_series_of_their_own(connection: Any) -> None:
    readings = [
        *series("crc", [0, 1], lane=0, scope="lane"),
        *series("crc", [0, 10], lane=1, scope="lane", line=11),
        *series("crc", [0, 100], scope="gpu_sum", line=21),
        *series("crc", [0, 1000], line=31),
    ]
    rows = count(connection, readings)
    assert sorted(row["delta"] for row in rows if row["delta"]) == [1, 10, 100, 1000]
    assert validate(connection, TABLES["link_counters"], "link_counters") == []


def test_a_level_has_no_increment_and_no_error_class(connection: Any) -> None:
    rows = count(connection, series("width", [16, 8]))
    assert deltas(rows) == [None, None]
    assert {row["error_class"] for row in rows} == {""}


def test_an_increase_that_the_source_states_is_taken_as_it_is(connection: Any) -> None:
    readings = [
        *series("symbol_error", [4, 6], kind="delta"),
        reading("symbol_error", 6, 30, line=9, kind="delta"),
        reading("symbol_error", 900, 60, line=10),
    ]
    rows = sorted(count(connection, readings), key=lambda row: row["line"])
    assert deltas(rows) == [4, 6, None, None], "neither twice nor against a total"


def test_a_reading_from_the_future_counts_nothing_beside_others(connection: Any) -> None:
    readings = series("replay", [10, 20, 30, 31])
    readings.append(reading("replay", 25, 10**7, line=50, quality="clock_skew"))
    readings.append(reading("replay", 26, 10**7 + 30, line=51, quality="clock_skew"))
    rows = count(connection, readings)
    assert deltas(rows) == [None, 10, 10, 1, None, None]
    assert qualities(rows)[-2:] == ["clock_skew", "clock_skew"]


def test_a_series_with_a_wrong_clock_is_counted_without_a_time_span(connection: Any) -> None:
    rows = count(connection, series("replay", [10, 15, 17], quality="clock_skew"))
    assert deltas(rows) == [None, 5, 2]
    assert [row["elapsed_s"] for row in rows] == [None, None, None]
    assert set(qualities(rows)) == {"clock_skew"}


def test_refused_and_unknown_rows_are_not_counted(connection: Any) -> None:
    readings = [
        *series("replay", [1, 2]),
        reading("replay", 3, 60, line=3, refused_by="no number"),
        reading("nobody_knows", 3, 60, line=4) | {"counter": None, "refused_by": "unknown"},
    ]
    assert len(count(connection, readings)) == 2


STEPS = st.lists(st.integers(0, 10**6), min_size=1, max_size=12)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    lives=st.lists(STEPS, min_size=1, max_size=4),
    repeated=st.booleans(),
    order=st.randoms(use_true_random=False),
)
def test_the_sum_of_increments_is_what_was_counted(
    connection: Any, lives: list[list[int]], repeated: bool, order: random.Random
) -> None:
    """A life is the time between two resets; what was counted unseen before a sample is unknown."""
    values: list[int] = []
    seen = 0
    for number, steps in enumerate(lives):
        total = 0
        for place, step in enumerate(steps):
            total += step
            is_first_sample = place == 0
            if number and is_first_sample and total >= values[-1]:
                total = 0  # such a reset cannot be told from growth, whatever is done
            if not is_first_sample:
                seen += step
            elif number:
                seen += total
            values.append(total)
    readings = series("crc_data", values)
    readings += [dict(row, line=row["line"] + 100) for row in readings] if repeated else []
    in_order = count(connection, readings)
    order.shuffle(readings)
    for number, row in enumerate(readings):
        row["line"] = number
    shuffled = count(connection, readings)
    assert len(in_order) == len(shuffled) == len(readings)
    assert sum(row["delta"] or 0 for row in in_order) == seen
    assert (sum(row["delta"] or 0 for row in in_order) > 0) == (seen > 0)
    assert _facts(in_order) == _facts(shuffled)


def _facts(rows: list[Row]) -> list[tuple[Any, ...]]:
    """Everything but the place of a row in its file."""
    kept = [
        (row["ts"], row["value"], row["delta"], row["elapsed_s"], "reset" in row["quality"])
        for row in rows
        if row["quality"] != "duplicate"
    ]
    return sorted(kept, key=str)
