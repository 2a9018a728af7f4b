"""Putting Python records into DuckDB tables column by column, without pandas or row-wise inserts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb

# What DuckDB raises for a file it cannot read; workflows catch it without importing duckdb.
DatabaseError = duckdb.Error

_BATCH = 50_000


def insert_columns(
    connection: Any, table: str, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[Any]]
) -> None:
    """Insert rows into an existing table.

    `columns` are (name, DuckDB type) in the order of the values of each row. Half surrogates, which
    JSON can hold and UTF-8 cannot, become U+FFFD.
    """
    names = ", ".join(f'"{name}"' for name, _ in columns)
    for start in range(0, len(rows), _BATCH):
        values = [list(column) for column in zip(*rows[start : start + _BATCH], strict=True)]
        picked, given = [], []
        for number, ((_, type_), column) in enumerate(zip(columns, values, strict=True)):
            is_one = number > 0 and _is_one_text(column)  # handing over a value costs most of it
            picked.append(f"?::{type_}" if is_one else f"unnest(?::{type_}[])")
            given.append(column[:1] if is_one else [column])
        insert = f"insert into {table} ({names}) select {', '.join(picked)}"
        try:
            connection.execute(insert, [value for (value,) in given])
        except duckdb.InvalidInputException:
            connection.execute(insert, [_encodable(value) for (value,) in given])


def _is_one_text(column: list[Any]) -> bool:
    """True when every row has the same text, or none has a value."""
    first = column[0]
    return (first is None or type(first) is str) and column.count(first) == len(column)


def _encodable(value: Any) -> Any:
    if isinstance(value, list):
        return [_encodable(one) for one in value]
    if not isinstance(value, str):
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
