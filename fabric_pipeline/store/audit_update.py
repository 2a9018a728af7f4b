"""Makes the next audit file from the last one: only what changed in lake and ledger since is read.

The outcome is the same as that of the whole build, row for row, in another order. What the last file was
made from is kept by `audit_state`; when anything does not fit, the answer is None and `audit` builds anew.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.audit_life import life_tables
from fabric_pipeline.store.audit_state import (
    AuditState,
    LakeState,
    LedgerState,
    Stamps,
    continues,
    ledger_now,
    renewed,
)
from fabric_pipeline.store.audit_tables import LEDGER_TABLES, LedgerTable
from fabric_pipeline.store.audit_write import attach_new, comment, count, detach, fill, make
from fabric_pipeline.store.duck import connect, quoted
from fabric_pipeline.store.lake import attach_drops, parts_of
from fabric_pipeline.store.ledger import Ledger

# From so many drops on that changed in one table (and a quarter of all) building anew is no slower.
_MANY = 500
_TOUCHED = """
SELECT incident_id FROM incident_observations WHERE seq > :incident_observations
UNION SELECT incident_id FROM link_checks WHERE seq > :link_checks
UNION SELECT incident_id FROM repairs WHERE seq > :repairs
"""


@dataclass(frozen=True, slots=True)
class Updated:
    """What was carried over: partitions read again, rows of the ledger added, rows of all copied tables."""

    partitions: int
    ledger_rows: int
    rows: Mapping[str, int]
    views: Sequence[str]
    ledger: LedgerState


@dataclass(frozen=True, slots=True)
class _Difference:
    """Of one copied table: drops to read again, and drops whose rows go."""

    read: Sequence[str]
    gone: Sequence[str]


def update(
    settings: Settings, state: AuditState, now: LakeState, temporary: Path, info: Any
) -> Updated | None:
    """Write the next audit file to `temporary`; None when it has to be built anew.

    `info` gives the rows of `audit_info` for (partitions, ledger rows).
    """
    differences = _differences(state.lake, now)
    if differences is None or state.left_out:
        return None
    ledger = Ledger(settings.ledger)
    with ledger.reading() as source:
        ledger_state = ledger_now(source)
        if not continues(source, state.ledger, ledger_state):
            return None
        grown = [(entry, _rows_since(source, entry, state.ledger.last)) for entry in LEDGER_TABLES]
        touched = {row["incident_id"] for row in source.execute(_TOUCHED, state.ledger.last)}
    shutil.copyfile(settings.audit, temporary)
    with closing(connect()) as con:
        attach_new(con, temporary)
        con.execute("BEGIN")  # one write to the disk instead of one for each statement
        for name, difference in differences.items():
            if not _carry_over(con, settings.lake, name, difference):
                return None
        _redraw(con, state.lake.viewed, now.viewed)
        added = sum(_add_ledger(con, entry, rows) for entry, rows in grown)
        _add_life(con, ledger, touched)
        partitions = sum(len(one.read) + len(one.gone) for one in differences.values())
        table, facts = info(partitions, added)
        make(con, table, facts)
        con.execute("COMMIT")
        rows = {name: count(con, name) for name in _names(con, "duckdb_tables()", "table_name")}
        views = _names(con, "duckdb_views()", "view_name")
        detach(con)
    return Updated(partitions, added, rows, views, ledger_state)


def _differences(before: LakeState, now: LakeState) -> dict[str, _Difference] | None:
    """None when tables came or went: their columns, or what is a view, are then another matter."""
    if before.copied.keys() != now.copied.keys() or before.viewed.keys() != now.viewed.keys():
        return None
    found = {name: _difference(before.copied[name], now.copied[name]) for name in now.copied}
    for name, one in found.items():
        changed = len(one.read) + len(one.gone)
        if changed > _MANY and changed * 4 > len(now.copied[name]):
            return None
    return {name: one for name, one in found.items() if one.read or one.gone}


def _difference(before: Stamps, now: Stamps) -> _Difference:
    return _Difference(sorted(renewed(before, now)), sorted(before.keys() - now.keys()))


def _carry_over(
    con: duckdb.DuckDBPyConnection, lake: Path, name: str, difference: _Difference
) -> bool:
    """Put the rows of changed drops in the place of the old ones; False for other columns."""
    there = [drop for drop in difference.read if parts_of(lake, name, drop)]
    if there:
        attach_drops(con, lake, name, there, as_name="renewed")
        if _columns(con, "renewed") != _columns(con, f"audit.{quoted(name)}"):
            return False
    out = [*difference.read, *difference.gone]
    con.execute(f'DELETE FROM {quoted(name)} WHERE "drop" IN (SELECT unnest(?::VARCHAR[]))', [out])
    if there:
        con.execute(f"INSERT INTO {quoted(name)} BY NAME SELECT * FROM renewed")
    return True


def _columns(con: duckdb.DuckDBPyConnection, relation: str) -> dict[str, str]:
    return {row[0]: row[1] for row in con.execute(f"DESCRIBE {relation}").fetchall()}


def _redraw(
    con: duckdb.DuckDBPyConnection, before: Mapping[str, str], now: Mapping[str, str]
) -> None:
    """Views over drops that lie in several files name these files."""
    for name, source in now.items():
        if before[name] != source:
            con.execute(f"CREATE OR REPLACE VIEW {quoted(name)} AS {source}")
            comment(con, TABLES[name], "VIEW")


def _rows_since(source: Any, entry: LedgerTable, last: Mapping[str, int]) -> list[tuple[Any, ...]]:
    if not entry.grown:
        return [tuple(row) for row in source.execute(entry.query)]
    known = {**last, "last": last[entry.source]}
    return [tuple(row) for row in source.execute(entry.rows_since, known)]


def _add_ledger(
    con: duckdb.DuckDBPyConnection, entry: LedgerTable, rows: Sequence[tuple[Any, ...]]
) -> int:
    """Add rows; those that stand otherwise than before take the place of their old form."""
    name = quoted(entry.table.name)
    if not entry.grown:
        make(con, entry.table, rows)
        return 0
    if rows:
        numbers = [row[0] for row in rows]
        con.execute(f"DELETE FROM {name} WHERE seq IN (SELECT unnest(?::BIGINT[]))", [numbers])
        fill(con, entry.table, rows)
    return len(rows)


def _add_life(con: duckdb.DuckDBPyConnection, ledger: Ledger, touched: set[str]) -> None:
    if not touched:
        return
    for table, rows in life_tables(ledger, touched):
        con.execute(
            f"DELETE FROM {quoted(table.name)} WHERE incident_id IN (SELECT unnest(?::VARCHAR[]))",
            [sorted(touched)],
        )
        fill(con, table, rows)


def _names(con: duckdb.DuckDBPyConnection, catalogue: str, column: str) -> list[str]:
    sql = f"SELECT {column} FROM {catalogue} WHERE database_name = 'audit' AND NOT internal ORDER BY 1"
    return [row[0] for row in con.execute(sql).fetchall()]
