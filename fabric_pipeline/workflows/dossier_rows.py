"""The rows an incident rests on, as CSV and Parquet, with the SQL that found them.

Each query is bounded; how many rows match and how many were written is said beside it. Reading the CSV
back belongs here as well, so that both directions share one rule for hostile cells.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.schemas.table import Column, Table
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.store.duck import literal, quoted, scalar
from fabric_pipeline.workflows.dossier_scope import Scope, by_ends, by_lines, by_nodes, by_runs

ROW_FOLDER = "rows"
# Rows of one table in one dossier: two link ends with ten counters each, sampled every 15 s for a
# day, are 115,200; a table that has more is cut and says so.
MAX_ROWS = 150_000
# A cell that starts with one of these may be run as a formula; it gets one ' in front. The
# quote is in the list itself so that taking one away always gives the text back.
FORMULA_STARTS = "=+-@'\t\r\n"
_MAX_CELL = 1 << 24  # characters; the list of the nodes of a large run is one cell

_CONDITIONS: dict[str, tuple[Callable[[Scope], list[str]], ...]] = {
    "raw_telemetry": (by_ends, by_lines),
    "link_counters": (by_ends, by_lines),
    "spike_detections": (by_ends,),
    "stragglers": (by_runs,),
    "straggler_correlations": (by_runs, by_ends),
    "fabric_events": (by_ends, by_nodes, by_lines),
    "collective_timings": (by_runs, by_lines),
}
ROW_TABLES = tuple(_CONDITIONS)


@dataclass(frozen=True, slots=True)
class RowSet:
    """What was written of one table. `in_lake` is False when the drop has no such table."""

    table: str
    sql: str
    matched: int
    written: int
    bound: int
    in_lake: bool

    @property
    def is_complete(self) -> bool:
        """True when no matching row was left out."""
        return self.in_lake and self.written == self.matched

    def facts(self) -> dict[str, Any]:
        """Counts for `lineage.json`."""
        return {key: value for key, value in asdict(self).items() if key not in ("table", "sql")}


def picked(table: str) -> str:
    """Name of the relation in the connection that holds the rows picked from a table."""
    return f"picked_{table}"


def pick_rows(
    connection: Any, scope: Scope, present: set[str], bound: int = MAX_ROWS
) -> list[RowSet]:
    """Make a relation `picked_<table>` of every table of a dossier.

    The relations named in `present` exist in the connection; a table that does not is empty.
    """
    return [_pick(connection, TABLES[name], scope, name in present, bound) for name in ROW_TABLES]


def take_recorded(connection: Any, scope: Scope, facts: Mapping[str, Any]) -> list[RowSet]:
    """Make the relations `picked_<table>` from `recorded_<table>`, the rows of a dossier itself.

    `facts` are the counts of `lineage.json` by table; raises KeyError or TypeError for another shape.
    """
    taken = []
    for name in ROW_TABLES:
        connection.execute(f"create or replace temp table {picked(name)} as from recorded_{name}")
        one = facts[name]
        matched, written, bound = (int(one[key]) for key in ("matched", "written", "bound"))
        sql = _sql(TABLES[name], _where(TABLES[name], scope), bound)
        taken.append(RowSet(name, sql, matched, written, bound, bool(one["in_lake"])))
    return taken


def write_rows(connection: Any, folder: Path) -> None:
    """Write every picked relation as `<table>.csv` and `<table>.parquet`."""
    folder.mkdir()
    for name in ROW_TABLES:
        columns = ", ".join(_csv_cell(column) for column in TABLES[name].columns)
        csv_file, parquet = (literal(str(folder / f"{name}.{end}")) for end in ("csv", "parquet"))
        connection.execute(
            f"copy (select {columns} from {picked(name)}) to {csv_file} (format csv, header)"
        )
        connection.execute(
            f"copy {picked(name)} to {parquet} (format parquet, compression zstd)"
        ).fetchall()


def queries_text(rows: list[RowSet]) -> str:
    """The file `queries.sql`: every query with its parameters written out."""
    head = (
        "-- The queries that picked the rows of this dossier, parameters included. They run on\n"
        "-- audit.duckdb (`duckdb -readonly audit.duckdb < queries.sql`) as they stand.\n"
    )
    return head + "".join(f"\n-- {_said(one)}\n{one.sql};\n" for one in rows)


def load_csv(connection: Any, path: Path, table: Table, name: str) -> int:
    """Read `<table>.csv` of a dossier into a new relation; returns the number of rows.

    Raises ValueError when the columns are not the table's, csv.Error or a database error when a row
    cannot be read.
    """
    connection.execute(f"create or replace temp table {quoted(name)} as {table.empty_sql()}")
    usual_limit = csv.field_size_limit(_MAX_CELL)
    try:
        with path.open(encoding="utf-8", newline="") as handle:
            reader = csv.reader(handle, strict=True)
            if tuple(next(reader, [])) != table.column_names:
                raise ValueError(f"{path.name}: its columns are not those of {table.name}")
            rows = list(_typed(reader, table))
    finally:
        csv.field_size_limit(usual_limit)
    columns = [(column.name, column.type) for column in table.columns]
    insert_columns(connection, quoted(name), columns, rows)
    return len(rows)


def _pick(connection: Any, table: Table, scope: Scope, in_lake: bool, bound: int) -> RowSet:
    where = _where(table, scope)
    sql = _sql(table, where, bound)
    source = sql if in_lake else table.empty_sql()
    connection.execute(f"create or replace temp table {picked(table.name)} as {source}")
    written = int(scalar(connection, f"select count(*) from {picked(table.name)}"))
    matched = written
    if written == bound:
        matched = int(scalar(connection, f"select count(*) from {table.name} where {where}"))
    return RowSet(table.name, sql, matched, written, bound, in_lake)


def _where(table: Table, scope: Scope) -> str:
    terms = [term for condition in _CONDITIONS[table.name] for term in condition(scope)]
    return f'"drop" = {literal(scope.drop)} and ({" or ".join(terms) or "false"})'


def _sql(table: Table, where: str, bound: int) -> str:
    order = dict.fromkeys((*table.key, *table.column_names))  # total, so that a rebuild is the same
    return (
        f"select {', '.join(quoted(name) for name in table.column_names)}\nfrom {table.name}\n"
        f"where {where}\norder by {', '.join(quoted(name) for name in order)}\nlimit {bound}"
    )


def _said(one: RowSet) -> str:
    if not one.in_lake:
        return f"{one.table}: the drop has no such table; nothing to pick from"
    if one.is_complete:
        return f"{one.table}: {one.written} rows, all that match (bound {one.bound})"
    return f"{one.table}: CUT, the first {one.written} of {one.matched} matching rows"


def _csv_cell(column: Column) -> str:
    name = quoted(column.name)
    if column.type != "VARCHAR":
        return name
    starts = " || ".join(
        f"chr({ord(ch)})" if not ch.isprintable() else literal(ch) for ch in FORMULA_STARTS
    )
    return (
        f"case when {name} <> '' and contains({starts}, left({name}, 1)) "
        f"then '''' || {name} else {name} end as {name}"
    )


def _typed(reader: Iterator[list[str]], table: Table) -> Iterator[list[str | None]]:
    """Cells as text or None: an empty cell is None except in a text column that is never empty."""
    keeps_empty = [column.type == "VARCHAR" and not column.nullable for column in table.columns]
    is_text = [column.type == "VARCHAR" for column in table.columns]
    for cells in reader:
        if len(cells) != len(keeps_empty):
            raise ValueError(
                f"{table.name}: a row has {len(cells)} cells instead of {len(is_text)}"
            )
        yield [
            None if cell == "" and not keep else cell[1:] if text and cell[:1] == "'" else cell
            for cell, keep, text in zip(cells, keeps_empty, is_text, strict=True)
        ]
