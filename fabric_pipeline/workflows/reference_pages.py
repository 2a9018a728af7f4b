"""Reference pages and JSON Schemas, generated from the code into a folder of `docs`.

`python -m fabric_pipeline.workflows.reference_pages docs/reference` writes them, and `formats.md` beside
that folder; a test compares what stands there with what would be written, so the pages cannot drift.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fabric_pipeline.diagnose.actions import ACTIONS
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.ticket import FIELD_ORIGINS, TicketDraft
from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.schemas.lineage import column_lineage
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.schemas.table import Table
from fabric_pipeline.workflows.drop_schemas import DROP_SCHEMAS
from fabric_pipeline.workflows.format_pages import formats_page


def reference_files() -> dict[str, str]:
    """Relative path -> content of every generated file."""
    files = {f"tables/{name}.md": _table_page(table) for name, table in TABLES.items()}
    files["tables/index.md"] = _index_page()
    files["counters.md"] = _counters_page()
    files["actions.md"] = _actions_page()
    files["schemas/incident_record.schema.json"] = _json(IncidentRecord.model_json_schema())
    files["schemas/ticket_draft.schema.json"] = _json(TicketDraft.model_json_schema())
    files |= {
        f"schemas/drop/{name}.schema.json": _json(schema) for name, schema in DROP_SCHEMAS.items()
    }
    return files


def write_reference(folder: Path) -> None:
    """Write all pages; files of an earlier version that are no longer made are removed."""
    wanted = reference_files()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.relative_to(folder).as_posix() not in wanted:
            path.unlink()
    for name, content in wanted.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")


def write_pages(folder: Path) -> None:
    """Write the reference into `folder`, and the page about formats, which people read, beside it."""
    write_reference(folder)
    (folder.parent / "formats.md").write_text(formats_page(), encoding="utf-8")


def _table_page(table: Table) -> str:
    sources = column_lineage(table)
    lines = [
        f"# {table.name}",
        "",
        table.description,
        "",
        f"One row is {table.grain}. Key: {', '.join(f'`{name}`' for name in table.key)}. Group: {table.group}.",
        "",
        "| column | type | meaning | rules | from |",
        "| --- | --- | --- | --- | --- |",
    ]
    for column in table.columns:
        origin = ", ".join(f"`{t}.{c}`" for t, c in sources.get(column.name, ()))
        rules = "; ".join(column.rules()).replace("|", "\\|")
        lines.append(
            f"| `{column.name}` | {column.type.lower()} | {column.description} | {rules} | {origin} |"
        )
    return "\n".join(lines) + "\n"


def _index_page() -> str:
    rows = (
        f"| [{t.name}]({t.name}.md) | {t.group} | {t.grain} | {t.description} |"
        for t in TABLES.values()
    )
    return _page(
        "Tables",
        "Asset, table, schema and page have one name.",
        "| table | group | grain | holds |",
        rows,
    )


def _counters_page() -> str:
    rows = (
        f"| `{c.name}` | {c.kind} | {c.role} | {c.error_class} | {c.class_basis} | {c.unit} | {'' if c.ceiling is None else c.ceiling} | {c.says} |"
        for c in COUNTERS.values()
    )
    head = "| counter | kind | role | error class | basis | unit | ceiling | counts |"
    return _page(
        "Canonical counters", "Readers translate vendor spellings into these names.", head, rows
    )


def _actions_page() -> str:
    actions = (f"| `{code}` | {text} |" for code, text in ACTIONS.items())
    page = _page(
        "Actions and ticket fields",
        "Advice for a person; nothing acts on hardware.",
        "| action | text |",
        actions,
    )
    origins = (f"| `{name}` | {origin} |" for name, origin in FIELD_ORIGINS.items())
    return page + "\n" + "\n".join(["| ticket field | origin |", "| --- | --- |", *origins]) + "\n"


def _page(title: str, intro: str, head: str, rows: Iterator[str]) -> str:
    rule = "|" + " --- |" * (head.count("|") - 1)
    return "\n".join([f"# {title}", "", intro, "", head, rule, *rows]) + "\n"


def _json(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
