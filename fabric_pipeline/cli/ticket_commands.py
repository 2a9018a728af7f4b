"""Commands `incidents` and `review`: read what was found, decide what goes out.

Listing, editing and looking back at tickets is in `ticket_group`; asking a person is in `decide`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from fabric_pipeline.cli.completion import drop_names, incident_names, ticket_names
from fabric_pipeline.cli.output import plain, put_json, put_table, say

if TYPE_CHECKING:
    from fabric_pipeline.settings import Settings
    from fabric_pipeline.store.ledger import Ledger

_ORDER = {"CRITICAL": 0, "WARNING": 1, "WATCH": 2, "INFO": 3}
# A pipe gets whole words: nothing longer stands in a record.
_WHOLE = 4_000
_Draft = Annotated[
    str | None,
    typer.Option(
        "--draft",
        help="Hash of the draft you read (8 characters are enough); refused when it is no longer current.",
    ),
]


def incidents(
    incident: Annotated[
        str | None,
        typer.Argument(help="Show one incident whole.", autocompletion=incident_names),
    ] = None,
    drop: Annotated[
        str | None, typer.Option("--drop", help="Only of this drop.", autocompletion=drop_names)
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also links to watch and notes.")
    ] = False,
    full: Annotated[
        bool,
        typer.Option("--full", help="With an incident: quoted evidence, whole hashes, queries."),
    ] = False,
    ask_again: Annotated[
        bool,
        typer.Option(
            "--ask-again", help="With an incident: run the query of each figure, read-only."
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the records as JSON.")] = False,
) -> None:
    """List incident records, or show one with its reasoning and evidence."""
    from fabric_pipeline.errors import NotFoundError
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.store.ledger import Ledger

    settings = load_settings()
    ledger = Ledger(settings.ledger)
    if not json and incident is None:
        _list(ledger, drop or "", everything=everything)
        return
    records = [observation.record for observation in ledger.incidents(drop)]
    if incident is not None:
        records = [record for record in records if record.incident_id == incident]
        if not records:
            raise NotFoundError(
                f"there is no incident {incident}", "list them: fabric-pipeline incidents --all"
            )
    records.sort(key=lambda r: (_ORDER[r.severity], r.drop, r.isolated_component))
    if json:
        put_json([record.model_dump(mode="json") for record in records])
    elif incident is not None:
        _show(settings, ledger, incident, drop, ask_again=ask_again, full=full)


def review(
    ticket: Annotated[
        str | None,
        typer.Argument(
            help="Ticket id, such as T-0123456789ab; left out, the queue is listed.",
            autocompletion=ticket_names,
        ),
    ] = None,
    approve: Annotated[bool, typer.Option("--approve", help="Approve the current draft.")] = False,
    reject: Annotated[
        bool, typer.Option("--reject", help="Reject the current draft; needs --reason.")
    ] = False,
    decide: Annotated[
        bool, typer.Option("--decide", help="Show the draft, then ask for a decision.")
    ] = False,
    reviewer: Annotated[
        str, typer.Option("--reviewer", help="Your name, kept with the decision.")
    ] = "",
    reason: Annotated[str, typer.Option("--reason", help="Why.")] = "",
    draft: _Draft = None,
    full: Annotated[
        bool, typer.Option("--full", help="Also answers of the drafter that were refused.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List what waits, show a draft, or record a person's decision on it.

    Without a decision nothing is recorded. A decision without the hash of the draft that was read shows
    the draft first, and asks at a terminal. Who edited a draft cannot approve it.
    """
    from fabric_pipeline.cli.decide import Asked, ask, put_decision, record
    from fabric_pipeline.cli.review_text import put_for_review
    from fabric_pipeline.errors import UsageError
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.store.ledger import Ledger

    if approve + reject + decide > 1:
        raise UsageError(
            "a draft is either approved or rejected", "give one of --approve, --reject and --decide"
        )
    settings = load_settings()
    ledger = Ledger(settings.ledger)
    if ticket is None:
        if approve or reject or decide:
            raise UsageError("a decision is about one ticket", "name it: review T-…")
        _queue(ledger, json=json)
        return
    if not (approve or reject or decide):
        put_for_review(settings, ledger, ticket, full=full, json=json)
        return
    asked = Asked(ticket, "approved" if approve else "rejected", reviewer, reason, draft)
    show = partial(put_for_review, settings, ledger, ticket, full=full, json=False)
    if not decide:
        put_decision(record(ledger, asked, show, json=json), json=json)
        return
    row = ask(ledger, asked, show, json=json)
    if row is None:
        say("nothing was recorded")
    else:
        put_decision(row, json=json)


def _list(ledger: Ledger, drop: str, *, everything: bool) -> None:
    from fabric_pipeline.cli.incident_table import PLAIN_HEAD, incident_table, plain_row
    from fabric_pipeline.cli.screen import screen
    from fabric_pipeline.workflows.incident_list import Wanted, listing

    rows = listing(ledger, Wanted(drop=drop)).rows
    shown = (
        rows if everything else [r for r in rows if r.record.severity in ("WARNING", "CRITICAL")]
    )
    hidden = len(rows) - len(shown)
    to = screen()
    if to.is_terminal:
        to.show(incident_table(shown, hidden, to.signs, to.width))
    else:
        put_table(PLAIN_HEAD, [plain_row(row) for row in shown], widest=_WHOLE)
    if hidden:
        say(f"{hidden} more to watch or to note: --all")
    if shown:
        say(f"read one: fabric-pipeline incidents {shown[0].record.incident_id}")


def _show(
    settings: Settings,
    ledger: Ledger,
    incident: str,
    drop: str | None,
    *,
    ask_again: bool,
    full: bool,
) -> None:
    from fabric_pipeline.cli.incident_card import IncidentCard
    from fabric_pipeline.cli.screen import screen
    from fabric_pipeline.workflows.incident_view import incident_view, run_figure
    from fabric_pipeline.workflows.lifecycle import life_lines

    view = incident_view(settings, ledger, incident, drop)
    record = view.record
    ran = [run_figure(settings, record, one.name) for one in record.figures] if ask_again else []
    to = screen()
    card = IncidentCard(view, life_lines(ledger, incident), to.signs, to.list_width)
    to.show(card.lines(ran, full=full))
    if len(view.drops) > 1:
        say(f"seen in {len(view.drops)} drops, this is {record.drop}: --drop, --json")
    if record.link_type:
        component = plain(record.isolated_component)
        say(f"its link: fabric-pipeline topology {record.drop} --link {component}")
    if view.ticket is not None:
        say(f"its repair ticket: fabric-pipeline review {view.ticket.ticket_id}")
    if not view.has_dossier:
        say(f"prove it to others: fabric-pipeline dossier build {incident}")


def _queue(ledger: Ledger, *, json: bool) -> None:
    from fabric_pipeline.cli import ticket_table as tables
    from fabric_pipeline.cli.screen import screen
    from fabric_pipeline.workflows.queue_list import queue_of

    queue, now = queue_of(ledger), datetime.now(UTC)
    if json:
        put_json([tables.waiting_as_json(one, now) for one in queue.waiting])
        return
    to = screen()
    if to.is_terminal:
        to.show(tables.queue_lines(queue, now, to.signs, to.width))
    else:
        rows = [tables.plain_waiting(one, now) for one in queue.waiting]
        put_table(tables.QUEUE_HEAD, rows, widest=_WHOLE)
    if queue.waiting:
        say(f"read and decide: fabric-pipeline review {queue.waiting[0].row.ticket_id} --decide")
