"""Commands `incidents`, `tickets` and `review`: read what was found, decide what goes out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from fabric_pipeline.cli.output import plain, put, put_json, put_table, say

if TYPE_CHECKING:
    from fabric_pipeline.incidents.record import IncidentRecord
    from fabric_pipeline.store.ledger import Ledger

_ORDER = {"CRITICAL": 0, "WARNING": 1, "WATCH": 2, "INFO": 3}


def incidents(
    incident: Annotated[str | None, typer.Argument(help="Show one incident whole.")] = None,
    drop: Annotated[str | None, typer.Option("--drop", help="Only of this drop.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also links to watch and notes.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the records as JSON.")] = False,
) -> None:
    """List incident records, or show one with its reasoning and evidence."""
    from fabric_pipeline.errors import NotFoundError
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.store.ledger import Ledger

    ledger = Ledger(load_settings().ledger)
    records = [observation.record for observation in ledger.incidents(drop)]
    if incident is not None:
        records = [record for record in records if record.incident_id == incident]
        if not records:
            raise NotFoundError(
                f"there is no incident {incident}", "list them: fabric-pipeline incidents --all"
            )
    newest = records[-1] if records else None
    records.sort(key=lambda r: (_ORDER[r.severity], r.drop, r.isolated_component))
    if json:
        put_json([record.model_dump(mode="json") for record in records])
    elif incident is not None and newest is not None:
        _put_incident(newest)
        if len(records) > 1:
            say(f"seen in {len(records)} drops, this is the last that was read: --drop, --json")
    else:
        shown = (
            records if everything else [r for r in records if r.severity in ("WARNING", "CRITICAL")]
        )
        rows = [
            (
                r.incident_id,
                r.severity,
                r.isolated_component,
                r.fault_type,
                "" if r.degradation_pct is None else f"{r.degradation_pct:.1f}",
                f"{r.confidence:.2f}",
                r.drop,
            )
            for r in shown
        ]
        put_table(("incident", "severity", "component", "fault", "slower %", "conf", "drop"), rows)
        if len(shown) < len(records):
            say(f"{len(records) - len(shown)} more to watch or to note: --all")


def tickets(
    ticket: Annotated[str | None, typer.Argument(help="Show one ticket whole.")] = None,
    drop: Annotated[str | None, typer.Option("--drop", help="Only of this drop.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List ticket drafts with their review state, or show one as the technician will read it."""
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.store.ledger import Ledger

    ledger = Ledger(load_settings().ledger)
    if ticket is not None:
        _put_ticket(ledger, ticket, json=json)
        return
    rows = ledger.tickets(drop)
    if json:
        put_json([{name: str(getattr(row, name) or "") for name in row.__slots__} for row in rows])
        return
    put_table(
        ("ticket", "state", "priority", "drafter", "drop", "title"),
        [(r.ticket_id, r.state, r.priority, r.drafter, r.drop, r.title) for r in rows],
        widest=90,
    )


def review(
    ticket: Annotated[str, typer.Argument(help="Ticket id, such as T-0123456789ab.")],
    approve: Annotated[bool, typer.Option("--approve", help="Approve the current draft.")] = False,
    reject: Annotated[
        bool, typer.Option("--reject", help="Reject the current draft; needs --reason.")
    ] = False,
    reviewer: Annotated[
        str, typer.Option("--reviewer", help="Your name, kept with the decision.")
    ] = "",
    reason: Annotated[str, typer.Option("--reason", help="Why.")] = "",
    draft: Annotated[
        str | None,
        typer.Option(
            "--draft", help="Hash of the draft you read; refused when it is no longer current."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show a draft, or record a person's decision on it. Without a decision nothing is recorded."""
    from fabric_pipeline.errors import UsageError
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.store.ledger import Ledger
    from fabric_pipeline.workflows.review_ticket import review as record_review

    ledger = Ledger(load_settings().ledger)
    if approve and reject:
        raise UsageError(
            "a draft is either approved or rejected", "give one of --approve and --reject"
        )
    if not approve and not reject:
        _put_ticket(ledger, ticket, json=json)
        say(
            f"to decide: fabric-pipeline review {ticket} --approve --reviewer NAME   (or --reject --reason WHY)"
        )
        return
    row = record_review(
        ledger,
        ticket,
        draft,
        "approved" if approve else "rejected",
        reviewer,
        reason,
        datetime.now(UTC),
    )
    if json:
        put_json({name: getattr(row, name) for name in row.__slots__})
    else:
        put(
            f"{row.ticket_id} revision {row.revision} {row.decision} by {plain(row.reviewer)} (draft {row.draft_sha256[:12]})"
        )
    if approve:
        say(
            f"publish it: fabric-pipeline publish {row.drop}   (with `dev` running, the review sensor does it)"
        )


def _put_ticket(ledger: Ledger, ticket: str, *, json: bool) -> None:
    from fabric_pipeline.cli.ticket_text import ticket_text
    from fabric_pipeline.errors import GateError

    stored = ledger.current_draft(ticket)
    if stored.draft is None or not stored.intact:
        raise GateError(
            f"{ticket}: the stored draft no longer matches its hash",
            "verify the ledger, then run the drop again",
        )
    if json:
        put_json(stored.draft.model_dump(mode="json") | {"draft_sha256": stored.draft_sha256})
        return
    state = ledger.review_state(ticket, stored.draft_sha256)
    put(
        f"{ticket}  revision {stored.revision}  {state.decision.upper()}  draft {stored.draft_sha256[:12]}"
    )
    put()
    put(ticket_text(stored.draft))


def _put_incident(record: IncidentRecord) -> None:
    put(
        f"{record.incident_id}  {record.severity}  {record.fault_type}  confidence {record.confidence:.2f} (evidence grade {record.evidence_grade})"
    )
    put(f"component   {plain(record.isolated_component)}")
    put(f"far end     {plain(record.far_end or 'not known')}")
    where = ", ".join(
        f"{name} {value}"
        for name, value in (
            ("rack", record.place.rack),
            ("unit", record.place.unit),
            ("port", record.place.port_label),
        )
        if value
    )
    put(f"place       {plain(where or 'no topology names it')}")
    put(f"action      {record.action_text}")
    for head, lines in (
        ("reasoning", record.reasoning),
        ("alternatives", [f"{a.explanation}: {a.why_set_aside}" for a in record.alternatives]),
        ("would change the verdict", record.would_change_the_verdict),
        ("symptoms", [f"{s.component}: {s.reason}" for s in record.symptoms]),
    ):
        if lines:
            put(f"\n{head}")
            for line in lines:
                put(f"  - {plain(line)}")
    put("\nevidence")
    put_table(
        ("id", "file", "line", "says"),
        [(e.evidence_id, e.file, e.line or "", e.says) for e in record.evidence],
        widest=90,
    )
