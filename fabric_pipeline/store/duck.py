"""In-memory DuckDB connections, the engine that computes over Parquet files.

No database file is ever opened here, so no lock can be held. Tables are found through `store.lake`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

Params = Sequence[Any] | Mapping[str, Any] | None


def connect() -> duckdb.DuckDBPyConnection:
    """A fresh in-memory connection: UTC, rows kept in order, no progress bar, no Python variables.

    Without the last setting a mistyped table name would quietly read a local variable.
    """
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = false")
    con.execute("SET python_enable_replacements = false")
    con.execute("SET preserve_insertion_order = true")
    con.execute("SET TimeZone = 'UTC'")
    return con


def scalar(con: duckdb.DuckDBPyConnection, sql: str, params: Params = None) -> Any:
    """First column of the first row, None when there is no row.

    All rows are fetched, because a connection with unread rows refuses the next call.
    """
    rows = con.execute(sql, params).fetchall()
    return rows[0][0] if rows else None


def quoted(name: str) -> str:
    """A table or column name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as an SQL literal, for statements that take no parameters (COPY, COMMENT, ATTACH)."""
    return "'" + text.replace("'", "''") + "'"


def glob_safe(path: str) -> str:
    """A path in which `*`, `?` and `[` stand for themselves inside a glob."""
    return re.sub(r"([\[*?])", r"[\1]", path)
