"""How the SQLite ledger is opened, migrated and written to; what it holds is in `ledger_*`.

Every call opens its own short connection, so a ledger can be shared by threads and processes. A
write takes the file's write lock at its start, waits for others, and is kept whole or not at all.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from copy import copy
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Self

from fabric_pipeline.errors import FabricError, GateError

BUSY_TIMEOUT_S = 30.0
RETRIES = 4  # beyond SQLite's own waiting, which does not cover the switch to WAL


class LedgerFile:
    """The file and its transactions; `Ledger` adds what can be asked and recorded."""

    _held: sqlite3.Connection | None = None

    def __init__(self, path: Path) -> None:
        """Create or upgrade the file at `path`."""
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(self._open()) as con:
            self._retried(lambda: _migrate(con))

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent snapshot; nothing can be written through it."""
        if self._held is not None:
            yield self._held
            return
        with closing(self._open()) as con:
            con.execute("PRAGMA query_only = ON")
            con.execute("BEGIN")
            try:
                yield con
            except sqlite3.DatabaseError as error:
                raise self._unusable(error) from error

    @contextmanager
    def held(self) -> Iterator[Self]:
        """The ledger for many questions in a row: all see one snapshot, through one open file.

        Only for the thread that asks, and only until the end.
        """
        with self.reading() as con:
            held = copy(self)
            held._held = con
            yield held

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction; a refusal by the file's own rules comes out as `GateError`."""
        with closing(self._open()) as con:
            self._retried(lambda: con.execute("BEGIN IMMEDIATE"))
            try:
                yield con
                con.execute("COMMIT")
            except sqlite3.IntegrityError as error:
                raise GateError(f"{self.path}: {error}", "nothing was recorded") from error
            except sqlite3.DatabaseError as error:
                raise self._unusable(error) from error

    def missing_rules(self) -> list[str]:
        """Triggers and views that a new ledger has and this file lacks or words otherwise.

        They are the gate. Who may write the file can take them away and put them back, so that none
        is missing now does not show that none ever was.
        """
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
            _migrate(fresh)
            wanted = _rules(fresh)
        with self.reading() as con:
            there = _rules(con)
        return sorted(name for name, sql in wanted.items() if there.get(name) != sql)

    def _open(self) -> sqlite3.Connection:
        con = sqlite3.connect(self.path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
        try:
            con.row_factory = sqlite3.Row
            self._retried(lambda: con.execute("PRAGMA journal_mode = WAL"))
            con.execute("PRAGMA synchronous = FULL")
            con.execute("PRAGMA foreign_keys = ON")
        except sqlite3.DatabaseError as error:
            con.close()
            raise self._unusable(error) from error
        except FabricError:
            con.close()
            raise
        return con

    def _unusable(self, error: sqlite3.DatabaseError) -> FabricError:
        return FabricError(
            f"{self.path} cannot be used as the ledger: {error}",
            "check the disk; restore the file from a backup, or move it away to start an empty one",
        )

    def _retried(self, step: Callable[[], object]) -> None:
        for attempt in range(RETRIES + 1):
            try:
                step()
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) and "busy" not in str(error):
                    raise
                if attempt == RETRIES:
                    raise FabricError(
                        f"{self.path} is locked by another process: {error}",
                        "try again when the other run has ended",
                    ) from error
                time.sleep(0.05 * 2**attempt)


def utc_text(at: datetime) -> str:
    """A time as the ledger stores it: UTC, microseconds, sortable as text."""
    if at.tzinfo is None:
        raise ValueError("a time in the ledger needs a time zone")
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def _rules(con: sqlite3.Connection) -> dict[str, str]:
    sql = "SELECT name, sql FROM sqlite_master WHERE type IN ('trigger', 'view')"
    return {row[0]: row[1] for row in con.execute(sql)}


def _migrate(con: sqlite3.Connection) -> None:
    folder = files("fabric_pipeline.store") / "migrations"
    scripts = sorted((entry.name, entry) for entry in folder.iterdir() if entry.name[:4].isdigit())
    if con.execute("PRAGMA user_version").fetchone()[0] >= len(scripts):
        return
    con.execute("BEGIN IMMEDIATE")
    done = con.execute("PRAGMA user_version").fetchone()[0]
    for number, (_, script) in enumerate(scripts[done:], start=done + 1):
        for statement in _statements(script.read_text(encoding="utf-8")):
            con.execute(statement)
        con.execute(f"PRAGMA user_version = {number}")
    con.execute("COMMIT")


def _statements(script: str) -> Iterator[str]:
    """The statements one by one: `executescript` would commit before its first one."""
    gathered = ""
    for line in script.splitlines(keepends=True):
        gathered += line
        if sqlite3.complete_statement(gathered):
            yield gathered
            gathered = ""
