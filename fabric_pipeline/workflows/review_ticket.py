"""Recording what a person decided about a ticket draft; the command line and the web both call it.

Publishing is a step of its own (`publish_ticket`): an approval alone writes nothing outside.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, cast

from fabric_pipeline.errors import GateError, UsageError
from fabric_pipeline.incidents.review import is_editor, review_problem
from fabric_pipeline.incidents.ticket import TICKET_SCHEMA_VERSION, TicketDraft
from fabric_pipeline.store.ledger import Ledger, ReviewRow, StoredDraft


def review(
    ledger: Ledger,
    ticket_id: str,
    draft_sha256: str | None,
    decision: str,
    reviewer: str,
    reason: str,
    at: datetime,
) -> ReviewRow:
    """Record `approved` or `rejected` for the current draft of a ticket.

    Give the `draft_sha256` that the person read: when the ticket was redrafted or edited meanwhile,
    the review is refused. None stands for whatever draft is current. Errors: `NotFoundError` (no such
    ticket), `UsageError` (decision, reviewer or reason missing), `GateError` (not reviewable, or an
    approval by somebody who edited this draft).
    """
    stored = ledger.current_draft(ticket_id)
    if draft_sha256 is not None and draft_sha256 != stored.draft_sha256:
        raise GateError(
            f"{ticket_id}: draft {draft_sha256[:12]} is not the current one "
            f"({stored.draft_sha256[:12]}, revision {stored.revision})",
            "read the current draft and review that one",
        )
    draft = _reviewable(stored)
    editors = ledger.editors_of(ticket_id, stored.revision)
    problem = review_problem(decision, reviewer, reason, draft, editors)
    if problem and decision == "approved" and is_editor(reviewer, draft, editors):
        raise GateError(f"{ticket_id}: {problem}", "nothing was recorded; ask a second person")
    if problem:
        raise UsageError(f"{ticket_id}: {problem}", "nothing was recorded")
    if decision == "approved" and not stored.is_present_schema:
        raise GateError(
            f"{ticket_id}: this draft was written in ticket schema {draft.schema_version}, and "
            f"tickets go out in schema {TICKET_SCHEMA_VERSION}",
            "run its drop again with --force and review the new draft",
        )
    checked = cast(Literal["approved", "rejected"], decision)
    return ledger.add_review(ticket_id, stored.draft_sha256, checked, reviewer, reason, at)


def _reviewable(stored: StoredDraft) -> TicketDraft:
    if not stored.intact:
        raise GateError(
            f"{stored.ticket_id}: the stored draft no longer matches its hash",
            "verify the ledger's chain; draft the ticket again from its incident",
        )
    if stored.draft is None:
        raise GateError(
            f"{stored.ticket_id}: the stored draft cannot be read by this version",
            "use the version that wrote it, or run its drop again with --force",
        )
    if stored.retired:
        raise GateError(
            f"{stored.ticket_id}: the incident behind this draft is no longer found in its drop",
            "there is nothing to review",
        )
    return stored.draft
