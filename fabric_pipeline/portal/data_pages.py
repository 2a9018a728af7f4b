"""Pages `/data` and `/audit/query`: the audit file as tables, and questions to it in SQL.

Reading, limits and fences are those of `workflows.audit_browse` and `store.audit_query`; nothing here can
write.
"""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fabric_pipeline.errors import FabricError, NotFoundError, UsageError
from fabric_pipeline.portal.audit_pages import page_number
from fabric_pipeline.portal.csv_answer import csv_answer
from fabric_pipeline.portal.incident_pages import shown_view
from fabric_pipeline.portal.pages import chosen_drop, page, portal_of
from fabric_pipeline.store.audit_query import QueryResult
from fabric_pipeline.workflows.audit_browse import (
    CELL_CHARS,
    CSV_ROWS,
    QUERY_ROWS,
    QUERY_TIMEOUT_S,
    ROWS_ON_PAGE,
    AuditTable,
    Match,
    Wanted,
    ask,
    audit_table,
    audit_tables,
    browse,
    download,
    sql_of,
)
from fabric_pipeline.workflows.audit_questions import QUESTIONS
from fabric_pipeline.workflows.dossier_bag import shown

GROUPS = {
    "question": ("Questions", "Views that answer what auditors ask first."),
    "ledger": (
        "Decided",
        "What the ledger records: drafts, edits, decisions, publications, repairs, and what follows.",
    ),
    "lake": ("Found", "What the runs wrote: telemetry as read, what was detected, incidents."),
}
_MATCHES = {"contains": "contains", "is": "is", "empty": "is empty"}
_MAX_TEXT = 400
# A cell in a table shows its beginning; the CSV of the table has all of it.
_MAX_CELL = 240
_LONG_CELL = 70
_OUR_QUESTIONS = frozenset(one.sql for one in QUESTIONS)
_MUST_BE_EMPTY = frozenset(one.sql for one in QUESTIONS if one.why.startswith("Must be empty"))


def _tables(request: Request) -> Response:
    tables = audit_tables(portal_of(request).settings)
    groups = [
        (title, says, [table for table in tables if table.group == group])
        for group, (title, says) in GROUPS.items()
    ]
    return page(
        request,
        "data.html",
        tab="audit",
        view=shown_view(request, chosen_drop(request)),
        groups=groups,
        built=_built(request),
    )


def _table(request: Request) -> Response:
    settings = portal_of(request).settings
    table = audit_table(settings, request.path_params["table"])
    wanted = _wanted(request)
    found = browse(settings, table, wanted)
    return page(
        request,
        "data_table.html",
        tab="audit",
        view=shown_view(request, chosen_drop(request)),
        table=table,
        wanted=wanted,
        found=found,
        matches=_MATCHES,
        first=(wanted.page - 1) * ROWS_ON_PAGE,
        address=lambda **new: _address(table, wanted, **new),
        csv=f"/data/{table.name}.csv?{urlencode(_kept(wanted))}",
        csv_rows=CSV_ROWS,
        ask=f"/audit/query?{urlencode({'sql': sql_of(table, wanted)})}",
        cell=shown_cell,
        long=_LONG_CELL,
    )


def _table_csv(request: Request) -> Response:
    settings = portal_of(request).settings
    table = audit_table(settings, request.path_params["table"])
    answer = download(settings, table, _wanted(request))
    return csv_answer(table.name, answer.columns, answer.rows, is_cut=answer.truncated)


def _query(request: Request) -> Response:
    sql = request.query_params.get("sql", "").strip()
    answer, problem, status = _answer(request, sql)
    return page(
        request,
        "audit_query.html",
        tab="audit",
        view=shown_view(request, chosen_drop(request)),
        status=status,
        sql=sql,
        answer=answer,
        must_be_empty=sql in _MUST_BE_EMPTY,
        problem=problem,
        csv=f"/audit/query.csv?{urlencode({'sql': sql})}",
        questions=[(one, f"/audit/query?{urlencode({'sql': one.sql})}") for one in QUESTIONS],
        views=_views(request),
        rows=QUERY_ROWS,
        seconds=QUERY_TIMEOUT_S,
        cell_chars=CELL_CHARS,
        cell=shown_cell,
        long=_LONG_CELL,
    )


def _query_csv(request: Request) -> Response:
    sql = request.query_params.get("sql", "")
    answer = _asked(request, sql, CELL_CHARS)
    return csv_answer("answer", answer.columns, answer.rows, is_cut=answer.truncated)


def _answer(request: Request, sql: str) -> tuple[QueryResult | None, FabricError | None, int]:
    if not sql:
        return None, None, 200
    try:
        answer = ask(portal_of(request).settings, sql, cell_chars=_MAX_CELL + 1, is_typed=True)
        return answer, None, 200
    except FabricError as error:
        return None, error, 404 if isinstance(error, NotFoundError) else 400


def _asked(request: Request, sql: str, cell_chars: int) -> QueryResult:
    """The answer; what is not one of our own questions is asked in a process of its own."""
    return ask(
        portal_of(request).settings, sql, cell_chars=cell_chars, is_typed=sql not in _OUR_QUESTIONS
    )


def _views(request: Request) -> list[AuditTable]:
    try:
        tables = audit_tables(portal_of(request).settings)
    except FabricError:
        return []
    return [table for table in tables if table.group == "question"]


def _built(request: Request) -> dict[str, str]:
    """What the file says of itself."""
    try:
        return dict(ask(portal_of(request).settings, "select fact, value from audit_info").rows)
    except FabricError:
        return {}


def _wanted(request: Request) -> Wanted:
    asked = request.query_params
    match = asked.get("match", "contains")
    if match not in _MATCHES:
        raise UsageError(
            f"rows cannot be matched by {match[:40]!r}", f"ways: {', '.join(_MATCHES)}"
        )
    return Wanted(
        sort=asked.get("sort", ""),
        is_descending=asked.get("order") == "desc",
        column=asked.get("column", ""),
        match=cast(Match, match),
        text=asked.get("text", "")[:_MAX_TEXT],
        page=page_number(asked.get("page", "1")),
    )


def _kept(wanted: Wanted) -> dict[str, str]:
    fields = {
        "sort": wanted.sort,
        "order": "desc" if wanted.is_descending else "",
        "column": wanted.column,
        "match": wanted.match if wanted.column else "",
        "text": wanted.text,
    }
    return {name: value for name, value in fields.items() if value}


def _address(table: AuditTable, wanted: Wanted, **new: str | int) -> str:
    fields = {**_kept(wanted), **{name: str(value) for name, value in new.items()}}
    return f"/data/{table.name}?{urlencode({name: v for name, v in fields.items() if v})}"


def shown_cell(value: Any) -> str:
    """A cell in one line of a table: what is not printable spelt out, the end cut off."""
    text = "" if value is None else str(value)
    return shown(text) if len(text) <= _MAX_CELL else f"{shown(text[:_MAX_CELL])}…"


ROUTES = [
    Route("/data", _tables),
    Route("/data/{table}.csv", _table_csv),
    Route("/data/{table}", _table),
    Route("/audit/query", _query),
    Route("/audit/query.csv", _query_csv),
]
