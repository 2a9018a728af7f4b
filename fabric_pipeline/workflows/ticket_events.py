"""Everything that happened to one ticket, oldest first: who wrote, edited, decided, published, repaired.

Read from the ledger as recorded. The current draft with its notes for the reviewer is in
`review_notes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from fabric_pipeline.store.ledger import Ledger


@dataclass(frozen=True, slots=True)
class TicketEvent:
    """One event; `who` is a person or a drafter, `diff` is there for edits. `revision` 0: of none."""

    at: datetime
    kind: str
    revision: int
    who: str
    says: str
    draft_sha256: str = ""
    diff: str = ""


def ticket_events(ledger: Ledger, ticket_id: str) -> list[TicketEvent]:
    """All events of a ticket in order of recording; `NotFoundError` when there is no such ticket."""
    ledger.current_draft(ticket_id)
    events = [
        *_revisions(ledger, ticket_id),
        *_decisions(ledger, ticket_id),
        *_repairs(ledger, ticket_id),
    ]
    return sorted(events, key=lambda event: event.at)


def _revisions(ledger: Ledger, ticket_id: str) -> Iterator[TicketEvent]:
    edits = {row.revision: row for row in ledger.edits_of(ticket_id)}
    for one in ledger.drafts_of_ticket(ticket_id):
        edit = edits.get(one.revision)
        if edit:
            says = f"over revision {edit.base_revision}: {edit.reason}"
            yield TicketEvent(
                edit.at, "edit", one.revision, edit.editor, says, one.draft_sha256, edit.diff
            )
            continue
        author = one.draft.drafter if one.draft else "unreadable"
        model = f" ({one.draft.model})" if one.draft and one.draft.model else ""
        note = "" if one.intact else "; its text no longer has the recorded hash"
        yield TicketEvent(
            one.at,
            "draft",
            one.revision,
            f"{author}{model}",
            f"over drop {one.drop}{note}",
            one.draft_sha256,
        )


def _decisions(ledger: Ledger, ticket_id: str) -> Iterator[TicketEvent]:
    for row in ledger.reviews_of(ticket_id):
        yield TicketEvent(
            row.at, row.decision, row.revision, row.reviewer, row.reason, row.draft_sha256
        )
    for out in ledger.publications(ticket_id=ticket_id):
        says = f"to {out.outbox_file}, by review {out.review_seq}"
        yield TicketEvent(out.at, "published", out.revision, out.reviewer, says, out.draft_sha256)
    for revision, reason, at in ledger.retirements_of(ticket_id):
        yield TicketEvent(at, "retired", revision, "", reason)


def _repairs(ledger: Ledger, ticket_id: str) -> Iterator[TicketEvent]:
    incident_id = ledger.current_draft(ticket_id).incident_id
    for row in ledger.repairs(incident_id):
        done = row.report
        swapped = [
            f"{serial} {way}"
            for serial, way in ((done.old_serial, "out"), (done.new_serial, "in"))
            if serial
        ]
        says = ", ".join([f"{done.action} on {done.component}", *swapped])
        note = f": {done.note}" if done.note else ""
        yield TicketEvent(row.at, "repair", 0, done.repaired_by, says + note)
