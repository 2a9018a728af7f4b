"""In-memory DuckDB connections, the engine that computes over Parquet files.

No database file is ever opened here, so no lock can be held. Tables are found through `store.lake`.
An engine keeps to a memory limit and lays what does not fit in a folder that ends with the process.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from fabric_pipeline.settings import engine_threads, memory_limit_bytes

Params = Sequence[Any] | Mapping[str, Any] | None


def connect() -> duckdb.DuckDBPyConnection:
    """An engine of its own in memory: UTC, rows kept in order, no progress bar, no Python variables.

    Without the last setting a mistyped table name would quietly read a local variable. Starting an
    engine takes some 25 ms: `session` is for all that needs no engine of its own.
    """
    config: dict[str, Any] = {
        "memory_limit": f"{memory_limit_bytes(machine_bytes())} B",
        "temp_directory": _spill_folder(),
    }
    if threads := engine_threads():
        config["threads"] = threads
    return _prepared(duckdb.connect(config=config))


def machine_bytes() -> int:
    """Memory of this machine, or of the control group of this process where that has less."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            sizes.append(int(Path("/sys/fs/cgroup", name).read_text(encoding="ascii")))
        except (OSError, ValueError):  # there is no such group, or it has no limit ("max")
            continue
    return min(sizes)


def session() -> duckdb.DuckDBPyConnection:
    """A connection like that of `connect` to the engine of this process, in a fraction of the time.

    Temporary tables and views are its own and end with it; everything else would be seen by all, so
    make nothing else and change no setting. An engine that broke is replaced for the next caller.
    """
    global _engine
    with _engine_lock:
        if _engine is not None:
            try:
                return _prepared(_engine.cursor())
            except duckdb.Error:
                _engine = None
        _engine = connect()
        return _prepared(_engine.cursor())


def _spill_folder() -> str:
    """A folder of this process for what does not fit into memory, for nobody else's eyes.

    It is removed when the process ends; after a kill -9 it stays in the system's temporary folder.
    """
    global _spill
    with _spill_lock:
        if _spill is None or not Path(_spill).is_dir():
            _spill = tempfile.mkdtemp(prefix="fabric-pipeline-spill-")
            atexit.register(_remove_spill, _spill, os.getpid())
        return _spill


def _remove_spill(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # a forked process inherits the order to remove, but not the folder
        shutil.rmtree(folder, ignore_errors=True)


_spill: str | None = None
_spill_lock = threading.Lock()
_engine: duckdb.DuckDBPyConnection | None = None
_engine_lock = threading.Lock()
_of_parents: list[object] = []  # closing one would wait for threads that a fork does not copy


def _forget_engine() -> None:
    """A forked process has the engine without its threads, and perhaps the lock held."""
    global _engine, _engine_lock, _spill, _spill_lock
    _of_parents.append(_engine)
    _engine, _engine_lock = None, threading.Lock()
    _spill, _spill_lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget_engine)


def _prepared(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
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
