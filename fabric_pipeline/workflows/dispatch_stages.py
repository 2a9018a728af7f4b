"""From incident records to drafts, publications and the audit file of one drop.

Drafts are reused while the evidence is unchanged; publishing asks the gate itself. The assets and the
command line both call these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fabric_pipeline.drafting.assemble import ticket_id
from fabric_pipeline.drafting.catalogue import load_catalogue
from fabric_pipeline.drafting.draft import draft_ticket
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.review import verdict
from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.store.duck import connect
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.drop_stages import StageResult, load_incidents, write_checked
from fabric_pipeline.workflows.publish_ticket import PublishOutcome, publish_approved


@dataclass(slots=True)
class GateState:
    """Where the current drafts of a drop stand."""

    approved: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    awaiting: list[str] = field(default_factory=list)

    @property
    def is_reviewed(self) -> bool:
        """True when no draft waits for a person."""
        return not self.awaiting

    @property
    def must_block_publishing(self) -> bool:
        """True when nothing is approved and something still waits."""
        return bool(self.awaiting) and not self.approved


def draft_stage(
    settings: Settings, drop_id: str, at: datetime, progress: Callable[[str], None] = lambda _: None
) -> StageResult:
    """incident_records -> ticket_drafts, one draft for each incident that needs a ticket."""
    ledger = Ledger(settings.ledger)
    catalogue = load_catalogue(settings.catalogue)
    wanted = [record for record in load_incidents(settings, drop_id) if record.needs_ticket]
    rows = []
    for record in wanted:
        progress(record.isolated_component)
        if _is_overtaken(ledger, record):
            progress(f"{record.isolated_component}: a later drop has the newer draft")
            continue
        known = ledger.draft_for_evidence(ticket_id(record), record.evidence_sha256)
        draft = known or draft_ticket(record, settings=settings, catalogue=catalogue)
        revision = ledger.record_draft(draft, at)
        rows.append(_draft_row(draft, revision))
    retired = ledger.retire_drafts(drop_id, {row[1] for row in rows}, at)
    result = _write_rows(settings, drop_id, "ticket_drafts", rows)
    result.figures = {
        "drafters": sorted({str(row[5]) for row in rows}),
        "retired": retired,
        "tokens": sum(int(row[9]) + int(row[10]) for row in rows),
        "cost_usd": round(sum(float(row[11] or 0) for row in rows), 4),
    }
    return result


def gate_state(settings: Settings, drop_id: str) -> GateState:
    """Review state of the current drafts of a drop, by the same verdict that publishing uses."""
    ledger = Ledger(settings.ledger)
    state = GateState()
    for stored in ledger.drafts_of_drop(drop_id):
        review = ledger.review_state(stored.ticket_id, stored.draft_sha256)
        if verdict(review).may_publish:
            state.approved.append(stored.ticket_id)
        elif review.decision == "rejected" and review.standing == "current":
            state.rejected.append(stored.ticket_id)
        else:
            state.awaiting.append(stored.ticket_id)
    return state


def publish_stage(
    settings: Settings, drop_id: str, at: datetime
) -> tuple[StageResult, PublishOutcome]:
    """Approved drafts -> outbox and published_tickets."""
    ledger = Ledger(settings.ledger)
    outcome = publish_approved(settings, ledger, drop_id, at)
    rows = [
        (p.drop, p.ticket_id, p.draft_sha256, p.reviewer, p.at, p.outbox_file)
        for p in ledger.publications(drop=drop_id)
    ]
    result = _write_rows(settings, drop_id, "published_tickets", rows)
    result.figures = {
        "published_now": len(outcome.published),
        "refused": [f"{t}: {why}" for t, why in outcome.refused],
    }
    return result, outcome


def incidents_for_dossiers(settings: Settings, drop_id: str) -> list[IncidentRecord]:
    """Records that get an evidence dossier: those that open a ticket."""
    return [record for record in load_incidents(settings, drop_id) if record.needs_ticket]


def dossier_table(settings: Settings, drop_id: str, rows: Sequence[Sequence[Any]]) -> StageResult:
    """Write evidence_dossiers of a drop."""
    return _write_rows(settings, drop_id, "evidence_dossiers", rows)


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


def _draft_row(draft: TicketDraft, revision: int) -> tuple[Any, ...]:
    return (
        draft.drop, draft.ticket_id, draft.incident_id, revision, draft.sha256, draft.drafter, draft.drafter_note, draft.model,
        draft.prompt_version, draft.input_tokens, draft.output_tokens, draft.cost_usd, draft.text.title, draft.priority, draft.link,
        draft.evidence_sha256, draft.model_dump_json(),
    )  # fmt: skip


def _write_rows(
    settings: Settings, drop_id: str, name: str, rows: Sequence[Sequence[Any]]
) -> StageResult:
    table = TABLES[name]
    connection = connect()
    try:
        connection.execute(f"create temp table {name} as {table.empty_sql()}")
        insert_columns(connection, name, [(c.name, c.type) for c in table.columns], rows)
        return write_checked(connection, settings, name, drop_id)
    finally:
        connection.close()
