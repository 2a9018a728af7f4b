"""Everything that the page of one ticket shows, gathered from the ledger for the revision that is read.

Nothing is decided or recorded here: the gate's verdict, the reviewer's notes and the life of the
incident are asked for where they are made.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fabric_pipeline.errors import FabricError, GateError, NotFoundError
from fabric_pipeline.incidents.lifecycle import LifeState
from fabric_pipeline.incidents.review import Verdict, verdict
from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.portal.started_runs import StartedRun, runs_of
from fabric_pipeline.portal.ticket_groups import Group, groups_of
from fabric_pipeline.portal.word_diff import Change, changes_between
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger, Publication, StoredDraft, TicketRow
from fabric_pipeline.workflows.dispatch_stages import GateState, gate_state
from fabric_pipeline.workflows.lifecycle import states
from fabric_pipeline.workflows.review_notes import ReviewNotes, review_notes
from fabric_pipeline.workflows.ticket_events import TicketEvent, ticket_events


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit by a person: who, why, and the words that changed against the revision before."""

    revision: int
    editor: str
    reason: str
    at: datetime
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the current draft stands with the gate, and what was started to publish it.

    `publication` is of the current draft alone; `gate` counts all drafts of the drop.
    """

    verdict: Verdict
    gate: GateState
    publication: Publication | None
    run: StartedRun | None


@dataclass(frozen=True, slots=True)
class TicketView:
    """One revision of a ticket with what belongs beside it.

    `edited` are names of fields in which words of a person stand. `changed_since` is what is different
    from the last decided revision, which `notes.since` names.
    """

    stored: StoredDraft
    draft: TicketDraft
    row: TicketRow
    revisions: tuple[StoredDraft, ...]
    groups: tuple[Group, ...]
    edited: frozenset[str]
    edits: tuple[Edit, ...]
    notes: ReviewNotes
    changed_since: tuple[Change, ...]
    events: tuple[TicketEvent, ...]
    life: LifeState | None
    standing: Standing

    @property
    def is_current(self) -> bool:
        """True for the newest revision; only that one can be edited or decided."""
        return self.stored.revision == self.row.revision

    @property
    def can_decide(self) -> bool:
        """True when a decision on this revision would be recorded."""
        return self.is_current and not self.stored.retired and self.stored.intact


def ticket_view(
    settings: Settings, ledger: Ledger, ticket_id: str, revision: int | None = None
) -> TicketView:
    """The view of a revision, of the current one for None.

    Errors: `NotFoundError` (no such ticket or revision), `GateError` (the stored text was altered or
    cannot be read).
    """
    current = ledger.current_draft(ticket_id)
    revisions = ledger.drafts_of_ticket(ticket_id)
    stored = current if revision is None else _revision(revisions, ticket_id, revision)
    draft = readable(stored)
    row = next(one for one in ledger.tickets(current.drop) if one.ticket_id == ticket_id)
    notes = _notes(settings, ledger, stored)
    edits = _edits(ledger, ticket_id, revisions, stored.revision)
    return TicketView(
        stored=stored,
        draft=draft,
        row=row,
        revisions=tuple(revisions),
        groups=tuple(groups_of(draft)),
        edited=_edited(ledger, ticket_id, revisions, stored, draft),
        edits=tuple(reversed(edits)),
        notes=notes,
        changed_since=_changed_since(ledger, revisions, stored, draft),
        events=tuple(reversed(ticket_events(ledger, ticket_id))),
        life=states(ledger, [stored.incident_id]).get(stored.incident_id),
        standing=standing_of(settings, ledger, current),
    )


def standing_of(settings: Settings, ledger: Ledger, current: StoredDraft) -> Standing:
    """Where the current draft of a ticket stands with the gate."""
    found = [
        one
        for one in ledger.publications(ticket_id=current.ticket_id)
        if one.revision == current.revision
    ]
    return Standing(
        verdict=verdict(ledger.review_state(current.ticket_id, current.draft_sha256)),
        gate=gate_state(settings, current.drop),
        publication=found[-1] if found else None,
        run=runs_of(settings).of("publish", current.drop),
    )


def readable(stored: StoredDraft) -> TicketDraft:
    """The draft of a revision; `GateError` when it was altered or fits no known model."""
    if stored.draft is None or not stored.intact:
        raise GateError(
            f"{stored.ticket_id}: the stored draft no longer matches its hash or cannot be read",
            "verify the ledger's chain on the audit page; draft the ticket again from its incident",
        )
    return stored.draft


def _notes(settings: Settings, ledger: Ledger, stored: StoredDraft) -> ReviewNotes:
    """The reviewer's notes; without a readable catalogue a note that nothing was checked against it."""
    try:
        return review_notes(settings, ledger, stored)
    except FabricError as error:
        warning = f"What people wrote is not checked: {error.message}"
        editors = ledger.editors_of(stored.ticket_id, stored.revision)
        return ReviewNotes(editors, [warning], since="", diff="", expired="")


def _revision(revisions: list[StoredDraft], ticket_id: str, revision: int) -> StoredDraft:
    for one in revisions:
        if one.revision == revision:
            return one
    raise NotFoundError(
        f"{ticket_id} has no revision {revision}", f"it has revisions 1 to {len(revisions)}"
    )


def _edits(ledger: Ledger, ticket_id: str, revisions: list[StoredDraft], until: int) -> list[Edit]:
    drafts = {one.revision: one.draft for one in revisions}
    found = []
    for row in ledger.edits_of(ticket_id):
        old, new = drafts.get(row.base_revision), drafts.get(row.revision)
        if row.revision <= until:
            changes = changes_between(old, new) if old and new else []
            found.append(Edit(row.revision, row.editor, row.reason, row.at, tuple(changes)))
    return found


def _edited(
    ledger: Ledger,
    ticket_id: str,
    revisions: list[StoredDraft],
    stored: StoredDraft,
    draft: TicketDraft,
) -> frozenset[str]:
    """Fields that differ from the drafter's last own words before this revision."""
    by_people = {row.revision for row in ledger.edits_of(ticket_id)}
    machine = [
        one
        for one in revisions
        if one.revision <= stored.revision and one.revision not in by_people and one.draft
    ]
    if not machine or machine[-1].draft is None or machine[-1].revision == stored.revision:
        return frozenset()
    return frozenset(change.field for change in changes_between(machine[-1].draft, draft))


def _changed_since(
    ledger: Ledger, revisions: list[StoredDraft], stored: StoredDraft, draft: TicketDraft
) -> tuple[Change, ...]:
    decided = [
        row.revision
        for row in ledger.reviews_of(stored.ticket_id)
        if row.revision < stored.revision
    ]
    old = next((one.draft for one in revisions if decided and one.revision == max(decided)), None)
    return tuple(changes_between(old, draft)) if old else ()
