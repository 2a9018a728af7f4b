"""The review queue: what waits for a person, what was decided, and which approvals no longer count.

One line for each waiting ticket says what its reviewer has to know first. Nothing is decided here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.store.ledger import Ledger, StoredDraft, TicketRow

PRIORITIES = ("urgent", "high", "normal", "low")
_MOST_DECIDED = 100


@dataclass(frozen=True, slots=True)
class Waiting:
    """A draft that waits. `notes` are sentences; the first one is what matters most.

    `says` is the beginning of the summary, whole sentences where it has them.
    """

    row: TicketRow
    place: str
    sla: str
    notes: tuple[str, ...]
    says: str = ""


@dataclass(frozen=True, slots=True)
class Queue:
    """All tickets by what became of them; `gone` are (ticket, why) whose incident vanished."""

    waiting: tuple[Waiting, ...]
    decided: tuple[TicketRow, ...]
    expired: tuple[TicketRow, ...]
    gone: tuple[tuple[TicketRow, str], ...]
    more_decided: int


def queue_of(ledger: Ledger) -> Queue:
    """The queue as it is now: waiting by urgency and age, decided with the newest first."""
    states = ledger.ticket_states()
    decided = [one for one in states if one[1] in ("approved", "rejected", "published")]
    decided.sort(key=lambda one: one[2], reverse=True)
    shown = [name for name, _, _ in decided[:_MOST_DECIDED]]
    named = [name for name, state, _ in states if state in ("awaiting", "superseded")]
    rows = {row.ticket_id: row for row in ledger.tickets(ticket_ids=[*named, *shown])}
    waiting = sorted((row for row in rows.values() if row.state == "awaiting"), key=_urgency)
    return Queue(
        waiting=tuple(_waiting(ledger, row) for row in waiting),
        decided=tuple(rows[name] for name in shown if name in rows),
        expired=tuple(row for row in waiting if row.expired),
        gone=tuple(
            (row, _why_gone(ledger, row)) for row in rows.values() if row.state == "superseded"
        ),
        more_decided=max(0, len(decided) - _MOST_DECIDED),
    )


def notes_of(ledger: Ledger, stored: StoredDraft, expired: str) -> list[str]:
    """What a reviewer has to know about the current draft of a ticket, the most important first."""
    draft = stored.draft
    if draft is None or not stored.intact:
        return [
            "The stored text no longer has its recorded hash: it can be neither read nor decided."
        ]
    notes = [*_finding(draft)]
    editors = ledger.editors_of(stored.ticket_id, stored.revision)
    if editors:
        names = ", ".join(editors)
        notes.append(f"Edited by {names}, who cannot approve it.")
    if expired:
        notes.append(f"{expired[:1].upper()}{expired[1:]}.")
    if any(row.at > stored.at for row in ledger.repairs(stored.incident_id)):
        notes.append("A repair was reported after this was written.")
    if not stored.is_present_schema:
        notes.append(f"Written in ticket schema {draft.schema_version}: it cannot go out as it is.")
    return [*notes, _drafter(draft)]


def _finding(draft: TicketDraft) -> list[str]:
    finding = draft.topology_finding
    if finding is None or finding.agrees_with_isolation:
        return []
    level = finding.level.replace("_", " ")
    return [f"The drafter disagrees: it names {finding.component} ({level}), not {draft.link}."]


def _drafter(draft: TicketDraft) -> str:
    failed = len(draft.failed_attempts)
    answers = "1 answer" if failed == 1 else f"{failed} answers"
    if draft.drafter == "claude":
        again = f" after {answers} that did not pass the checks" if failed else ""
        return f"Worded by Claude ({draft.model or 'model not recorded'}){again}."
    if not failed and not draft.drafter_note:
        return "Worded by rules; no model was asked."
    tried = f" after {answers} of Claude that did not pass the checks" if failed else ""
    why = f": {draft.drafter_note}" if draft.drafter_note else ""
    return f"Worded by rules{tried}{why.rstrip('.')}."


def _waiting(ledger: Ledger, row: TicketRow) -> Waiting:
    stored = ledger.current_draft(row.ticket_id)
    draft = stored.draft
    place = ", ".join(x for x in (draft.row, draft.rack, draft.unit) if x) if draft else ""
    notes = tuple(notes_of(ledger, stored, row.expired))
    is_readable = draft is not None and stored.intact
    says = beginning(draft.text.summary) if draft and is_readable else ""
    return Waiting(row, place, draft.sla if draft else "", notes, says)


def beginning(text: str, most: int = 220) -> str:
    """The whole sentences that fit into `most` characters; else its words up to there."""
    one_line = " ".join(text.split())
    if len(one_line) <= most:
        return one_line
    cut = one_line[:most]
    end = cut.rfind(". ")
    return cut[: end + 1] if end > 0 else f"{cut.rpartition(' ')[0] or cut}…"


def _why_gone(ledger: Ledger, row: TicketRow) -> str:
    reasons = [
        why for number, why, _ in ledger.retirements_of(row.ticket_id) if number == row.revision
    ]
    return reasons[-1] if reasons else ""


def _urgency(row: TicketRow) -> tuple[int, datetime]:
    known = PRIORITIES.index(row.priority) if row.priority in PRIORITIES else 0
    return known, row.drafted_at
