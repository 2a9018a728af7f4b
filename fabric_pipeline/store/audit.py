"""Builds `audit.duckdb`, the one file an auditor opens, and the self-contained export of it.

The file is written under another name and swapped in, so nobody ever opens the live file for
writing. Small tables are copied, tables that grow with telemetry are views over the lake's Parquet
files. Reading it safely is done in `audit_query`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from uuid import uuid4

import duckdb

from fabric_pipeline import __version__
from fabric_pipeline.errors import FabricError, UsageError
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.schemas.table import Table
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.audit_life import life_tables
from fabric_pipeline.store.audit_tables import AUDIT_INFO, LEDGER_TABLES
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.store.duck import connect, literal, quoted
from fabric_pipeline.store.filelock import locked
from fabric_pipeline.store.lake import scan_all, tables_of
from fabric_pipeline.store.ledger import Ledger

# DuckDB 1.2 and newer can open the file; the default of DuckDB 2 can be read by DuckDB 2 only.
STORAGE_VERSION = "v1.2.0"


@dataclass(frozen=True, slots=True)
class AuditBuilt:
    """What was built: `rows` of copied tables, names of views, and views that could not be made.

    A ready-made view is left out (with the reason) when the lake holds tables of another version.
    """

    path: Path
    rows: Mapping[str, int]
    views: tuple[str, ...]
    left_out: Mapping[str, str]
    seconds: float

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of everything that can be queried."""
        return tuple(sorted([*self.rows, *self.views]))


def rebuild_audit(settings: Settings, *, at: datetime | None = None) -> AuditBuilt:
    """Build `audit.duckdb` anew from lake and ledger and swap it in. Missing tables are empty.

    Processes that rebuild at the same time take turns; readers keep the file they opened.
    """
    with locked(settings.home / ".audit.lock"):
        for leftover in settings.home.glob(f".{settings.audit.name}.*.tmp*"):
            leftover.unlink(missing_ok=True)  # of a build that was killed: none runs now
        return _build(settings, settings.audit, copy_all=False, at=at)


def export(
    settings: Settings, out: Path, *, overwrite: bool = False, at: datetime | None = None
) -> AuditBuilt:
    """Write one file that needs no other: the same tables and views with every row copied."""
    if out.exists() and not (overwrite and out.is_file()):
        raise UsageError(f"{out} exists already", "name another file or ask to overwrite it")
    out.parent.mkdir(parents=True, exist_ok=True)
    return _build(settings, out, copy_all=True, at=at)


def _build(settings: Settings, target: Path, *, copy_all: bool, at: datetime | None) -> AuditBuilt:
    started = time.monotonic()
    temporary = target.with_name(f".{target.name}.{uuid4().hex}.tmp")
    try:
        with closing(connect()) as con:
            con.execute(
                f"ATTACH {literal(str(temporary))} AS audit (STORAGE_VERSION '{STORAGE_VERSION}')"
            )
            con.execute("USE audit")
            con.execute("BEGIN")  # one write to the disk instead of one for each statement
            rows, bulk = _add_lake(con, settings.lake, copy_all=copy_all)
            rows |= _add_ledger(con, Ledger(settings.ledger), at or datetime.now(UTC))
            con.execute("COMMIT")
            views, left_out = _add_views(con)
            con.execute("USE memory")
            con.execute("DETACH audit")
        _swap(temporary, target)
    except duckdb.Error as error:
        raise FabricError(
            f"the audit file {target} could not be built: {error}",
            "the file that was there is unchanged; run the named drop again or check the disk",
        ) from error
    finally:
        for leftover in (temporary, _wal(temporary)):
            leftover.unlink(missing_ok=True)
    seconds = time.monotonic() - started
    return AuditBuilt(target, rows, tuple(sorted([*bulk, *views])), left_out, seconds)


def _swap(temporary: Path, target: Path) -> None:
    """Put the new file in place. A write-ahead log left by somebody's session would be replayed into
    it by the next reader, so it goes first, and again for a session that wrote meanwhile.
    """
    _wal(target).unlink(missing_ok=True)
    temporary.replace(target)
    _wal(target).unlink(missing_ok=True)


def _wal(database: Path) -> Path:
    return database.with_name(f"{database.name}.wal")


def _add_lake(
    con: duckdb.DuckDBPyConnection, lake: Path, *, copy_all: bool
) -> tuple[dict[str, int], list[str]]:
    rows: dict[str, int] = {}
    bulk: list[str] = []
    present = tables_of(lake)
    for name in [*TABLES, *(name for name in present if name not in TABLES)]:
        table = TABLES.get(name)
        is_view = table is not None and table.is_bulk and not copy_all and name in present
        source = scan_all(lake, name) if name in present or table is None else table.empty_sql()
        if is_view:
            con.execute(f"CREATE VIEW {quoted(name)} AS {source}")
            bulk.append(name)
        else:
            con.execute(f"CREATE TABLE {quoted(name)} AS {source}")
            rows[name] = _count(con, name)
        if table is not None:
            _comment(con, table, "VIEW" if is_view else "TABLE")
    return rows, bulk


def _add_ledger(con: duckdb.DuckDBPyConnection, ledger: Ledger, at: datetime) -> dict[str, int]:
    with ledger.reading() as source:
        contents = [
            (entry.table, [tuple(row) for row in source.execute(entry.query)])
            for entry in LEDGER_TABLES
        ]
    problems = ledger.verify_chain()
    facts = [
        ("built_at", at.astimezone(UTC).isoformat(timespec="seconds")),
        ("pipeline_version", __version__),
        ("duckdb_version", duckdb.__version__),
        ("chain_head", ledger.chain_head()),
        ("chain_problems", "; ".join(problems) or "none"),
    ]
    contents += life_tables(ledger)
    for table, records in [*contents, (AUDIT_INFO, facts)]:
        con.execute(f"CREATE TABLE {quoted(table.name)} AS {table.empty_sql()}")
        if records:
            columns = [(column.name, column.type) for column in table.columns]
            insert_columns(con, quoted(table.name), columns, records)
        _comment(con, table, "TABLE")
    return {table.name: len(records) for table, records in contents} | {AUDIT_INFO.name: len(facts)}


def _add_views(con: duckdb.DuckDBPyConnection) -> tuple[list[str], dict[str, str]]:
    """The ready-made views; the first line of each file is its comment."""
    made: list[str] = []
    left_out: dict[str, str] = {}
    folder = files("fabric_pipeline.store") / "views"
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if not entry.name.endswith(".sql"):
            continue
        name = entry.name.removesuffix(".sql")
        says, _, query = entry.read_text(encoding="utf-8").partition("\n")
        try:
            con.execute(f"CREATE VIEW {quoted(name)} AS {query}")
        except (duckdb.BinderException, duckdb.CatalogException) as error:
            left_out[name] = str(error)
            continue
        con.execute(f"COMMENT ON VIEW {quoted(name)} IS {literal(says.lstrip('- '))}")
        made.append(name)
    return made, left_out


def _comment(con: duckdb.DuckDBPyConnection, table: Table, kind: str) -> None:
    says = f"{table.description} One row: {table.grain}."
    con.execute(f"COMMENT ON {kind} {quoted(table.name)} IS {literal(says)}")
    present = {row[0] for row in con.execute(f"DESCRIBE {quoted(table.name)}").fetchall()}
    for column in table.columns:
        if column.name in present:
            con.execute(
                f"COMMENT ON COLUMN {quoted(table.name)}.{quoted(column.name)} "
                f"IS {literal(column.description)}"
            )


def _count(con: duckdb.DuckDBPyConnection, table: str) -> int:
    return int(con.execute(f"SELECT count(*) FROM {quoted(table)}").fetchall()[0][0])
