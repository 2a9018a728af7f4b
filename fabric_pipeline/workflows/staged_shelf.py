"""What was understood of large files, kept under everything it follows from and found again by it.

Rows of the staging tables are Parquet, the rest is plain JSON; whole or not there, as `store.shard_files`
keeps results. Who reads what, and when it is worth keeping, is decided in `workflows.staged_shards`.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time
from typing import Any
from uuid import uuid4

import fabric_pipeline
from fabric_pipeline.errors import FabricError
from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import Hints, Reader
from fabric_pipeline.sources.registry import reader_for
from fabric_pipeline.store.columns import DatabaseError
from fabric_pipeline.store.duck import glob_safe, literal
from fabric_pipeline.store.shard_files import Manifest, Place, collect, deliver, find
from fabric_pipeline.workflows.staged_said import result_of, said_of
from fabric_pipeline.workflows.staging_tables import COLUMNS

LAYOUT = 1  # of what is kept; another number finds nothing of before
TABLES = ("staged_readings", "staged_timings", "staged_events")
# Readers, what rows become on the way to a table, and all that these import: a change there reads anew.
_CODE = ("detect", "model", "schemas", "sources", "store", "workflows", "errors.py")
# What comes of files that are gone, damaged or of another form: then the telemetry is read again.
UNUSABLE = (FabricError, DatabaseError, OSError, ValueError, KeyError, TypeError)
_LOADED_AT = time()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_SAMPLE = 2048  # rows in which a column that is one value shows as such
Marks = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FileRead:
    """A file and all that decides what is read of it, but for the moment of reading.

    `zone` is that of times without an offset. The file's name in the drop decides nothing: rows get it
    when they are taken.
    """

    sha256: str
    format_id: str
    hints: Hints
    zone: str

    @property
    def key(self) -> str:
        """SHA-256 of what is read follows from, this code included."""
        stated = self.hints.time and self.hints.time.isoformat()
        surroundings = [self.hints.node, stated, str(self.hints.timezone), self.zone]
        reader = [self.format_id, our_reader(self.format_id).version]
        told = [LAYOUT, self.sha256, *reader, *surroundings, code_sha256()]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()


@cache
def our_reader(format_id: str) -> Reader:
    """The built-in reader of a format; asking the registry looks through all installed packages each time."""
    return reader_for(format_id)


@cache
def code_sha256() -> str:
    """Hash of the code that reads, and of the versions of Python and DuckDB it runs on.

    A process that outlives an update runs other code than what lies there: its hash is of its own, so
    nothing that it reads is taken for a result of the new code.
    """
    versions = f"Python {platform.python_version()}, DuckDB {version('duckdb')}"
    digest = hashlib.sha256(versions.encode())
    root = Path(fabric_pipeline.__file__).parent
    for name in _CODE:
        path = root / name
        for source in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if source.stat().st_mtime > _LOADED_AT:
                return f"of process {uuid4().hex}"
            digest.update(f"{source.relative_to(root)}\0{source.stat().st_size}\n".encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()


def find_read(place: Place, read: FileRead, latest: datetime) -> Manifest | None:
    """What is kept of the file and is what reading it now would give; None when there is nothing.

    A reading after `latest` comes from a clock that runs ahead, so what was kept holds only while no
    reading lies between that limit then and now.
    """
    try:
        found = find(place, read.key)
    except FabricError:  # then the file is read, which says what is wrong with the disk
        return None
    return found if found is not None and _holds(found, latest) else None


def marks(connection: Any) -> Marks:
    """Where the rows begin that are staged from now on."""
    return {
        table: connection.execute(f"select coalesce(max(rowid) + 1, 0) from {table}").fetchone()[0]
        for table in TABLES
    }


def keep_read(
    connection: Any,
    place: Place,
    read: FileRead,
    latest: datetime,
    since: Marks,
    result: ReadResult,
) -> Manifest | None:
    """Keep the rows staged since the marks, which are all of one file, and what else it says.

    None when that cannot be said in JSON. Raises FabricError or DatabaseError when it cannot be written.
    """
    said = said_of(result)
    if said is None:
        return None
    with TemporaryDirectory(prefix="fabric-") as folder:
        files, constants = {}, {}
        for table, first in since.items():
            path = Path(folder) / f"{table}.parquet"
            found = _write(connection, table, first, path)
            if found is not None:
                files[table], constants[table] = path, found
        body = {"said": said, "constants": constants, "clock": _clock(connection, since, latest)}
        # As a text, because the order of keys is part of what a file says.
        return deliver(place, read.key, files, {"text": json.dumps(body)})


def take_read(connection: Any, place: Place, kept: Manifest, name: str) -> ReadResult:
    """Stage the kept rows under the name that the file has in this drop; returns what else it says.

    Raises FabricError or DatabaseError when something of it is gone or damaged; rows may be staged then.
    """
    body = _body(kept)
    with TemporaryDirectory(prefix="fabric-") as folder:
        for table in TABLES:
            if table in kept.files:
                path = Path(folder) / f"{table}.parquet"
                collect(place, kept, table, path)
                _insert(connection, table, path, body["constants"][table] | {"file": name})
    return result_of(body["said"])


def _write(connection: Any, table: str, first: int, path: Path) -> dict[str, str | None] | None:
    """Write the rows from `first` on; the columns left out, each of one value, or None without rows.

    Most columns of a file are one text or empty: writing all takes three times as long.
    """
    constants = _constants(connection, table, first)
    if constants is None:
        return None
    columns = ", ".join(f'"{name}"' for name, _ in COLUMNS[table] if name not in constants)
    connection.execute(
        f"copy (select {columns} from {table} where rowid >= {first}) "
        f"to {literal(str(path))} (format parquet, compression zstd)"
    )
    return constants


def _constants(connection: Any, table: str, first: int) -> dict[str, str | None] | None:
    """Columns that hold one text, or nothing, in all rows from `first` on; None without rows."""
    sample = connection.execute(
        f"select * from {table} where rowid >= {first} and rowid < {first + _SAMPLE}"
    ).fetchall()
    if not sample:
        return None
    likely: dict[str, str | None] = {}
    for (name, _), values in zip(COLUMNS[table], zip(*sample, strict=True), strict=True):
        is_one = (values[0] is None or type(values[0]) is str) and values.count(values[0]) == len(
            values
        )
        if is_one and name != "line":  # so that there is a column left to tell how many rows
            likely[name] = values[0]
    if _is_without(connection, table, first, likely):
        return likely
    return {
        name: value
        for name, value in likely.items()
        if _is_without(connection, table, first, {name: value})
    }


def _is_without(
    connection: Any, table: str, first: int, constants: Mapping[str, str | None]
) -> bool:
    """True when no row from `first` on has another value in these columns.

    As conditions, because DuckDB answers those of a column of one value from its statistics.
    """
    others = [
        f'"{name}" is not null' if value is None else f'"{name}" <> ? or "{name}" is null'
        for name, value in constants.items()
    ]
    found = connection.execute(
        f"select 1 from {table} where rowid >= {first} and ({' or '.join(others)}) limit 1",
        [value for value in constants.values() if value is not None],
    ).fetchone()
    return found is None


def _insert(connection: Any, table: str, path: Path, constants: Mapping[str, str | None]) -> None:
    picked = ", ".join(
        f'?::{type_} as "{name}"' if name in constants else f'"{name}"'
        for name, type_ in COLUMNS[table]
    )
    values = [constants[name] for name, _ in COLUMNS[table] if name in constants]
    connection.execute(
        f"insert into {table} select {picked} from read_parquet(?, hive_partitioning = false)",
        [*values, glob_safe(str(path))],
    )


def _clock(connection: Any, since: Marks, latest: datetime) -> dict[str, int | None]:
    """The readings nearest to the limit on both sides, in microseconds."""
    sql = (
        "select epoch_us(max(ts) filter (ts <= $latest)), epoch_us(min(ts) filter (ts > $latest)) "
        f"from staged_readings where rowid >= {since['staged_readings']}"
    )
    before, after = connection.execute(sql, {"latest": latest}).fetchone()
    return {"newest_us": before, "ahead_us": after}


def _holds(kept: Manifest, latest: datetime) -> bool:
    """True when each reading is on the same side of `latest` as it was of the limit then."""
    try:
        clock = _body(kept)["clock"]
        limit_us = (latest - _EPOCH) // _MICROSECOND
        newest_us, ahead_us = clock["newest_us"], clock["ahead_us"]
        return (newest_us is None or newest_us <= limit_us) and (
            ahead_us is None or ahead_us > limit_us
        )
    except (ValueError, KeyError, TypeError):
        return False


def _body(kept: Manifest) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(kept.said["text"])
    return body
