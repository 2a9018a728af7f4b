"""Commands `ledger verify` and `ledger head`: whether what was recorded still stands as recorded."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from fabric_pipeline.cli.output import plain, put, put_json, say

ledger = typer.Typer(
    help="Verify the record of drafts, edits, reviews, publications and repairs.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@ledger.command()
def verify(
    head: Annotated[
        list[str] | None,
        typer.Option("--head", help="A head of the chain kept elsewhere; may be given repeatedly."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Check every row against the hash chain, and the chain against the heads in the dossiers.

    Exit code 1 when something does not hold; the rows are named.
    """
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.workflows.verify_ledger import verify_ledger

    check = verify_ledger(load_settings(), head or [])
    for line in check.unread:
        say(f"not used: {plain(line)}")
    if json:
        put_json(asdict(check) | {"holds": check.holds})
    elif check.holds:
        put(f"{check.ledger}: {check.links} links hold, {check.heads} known head(s) found in them")
        put(f"head {check.head}")
    else:
        for problem in check.problems:
            put(f"problem: {plain(problem)}")
    if not check.holds:
        say(
            "the ledger was changed from outside: nothing is published from it; restore it from a backup"
        )
        raise typer.Exit(1)


@ledger.command("head")
def newest(
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Print the hash of the newest link; kept elsewhere, it shows later that nothing was cut."""
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.workflows.verify_ledger import existing_ledger

    settings = load_settings()
    file = existing_ledger(settings)
    head, links = file.chain_head(), file.chain_length()
    if json:
        put_json({"head": head, "links": links, "ledger": str(settings.ledger)})
    else:
        put(head)
