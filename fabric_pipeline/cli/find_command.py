"""Command `find`: what carries a serial, a GUID, a port label, a cable or a name, and where to look at it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from fabric_pipeline.cli.completion import drop_names
from fabric_pipeline.cli.output import plain, put, put_json, put_table, say

if TYPE_CHECKING:
    from fabric_pipeline.workflows.fabric_search import Hit

_WHOLE = 4_000


def find(
    asked: Annotated[
        str, typer.Argument(help="Any part of a name, serial, GUID, UUID, cable, port or id.")
    ],
    drop: Annotated[
        str | None,
        typer.Option(
            "--drop",
            help="In this drop; the one read last when left out.",
            autocompletion=drop_names,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Find nodes, racks, switches, devices, links, incidents and tickets by whatever is printed on them."""
    from dataclasses import asdict

    from fabric_pipeline.errors import NotFoundError
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.workflows.fabric_search import search
    from fabric_pipeline.workflows.fabric_view import load_fabric_view

    settings = load_settings()
    view = load_fabric_view(settings, drop)
    hits = search(settings, view, asked)
    if json:
        put_json([asdict(hit) | {"command": command_for(hit, view.drop)} for hit in hits])
        return
    if not hits:
        raise NotFoundError(
            f"nothing of drop {view.drop} carries {asked[:200]!r}", "try a shorter part of it"
        )
    _put(hits, view.drop)
    say(f"look at the first: {command_for(hits[0], view.drop)}")


def command_for(hit: Hit, drop: str) -> str:
    """The command that shows a hit; names are quoted for a shell."""
    key = shlex.quote(plain(hit.key))
    if hit.kind in ("incident", "ticket"):
        return f"fabric-pipeline {hit.kind}s {key}"
    if hit.kind in ("node", "rack", "link"):
        return f"fabric-pipeline topology {drop} --{hit.kind} {key}"
    if hit.kind == "device" and hit.node:
        return f"fabric-pipeline topology {drop} --node {shlex.quote(plain(hit.node))}"
    return f"fabric-pipeline topology {drop}"


def _put(hits: list[Hit], drop: str) -> None:
    """A table for a pipe, two lines for each hit on a terminal that is too narrow for it."""
    from fabric_pipeline.cli.fabric_style import MUTED, TITLE, plural
    from fabric_pipeline.cli.screen import screen
    from fabric_pipeline.cli.text_layout import packed, table, text

    to = screen()
    if not to.is_terminal:
        rows = [(hit.kind, hit.key, hit.why, "exact" if hit.is_exact else "part") for hit in hits]
        put_table(("kind", "name", "carries", "fits"), rows, widest=_WHOLE)
        return
    signs = to.signs
    cells = [
        [text((hit.kind, MUTED)), text((signs.name(hit.key, 80), TITLE)), text(signs.name(hit.why, 120))]
        for hit in hits
    ]  # fmt: skip
    put(f"{plural(len(hits), 'hit')} in drop {drop}")
    lines = table(("", "name", "carries"), cells, to.width)
    to.show(lines or [line for row in cells for line in packed(row, to.width, indent=4)])
