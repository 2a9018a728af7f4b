"""Makes valid and broken rows for any table from its description, and says which rules a value breaks.

The judgement here is written anew in plain Python, so that it checks the one in the schemas.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from fabric_pipeline.schemas.table import TIMESTAMP, Column, Table
from fabric_pipeline.store.columns import insert_columns

START = datetime(2031, 1, 2, 3, 4, 5, tzinfo=UTC)
TEXTS = (
    "plain",
    "drop-1",
    "a1" * 32,
    "INC-0123456789ab",
    "T-0123456789ab",
    "{}",
)
BROKEN_TEXTS = ("", "{", "No Such Thing", "INC-0123456789AB", " ")
Row = dict[str, Any]


def valid_value(column: Column) -> Any:
    """A value that keeps every rule of the column; never NULL, so that no rule is passed over."""
    if column.type == TIMESTAMP:
        return START
    if column.type == "VARCHAR":
        fitting = [t for t in column.allowed or TEXTS if not broken_rules(column, t)]
        assert fitting, f"add a text that fits {column.name} to TEXTS: {column.pattern}"
        return max(fitting, key=bool)
    low = 1 if column.minimum is None else column.minimum
    value = low if column.maximum is None else (low + column.maximum) / 2
    return {"BIGINT": int, "INTEGER": int, "DOUBLE": float, "BOOLEAN": bool}[column.type](value)


def broken_values(column: Column) -> Iterator[Any]:
    """Values of the right type of which each breaks a rule of the column; all rules are met."""
    if not column.nullable:
        yield None
    if column.type == "VARCHAR":
        yield from (text for text in BROKEN_TEXTS if broken_rules(column, text))
    if column.minimum is not None:
        yield column.minimum - (0.001 if column.type == "DOUBLE" else 1)
    if column.maximum is not None:
        yield column.maximum + (0.001 if column.type == "DOUBLE" else 1)
    if column.type == "DOUBLE":
        yield from (math.nan, math.inf, -math.inf)


def broken_rules(column: Column, value: Any) -> set[str]:
    """Names of the rules of the column that a value breaks."""
    if value is None:
        return set() if column.nullable else {"not_nullable"}
    if isinstance(value, str):
        in_words = {"isin"} if column.allowed and value not in column.allowed else set()
        fits = not column.pattern or re.match(column.pattern, value)
        return in_words if fits else in_words | {"str_matches"}
    if isinstance(value, float) and not math.isfinite(value):
        return {"finite"}
    if column.minimum is not None and value < column.minimum:
        return {"greater_than_or_equal_to"}
    if column.maximum is not None and value > column.maximum:
        return {"less_than_or_equal_to"}
    return set()


def valid_row(table: Table, number: int) -> Row:
    """A row that keeps every rule; rows of different numbers have different keys."""
    return {c.name: valid_value(c) for c in table.columns} | {"drop": f"drop-{number}"}


def moved(column: Column) -> Any:
    """Another valid value than `valid_value`, None when the rules allow only one."""
    value = valid_value(column)
    if column.type == TIMESTAMP:
        return value + timedelta(seconds=1)
    if isinstance(value, str):
        others = [t for t in column.allowed or TEXTS if t != value and not broken_rules(column, t)]
        return others[0] if others else None
    return None if broken_rules(column, value + 1) else value + 1


def put(connection: Any, table: Table, relation: str, rows: list[Row]) -> None:
    """Make a relation of the table's shape and fill it."""
    connection.execute(f'create or replace temp table "{relation}" as {table.empty_sql()}')
    columns = [(column.name, column.type) for column in table.columns]
    insert_columns(connection, relation, columns, [[r[c] for c, _ in columns] for r in rows])
