"""What follows the drafts of one drop: where the gate stands, publications, the table of dossiers.

Publishing asks the gate itself. The assets and the command line both call these; the drafts are made in
`workflows.draft_drop`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.review import verdict
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.drop_stages import StageResult, load_incidents
from fabric_pipeline.workflows.publish_ticket import PublishOutcome, publish_approved
from fabric_pipeline.workflows.table_rows import write_table


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
    """Approved drafts -> outbox and published_tickets; then the dossiers hold review and publication."""
    ledger = Ledger(settings.ledger)
    outcome = publish_approved(settings, ledger, drop_id, at)
    rows = [
        (p.drop, p.ticket_id, p.draft_sha256, p.reviewer, p.at, p.outbox_file)
        for p in ledger.publications(drop=drop_id)
    ]
    result = write_table(settings, drop_id, "published_tickets", rows)
    if outcome.published:
        dossier_stage(settings, drop_id, at)
    result.figures = {
        "published_now": len(outcome.published),
        "refused": [f"{t}: {why}" for t, why in outcome.refused],
    }
    return result, outcome


def incidents_for_dossiers(settings: Settings, drop_id: str) -> list[IncidentRecord]:
    """Records that get an evidence dossier: those that open a ticket."""
    return [record for record in load_incidents(settings, drop_id) if record.needs_ticket]


def dossier_stage(settings: Settings, drop_id: str, at: datetime, run_id: str = "") -> StageResult:
    """incident_records and ticket_drafts -> one folder per incident, and evidence_dossiers."""
    from fabric_pipeline.workflows.dossier_build import build_dossiers  # loads the whole diagnosis

    ledger = Ledger(settings.ledger)
    records = incidents_for_dossiers(settings, drop_id)
    built = build_dossiers(settings, ledger, records, at, run_id=run_id)
    rows = [
        (drop_id, one.incident_id, str(one.path), one.manifest_sha256, one.files, one.chain_head)
        for one in built
    ]
    result = write_table(settings, drop_id, "evidence_dossiers", rows)
    result.figures = {
        "signatures_lost": [one.incident_id for one in built if one.lost_signature],
    }
    return result
