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
    unnested = ", ".join(f"unnest(?::{type_}[])" for _, type_ in columns)
    insert = f"insert into {table} ({names}) select {unnested}"
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        values = [list(column) for column in zip(*batch, strict=True)]
        try:
            connection.execute(insert, values)
        except duckdb.InvalidInputException:
            connection.execute(insert, [[_encodable(v) for v in column] for column in values])


def _encodable(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
