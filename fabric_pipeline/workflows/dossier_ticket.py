"""The files of a dossier about its ticket: the draft, and what people edited, decided and repaired.

All of them follow from the rows of the ledger that the dossier holds, so that checking one is writing
it once more. How the sheet that a technician prints looks is decided in `outbox_sheet`.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Literal

from fabric_pipeline.incidents.review import ReviewState, verdict
from fabric_pipeline.incidents.ticket import TicketDraft, content_sha256
from fabric_pipeline.incidents.ticket_versions import body_of, readable_draft
from fabric_pipeline.workflows.dossier_ledger import LedgerFacts, Row
from fabric_pipeline.workflows.outbox_sheet import Approval, Sheet, technician_sheet

_FILES = {
    "reviews.json": "review",
    "edits.json": "edit",
    "publications.json": "publication",
    "repairs.json": "repair",
    "link_checks.json": "link_check",
}


def draft_row(facts: LedgerFacts) -> Row | None:
    """The newest revision that was drafted from this drop, None without a ticket."""
    own = [row for row in facts.rows["draft"] if row["drop_id"] == facts.drop]
    return max(own, key=lambda row: int(row["revision"]), default=None)


def draft_of(row: Row) -> TicketDraft | None:
    """The draft of a row in the present ticket model, None when it fits no version of it."""
    body = body_of(str(row["json"]))
    return None if body is None else readable_draft(body)


def ticket_texts(facts: LedgerFacts) -> dict[str, str]:
    """File name -> text. Lists that are empty make no file, and without a ticket there is no ticket."""
    row = draft_row(facts)
    texts = {} if row is None else {"ticket.json": _json(_ticket(facts, row))}
    for name, kind in _FILES.items():
        if facts.rows[kind] or (row is not None and kind == "review"):
            texts[name] = _json(list(facts.rows[kind]))
    return texts


def sheet_text(facts: LedgerFacts, row: Row, draft: TicketDraft) -> str:
    """The technician's sheet of a draft as these rows know it; barred unless they approve this text.

    It bears no time of printing and no address of a portal: it must be the same wherever it is made.
    """
    state = _state(facts, row)
    may_act, why = verdict(state)
    approval = None
    if may_act and state.seq is not None and state.at is not None:
        approval = Approval(
            seq=state.seq,
            reviewer=state.reviewer,
            reason=state.reason,
            at=state.at,
            revision=row["revision"],
            draft_sha256=row["draft_sha256"],
        )
    standing = "" if may_act else f"{why[:1].upper()}{why[1:]}."
    sheet = Sheet(draft, row["draft_sha256"], row["revision"], approval, standing)
    return technician_sheet(sheet)


def _state(facts: LedgerFacts, row: Row) -> ReviewState:
    same = ("ticket_id", "revision", "draft_sha256")
    reviews = [one for one in facts.rows["review"] if all(one[name] == row[name] for name in same)]
    standing: Literal["current", "outdated", "retired"] = "current"
    if not _is_newest(facts, row):
        standing = "outdated"
    elif _is_retired(facts, row):
        standing = "retired"
    if not reviews:
        return ReviewState("awaiting", standing=standing)
    last = reviews[-1]
    at = datetime.fromisoformat(last["at"])
    return ReviewState(
        last["decision"], last["reviewer"], last["reason"], at, last["seq"], standing
    )


def _is_newest(facts: LedgerFacts, row: Row) -> bool:
    same = [one for one in facts.rows["draft"] if one["ticket_id"] == row["ticket_id"]]
    return bool(row["revision"] == max(one["revision"] for one in same))


def _is_retired(facts: LedgerFacts, row: Row) -> bool:
    this = (row["ticket_id"], row["revision"])
    return this in {(one["ticket_id"], one["revision"]) for one in facts.rows["retirement"]}


def _ticket(facts: LedgerFacts, row: Row) -> dict[str, Any]:
    body = body_of(str(row["json"]))
    return {
        "ticket_id": row["ticket_id"],
        "revision": row["revision"],
        "draft_sha256": row["draft_sha256"],
        "drafted_at": row["at"],
        "is_intact": body is not None and content_sha256(body) == row["draft_sha256"],
        "is_newest": _is_newest(facts, row),
        "is_retired": _is_retired(facts, row),
        "draft": body,
    }


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
