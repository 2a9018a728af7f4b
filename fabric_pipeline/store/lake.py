"""Parquet tables, one partition per table and drop: `lake/<table>/drop=<id>/part.parquet`.

A partition of many rows is several files that `parts.json` beside them lists. Either is written whole and
renamed into place, so a reader sees the old rows or the new rows and never a mixture. What the tables mean
is said in `schemas`, not here.
"""

from __future__ import annotations

import glob
import hashlib
import json
import math
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb

from fabric_pipeline.errors import FabricError, UsageError
from fabric_pipeline.store.duck import Params, glob_safe, literal, quoted

DROP_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
TABLE_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
PART_FILE = "part.parquet"
PARTS_FILE = "parts.json"
_PART_NAME = re.compile(r"[a-z]+-[0-9]{5}-[0-9a-f]{16}\.parquet")


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


def head_path(lake: Path, table: str, drop: str) -> Path:
    """The file that stands for a partition and whose SHA-256 is that of the table: the rows or the list of parts.

    It need not exist.
    """
    whole = part_path(lake, table, drop)
    listed = whole.with_name(PARTS_FILE)
    return listed if listed.is_file() else whole


def parts_of(lake: Path, table: str, drop: str, kind: str = "part") -> list[Path]:
    """The files of a partition in the order of its rows, [] when it is missing.

    `kind` names what else was made part by part and is kept beside the rows.
    """
    head = head_path(lake, table, drop)
    if head.name == PARTS_FILE:
        return [head.with_name(name) for name in listing(head)["files"].get(kind, [])]
    return [head] if kind == "part" and head.is_file() else []


def listing(head: Path) -> dict[str, Any]:
    """What a list of parts says: `files` by kind, and what was `said` when it was written."""
    read: dict[str, Any] = json.loads(head.read_text(encoding="utf-8"))
    names = [name for kind in read["files"].values() for name in kind]
    if not all(_PART_NAME.fullmatch(name) for name in names):
        raise FabricError(f"{head} names other files than parts", "run the drop again with --force")
    return read


def part_name(kind: str, number: int, sha256: str) -> str:
    """The name of one part. Its content is in it, so that no part is ever changed in place."""
    return f"{kind}-{number:05d}-{sha256[:16]}.parquet"


def keep_parts(
    lake: Path, table: str, drop: str, files: Mapping[str, Sequence[Path]], said: Mapping[str, Any]
) -> WrittenTable:
    """Make these files, which lie in the partition's folder already, the partition; `files["part"]` are its rows.

    `said` (plain JSON values, with `rows`) is kept with them. Parts of before stay until the next sweep,
    for those who are reading them.
    """
    whole = part_path(lake, table, drop)
    head = whole.with_name(PARTS_FILE)
    body = {
        "files": {kind: [path.name for path in paths] for kind, paths in files.items()},
        "said": dict(said),
    }
    temporary = whole.with_name(f".{uuid4().hex}.tmp")
    temporary.write_text(json.dumps(body, sort_keys=True, indent=1), encoding="utf-8")
    sha256 = _sync_and_hash(temporary)
    temporary.replace(head)
    whole.unlink(missing_ok=True)
    sync_folder(head.parent)
    return WrittenTable(head, int(said["rows"]), sha256)


def write_parts(
    con: duckdb.DuckDBPyConnection,
    relations: Sequence[str],
    lake: Path,
    table: str,
    drop: str,
    said: Mapping[str, Any],
) -> WrittenTable:
    """Write several SELECTs, whose rows follow each other, as the parts of one partition; `said` is kept."""
    folder = part_path(lake, table, drop).parent
    paths, rows, sha256s = [], [], []
    for number, relation in enumerate(relations):
        with pending_table(con, relation, lake, table, drop) as pending:
            sha256s.append(_sync_and_hash(pending.path))
            paths.append(folder / part_name("part", number, sha256s[-1]))
            pending.path.replace(paths[-1])
            rows.append(pending.rows)
    counted = {"rows": sum(rows), "rows_of_parts": rows, "sha256_of_parts": sha256s}
    return keep_parts(lake, table, drop, {"part": paths}, {**said, **counted})


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
        self._target.with_name(PARTS_FILE).unlink(missing_ok=True)
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
    try:
        yield PendingTable(temporary, write_file(con, relation, temporary), target)
    finally:
        temporary.unlink(missing_ok=True)


def write_file(con: duckdb.DuckDBPyConnection, relation: str, path: Path) -> int:
    """Write a relation (a table or view name, or a SELECT) as one Parquet file; returns its rows.

    Version 2 writes numbers as steps: a third smaller for lines and times, and no dearer.
    """
    source = quoted(relation) if relation.isidentifier() else f"(\n{relation}\n)"
    rows = con.execute(
        f"COPY (SELECT * FROM {source}) TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2)"
    ).fetchall()
    return int(rows[0][0])


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
    paths = parts_of(lake, table, drop)
    if paths:
        attach_file(con, paths, as_name or table)
    return bool(paths)


def attach_file(con: duckdb.DuckDBPyConnection, path: Path | Sequence[Path], name: str) -> None:
    """Make a view of this connection over one Parquet file, or several whose rows follow each other."""
    files = _file_list([path] if isinstance(path, Path) else path)
    con.execute(
        f"CREATE OR REPLACE TEMP VIEW {quoted(name)} AS "
        f"SELECT * FROM read_parquet({files}, hive_partitioning = false)"
    )


def _file_list(paths: Sequence[Path]) -> str:
    return f"[{', '.join(literal(glob_safe(str(path))) for path in paths)}]"


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


def attach_drops(
    con: duckdb.DuckDBPyConnection, lake: Path, table: str, drops: Sequence[str], *, as_name: str
) -> bool:
    """Make a view over these drops of a table, those that have it; False when none has."""
    files = [part for drop in drops for part in parts_of(lake, table, drop)]
    if not files:
        return False
    con.execute(
        f"CREATE OR REPLACE TEMP VIEW {quoted(as_name)} AS SELECT * FROM read_parquet({_file_list(files)}, "
        "union_by_name = true, hive_partitioning = true, hive_types = {'drop': 'varchar'})"
    )
    return True


def scan_all(lake: Path, table: str) -> str:
    """The SELECT over all drops of a table, by an absolute path that holds wherever it is read."""
    heads = {drop: file for drop, file, _ in _partitions(lake, table)}
    listed = sorted(drop for drop, file in heads.items() if file == PARTS_FILE)
    files = [
        literal(glob_safe(str(path)))
        for drop in listed
        for path in parts_of(lake.resolve(), table, drop)
    ]
    if len(listed) < len(heads):
        files.append(_all_single(lake, table))
    return _scan(files)


def scan_plain(lake: Path, table: str) -> str:
    """The same SELECT where no drop lies in several files."""
    return _scan([_all_single(lake, table)])


def has_parts(lake: Path, table: str, drop: str) -> bool:
    """True when a drop lies in several files."""
    return part_path(lake, table, drop).with_name(PARTS_FILE).is_file()


def _all_single(lake: Path, table: str) -> str:
    folder = _table_folder(lake.resolve(), table)
    return literal(f"{glob_safe(str(folder))}/drop=*/{PART_FILE}")


def _scan(files: Sequence[str]) -> str:
    return (
        f"SELECT * FROM read_parquet([{', '.join(files)}], union_by_name = true, "
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
    return sorted(written_at(lake, table))


def written_at(lake: Path, table: str) -> dict[str, int]:
    """Drop -> when its partition of a table was written, in nanoseconds; in no order."""
    return {drop: at for drop, _, at in _partitions(lake, table)}


def tables_of(lake: Path) -> list[str]:
    """Names of the tables that have at least one drop, sorted."""
    folders = sorted(lake.iterdir()) if lake.is_dir() else []
    names = [folder.name for folder in folders if TABLE_NAME.fullmatch(folder.name)]
    return [name for name in names if next(_partitions(lake, name), None) is not None]


def _partitions(lake: Path, table: str) -> Iterator[tuple[str, str, int]]:
    """Drop, name of the file that stands for its partition, and when that was written.

    Paths are texts here: as objects they would cost ten times as much over a long history.
    """
    folder = _table_folder(lake, table)
    try:
        entries = os.scandir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    with entries:
        for entry in entries:
            if not entry.name.startswith("drop="):
                continue
            for file in (PART_FILE, PARTS_FILE):
                try:
                    found = os.stat(f"{entry.path}/{file}")  # noqa: PTH116
                except OSError:
                    continue
                yield entry.name.removeprefix("drop="), file, found.st_mtime_ns
                break


def remove(lake: Path, table: str, drop: str) -> bool:
    """Remove the partition of one drop; False when there was none."""
    folder = part_path(lake, table, drop).parent
    if not folder.is_dir():
        return False
    shutil.rmtree(folder)
    return True


def remove_rows(lake: Path, table: str, drop: str) -> None:
    """Remove the rows of a partition and leave what else is kept in its folder."""
    head = head_path(lake, table, drop)
    for path in (head, *head.parent.glob("*.parquet")):
        path.unlink(missing_ok=True)


def sweep(lake: Path, drop: str) -> None:
    """Remove what a killed run left half-written of a drop. Nobody reads it, but it takes room.

    Only for the one run that holds the drop: another's write would lose its file.
    """
    for folder in lake.glob(f"*/drop={glob.escape(checked_drop(drop))}"):
        for left in folder.glob(".*.tmp"):
            left.unlink(missing_ok=True)
        head = folder / PARTS_FILE
        kept = (
            set()
            if not head.is_file()
            else {n for kind in listing(head)["files"].values() for n in kind}
        )
        for left in folder.glob("*.parquet"):
            if _PART_NAME.fullmatch(left.name) and left.name not in kept:
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
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
