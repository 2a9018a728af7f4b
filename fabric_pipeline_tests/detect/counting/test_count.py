"""The short way for series that simply follow each other gives what the rules for all series give."""

from __future__ import annotations

import random
from typing import Any

import pytest

from fabric_pipeline.detect.counting import counters_sql
from fabric_pipeline.detect.counting.count import count_links
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.schemas.validation import validate
from fabric_pipeline_tests.detect.telemetry import (
    Row,
    at,
    count,
    count_readings,
    reading,
    rows_of,
    series,
)

KEY = ("node", "interface", "lane", "counter", "gpu_uuid", "scope", "sample")
ALL_SERIES = (
    "create or replace temp table count_untidy as select series, has_no_clock from count_series"
)


def dirty_rows(seed: int) -> list[Row]:
    """Series of which each third is plain and the others have one fault or several."""
    chance = random.Random(seed)  # noqa: S311
    rows: list[Row] = []
    for number in range(24):
        interface = f"gpu{number % 3}/nvlink-{number}"
        values = [chance.choice([0, 0, 0, 3, 9, 2**32 - 5]) for _ in range(8)]
        name = chance.choice(["replay", "tx_wait", "width", "crc_flit"])
        lane = chance.choice([None, 0, 2])
        mine = series(name, values, line=10 * number + 1, interface=interface, lane=lane)
        for row in mine if number % 3 else []:
            fault = chance.random()
            if fault < 0.1:
                row["ts"] = at(chance.randrange(240))
            elif fault < 0.2:
                row["value"] = None
            elif fault < 0.3:
                row["ts"] = None
            elif fault < 0.4:
                row["quality"] = chance.choice(["clock_skew", "saturated"])
            elif fault < 0.5:
                row["kind"] = chance.choice(["delta", "gauge"])
            elif fault < 0.6:
                row |= {"format": "g", "file": "b.csv", "link_type": "", "counter_text": "other"}
        rows += mine
    return rows


@pytest.mark.parametrize("seed", range(6))
def test_the_short_way_and_all_the_rules_agree(
    connection: Any, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rows = dirty_rows(seed)
    short = count(connection, rows)
    assert {row["quality"] for row in short} >= {"ok", "reset"}
    monkeypatch.setattr(counters_sql, "UNTIDY_SQL", ALL_SERIES)
    assert count(connection, rows) == short
    assert validate(connection, TABLES["link_counters"], "link_counters") == []


def scraped(seed: int) -> list[Row]:
    """Readings as a monitor scrapes them, moment by moment: wraps, resets, ceilings, gauges, nothing aside."""
    chance = random.Random(seed)  # noqa: S311
    values = {number: chance.choice([0, 5, 2**32 - 40]) for number in range(9)}
    rows = []
    for step in range(12):
        for number, value in values.items():
            values[number] = chance.choice([value, value, value + 7, (value + 60) % 2**32, 0])
            name = ("replay", "tx_wait", "width", "recovery")[number % 4]
            quality = "saturated" if value == 5 and name == "replay" else "ok"
            one = reading(
                name, value, 30.0 * step, len(rows) + 1, interface=f"gpu0/nvlink-{number}"
            )
            rows.append(one | {"quality": quality})
    return rows


def ways(connection: Any, rows: list[Row]) -> list[str]:
    """Which ways were gone, in turn."""
    count(connection, rows)
    gone = []

    def note(sql: str) -> None:
        gone.append("streamed" if counters_sql.TWICE in sql else "kept")
        connection.execute(sql).fetchall()

    count_links(connection, note)
    return gone


@pytest.mark.parametrize("seed", range(4))
def test_readings_in_time_are_counted_out_of_the_sort_as_all_the_rules_count_them(
    connection: Any, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rows = scraped(seed)
    assert ways(connection, rows) == ["streamed"]
    streamed = count(connection, rows)
    assert {row["quality"] for row in streamed} >= {"ok", "reset"}
    monkeypatch.setattr(counters_sql, "IN_TIME_SQL", "select false")
    assert count(connection, rows) == streamed
    monkeypatch.setattr(counters_sql, "UNTIDY_SQL", ALL_SERIES)
    assert count(connection, rows) == streamed


def test_two_readings_of_one_moment_are_found_while_counting_and_counted_by_all_the_rules(
    connection: Any,
) -> None:
    rows = scraped(1)
    rows.insert(20, {**rows[19], "value": 999.0})
    assert ways(connection, rows) == ["streamed", "kept"]
    found = [row["value"] for row in count(connection, rows) if row["quality"] == "duplicate"]
    assert found == [min(999.0, rows[19]["value"])]  # the greater of the two is kept


@pytest.mark.parametrize("changes", [{"ts": None}, {"ts": at(-900)}])
def test_a_reading_without_time_or_before_the_last_one_is_not_in_time(
    connection: Any, changes: Row
) -> None:
    rows = scraped(2)
    rows[50] |= changes
    assert ways(connection, rows) == ["kept"]


def test_columns_that_repeat_are_counted_as_if_they_did_not(
    connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{**row, "state": "it's up"} for row in dirty_rows(7) if row["scope"] == "link"]
    short = count(connection, rows)
    assert {row["scope"] for row in short} == {"link"}
    monkeypatch.setattr(counters_sql, "repeated", lambda *_: {})
    assert count(connection, rows) == short


def test_a_text_with_quotes_control_characters_or_a_nul_comes_back_as_it_was(
    connection: Any,
) -> None:
    for text in ("it's", "a\nb", "nul\0nul", "\u202e", "x" * 5000):
        (one,) = count(connection, [{**reading("replay", 1, 0), "gpu_uuid": text}])
        assert one["gpu_uuid"] == text


def test_no_reading_makes_no_row_and_nothing_is_left_behind(connection: Any) -> None:
    assert count(connection, []) == []
    count(connection, [reading("replay", 1, 0)])
    names = connection.execute("select table_name from duckdb_tables() where temporary").fetchall()
    assert not [name for (name,) in names if name in counters_sql.TABLES_MADE]


@pytest.mark.parametrize("has_a_reset", [False, True])
def test_rows_of_a_large_table_stand_in_order(connection: Any, has_a_reset: bool) -> None:
    count(connection, [reading("replay", 1, 0)])  # makes raw_telemetry with its columns
    steps, links = 40, 10_000
    connection.execute(f"""
        create or replace temp table raw_telemetry as select * replace (
            i + 1 as entry, i + 1 as line, 'gpu0/nvlink-' || i % {links} as interface, ts + to_seconds(i // {links}) as ts,
            (i // {links})::double as value) from raw_telemetry, range({steps * links}) r(i)
    """)
    if has_a_reset:  # one reading twice: its series takes the long way, the others do not
        connection.execute(
            "insert into raw_telemetry select * replace (entry + 1000000 as entry) from raw_telemetry where entry = 77777"
        )
    count_readings(connection)
    told = connection.execute(
        "select count(*), sum(delta), count(*) filter (quality = 'duplicate') from link_counters"
    ).fetchall()
    assert told == [(steps * links + has_a_reset, (steps - 1) * links, int(has_a_reset))]
    key = ", ".join(KEY)
    connection.execute(f"create or replace temp table sorted as from link_counters order by {key}")
    placed = f"select {key}, row_number() over () as n from"
    moved = f"select count(*) from ({placed} link_counters except {placed} sorted)"
    assert connection.execute(moved).fetchall() == [(0,)]
    assert rows_of(connection, "(from link_counters limit 1)")[0]["sample"] == 1
