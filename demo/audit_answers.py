"""The questions of an auditor with their answers over one audit file, as SQL, as CSV and as one page.

Asked are the ready questions of the portal and every view that answers one by its name alone. Cells are
worded by DuckDB itself in UTC, so that its own command line gives the same CSV.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.audit_query import query
from fabric_pipeline.workflows.audit_browse import audit_tables
from fabric_pipeline.workflows.audit_questions import QUESTIONS

_CELL_CHARS = 10_000_000
# The folder from which a drop was read differs from machine to machine.
_LEFT_OUT = {"drop_overview": "path"}
_ROWS_ON_PAGE, _CHARS_ON_PAGE, _CHARS_IN_NAME = 16, 64, 48

_INTRO = """# What an auditor asks, and what the audit file answers

After the run of [the shipped drops](../README.md): one ticket approved and published, one waiting. Each question
is a file of SQL, each answer a CSV file beside it. Ask a file of your own the same:

```
duckdb -readonly -csv data/warehouse/audit.duckdb < data/examples/audit/QUESTION.sql
fabric-pipeline audit query --csv "$(cat data/examples/audit/QUESTION.sql)"
```

or press the question on the page `/audit/query` of the portal. Times are in UTC; `duckdb` words them in the time
zone of its machine. Long cells and long answers are cut here and whole in the CSV."""


class Answer(NamedTuple):
    """One question, its SQL and what it returns; `name` is that of its files."""

    name: str
    asks: str
    why: str
    sql: str
    columns: list[str]
    rows: list[tuple[str | None, ...]]


def answers(settings: Settings) -> list[Answer]:
    """Every question with its answer, the ready ones first."""
    asked = [
        (f"{number:02}-{_name(one.asks)}", one.asks, one.why, one.sql)
        for number, one in enumerate(QUESTIONS, 1)
    ]
    for view in audit_tables(settings):
        if view.group == "question":
            hidden = f" exclude ({_LEFT_OUT[view.name]})" if view.name in _LEFT_OUT else ""
            sql = f"select *{hidden} from {view.name}"
            asked.append((f"view-{view.name}", f"View `{view.name}`", f"{view.comment}.", sql))
    return [_answered(settings, *one) for one in asked]


def answer_files(found: list[Answer]) -> dict[str, str]:
    """Path below `audit` -> text."""
    files = {"README.md": _page(found)}
    for one in found:
        files[f"{one.name}.sql"] = f"/* {one.asks}\n   {one.why} */\n{one.sql};\n"
        files[f"{one.name}.csv"] = _csv(one)
    return files


def cell(text: object) -> str:
    """A text inside a Markdown table."""
    return re.sub(r"([\\|<>*_`\[\]])", r"\\\1", " ".join(str(text).split()))


def rows_in_words(one: Answer) -> str:
    """How many rows came back."""
    count = len(one.rows)
    return "no row" if count == 0 else "1 row" if count == 1 else f"{count} rows"


def _answered(settings: Settings, name: str, asks: str, why: str, sql: str) -> Answer:
    found = query(settings, sql, limit=10_000, cell_chars=_CELL_CHARS)
    if found.truncated:
        raise AssertionError(f"{name}: more rows than an example should have")
    return Answer(name, asks, why, sql, found.columns, found.rows)


def _name(asks: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", asks.lower()).strip("-")
    return words if len(words) <= _CHARS_IN_NAME else words[:_CHARS_IN_NAME].rpartition("-")[0]


def _csv(one: Answer) -> str:
    rows = [one.columns, *one.rows]
    return "".join(f"{','.join(_quoted(value) for value in row)}\n" for row in rows)


def _quoted(value: str | None) -> str:
    """As DuckDB writes it: nothing for NULL, two quotation marks for an empty text."""
    if value is None:
        return ""
    must = not value or re.search(r'[",\r\n]', value)
    return '"' + value.replace('"', '""') + '"' if must else value


def _page(found: list[Answer]) -> str:
    parts = [_INTRO]
    for one in found:
        parts += [f"## {one.asks}", f"{one.why} [SQL]({one.name}.sql), [CSV]({one.name}.csv)"]
        parts.append(_table(one) if one.rows else "No row.")
    return "\n\n".join(parts) + "\n"


def _table(one: Answer) -> str:
    heads = f"| {' | '.join(cell(name) for name in one.columns)} |"
    lines = [heads, "|" + "---|" * len(one.columns)]
    lines += [
        f"| {' | '.join(_shown(value) for value in row)} |" for row in one.rows[:_ROWS_ON_PAGE]
    ]
    left = len(one.rows) - _ROWS_ON_PAGE
    return "\n".join(lines) + (f"\n\n{left} more rows in the CSV." if left > 0 else "")


def _shown(value: str | None) -> str:
    text = "" if value is None else " ".join(value.split())
    is_long = len(text) > _CHARS_ON_PAGE
    return cell(text[: _CHARS_ON_PAGE - 1]) + "…" if is_long else cell(text)
