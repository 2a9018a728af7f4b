"""Work for engines in tests: functions of a module, so that other processes find them."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from fabric_pipeline.errors import BadInputError
from fabric_pipeline.store.duck import session


@dataclass(frozen=True, slots=True)
class Shard:
    """Rows to add up. `deaths` of the processes that work on it end with kill -9; `marks` counts them."""

    number: int
    rows: int = 1000
    deaths: int = 0
    marks: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Sum:
    """What a shard adds up to, and nothing that depends on where that was done."""

    number: int
    total: int


def add_up(shard: Shard) -> Sum:
    """A sum by DuckDB; a bad shard has a negative number of rows."""
    if shard.rows < 0:
        raise BadInputError(f"shard {shard.number} has {shard.rows} rows", "count again")
    if shard.rows == 0:
        raise ZeroDivisionError("nothing to divide")
    died = sum(1 for _ in Path(shard.marks).glob(f"{shard.number}-*")) if shard.marks else 0
    if died < shard.deaths:
        Path(shard.marks, f"{shard.number}-{died}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(shard.seconds)
    connection = session()
    try:
        row = connection.execute(
            "select sum(hash(range + ?) % 1000) from range(?)", [shard.number, shard.rows]
        ).fetchall()[0]
    finally:
        connection.close()
    return Sum(shard.number, int(row[0]))


def limits(_: int) -> tuple[str, str, str]:
    """Threads, memory and spill folder of DuckDB where this is worked on."""
    connection = session()
    try:
        row = connection.execute(
            "select current_setting('threads'), current_setting('memory_limit'), current_setting('temp_directory')"
        ).fetchall()[0]
    finally:
        connection.close()
    return str(row[0]), str(row[1]), str(row[2])
