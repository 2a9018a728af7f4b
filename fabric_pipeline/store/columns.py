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

    `columns` are (name, DuckDB type) in the order of the values of each row.
    """
    names = ", ".join(f'"{name}"' for name, _ in columns)
    unnested = ", ".join(f"unnest(?::{type_}[])" for _, type_ in columns)
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        values = [list(column) for column in zip(*batch, strict=True)]
        connection.execute(f"insert into {table} ({names}) select {unnested}", values)
