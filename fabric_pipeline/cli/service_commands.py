"""Commands `dev` (Dagster UI), `portal` (the web portal) and `doctor` (what is missing, what to do)."""

from __future__ import annotations

import shutil
import sys
from typing import Annotated, Any

import typer

from fabric_pipeline.cli.output import put_json, put_table, say
from fabric_pipeline.settings import DAGSTER_PORT, PORTAL_PORT

# Columns of a terminal from which tool and versions fit beside id and yield; a pipe is wide enough.
_WIDE = 130


def dev(
    port: Annotated[
        int, typer.Option("--port", min=1, max=65535, help="Port of the Dagster UI on 127.0.0.1.")
    ] = DAGSTER_PORT,
    portal_port: Annotated[
        int | None,
        typer.Option("--portal-port", min=1, max=65535, help="Port of the portal on 127.0.0.1."),
    ] = None,
    with_portal: Annotated[
        bool, typer.Option("--portal/--no-portal", help="Serve the portal beside the Dagster UI.")
    ] = True,
) -> None:
    """Start the Dagster UI (sensors and schedules on) and the portal together. Stops with Ctrl-C."""
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.workflows.dev_server import serve

    settings = load_settings()
    beside = (portal_port or settings.portal_port) if with_portal else None
    say(f"Dagster UI on http://127.0.0.1:{port}, stop with Ctrl-C")
    if beside:
        say(f"portal on http://127.0.0.1:{beside}")
    serve(settings, port, beside)


def portal(
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; others than loopback need --auth.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            "--port", min=1, max=65535, help=f"Port; else FABRIC_PORTAL_PORT or {PORTAL_PORT}."
        ),
    ] = None,
    auth: Annotated[
        str,
        typer.Option(
            "--auth",
            help="How people are known: local (loopback only), proxy (X-Forwarded-User from --proxy), "
            "token (FABRIC_PORTAL_TOKEN).",
        ),
    ] = "local",
    proxy: Annotated[
        list[str] | None, typer.Option("--proxy", help="Address of a proxy that names the user.")
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option("--name", help="Further host name of this portal.")
    ] = None,
    dagster_url: Annotated[
        str, typer.Option("--dagster-url", help="Address of the Dagster UI to link to.")
    ] = f"http://127.0.0.1:{DAGSTER_PORT}",
) -> None:
    """Serve the web portal: map, matrix, incidents, tickets, audit. Stops with Ctrl-C."""
    from fabric_pipeline.portal.identity import Auth, auth_mode
    from fabric_pipeline.portal.serve import serve as serve_portal
    from fabric_pipeline.settings import load_settings

    settings = load_settings()
    port = port or settings.portal_port
    known = Auth(auth_mode(auth), settings.portal_token, tuple(proxy or ()))
    say(f"portal on http://{host}:{port}, stop with Ctrl-C")
    serve_portal(
        settings,
        host=host,
        port=port,
        auth=known,
        names=tuple(name or ()),
        dagster_url=dagster_url.rstrip("/"),
    )


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
            _put_formats(rows)
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


def _put_formats(rows: list[dict[str, Any]]) -> None:
    """The formats as a table; a narrow terminal shows readers in place of tools and versions."""
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    if columns is not None and columns < _WIDE:
        cells = [(r["format"], r["reads"], r["reader"]) for r in rows]
        put_table(("format", "reads", "reader"), cells, widest=80)
        return
    noted = [
        (r["format"], r["reads"], r["tool"] or "no note", r["versions"] or "no note") for r in rows
    ]
    beside = sum(max(len(row[i]) for row in noted) for i in (0, 1)) + 6  # blanks between columns
    widest = 200 if columns is None else (columns - beside) // 2
    put_table(("format", "reads", "tool", "versions seen"), noted, widest=widest)
