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

import duckdb

from fabric_pipeline import __version__
from fabric_pipeline.errors import FabricError, UsageError
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.schemas.table import Table
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.audit_life import life_tables
from fabric_pipeline.store.audit_state import (
    AuditState,
    LakeState,
    LedgerState,
    fingerprint,
    forget_state,
    identity,
    lake_now,
    ledger_now,
    load_state,
    save_state,
)
from fabric_pipeline.store.audit_tables import AUDIT_INFO, LEDGER_TABLES
from fabric_pipeline.store.audit_update import update
from fabric_pipeline.store.audit_write import (
    attach_new,
    comment,
    count,
    detach,
    fill,
    is_viewed,
    make,
    swap,
    temporary_of,
    wal,
)
from fabric_pipeline.store.duck import connect, literal, quoted
from fabric_pipeline.store.filelock import locked
from fabric_pipeline.store.lake import scan_all, tables_of
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.store.verified_head import verify

_BATCH = 2_000  # rows of the ledger in memory at once; a record can have 40 kB


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


def rebuild_audit(
    settings: Settings,
    *,
    at: datetime | None = None,
    anew: bool = False,
    whole_chain: bool = False,
) -> AuditBuilt:
    """Bring `audit.duckdb` up to lake and ledger and swap it in. Missing tables are empty.

    It is made from the last one where that fits, else from nothing; with `anew` always from nothing.
    `whole_chain` verifies all of the ledger's chain, as `anew` does, else what is new in it. Processes that
    rebuild at the same time take turns; readers keep the file they opened.
    """
    when = at or datetime.now(UTC)
    with locked(settings.home / ".audit.lock"):
        for leftover in settings.home.glob(f".{settings.audit.name}.*.tmp*"):
            leftover.unlink(missing_ok=True)  # of a build that was killed: none runs now
        state = None if anew else load_state(settings)
        now = lake_now(settings.lake, state.lake if state is not None else None)
        whole = anew or whole_chain
        built = _renewed(settings, state, now, when, whole=whole) if state is not None else None
        return built or _rebuilt(settings, now, when, whole=whole)


def export(
    settings: Settings, out: Path, *, overwrite: bool = False, at: datetime | None = None
) -> AuditBuilt:
    """Write one file that needs no other: the same tables and views with every row copied."""
    if out.exists() and not (overwrite and out.is_file()):
        raise UsageError(f"{out} exists already", "name another file or ask to overwrite it")
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_of(out)
    try:
        facts = _facts(
            settings, at or datetime.now(UTC), "from nothing, every row copied", whole=True
        )
        built, _ = _build(settings, out, temporary, facts, copy_all=True)
        swap(temporary, out)
    finally:
        _clear(temporary)
    return built


def _renewed(
    settings: Settings, state: AuditState, now: LakeState, at: datetime, *, whole: bool
) -> AuditBuilt | None:
    """The next file from the last one; None when it has to be built anew."""
    started = time.monotonic()
    temporary = temporary_of(settings.audit)

    def info(partitions: int, rows: int) -> tuple[Table, list[tuple[str, str]]]:
        made = (
            f"from the file of {state.built_at}: {partitions} partitions of the lake read again, "
            f"{rows} rows of the ledger added or replaced"
        )
        return AUDIT_INFO, _facts(settings, at, made, whole=whole)

    try:
        updated = update(settings, state, now, temporary, info)
        if updated is None:
            return None
        _put_in_place(settings, temporary, at, {}, now, updated.ledger)
    except (duckdb.Error, OSError):
        return None  # building anew says what is wrong, if anything is
    finally:
        _clear(temporary)
    seconds = time.monotonic() - started
    return AuditBuilt(settings.audit, updated.rows, tuple(updated.views), {}, seconds)


def _rebuilt(settings: Settings, now: LakeState, at: datetime, *, whole: bool) -> AuditBuilt:
    temporary = temporary_of(settings.audit)
    try:
        facts = _facts(settings, at, "from nothing: every table was read", whole=whole)
        built, ledger = _build(settings, settings.audit, temporary, facts, copy_all=False)
        _put_in_place(settings, temporary, at, built.left_out, now, ledger)
    finally:
        _clear(temporary)
    return built


def _put_in_place(
    settings: Settings,
    temporary: Path,
    at: datetime,
    left_out: Mapping[str, str],
    lake: LakeState,
    ledger: LedgerState,
) -> None:
    """Swap the file in. Between the two files that belong together nothing is known of either."""
    forget_state(settings)
    swap(temporary, settings.audit)
    fits, file = fingerprint(settings), identity(settings.audit)
    save_state(settings, AuditState(fits, file, _second(at), left_out, lake, ledger))


def _build(
    settings: Settings,
    target: Path,
    temporary: Path,
    facts: list[tuple[str, str]],
    *,
    copy_all: bool,
) -> tuple[AuditBuilt, LedgerState]:
    """Everything, from nothing; `target` is only named."""
    started = time.monotonic()
    try:
        with closing(connect()) as con:
            attach_new(con, temporary)
            con.execute("BEGIN")  # one write to the disk instead of one for each statement
            rows, bulk = _add_lake(con, settings.lake, copy_all=copy_all)
            added, ledger = _add_ledger(con, Ledger(settings.ledger))
            make(con, AUDIT_INFO, facts)
            con.execute("COMMIT")
            views, left_out = _add_views(con)
            detach(con)
    except duckdb.Error as error:
        raise FabricError(
            f"the audit file {target} could not be built: {error}",
            "the file that was there is unchanged; run the named drop again or check the disk",
        ) from error
    rows = rows | added | {AUDIT_INFO.name: len(facts)}
    seconds = time.monotonic() - started
    return AuditBuilt(target, rows, tuple(sorted([*bulk, *views])), left_out, seconds), ledger


def _facts(settings: Settings, at: datetime, made: str, *, whole: bool) -> list[tuple[str, str]]:
    """The rows of `audit_info`."""
    found = verify(Ledger(settings.ledger), at, whole=whole)
    return [
        ("built_at", _second(at)),
        ("pipeline_version", __version__),
        ("duckdb_version", duckdb.__version__),
        ("chain_head", found.check.state.head),
        ("chain_problems", "; ".join(found.check.problems) or "none"),
        ("chain_verified", found.words),
        ("made", made),
    ]


def _second(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds")


def _clear(temporary: Path) -> None:
    for leftover in (temporary, wal(temporary)):
        leftover.unlink(missing_ok=True)


def _add_lake(
    con: duckdb.DuckDBPyConnection, lake: Path, *, copy_all: bool
) -> tuple[dict[str, int], list[str]]:
    rows: dict[str, int] = {}
    bulk: list[str] = []
    present = tables_of(lake)
    for name in [*TABLES, *(name for name in present if name not in TABLES)]:
        table = TABLES.get(name)
        is_view = is_viewed(name) and not copy_all and name in present
        source = scan_all(lake, name) if name in present or table is None else table.empty_sql()
        if is_view:
            con.execute(f"CREATE VIEW {quoted(name)} AS {source}")
            bulk.append(name)
        else:
            con.execute(f"CREATE TABLE {quoted(name)} AS {source}")
            rows[name] = count(con, name)
        if table is not None:
            comment(con, table, "VIEW" if is_view else "TABLE")
    return rows, bulk


def _add_ledger(
    con: duckdb.DuckDBPyConnection, ledger: Ledger
) -> tuple[dict[str, int], LedgerState]:
    rows: dict[str, int] = {}
    with ledger.reading() as source:
        state = ledger_now(source)
        for entry in LEDGER_TABLES:
            make(con, entry.table, [])
            found = source.execute(entry.query)
            while batch := found.fetchmany(_BATCH):
                fill(con, entry.table, [tuple(row) for row in batch])
            rows[entry.table.name] = count(con, entry.table.name)
    for table, records in life_tables(ledger):
        make(con, table, records)
        rows[table.name] = len(records)
    return rows, state


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
