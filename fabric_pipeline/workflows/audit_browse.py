"""Reading `audit.duckdb` page by page: its tables and views with comments, rows sorted and filtered.

Everything goes through `store.audit_query`, which writes nothing and ends in time. Cells come back as
texts, None for empty ones.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fabric_pipeline.errors import FabricError, NotFoundError, UsageError
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.audit_apart import query_apart
from fabric_pipeline.store.audit_query import QueryResult, query
from fabric_pipeline.store.duck import literal, quoted

QUERY_TIMEOUT_S = 5.0
QUERY_ROWS = 1_000
# A record of an incident as JSON has some 40,000 characters. A thousand rows of this stay below 100 MB.
CELL_CHARS = 100_000
# Longer than any cell that is written: the tables themselves bound what a download holds.
CSV_CELL_CHARS = 10_000_000
MEMORY_MB = 1_024
ROWS_ON_PAGE = 50
CSV_ROWS = 100_000
CSV_TIMEOUT_S = 20.0
MAX_SQL = 20_000
_AT_ONCE = threading.BoundedSemaphore(2)
_PATIENCE_S = 10.0
_KEPT_LISTS = 4

Match = Literal["contains", "is", "empty"]


@dataclass(frozen=True, slots=True)
class AuditColumn:
    """One column as the file describes it."""

    name: str
    type: str
    comment: str


@dataclass(frozen=True, slots=True)
class AuditTable:
    """One table or view; `rows` is None where they could not be counted in time."""

    name: str
    is_view: bool
    comment: str
    columns: tuple[AuditColumn, ...]
    rows: int | None

    @property
    def group(self) -> str:
        """`question` for ready-made views, `ledger` and `lake` for what they are read from."""
        if self.is_view and self.name not in TABLES:
            return "question"
        is_decided = self.name.startswith("ledger_") or self.name in _DECIDED
        return "ledger" if is_decided else "lake"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows of a table: sorted by a column, and those that match in one."""

    sort: str = ""
    is_descending: bool = False
    column: str = ""
    match: Match = "contains"
    text: str = ""
    page: int = 1


@dataclass(frozen=True, slots=True)
class TablePage:
    """Rows of one page; `matching` are all rows that match, None where they could not be counted."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    page: int
    has_more: bool
    matching: int | None


_DECIDED = ("audit_info", "incident_life", "repair_outcomes")


def ask(
    settings: Settings,
    sql: str,
    *,
    limit: int = QUERY_ROWS,
    timeout_s: float = QUERY_TIMEOUT_S,
    cell_chars: int = CELL_CHARS,
    is_typed: bool = False,
) -> QueryResult:
    """Answer to one question of a person. Two run at once; a third one waits, then is refused.

    A question that a person typed (`is_typed`) runs in a process of its own, which can be ended.
    """
    if len(sql) > MAX_SQL:
        raise UsageError(f"the question is longer than {MAX_SQL:,} characters", "shorten it")
    if not sql.strip():
        raise UsageError("there is no question", "write one SELECT")
    if not _AT_ONCE.acquire(timeout=_PATIENCE_S):
        raise FabricError("two other questions are still running", "ask again in a moment")
    asked = query_apart if is_typed else query
    try:
        return asked(
            settings,
            sql,
            limit=limit,
            timeout_s=timeout_s,
            cell_chars=cell_chars,
            memory_mb=MEMORY_MB,
        )
    finally:
        _AT_ONCE.release()


def audit_tables(settings: Settings) -> list[AuditTable]:
    """All tables and views of the present audit file, the ready-made questions first."""
    key = (settings.audit, _stamp(settings.audit))
    with _LOCK:
        known = _LISTS.get(key)
    if known is not None:
        return known
    tables = _described(settings)
    with _LOCK:
        _LISTS[key] = tables
        while len(_LISTS) > _KEPT_LISTS:
            _LISTS.popitem(last=False)
    return tables


def audit_table(settings: Settings, name: str) -> AuditTable:
    """One table or view by name; NotFoundError when the file has none of that name."""
    for table in audit_tables(settings):
        if table.name == name:
            return table
    raise NotFoundError(f"the audit file has no table {name[:80]!r}", "choose one from the list")


def browse(settings: Settings, table: AuditTable, wanted: Wanted) -> TablePage:
    """One page of a table."""
    where = _where(table, wanted)
    first = (wanted.page - 1) * ROWS_ON_PAGE
    sql = f"{_select(table, wanted, where)} limit {ROWS_ON_PAGE + 1} offset {first}"
    answer = ask(settings, sql, limit=ROWS_ON_PAGE)
    matching = table.rows
    if where:
        matching = _counted(settings, f"select count(*) from {quoted(table.name)}{where}")
    return TablePage(answer.columns, answer.rows, wanted.page, answer.truncated, matching)


def download(settings: Settings, table: AuditTable, wanted: Wanted) -> QueryResult:
    """All rows that match, up to `CSV_ROWS`, with whole cells."""
    sql = _select(table, wanted, _where(table, wanted))
    return ask(settings, sql, limit=CSV_ROWS, timeout_s=CSV_TIMEOUT_S, cell_chars=CSV_CELL_CHARS)


def sql_of(table: AuditTable, wanted: Wanted) -> str:
    """The question behind a page, to ask it further by hand."""
    return _select(table, wanted, _where(table, wanted))


def _select(table: AuditTable, wanted: Wanted, where: str) -> str:
    sql = f"select * from {quoted(table.name)}{where}"
    if wanted.sort:
        way = " desc" if wanted.is_descending else ""
        sql += f" order by {quoted(_column(table, wanted.sort))}{way} nulls last"
    return sql


def _where(table: AuditTable, wanted: Wanted) -> str:
    if not wanted.column or (wanted.match != "empty" and not wanted.text):
        return ""
    cell = f"cast({quoted(_column(table, wanted.column))} as varchar)"
    if wanted.match == "empty":
        return f" where coalesce({cell}, '') = ''"
    if wanted.match == "is":
        return f" where {cell} = {literal(wanted.text)}"
    return f" where contains(lower({cell}), lower({literal(wanted.text)}))"


def _column(table: AuditTable, name: str) -> str:
    if name not in {column.name for column in table.columns}:
        raise UsageError(
            f"{table.name} has no column {name[:80]!r}",
            f"columns: {', '.join(column.name for column in table.columns)}",
        )
    return name


_DESCRIBE = """
select t.name, t.is_view, coalesce(t.comment, ''), c.column_name, c.data_type, coalesce(c.comment, '')
from (
    select table_name as name, false as is_view, comment from duckdb_tables() where database_name = 'audit' and not internal
    union all select view_name, true, comment from duckdb_views() where database_name = 'audit' and not internal
) t join duckdb_columns() c on c.table_name = t.name and c.database_name = 'audit' order by t.name, c.column_index
"""


def _described(settings: Settings) -> list[AuditTable]:
    found: dict[str, tuple[bool, str, list[AuditColumn]]] = {}
    for name, is_view, comment, *column in ask(settings, _DESCRIBE, limit=20_000).rows:
        columns = found.setdefault(name, (is_view == "true", comment or "", []))[2]
        columns.append(AuditColumn(column[0], column[1], column[2] or ""))
    rows = _row_counts(settings, list(found))
    tables = [
        AuditTable(name, is_view, comment, tuple(columns), rows.get(name))
        for name, (is_view, comment, columns) in found.items()
    ]
    return sorted(tables, key=lambda table: (_GROUPS.index(table.group), table.name))


_GROUPS = ("question", "ledger", "lake")


def _row_counts(settings: Settings, names: Sequence[str]) -> dict[str, int]:
    """All in one question; one by one when a view among them cannot be read."""
    single = {name: f"select count(*) from {quoted(name)}" for name in names}
    together = " union all ".join(
        f"select {literal(name)} as name, ({sql}) as n" for name, sql in single.items()
    )
    try:
        answer = ask(settings, together, limit=len(names) + 1) if names else None
        return {name: int(count) for name, count in answer.rows} if answer else {}
    except FabricError:
        counted = {name: _counted(settings, sql) for name, sql in single.items()}
        return {name: count for name, count in counted.items() if count is not None}


def _counted(settings: Settings, sql: str) -> int | None:
    try:
        return int(ask(settings, sql, limit=1).rows[0][0])
    except FabricError:
        return None


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise NotFoundError(
            "there is no audit file yet", "run the pipeline on a drop: it builds the file"
        ) from error
    return found.st_ino, found.st_mtime_ns, found.st_size


_LISTS: OrderedDict[tuple[Path, tuple[int, int, int]], list[AuditTable]] = OrderedDict()
_LOCK = threading.Lock()
