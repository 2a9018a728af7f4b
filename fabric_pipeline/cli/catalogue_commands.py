"""Commands `catalogue check` and `catalogue show`: the parts catalogue that tickets are written from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabric_pipeline.cli.output import plain, put, put_json, say

if TYPE_CHECKING:
    from fabric_pipeline.drafting.catalogue_entry import CatalogueEntry

_INDENT = "     "


def check(
    folder: Annotated[
        Path | None, typer.Argument(help="Folder of the catalogue; the one in use when left out.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Read a parts catalogue and name everything in it that cannot be used."""
    from fabric_pipeline.drafting.catalogue import catalogue_problems, load_catalogue
    from fabric_pipeline.settings import load_settings

    wanted = folder or load_settings().catalogue
    problems = catalogue_problems(wanted)
    count = 0 if problems else len(load_catalogue(wanted).entries)
    for problem in problems:
        say(f"problem: {plain(problem)}")
    if problems:
        say("what to do: correct the fields named; docs/how_to/parts_catalogue.md shows the shape")
    if json:
        put_json({"folder": str(wanted), "entries": count, "problems": problems})
    elif not problems:
        put(f"{wanted}: {count} entries, all usable")
    if problems:
        raise typer.Exit(3)


def show(
    entry_id: Annotated[
        str | None, typer.Argument(help="Entry to show in full; a list of all when left out.")
    ] = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of one catalogue file.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the entries of the catalogue in use, or show one as a technician meets it."""
    from fabric_pipeline.drafting.catalogue import catalogue_schema, load_catalogue
    from fabric_pipeline.errors import NotFoundError
    from fabric_pipeline.settings import load_settings

    if schema:
        put_json(catalogue_schema())
        return
    catalogue = load_catalogue(load_settings().catalogue)
    chosen = [one for one in catalogue.entries if entry_id in (None, one.entry_id)]
    if not chosen:
        raise NotFoundError(
            f"the catalogue has no entry {entry_id}", "list them: fabric-pipeline catalogue show"
        )
    if json:
        shown = [one.model_dump(mode="json", by_alias=True) for one in chosen]
        put_json(shown if entry_id is None else shown[0])
    elif entry_id is None:
        for one in chosen:
            put(f"{one.entry_id:<26} {'/'.join(one.link_types):<18} {plain(one.title)}")
    else:
        for line in _lines(chosen[0]):
            put(line)


def _lines(entry: CatalogueEntry) -> Iterator[str]:
    yield plain(entry.title)
    yield f"for links    {', '.join(entry.link_types)}"
    if entry.part_references:
        yield f"references   {plain(', '.join(entry.part_references))}"
    yield f"part         {plain(entry.replaceable_part)}"
    for part in entry.parts:
        number = f", {part.part_number} ({part.source})" if part.part_number else ""
        yield f"  {part.quantity} x {plain(part.name)}{plain(number)}"
    for known in entry.known_parts:
        yield f"  number {plain(known.part_number)}: {plain(known.description)} ({plain(known.source)})"
    yield f"drain        {entry.drain_scope}: {plain(entry.drain)}"
    yield f"isolation    {plain(entry.port_isolation)}"
    yield from _listed("safety", entry.safety)
    yield from _listed("tools", entry.tools)
    yield "order"
    for place, step in enumerate(entry.repair_steps, start=1):
        yield f"  {place}. {step.action}: {plain(step.do)}"
        yield f"{_INDENT}shows: {plain(step.proves)}"
    yield f"test         {plain(entry.test_after_repair)}"
    yield from _listed("pass when", entry.pass_criteria)
    yield f"rollback     {plain(entry.rollback)}"
    yield from _listed("return form", [f"{need.item} [{need.source}]" for need in entry.rma])
    yield from _listed("sources", entry.sources)


def _listed(head: str, texts: Iterable[str]) -> Iterator[str]:
    items = [f"  - {plain(text)}" for text in texts]
    if items:
        yield head
        yield from items
