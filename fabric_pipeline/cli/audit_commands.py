"""Commands `audit query`, `audit tables`, `audit export` and `audit rebuild`: the file that auditors open."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from fabric_pipeline.cli.output import put, put_json, put_table, say


def query(
    sql: Annotated[str, typer.Argument(help="One SELECT (or DESCRIBE, SHOW, SUMMARIZE).")],
    limit: Annotated[int, typer.Option("--limit", help="Rows at most.")] = 1000,
    timeout_s: Annotated[float, typer.Option("--timeout", help="Seconds at most.")] = 30.0,
    json: Annotated[bool, typer.Option("--json", help="Print rows as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print rows as CSV.")] = False,
) -> None:
    """Ask the audit database; it is opened read-only and can be asked while runs write."""
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.store.audit_query import query as ask

    answer = ask(load_settings(), sql, limit=limit, timeout_s=timeout_s)
    if json:
        put_json([dict(zip(answer.columns, row, strict=True)) for row in answer.rows])
    elif csv:
        _put_csv(answer.columns, answer.rows)
    else:
        put_table(
            answer.columns, [["" if cell is None else cell for cell in row] for row in answer.rows]
        )
    if answer.truncated:
        say(f"only the first {limit} rows are shown: --limit")


def export(
    out: Annotated[Path, typer.Argument(help="File to write.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Write one self-contained DuckDB file with every row copied."""
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.store.audit import export as write

    built = write(load_settings(), out, overwrite=overwrite)
    if json:
        put_json(
            {"file": str(built.path), "tables": built.tables, "left_out": dict(built.left_out)}
        )
    else:
        put(f"{built.path}: {len(built.tables)} tables and views in {built.seconds:.1f} s")


def rebuild(
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Make `audit.duckdb` anew from lake and ledger, as after moving the home. Every run does it too."""
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.store.audit import rebuild_audit

    built = rebuild_audit(load_settings())
    if json:
        put_json(
            {"file": str(built.path), "tables": built.tables, "left_out": dict(built.left_out)}
        )
        return
    put(f"{built.path}: {len(built.tables)} tables and views in {built.seconds:.1f} s")
    for name, why in built.left_out.items():
        say(f"left out: {name}, {why}")


def tables(
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List tables and views with what they hold."""
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.store.audit_query import query as ask

    sql = """
    select table_name as name, comment from duckdb_tables() where not internal
    union all select view_name, comment from duckdb_views() where not internal order by 1
    """
    answer = ask(load_settings(), sql)
    if json:
        put_json([dict(zip(answer.columns, row, strict=True)) for row in answer.rows])
        return
    put_table(answer.columns, [[cell or "" for cell in row] for row in answer.rows], widest=110)


def _put_csv(columns: list[str], rows: list[tuple[object, ...]]) -> None:
    import csv as csv_module

    writer = csv_module.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        # A spreadsheet would run a cell that starts like a formula; telemetry is data.
        writer.writerow(
            [f"'{cell}" if isinstance(cell, str) and cell[:1] in "=+-@" else cell for cell in row]
        )
