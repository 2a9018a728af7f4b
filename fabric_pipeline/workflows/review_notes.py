"""What a reviewer has to know beside the draft: edits, warnings, and what changed since the last look.

Everything is computed when it is asked for, from the ledger, the incident and the catalogue. Nothing
here decides; deciding is recorded in `review_ticket`.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric_pipeline.drafting.catalogue import load_catalogue
from fabric_pipeline.drafting.verify import problems
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger, StoredDraft
from fabric_pipeline.workflows.edit_remarks import changed_facts, left_behind
from fabric_pipeline.workflows.edit_ticket import unified_diff


@dataclass(frozen=True, slots=True)
class ReviewNotes:
    """What stands beside a draft.

    `editors`: people whose words stand in it, who cannot approve it. `warnings`: repairs that were
    reported after it was written, and what people wrote that no source states. `since` names the last revision that somebody decided on
    (empty: none before this one) and `diff` what is different now; `expired` which approval was lost.
    """

    editors: list[str]
    warnings: list[str]
    since: str
    diff: str
    expired: str


def review_notes(settings: Settings, ledger: Ledger, stored: StoredDraft) -> ReviewNotes:
    """The notes to the current draft of a ticket."""
    revisions = ledger.drafts_of_ticket(stored.ticket_id)
    editors = ledger.editors_of(stored.ticket_id, stored.revision)
    since, diff = _since_last_decision(ledger, stored, revisions)
    rows = ledger.tickets(stored.drop)
    return ReviewNotes(
        editors=editors,
        warnings=[
            *_repaired_since(ledger, stored),
            *(_unsourced(settings, ledger, stored, revisions) if editors else ()),
        ],
        since=since,
        diff=diff,
        expired=next((row.expired for row in rows if row.ticket_id == stored.ticket_id), ""),
    )


def _since_last_decision(
    ledger: Ledger, stored: StoredDraft, revisions: list[StoredDraft]
) -> tuple[str, str]:
    decided = [row for row in ledger.reviews_of(stored.ticket_id) if row.revision < stored.revision]
    if not decided or stored.draft is None:
        return "", ""
    last = max(decided, key=lambda row: (row.revision, row.seq))
    old = next(one for one in revisions if one.revision == last.revision)
    since = f"revision {last.revision}, {last.decision} by {last.reviewer}"
    if old.draft is None:
        return f"{since} (it can no longer be read)", ""
    names = (f"revision {last.revision}", f"revision {stored.revision}")
    return since, unified_diff(old.draft, stored.draft, *names)


def _repaired_since(ledger: Ledger, stored: StoredDraft) -> list[str]:
    return [
        f"{row.report.repaired_by} reported a repair ({row.report.action}) after this was written: "
        f"run drop {stored.drop} again with --force, so that the ticket begins at the next step"
        for row in ledger.repairs(stored.incident_id)
        if row.at > stored.at
    ]


def _unsourced(
    settings: Settings, ledger: Ledger, stored: StoredDraft, revisions: list[StoredDraft]
) -> list[str]:
    """What people wrote that neither the incident nor the catalogue states."""
    edited = {row.revision for row in ledger.edits_of(stored.ticket_id)}
    machine = [one for one in revisions if one.revision not in edited and one.draft is not None]
    if stored.draft is None or not machine or machine[-1].draft is None:
        return []
    drafted, now = machine[-1].draft, stored.draft
    found = changed_facts(drafted, now) + left_behind(drafted, now)
    record = _record(ledger, now)
    if record is None:
        return [
            *found,
            "the incident of this draft is not in the ledger: its words are not checked",
        ]
    catalogue = load_catalogue(settings.catalogue)
    known = problems(drafted.text, record, catalogue)
    return found + [one for one in problems(now.text, record, catalogue) if one not in known]


def _record(ledger: Ledger, draft: TicketDraft) -> IncidentRecord | None:
    """The record that the draft rests on, else the last one that was found."""
    found = [one.record for one in ledger.incident_history(draft.incident_id) if one.found]
    same = [one for one in found if one.evidence_sha256 == draft.evidence_sha256]
    return next(reversed(same or found), None)
