"""Every rule of every column of every table: a row that breaks it is reported by column and rule."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from fabric_pipeline.schemas import validation
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.schemas.table import Table, number, text, whole
from fabric_pipeline.schemas.validation import Violation, validate
from fabric_pipeline_tests.schemas.rows import (
    Row,
    broken_rules,
    broken_values,
    moved,
    put,
    valid_row,
)

NAMES = list(TABLES)
SMALL = Table(
    name="small",
    group="ingest",
    grain="one thing",
    description="For tests of what no real table shows.",
    key=("drop",),
    columns=(
        text("drop", "Id"),
        text("word", "Word", allowed=("it's", "that")),
        whole("amount", "Amount", nullable=True, minimum=1, maximum=9),
        number("share", "Share", maximum=1),
    ),
)


def named(violations: list[Violation]) -> set[tuple[str, str]]:
    """(column, rule) without the figures of the rule."""
    return {(v.column, v.rule.partition("(")[0]) for v in violations}


def small(number_: int, **changes: Any) -> Row:
    return {"drop": f"d{number_}", "word": "that", "amount": 5, "share": 0.5} | changes


@pytest.mark.parametrize("name", NAMES)
def test_each_broken_rule_is_reported_and_nothing_else(connection: Any, name: str) -> None:
    table = TABLES[name]
    rows, expected = [valid_row(table, 0)], set()
    for column in table.columns:
        rules = set()
        for value in broken_values(column):
            rows.append(valid_row(table, len(rows)) | {column.name: value})
            rules |= broken_rules(column, value)
        assert len(rules) == len(column.rules()), f"a rule of {column.name} is never broken here"
        expected |= {(column.name, rule) for rule in rules}
    rows.append(dict(rows[0]))
    put(connection, table, "broken", rows)
    violations = validate(connection, table, "broken")
    assert named(violations) == expected | {(", ".join(table.key), "key is unique")}
    assert all(v.examples for v in violations)


@pytest.mark.parametrize("name", NAMES)
def test_valid_rows_pass_and_differ_by_any_part_of_the_key(connection: Any, name: str) -> None:
    table = TABLES[name]
    rows = [valid_row(table, 0), valid_row(table, 1)]
    for column in table.columns:
        if column.nullable:
            rows.append(valid_row(table, len(rows)) | {column.name: None})
        if column.name in table.key[1:] and (other := moved(column)) is not None:
            rows.append(valid_row(table, 0) | {column.name: other})
    put(connection, table, "valid", rows)
    assert validate(connection, table, "valid") == []


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_table_passes_and_a_wrong_shape_does_not(connection: Any, name: str) -> None:
    table = TABLES[name]
    put(connection, table, "empty", [])
    assert validate(connection, table, "empty") == []
    first, last = table.columns[0].name, table.columns[-1].name
    other_type = "BIGINT" if table.columns[-1].type == "VARCHAR" else "VARCHAR"
    for shape in (
        f'select * exclude ("{last}") from "empty"',
        'select *, 1 as "one more" from "empty"',
        f'select * replace (null::{other_type} as "{last}") from "empty"',
        f'select * rename ("{last}" as "{last}_") from "empty"',
        f'select * exclude ("{first}"), "{first}" from "empty"',
    ):
        connection.execute(f'create or replace temp table "other" as {shape}')
        (violation,) = validate(connection, table, "other")
        assert (violation.column, violation.rule) == ("*", "columns and types as described")


def test_one_bad_row_among_many_is_found_with_its_value(connection: Any) -> None:
    rows = [small(n) for n in range(5000)]
    rows[4711]["amount"] = 17
    put(connection, SMALL, "many", rows)
    (violation,) = validate(connection, SMALL, "many")
    assert (violation.column, violation.examples) == ("amount", "17")


def test_a_value_that_is_no_number_is_found_beyond_the_sample(connection: Any) -> None:
    rows = [small(n) for n in range(1000)]
    rows[990]["share"] = float("nan")
    put(connection, SMALL, "late", rows)
    assert ("share", "finite") in named(validate(connection, SMALL, "late"))


@pytest.mark.parametrize(
    ("changes", "is_right"),
    [
        ({"amount": 1}, True),
        ({"amount": 9}, True),
        ({"amount": 0}, False),
        ({"amount": 10}, False),
        ({"share": 1.0}, True),
        ({"share": 1.0000001}, False),
        ({"word": "it's"}, True),
        ({"word": "it"}, False),
    ],
)
def test_limits_are_inside_the_range(
    connection: Any, changes: dict[str, Any], is_right: bool
) -> None:
    put(connection, SMALL, "limits", [small(1, **changes)])
    assert (validate(connection, SMALL, "limits") == []) == is_right


@pytest.mark.parametrize(
    ("amounts", "twice"),
    [
        ([1, 2, 3, None], 0), ([3, None, 1, 2], 0), ([1, 2, 2, 3], 1), ([1, None, None], 1), ([2, 1, 3, 2], 1), ([], 0),
    ],
)  # fmt: skip
def test_the_key_of_a_large_table_is_unique_in_order_or_out_of_it(
    connection: Any, amounts: list[int | None], twice: int
) -> None:
    table = Table(
        "keyed", "ingest", "g", "d", ("drop", "amount"),
        (text("drop", "Id"), whole("amount", "Amount", nullable=True)), is_bulk=True,
    )  # fmt: skip
    put(connection, table, "keyed", [{"drop": "d", "amount": amount} for amount in amounts])
    assert [one.rule for one in validate(connection, table, "keyed")] == ["key is unique"] * twice


def test_empty_parts_of_a_key_are_equal_to_each_other(connection: Any) -> None:
    table = Table(
        "keyed", "ingest", "g", "d", ("drop", "amount"),
        (text("drop", "Id"), whole("amount", "Amount", nullable=True)),
    )  # fmt: skip
    put(connection, table, "keyed", [{"drop": "d", "amount": None}, {"drop": "d", "amount": None}])
    (violation,) = validate(connection, table, "keyed")
    assert violation.rule == "key is unique"
    assert "'d', None, 2" in violation.examples


def test_in_a_suspected_table_a_rule_that_one_of_the_two_judges_misses_is_still_reported(
    connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(connection, SMALL, "watched", [small(1, amount=99, word="no"), small(2, drop=None)])
    monkeypatch.setattr(validation, "_pandera_checks", lambda _: [])
    blind = dataclasses.replace(SMALL, description="A table of which no schema was made yet.")
    without_pandera = named(validate(connection, blind, "watched"))
    assert [*validation.pandera_schema(blind).columns["amount"].checks] == []
    monkeypatch.undo()
    first_rules = validation._rules(SMALL)[:1]
    monkeypatch.setattr(validation, "_rules", lambda _: first_rules)
    without_sql = named(validate(connection, SMALL, "watched"))
    broken = {("drop", "not_nullable"), ("amount", "less_than_or_equal_to"), ("word", "isin")}
    assert without_pandera == broken == without_sql
