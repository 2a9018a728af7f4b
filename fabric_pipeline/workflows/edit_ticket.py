"""A person's edit of a ticket draft: checked, compared with what stood there, and recorded whole.

An edit never approves anything: it makes a new revision that another person has to review. Which
fields may be edited stands in `edit_fields`.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fabric_pipeline.errors import GateError, UsageError
from fabric_pipeline.incidents.review import MAX_REASON, person_problem
from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.store.ledger import Ledger, StoredDraft
from fabric_pipeline.workflows.edit_fields import changed_draft, fields_of, values
from fabric_pipeline.workflows.edit_remarks import left_behind

# Accounts and failed attempts are no content, and who edited stands beside the diff.
_NOT_COMPARED = {
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "requests",
    "cost_usd",
    "failed_attempts",
    "edited_by",
}


@dataclass(frozen=True, slots=True)
class Edited:
    """What an edit led to.

    `voided`: the approval or publication that is not of this draft. `left_behind`: where the words
    still name what a changed fact said before.
    """

    ticket_id: str
    revision: int
    draft_sha256: str
    editor: str
    diff: str
    voided: str
    left_behind: list[str]


def edit(
    ledger: Ledger,
    ticket_id: str,
    base_sha256: str | None,
    changes: Mapping[str, Any],
    editor: str,
    reason: str,
    at: datetime,
) -> Edited:
    """Write a person's changes over the draft with hash `base_sha256`, which must be the current one.

    None stands for the `draft_sha256` among the changes (a whole ticket that was given back), else
    for whatever draft is current now. `changes` as `edit_fields.changed_draft` takes them. Errors:
    `NotFoundError` (no such ticket), `UsageError` (editor, reason, field or value), `GateError`
    (draft replaced meanwhile, retired or altered, nothing changed, forbidden words).
    """
    stored = ledger.current_draft(ticket_id)
    old = _editable(stored, base_sha256 or changes.get("draft_sha256"))
    problem = _problem(old, editor, reason)
    if problem:
        raise UsageError(f"{ticket_id}: {problem}", "nothing was recorded")
    new = changed_draft(old, changes, editor)
    diff = unified_diff(old, new)
    base = stored.draft_sha256
    revision = ledger.record_edit(ticket_id, base, new, editor, reason, diff, at)
    rows = ledger.tickets(stored.drop)
    voided = next((row.expired for row in rows if row.ticket_id == ticket_id), "")
    return Edited(
        ticket_id, revision, new.sha256, editor.strip(), diff, voided, left_behind(old, new)
    )


def unified_diff(old: TicketDraft, new: TicketDraft, old_name: str = "", new_name: str = "") -> str:
    """What changed between two drafts, one line for each value by its path; empty when nothing did."""
    lines = difflib.unified_diff(
        _lines(old), _lines(new), old_name or "before", new_name or "after", lineterm="", n=0
    )
    return "\n".join(lines)


def _lines(draft: TicketDraft) -> list[str]:
    fields = fields_of(draft).items()
    compared = {name: value for name, value in fields if name not in _NOT_COMPARED}
    return [
        f"{path}: {json.dumps(value, ensure_ascii=False)}" for path, value in values("", compared)
    ]


def _editable(stored: StoredDraft, base_sha256: Any) -> TicketDraft:
    if base_sha256 not in (None, "", stored.draft_sha256):
        raise GateError(
            f"{stored.ticket_id}: draft {str(base_sha256)[:12]} is no longer the current one "
            f"({stored.draft_sha256[:12]}, revision {stored.revision})",
            "read the current draft and make the change in that one",
        )
    if stored.draft is None or not stored.intact:
        raise GateError(
            f"{stored.ticket_id}: the stored draft no longer matches its hash",
            "verify the ledger's chain; draft the ticket again from its incident",
        )
    return stored.draft


def _problem(draft: TicketDraft, editor: str, reason: str) -> str:
    if problem := person_problem(editor, draft, "edit"):
        return problem
    if not reason.strip():
        return "an edit needs a reason, so that the reviewer knows why"
    return (
        f"the reason is too long ({MAX_REASON} characters at most)"
        if len(reason) > MAX_REASON
        else ""
    )
