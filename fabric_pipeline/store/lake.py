"""Parquet tables, one file per table and drop: `lake/<table>/drop=<id>/part.parquet`.

A partition is written whole and renamed into place, so a reader sees the old rows or the new rows
and never a mixture. What the tables mean is said in `schemas`, not here.
"""

from __future__ import annotations

import glob
import hashlib
import math
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb

from fabric_pipeline.errors import UsageError
from fabric_pipeline.store.duck import Params, glob_safe, literal, quoted

DROP_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
TABLE_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
PART_FILE = "part.parquet"


@dataclass(frozen=True, slots=True)
class WrittenTable:
    """One written partition: where it lies, how many rows it has, and the SHA-256 of the file."""

    path: Path
    rows: int
    sha256: str


def checked_drop(drop: str) -> str:
    """The drop id itself; an id that could leave its folder is refused before a path is built."""
    if not DROP_ID.fullmatch(drop):
        raise UsageError(
            f"{drop!r} is not a drop id",
            "use small letters, digits, dots, dashes and underscores, 100 characters at most",
        )
    return drop


def part_path(lake: Path, table: str, drop: str) -> Path:
    """Where the rows of one table and drop lie, whether or not they exist yet."""
    return _table_folder(lake, table) / f"drop={checked_drop(drop)}" / PART_FILE


def write_table(
    con: duckdb.DuckDBPyConnection, relation: str, lake: Path, table: str, drop: str
) -> WrittenTable:
    """Write a relation (a table or view name, or a SELECT) as the partition of one drop.

    Row order is that of the SELECT: give it an ORDER BY and the same rows give the same bytes.
    """
    with pending_table(con, relation, lake, table, drop) as pending:
        return pending.keep()


@dataclass(slots=True)
class PendingTable:
    """A partition that is written but not yet in its place; `path` can be read to judge it."""

    path: Path
    rows: int
    _target: Path

    def keep(self) -> WrittenTable:
        """Put it in its place, over an earlier one."""
        sha256 = _sync_and_hash(self.path)
        self.path.replace(self._target)
        sync_folder(self._target.parent)
        return WrittenTable(self._target, self.rows, sha256)


@contextmanager
def pending_table(
    con: duckdb.DuckDBPyConnection, relation: str, lake: Path, table: str, drop: str
) -> Iterator[PendingTable]:
    """Write a relation as `write_table` does, to be kept or not; what is not kept is removed."""
    target = part_path(lake, table, drop)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{uuid4().hex}.tmp")
    source = quoted(relation) if relation.isidentifier() else f"(\n{relation}\n)"
    try:
        rows = con.execute(
            f"COPY (SELECT * FROM {source}) TO {literal(str(temporary))} "
            "(FORMAT parquet, COMPRESSION zstd)"
        ).fetchall()[0][0]
        yield PendingTable(temporary, int(rows), target)
    finally:
        temporary.unlink(missing_ok=True)


def attach(
    con: duckdb.DuckDBPyConnection,
    lake: Path,
    table: str,
    drop: str,
    *,
    as_name: str | None = None,
) -> bool:
    """Make a view of this connection over one partition, with exactly the columns of its file.

    False when the partition is missing.
    """
    path = part_path(lake, table, drop)
    if not path.is_file():
        return False
    attach_file(con, path, as_name or table)
    return True


def attach_file(con: duckdb.DuckDBPyConnection, path: Path, name: str) -> None:
    """Make a view of this connection over one Parquet file."""
    con.execute(
        f"CREATE OR REPLACE TEMP VIEW {quoted(name)} AS "
        f"SELECT * FROM read_parquet({literal(glob_safe(str(path)))}, hive_partitioning = false)"
    )


def attach_all(
    con: duckdb.DuckDBPyConnection, lake: Path, table: str, *, as_name: str | None = None
) -> bool:
    """Make such a view over every drop of a table, with the column `drop`; False when there is none."""
    if not drops_of(lake, table):
        return False
    con.execute(
        f"CREATE OR REPLACE TEMP VIEW {quoted(as_name or table)} AS {scan_all(lake, table)}"
    )
    return True


def scan_all(lake: Path, table: str) -> str:
    """The SELECT over all drops of a table, by an absolute path that holds wherever it is read."""
    pattern = f"{glob_safe(str(_table_folder(lake.resolve(), table)))}/drop=*/{PART_FILE}"
    return (
        f"SELECT * FROM read_parquet({literal(pattern)}, union_by_name = true, "
        "hive_partitioning = true, hive_types = {'drop': 'varchar'})"
    )


def read_rows(
    con: duckdb.DuckDBPyConnection, sql: str, params: Params = None
) -> list[dict[str, Any]]:
    """All rows as dicts; NULL is None, and a NaN is None too, because neither is a reading."""
    cursor = con.execute(sql, params)
    names = [column[0] for column in cursor.description or []]
    return [
        {name: _plain(value) for name, value in zip(names, row, strict=True)}
        for row in cursor.fetchall()
    ]


def drops_of(lake: Path, table: str) -> list[str]:
    """Ids of the drops that have rows (or an empty file) in a table, sorted."""
    parts = _table_folder(lake, table).glob(f"drop=*/{PART_FILE}")
    return sorted(part.parent.name.removeprefix("drop=") for part in parts)


def tables_of(lake: Path) -> list[str]:
    """Names of the tables that have at least one drop, sorted."""
    folders = sorted(lake.iterdir()) if lake.is_dir() else []
    names = [folder.name for folder in folders if TABLE_NAME.fullmatch(folder.name)]
    return [name for name in names if drops_of(lake, name)]


def remove(lake: Path, table: str, drop: str) -> bool:
    """Remove the partition of one drop; False when there was none."""
    folder = part_path(lake, table, drop).parent
    if not folder.is_dir():
        return False
    shutil.rmtree(folder)
    return True


def sweep(lake: Path, drop: str) -> None:
    """Remove what a killed run left half-written of a drop. Nobody reads it, but it takes room.

    Only for the one run that holds the drop: another's write would lose its file.
    """
    for folder in lake.glob(f"*/drop={glob.escape(checked_drop(drop))}"):
        for left in folder.glob(".*.tmp"):
            left.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make a rename inside a folder survive a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _table_folder(lake: Path, table: str) -> Path:
    if not TABLE_NAME.fullmatch(table):
        raise UsageError(f"{table!r} is not a table name", "use small letters, digits and _")
    return lake / table


def _sync_and_hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
