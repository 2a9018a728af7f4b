"""SQL and pandera judge the same rows alike, so that a table in which SQL suspects nothing needs no pandera.

Rows mix valid, broken and odd values of every column of every table. SQL may be stricter than pandera, which
takes NaN for NULL and lets a line end pass behind a pattern; it must never be the milder of the two.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from pandera.errors import SchemaErrors

from fabric_pipeline.schemas import validation
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.schemas.table import Column, Table
from fabric_pipeline.schemas.validation import pandera_schema, validate
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.lake import attach_drops
from fabric_pipeline_tests.schemas.rows import Row, broken_values, put, valid_row, valid_value

NAMES = list(TABLES)
ROWS = 100
BLANKS = [chr(code) for code in range(0x3001) if chr(code).isspace()]
ODD_TEXTS = (*BLANKS, "\u00a0x", "\u200b", "é", "{\n", "A", "0", "'", '"', "\x00", "a" * 300)
Found = set[tuple[int, str, str]]


def odd_values(column: Column) -> Iterator[Any]:
    """Values of the right type close to a limit, at the ends of the type, and texts that are hard to match."""
    if column.type == "VARCHAR":
        fitting = valid_value(column)
        yield from (
            *ODD_TEXTS,
            f"{fitting}\n",
            f" {fitting}",
            fitting.upper(),
            f"{fitting}{fitting}",
        )
    elif column.type == "DOUBLE":
        for limit in (column.minimum, column.maximum, 0.0):
            if limit is not None:
                yield from (
                    limit,
                    math.nextafter(limit, -math.inf),
                    math.nextafter(limit, math.inf),
                )
        yield from (-0.0, 5e-324, 1.7e308, -1.7e308)
    elif column.type in ("BIGINT", "INTEGER"):
        yield from (0, 1, -1, 2**31 - 1, -(2**31))
        yield from (limit for limit in (column.minimum, column.maximum) if limit is not None)


def mixed_rows(table: Table, draw: random.Random) -> list[Row]:
    """Rows of which each differs from a valid one in a third of its columns."""
    kinds = {
        c.name: [kind for kind in ([*broken_values(c)], [*odd_values(c)], [None]) if kind]
        for c in table.columns
    }
    rows = []
    for number in range(ROWS):
        changed = [name for name in kinds if draw.random() < 1 / 3]
        odd = {name: draw.choice(draw.choice(kinds[name])) for name in changed}
        rows.append(valid_row(table, number) | odd)
    return rows


def said_by_sql(connection: Any, table: Table, relation: str) -> Found:
    return {
        (int(row), rule.column, rule.name)
        for rule in validation._rules(table)
        for (row,) in connection.execute(
            f'select rowid from "{relation}" where {validation._breaks(rule)}'
        ).fetchall()
    }


def said_by_pandera(connection: Any, table: Table, relation: str) -> Found:
    frame = connection.execute(f'select * from "{relation}"').df()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            pandera_schema(table).validate(frame, lazy=True)
    except SchemaErrors as problem:
        return {
            (int(case["index"]), str(case["column"]), str(case["check"]).partition("(")[0])
            for case in problem.failure_cases.to_dict("records")
        }
    return set()


@pytest.mark.parametrize("name", NAMES)
def test_sql_finds_every_row_that_pandera_finds(connection: Any, name: str) -> None:
    table = TABLES[name]
    rows = mixed_rows(table, random.Random(name))  # noqa: S311 - which rows, no secret
    put(connection, table, "mixed", rows)
    sql, pandera = (
        said_by_sql(connection, table, "mixed"),
        said_by_pandera(connection, table, "mixed"),
    )
    taken_for_null = {
        (n, c, r) for n, c, r in pandera if r == "not_nullable" and is_nan(rows[n][c])
    }
    assert pandera - taken_for_null - sql == set()
    assert {(n, c) for n, c, _ in taken_for_null} <= {(n, c) for n, c, r in sql if r == "finite"}
    stricter = {
        (n, c, r) for n, c, r in sql - pandera
        if not is_nan(rows[n][c]) and not (r == "str_matches" and rows[n][c].endswith("\n"))
    }  # fmt: skip
    assert stricter == set()
    rules = {(rule.column, rule.name) for rule in validation._rules(table)}
    assert {(column, rule) for _, column, rule in pandera | sql} == rules, "a rule was never broken"


@pytest.mark.parametrize("name", NAMES)
def test_the_look_at_a_whole_column_suspects_what_a_single_row_breaks(
    connection: Any, name: str
) -> None:
    table = TABLES[name]
    draw = random.Random(name)  # noqa: S311 - which rows, no secret
    for row in draw.sample(mixed_rows(table, draw), 4):
        put(connection, table, "one", [row, valid_row(table, ROWS)])
        suspected = {(r.column, r.name) for r in validation._broken_rules(connection, table, "one")}
        assert suspected == {(c, r) for _, c, r in said_by_sql(connection, table, "one")}


def is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


@pytest.mark.parametrize("blank", ["\u00a0", "\u3000", "\x1c"])
def test_a_text_of_nothing_but_a_blank_is_found_in_any_row(connection: Any, blank: str) -> None:
    table = TABLES["quarantined_telemetry"]
    rows = [valid_row(table, number) for number in range(210)]
    rows[205]["rule"] = blank
    put(connection, table, "late", rows)
    (violation,) = validate(connection, table, "late")
    assert (violation.column, violation.rule.partition("(")[0]) == ("rule", "str_matches")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("published_tickets",)])
def test_pandera_finds_nothing_in_a_table_of_a_real_run(
    connection: Any, name: str, diagnosed_once: Settings
) -> None:
    assert attach_drops(connection, diagnosed_once.lake, name, ["small"], as_name="stored")
    assert said_by_pandera(connection, TABLES[name], "stored") == set()
