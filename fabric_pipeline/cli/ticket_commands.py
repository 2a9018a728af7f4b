"""Commands `incidents` and `review`: read what was found, decide what goes out.

Listing, editing and looking back at tickets is in `ticket_group`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from fabric_pipeline.cli.output import plain, put, put_json, put_table, say

if TYPE_CHECKING:
    from fabric_pipeline.incidents.record import IncidentRecord

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
    from fabric_pipeline.workflows.lifecycle import life_lines, states

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
        _put_incident(newest, life_lines(ledger, incident))
        if len(records) > 1:
            say(f"seen in {len(records)} drops, this is the last that was read: --drop, --json")
    else:
        shown = (
            records if everything else [r for r in records if r.severity in ("WARNING", "CRITICAL")]
        )
        life = states(ledger)
        rows = [
            (
                r.incident_id,
                r.severity,
                life[r.incident_id].state if r.incident_id in life else "",
                r.isolated_component,
                r.fault_type,
                "" if r.degradation_pct is None else f"{r.degradation_pct:.1f}",
                f"{r.confidence:.2f}",
                r.drop,
            )
            for r in shown
        ]
        heads = ("incident", "severity", "life", "component", "fault", "slower %", "conf", "drop")
        put_table(heads, rows)
        if len(shown) < len(records):
            say(f"{len(records) - len(shown)} more to watch or to note: --all")


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
    full: Annotated[
        bool, typer.Option("--full", help="Also answers of the drafter that were refused.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show a draft, or record a person's decision on it. Without a decision nothing is recorded.

    Who edited a draft cannot approve it.
    """
    from fabric_pipeline.cli.review_text import put_for_review
    from fabric_pipeline.errors import UsageError
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.store.ledger import Ledger
    from fabric_pipeline.workflows.review_ticket import review as record_review

    settings = load_settings()
    ledger = Ledger(settings.ledger)
    if approve and reject:
        raise UsageError(
            "a draft is either approved or rejected", "give one of --approve and --reject"
        )
    if not approve and not reject:
        put_for_review(settings, ledger, ticket, full=full, json=json)
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


def _put_incident(record: IncidentRecord, life: list[str]) -> None:
    put(
        f"{record.incident_id}  {record.severity}  {record.fault_type}  confidence {record.confidence:.2f} (evidence grade {record.evidence_grade})"
    )
    for line in life:
        put(plain(line))
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
