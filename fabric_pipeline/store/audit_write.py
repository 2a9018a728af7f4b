"""Writing into an audit file that is not yet in its place: rows, comments, and the swap at the end.

Shared by the build of the whole file (`audit`) and its renewal after a run (`audit_update`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb

from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.schemas.table import Table
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.store.duck import literal, quoted

# DuckDB 1.2 and newer can open the file; the default of DuckDB 2 can be read by DuckDB 2 only.
STORAGE_VERSION = "v1.2.0"
# The last group of a table is written again whenever rows are added: with the default of 122,880 rows a
# run would write gigabytes of incident records again.
ROWS_IN_GROUP = 4096

# The whole topology in every drop: more rows than all other copied tables together, and seldom asked for.
_ALSO_VIEWED = frozenset({"fabric_topology"})


def is_viewed(name: str) -> bool:
    """True for tables of the lake that the audit file views instead of copying them."""
    table = TABLES.get(name)
    return table is not None and (table.is_bulk or name in _ALSO_VIEWED)


def attach_new(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Open an audit file for writing as `audit`, and use it; a file that is not there is made."""
    options = f"STORAGE_VERSION '{STORAGE_VERSION}', ROW_GROUP_SIZE {ROWS_IN_GROUP}"
    con.execute(f"ATTACH {literal(str(path))} AS audit ({options})")
    con.execute("USE audit")


def detach(con: duckdb.DuckDBPyConnection) -> None:
    """Bring everything to the disk and let go of the file."""
    con.execute("USE memory")
    con.execute("DETACH audit")


def temporary_of(target: Path) -> Path:
    """Another name beside the target, of nobody else."""
    return target.with_name(f".{target.name}.{uuid4().hex}.tmp")


def swap(temporary: Path, target: Path) -> None:
    """Put the new file in place. A write-ahead log left by somebody's session would be replayed into
    it by the next reader, so it goes first, and again for a session that wrote meanwhile.
    """
    wal(target).unlink(missing_ok=True)
    temporary.replace(target)
    wal(target).unlink(missing_ok=True)


def wal(database: Path) -> Path:
    """Where DuckDB lays the write-ahead log of a file."""
    return database.with_name(f"{database.name}.wal")


def fill(con: duckdb.DuckDBPyConnection, table: Table, records: Sequence[Sequence[Any]]) -> None:
    """Add rows to a table that is there."""
    if records:
        columns = [(column.name, column.type) for column in table.columns]
        insert_columns(con, quoted(table.name), columns, records)


def make(con: duckdb.DuckDBPyConnection, table: Table, records: Sequence[Sequence[Any]]) -> None:
    """Make a table with its comments and these rows."""
    con.execute(f"CREATE OR REPLACE TABLE {quoted(table.name)} AS {table.empty_sql()}")
    fill(con, table, records)
    comment(con, table, "TABLE")


def comment(con: duckdb.DuckDBPyConnection, table: Table, kind: str) -> None:
    """The comments of a table or view and of those of its columns that are there."""
    says = f"{table.description} One row: {table.grain}."
    con.execute(f"COMMENT ON {kind} {quoted(table.name)} IS {literal(says)}")
    present = {row[0] for row in con.execute(f"DESCRIBE {quoted(table.name)}").fetchall()}
    for column in table.columns:
        if column.name in present:
            con.execute(
                f"COMMENT ON COLUMN {quoted(table.name)}.{quoted(column.name)} "
                f"IS {literal(column.description)}"
            )


def count(con: duckdb.DuckDBPyConnection, table: str) -> int:
    """Rows of a table."""
    return int(con.execute(f"SELECT count(*) FROM {quoted(table)}").fetchall()[0][0])
