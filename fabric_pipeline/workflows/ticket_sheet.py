"""The sheet of a ticket as the ledger has it now: its current revision, and whether it is approved.

Front doors call `sheet_of`. How the sheet looks is in `outbox_sheet`; a sheet that goes to the outbox is
made by `publish_ticket`.
"""

from __future__ import annotations

from fabric_pipeline.errors import GateError
from fabric_pipeline.incidents.review import ReviewState, verdict
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger, StoredDraft
from fabric_pipeline.workflows.outbox_sheet import Approval, Sheet, technician_sheet


def sheet_of(settings: Settings, ledger: Ledger, ticket_id: str) -> str:
    """HTML of the current revision; it carries the bar unless an approval is about exactly this text.

    Errors: `NotFoundError` (no such ticket), `GateError` (the stored draft was changed from outside).
    """
    stored = ledger.current_draft(ticket_id)
    if stored.draft is None or not stored.intact:
        raise GateError(
            f"{ticket_id}: the stored draft no longer matches its hash",
            "verify the ledger, then run the drop again",
        )
    state = ledger.review_state(ticket_id, stored.draft_sha256)
    may_act, why = _judge(ledger, stored, state)
    sheet = Sheet(
        draft=stored.draft,
        draft_sha256=stored.draft_sha256,
        revision=stored.revision,
        approval=approval_of(stored, state) if may_act else None,
        standing="" if may_act else f"{why[:1].upper()}{why[1:]}.",
        portal_url=settings.portal_url,
    )
    return technician_sheet(sheet)


def approval_of(stored: StoredDraft, state: ReviewState) -> Approval | None:
    """The deciding review, bound to the revision and text that it is about; ask `verdict` first."""
    if state.seq is None or state.at is None:
        return None
    return Approval(
        seq=state.seq,
        reviewer=state.reviewer,
        reason=state.reason,
        at=state.at,
        revision=stored.revision,
        draft_sha256=stored.draft_sha256,
    )


def _judge(ledger: Ledger, stored: StoredDraft, state: ReviewState) -> tuple[bool, str]:
    may_act, why = verdict(state)
    problems = ledger.verify_chain() if may_act else []
    if problems:
        return False, f"the ledger was changed from outside: {problems[0]}"
    if not may_act and state.decision == "awaiting" and state.standing == "current":
        return False, _changed_since(ledger, stored) or why
    return may_act, why


def _changed_since(ledger: Ledger, stored: StoredDraft) -> str:
    """That an older revision was approved, so that a reader of an older sheet is warned; else ""."""
    approved = [
        row
        for row in ledger.reviews_after(0)
        if row.ticket_id == stored.ticket_id and row.decision == "approved"
    ]
    if not approved:
        return ""
    return (
        f"the text changed after {approved[-1].reviewer} approved revision {approved[-1].revision}; "
        "this revision needs its own review"
    )
