"""Command `tickets` and what hangs on it: list and show, edit, report a repair, look back.

`tickets`, `tickets T-…` and `tickets --drop X` are short for `tickets show …`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from fabric_pipeline.cli import repair_commands
from fabric_pipeline.cli.completion import drop_names, ticket_names
from fabric_pipeline.cli.output import plain, put, put_json, put_table, say

if TYPE_CHECKING:
    from fabric_pipeline.settings import Settings
    from fabric_pipeline.store.ledger import Ledger


# A pipe gets whole words: no title is longer.
_WHOLE = 4_000


class ShowByDefault(TyperGroup):
    """Words that begin with no command of the group belong to `show`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `show` in front where it is meant; `--help` stays that of the group."""
        is_meant = not args or (args[0] not in self.commands and args[0] != "--help")
        return super().parse_args(ctx, ["show", *args] if is_meant else args)


tickets = typer.Typer(
    help="List tickets or show one; edit, report repairs, look back. `tickets` and `tickets T-…` are "
    "short for `tickets show`, which has the options `--drop`, `--sheet`, `--full` and `--json`.",
    cls=ShowByDefault,
    rich_markup_mode=None,
)


@tickets.command()
def show(
    ticket: Annotated[
        str | None, typer.Argument(help="Show one ticket whole.", autocompletion=ticket_names)
    ] = None,
    drop: Annotated[
        str | None, typer.Option("--drop", help="Only of this drop.", autocompletion=drop_names)
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option("--sheet", help="Write the printable sheet (HTML) to this file.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Also answers of the drafter that were refused.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List ticket drafts with their review state, or show one as the technician will read it."""
    from fabric_pipeline.errors import UsageError
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.store.ledger import Ledger

    settings = load_settings()
    ledger = Ledger(settings.ledger)
    if ticket is None:
        if sheet is not None:
            raise UsageError("a sheet is of one ticket", "name it: tickets T-… --sheet FILE")
        _put_list(ledger, drop, json=json)
    elif sheet is not None:
        _write_sheet(settings, ledger, ticket, sheet, json=json)
    else:
        from fabric_pipeline.cli.review_text import put_ticket

        put_ticket(ledger, ticket, full=full, json=json)


@tickets.command("edit")
def change(
    ticket: Annotated[
        str,
        typer.Argument(help="Ticket id, such as T-0123456789ab.", autocompletion=ticket_names),
    ],
    source: Annotated[
        Path | None,
        typer.Option("--from", help="JSON or YAML file: field names and their new values."),
    ] = None,
    settings_given: Annotated[
        list[str] | None,
        typer.Option("--set", help="FIELD=VALUE, such as repair_steps.2.do='Swap the cable.'"),
    ] = None,
    editor: Annotated[str, typer.Option("--editor", help="Your name, kept with the edit.")] = "",
    reason: Annotated[str, typer.Option("--reason", help="Why it is changed.")] = "",
    draft: Annotated[
        str | None,
        typer.Option("--draft", help="Hash of the draft you read; refused when it was replaced."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Change the words or the place facts of a draft; another person then has to review it."""
    from dataclasses import asdict

    from fabric_pipeline.cli.review_text import put_diff
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.store.ledger import Ledger
    from fabric_pipeline.workflows.edit_file import changes_given
    from fabric_pipeline.workflows.edit_ticket import edit

    changes = changes_given(source, settings_given or [])
    ledger = Ledger(load_settings().ledger)
    done = edit(ledger, ticket, draft, changes, editor, reason, datetime.now(UTC))
    if json:
        put_json(asdict(done))
    else:
        put(f"{ticket} is now revision {done.revision}, edited by {plain(done.editor)}")
        put_diff(done.diff)
        for remark in done.left_behind:
            put(f"check: {plain(remark)}")
        if done.voided:
            put(f"NOT APPROVED: {plain(done.voided)}")
    say(f"another person reviews it: fabric-pipeline review {ticket}")


@tickets.command()
def history(
    ticket: Annotated[
        str,
        typer.Argument(help="Ticket id, such as T-0123456789ab.", autocompletion=ticket_names),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show all that happened to a ticket, oldest first: drafts, edits with diffs, reviews, repairs."""
    from dataclasses import asdict

    from fabric_pipeline.cli.review_text import put_diff
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.store.ledger import Ledger
    from fabric_pipeline.workflows.ticket_events import ticket_events

    events = ticket_events(Ledger(load_settings().ledger), ticket)
    if json:
        put_json([asdict(event) for event in events])
        return
    for event in events:
        revision = f"revision {event.revision}" if event.revision else ""
        content = f"draft {event.draft_sha256[:12]}" if event.draft_sha256 else ""
        put(
            f"{event.at:%Y-%m-%d %H:%M:%S} UTC  {event.kind:<9}  {revision:<11}  {content:<18}  "
            f"{plain(event.who)}{': ' if event.who and event.says else ''}{plain(event.says)}"
        )
        put_diff(event.diff)


tickets.command()(repair_commands.repaired)


def _put_list(ledger: Ledger, drop: str | None, *, json: bool) -> None:
    from fabric_pipeline.cli.screen import screen
    from fabric_pipeline.cli.ticket_table import PLAIN_HEAD, plain_ticket, ticket_table
    from fabric_pipeline.workflows.lifecycle import states

    rows = ledger.tickets(drop)
    lives = {incident: life.state for incident, life in states(ledger).items()}
    if json:
        put_json(
            [
                {name: str(getattr(row, name) or "") for name in row.__slots__}
                | {"life": lives.get(row.incident_id, "")}
                for row in rows
            ]
        )
        return
    to = screen()
    if to.is_terminal:
        to.show(ticket_table(rows, lives, to.signs, to.width))
    else:
        plain_rows = [plain_ticket(row, lives.get(row.incident_id, "")) for row in rows]
        put_table(PLAIN_HEAD, plain_rows, widest=_WHOLE)
    for row in rows:
        if row.expired:
            put(f"{row.ticket_id}: {plain(row.expired)}")
    waiting = next((row.ticket_id for row in rows if row.state == "awaiting"), "")
    if waiting:
        say(f"read one: fabric-pipeline review {waiting}   (all that wait: fabric-pipeline review)")


def _write_sheet(
    settings: Settings, ledger: Ledger, ticket: str, path: Path, *, json: bool
) -> None:
    from fabric_pipeline.workflows.ticket_sheet import sheet_of

    path.write_text(sheet_of(settings, ledger, ticket), encoding="utf-8")
    if json:
        put_json({"ticket_id": ticket, "sheet": str(path)})
    else:
        put(str(path))
