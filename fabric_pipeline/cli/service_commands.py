"""Commands `dev` (Dagster UI on loopback) and `doctor` (what is missing, what to do)."""

from __future__ import annotations

from typing import Annotated

import typer

from fabric_pipeline.cli.output import put_json, put_table


def dev(
    port: Annotated[
        int, typer.Option("--port", help="Port of the Dagster UI on 127.0.0.1.")
    ] = 3000,
) -> None:
    """Start the Dagster UI with sensors and schedules; stops with Ctrl-C."""
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.workflows.dev_server import serve

    serve(load_settings(), port)


def doctor(
    formats: Annotated[
        bool, typer.Option("--formats", help="List the formats that can be read.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Say what this installation has, what is missing and what to do. Exit code 1 when something is broken."""
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.workflows.doctor import examine, readable_formats

    if formats:
        rows = readable_formats()
        if json:
            put_json(rows)
        else:
            put_table(
                ("format", "reads", "reader"),
                [(r["format"], r["reads"], r["reader"]) for r in rows],
                widest=80,
            )
        return
    checks = examine(load_settings())
    if json:
        put_json([{name: getattr(check, name) for name in check.__slots__} for check in checks])
    else:
        put_table(
            ("state", "what", "found", "what to do"),
            [(c.state, c.what, c.found, c.remedy) for c in checks],
            widest=90,
        )
    if any(check.state == "broken" for check in checks):
        raise typer.Exit(1)
