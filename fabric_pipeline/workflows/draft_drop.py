"""Drafts of one drop: which incidents get one, which stored draft still holds, what the new ones cost.

A stored draft, edited by a person or not, is used again while evidence, catalogue entry and repair
history stay the same. Writing the words belongs to `drafting`, reviewing and publishing to others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fabric_pipeline.drafting.assemble import basis_sha256, ticket_id
from fabric_pipeline.drafting.catalogue import Catalogue, load_catalogue
from fabric_pipeline.drafting.draft import DraftRequest, draft_tickets
from fabric_pipeline.drafting.history import TicketHistory
from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.drop_stages import StageResult, load_incidents
from fabric_pipeline.workflows.fabric_lookup import lake_lookup
from fabric_pipeline.workflows.table_rows import write_table
from fabric_pipeline.workflows.ticket_history import history_of

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One incident that needs a ticket, and the stored draft that still holds for it, if any."""

    record: IncidentRecord
    history: TicketHistory
    known: TicketDraft | None


def draft_stage(
    settings: Settings, drop_id: str, at: datetime, progress: Progress = lambda _: None
) -> StageResult:
    """incident_records -> ticket_drafts, one draft for each incident that needs a ticket."""
    ledger = Ledger(settings.ledger)
    catalogue = load_catalogue(settings.catalogue)
    wanted = _wanted(ledger, catalogue, load_incidents(settings, drop_id), progress)
    new = _new_drafts(settings, drop_id, ledger, catalogue, wanted, progress)
    rows, drafts = [], []
    for one in wanted:
        draft = one.known or new[one.record.incident_id]
        ledger.record_draft(draft, at)
        stored = ledger.current_draft(draft.ticket_id)
        drafts.append(stored.draft or draft)
        rows.append(_draft_row(drafts[-1], stored.revision))
    retired = ledger.retire_drafts(drop_id, {draft.ticket_id for draft in drafts}, at)
    result = write_table(settings, drop_id, "ticket_drafts", rows)
    result.figures = _figures(drafts, list(new.values()), retired)
    return result


def _wanted(
    ledger: Ledger, catalogue: Catalogue, records: Sequence[IncidentRecord], progress: Progress
) -> list[_Wanted]:
    found = []
    for record in records:
        if not record.needs_ticket:
            continue
        named = clean(record.isolated_component, 200)
        progress(named)
        if _is_overtaken(ledger, record):
            progress(f"{named}: a later drop has the newer draft")
            continue
        entry = catalogue.entry_for(record)
        history = history_of(ledger, record, len(entry.repair_steps))
        basis = basis_sha256(record, entry, history)
        known = ledger.draft_for_evidence(ticket_id(record), record.evidence_sha256, basis)
        found.append(_Wanted(record, history, known))
    return found


def _new_drafts(
    settings: Settings,
    drop_id: str,
    ledger: Ledger,
    catalogue: Catalogue,
    wanted: Sequence[_Wanted],
    progress: Progress,
) -> dict[str, TicketDraft]:
    """Drafts of the incidents that have none, by incident id."""
    missing = [one for one in wanted if one.known is None]
    if not missing:
        return {}
    with lake_lookup(settings, drop_id, ledger) as lookup:
        requests = [DraftRequest(one.record, one.history, lookup) for one in missing]
        drafts = draft_tickets(requests, settings=settings, catalogue=catalogue, progress=progress)
    return {draft.incident_id: draft for draft in drafts}


def _is_overtaken(ledger: Ledger, record: IncidentRecord) -> bool:
    """True when the ticket's current draft rests on a later sighting of the same fault in another drop.

    One fault has one ticket: a later drop revises it, and reading an older drop again must not put the
    older evidence back on top.
    """
    later = [
        other.record.last_seen
        for other in ledger.incident_history(record.incident_id)
        if other.found and other.drop != record.drop and other.record.last_seen is not None
    ]
    return record.last_seen is not None and any(moment > record.last_seen for moment in later)


def _figures(
    drafts: Sequence[TicketDraft], new: Sequence[TicketDraft], retired: Sequence[str]
) -> dict[str, Any]:
    """Sums over all drafts of the drop; `new_…` are those that this run made. Money in US dollars."""
    names = ("requests", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    return {
        "drafters": sorted({draft.drafter for draft in drafts}),
        "retired": list(retired),
        "new_drafts": len(new),
        **{name: sum(getattr(draft, name) for draft in drafts) for name in names},
        "failed_attempts": sum(len(draft.failed_attempts) for draft in drafts),
        "cost_usd": _cost(drafts),
        "new_cost_usd": _cost(new),
        "drafts_of_unknown_cost": sum(
            draft.cost_usd is None and draft.requests > 0 for draft in drafts
        ),
    }


def _cost(drafts: Sequence[TicketDraft]) -> float:
    """Known costs together; a draft whose model has no list price is counted apart."""
    return round(sum(draft.cost_usd or 0 for draft in drafts), 6)


def _draft_row(draft: TicketDraft, revision: int) -> tuple[Any, ...]:
    return (
        draft.drop, draft.ticket_id, draft.incident_id, revision, draft.sha256, draft.drafter, draft.drafter_note, draft.model,
        draft.effort, draft.prompt_version, draft.requests, draft.input_tokens, draft.output_tokens, draft.cache_read_tokens,
        draft.cache_write_tokens, draft.cost_usd, len(draft.failed_attempts), draft.text.title, draft.priority, draft.link,
        draft.evidence_sha256, draft.model_dump_json(),
    )  # fmt: skip
