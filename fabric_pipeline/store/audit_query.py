"""Runs one SELECT of an auditor on `audit.duckdb`, with no way to write, leave the lake or run on.

Five fences, since any one of them may have a gap: the file is attached read-only, the settings are
locked with file access to the lake alone, only one SELECT is accepted, it runs as a subquery (where
DuckDB refuses a COPY or INSERT hidden in a WITH clause), and a timer interrupts it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

import duckdb

from fabric_pipeline.errors import FabricError, NotFoundError, UsageError
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.duck import connect, literal

_INTERRUPT_AGAIN_S = 0.05


class QueryResult(NamedTuple):
    """Column names and rows of a query; `truncated` when there were more rows than the limit."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    truncated: bool


def query(
    settings: Settings,
    sql: str,
    *,
    limit: int = 1000,
    timeout_s: float = 30.0,
    cell_chars: int | None = None,
    memory_mb: int | None = None,
) -> QueryResult:
    """Answer of one SELECT (also DESCRIBE, SHOW, SUMMARIZE), `limit` rows at most, in `timeout_s`.

    With `cell_chars` every cell comes back as a text cut at that length, so that no answer is larger
    than its reader allows. `memory_mb` bounds the engine, which then spills nothing to the disk.
    Several processes and threads may ask at once, also while the file is being rebuilt.
    """
    if limit < 1 or timeout_s <= 0:
        raise UsageError("limit and time limit must be above zero", "leave them out for defaults")
    shown = "*" if cell_chars is None else f"left(cast(COLUMNS(*) AS VARCHAR), {int(cell_chars)})"
    with closing(_open(settings, memory_mb)) as con:
        statement = _single_select(con, sql)
        expired = threading.Event()
        try:
            with _interrupted_after(con, timeout_s, expired):
                cursor = con.execute(
                    f"SELECT {shown} FROM (\n{statement}\n) AS answer LIMIT {limit + 1}"
                )
                columns = [column[0] for column in cursor.description or []]
                rows = cursor.fetchall()
        except duckdb.Error as error:
            if expired.is_set():
                raise FabricError(
                    f"the query ran longer than {timeout_s:g} s and was stopped",
                    "narrow it to one drop or one link, or allow more time",
                ) from error
            raise _refused(error, lines_before=1) from error
    return QueryResult(columns, rows[:limit], len(rows) > limit)


def _open(settings: Settings, memory_mb: int | None) -> duckdb.DuckDBPyConnection:
    if not settings.audit.is_file():
        raise NotFoundError(
            f"{settings.audit} does not exist",
            "run the pipeline, or make it: fabric-pipeline audit rebuild",
        )
    con = connect()
    try:
        con.execute(f"ATTACH {literal(str(settings.audit))} AS audit (READ_ONLY)")
        con.execute("USE audit")
        if memory_mb is not None:
            con.execute(f"SET memory_limit = '{int(memory_mb)}MB'")
            con.execute("SET temp_directory = ''")
        con.execute(f"SET allowed_directories = [{literal(str(settings.lake.resolve()))}]")
        con.execute("SET enable_external_access = false")
        con.execute("SET lock_configuration = true")
    except duckdb.Error as error:
        con.close()
        raise FabricError(
            f"{settings.audit} cannot be opened: {error}",
            "close sessions that opened it for writing (use `duckdb -readonly`), or make it anew: fabric-pipeline audit rebuild",
        ) from error
    return con


def _single_select(con: duckdb.DuckDBPyConnection, sql: str) -> str:
    try:
        statements = con.extract_statements(sql)
    except duckdb.Error as error:
        raise _refused(error) from error
    if len(statements) != 1:
        raise UsageError(
            f"the audit query holds {len(statements)} statements", "give exactly one SELECT"
        )
    if statements[0].type != duckdb.StatementType.SELECT:
        kind = statements[0].type.name
        raise UsageError(f"the audit file is read-only: {kind} is refused", "give a SELECT")
    return _without_semicolon(str(statements[0].query))


def _without_semicolon(statement: str) -> str:
    """The statement up to the semicolon that ends it, so that it can stand in brackets."""
    encoded = statement.encode()  # offsets of tokens count bytes
    end = len(encoded)
    for offset, kind in reversed(duckdb.tokenize(statement)):
        if encoded[offset : offset + 1] == b";":
            end = offset
        elif kind != duckdb.token_type.comment:
            break
    return encoded[:end].decode()


def _refused(error: duckdb.Error, lines_before: int = 0) -> UsageError:
    """The engine's message; `lines_before` are lines of ours that it counts before the question."""
    told, _, _ = str(error).partition("\n\nPossible solutions:")
    if isinstance(error, duckdb.OutOfMemoryException):
        told, _, _ = told.partition("\n")
        return UsageError(
            f"the query wants more memory than it may use: {told}",
            "ask for fewer rows or shorter texts, or narrow it to one drop or one link",
        )
    place = re.search(r"\s*LINE (\d+): ", told)
    if place and int(place[1]) <= lines_before:  # it quotes what stands around the question
        told = told[: place.start()]
    elif place and lines_before:
        own = f"\n\nLINE {int(place[1]) - lines_before}: "
        told = f"{told[: place.start()]}{own}{told[place.end() :]}"
    if "/part.parquet" in told and "operations are disabled" in told:
        return UsageError(
            "this table was built where the lake stood before, and the lake was moved or copied",
            "the next run of the pipeline builds the audit file anew",
        )
    return UsageError(
        f"the query was refused: {told.strip()}",
        "`show tables` lists what can be asked; `fabric-pipeline audit rebuild` makes the file anew if a table has changed or was moved",
    )


@contextmanager
def _interrupted_after(
    con: duckdb.DuckDBPyConnection, seconds: float, expired: threading.Event
) -> Iterator[None]:
    """Interrupt the connection after a time, again and again until the block ends.

    One interrupt may fall between two steps of the same query and be lost.
    """
    done = threading.Event()

    def watch() -> None:
        if done.wait(seconds):
            return
        expired.set()
        while not done.wait(_INTERRUPT_AGAIN_S):
            con.interrupt()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
