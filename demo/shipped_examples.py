"""What the pipeline makes of the shipped drops: run, one ticket approved and published, one waiting.

Stages, drafts and decisions are those of the product, with the rules drafter and fixed times, so the same
code gives the same bytes. Here is the run and what it leaves for a reader; pages about it are made elsewhere.
"""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fabric_pipeline.cli.ticket_text import ticket_text
from fabric_pipeline.errors import FabricError
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.settings import Settings, project_root
from fabric_pipeline.store.audit import rebuild_audit
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.dispatch_stages import dossier_stage, publish_stage
from fabric_pipeline.workflows.draft_drop import draft_stage
from fabric_pipeline.workflows.drop_stages import (
    correlation_stage,
    incident_stage,
    ingest_stage,
    link_counters_stage,
    load_incidents,
    spike_stage,
    straggler_stage,
)
from fabric_pipeline.workflows.inbox import claim, scan
from fabric_pipeline.workflows.review_ticket import review
from fabric_pipeline.workflows.ticket_sheet import sheet_of

# Ten minutes after the last reading; each drop a minute later than the one before it.
STARTED_AT = datetime(2026, 11, 20, 17, 0, tzinfo=UTC)
APPROVED_AT = datetime(2026, 11, 20, 17, 24, tzinfo=UTC)
PUBLISHED_AT = datetime(2026, 11, 20, 17, 30, tzinfo=UTC)
AUDITED_AT = datetime(2026, 11, 20, 17, 31, tzinfo=UTC)
APPROVED_DROP = "crc-multibit-lane"
REVIEWER, REASON = "reviewer-1", "errors and slow time coincide, both ends count them"
_SEVERITIES = ("CRITICAL", "WARNING", "WATCH", "INFO")


def diagnose(settings: Settings, drop: Path, at: datetime) -> str:
    """Take one drop through all stages up to its drafts; returns its id."""
    ledger = Ledger(settings.ledger)
    claimed = claim(ledger, drop, at)
    drop_id = claimed.drop_id
    results, _ = ingest_stage(settings, drop_id, drop, at)
    for stage in (link_counters_stage, spike_stage, straggler_stage, correlation_stage):
        results.append(stage(settings, drop_id))
    results.append(incident_stage(settings, drop_id, at)[0])
    results.append(draft_stage(settings, drop_id, at))
    broken = [f"{one.table}: {one.violations}" for one in results if one.violations]
    if broken:
        raise FabricError(f"{drop_id}: tables break their schema: {broken}", "repair the stage")
    ledger.mark_processed(drop_id, claimed.content_sha256, at)
    return drop_id


def run_shipped(home: Path) -> Settings:
    """All shipped drops in the order of `fabric-pipeline run`; takes some 20 s."""
    settings = Settings(root=project_root(), home=home)
    for number, entry in enumerate(scan(settings.inbox)):
        at = STARTED_AT + timedelta(minutes=number)
        dossier_stage(settings, diagnose(settings, entry.path, at), at)
    ledger = Ledger(settings.ledger)
    (ticket,) = ledger.tickets(APPROVED_DROP)
    review(ledger, ticket.ticket_id, ticket.draft_sha256, "approved", REVIEWER, REASON, APPROVED_AT)
    publish_stage(settings, APPROVED_DROP, PUBLISHED_AT)
    rebuild_audit(settings, at=AUDITED_AT)
    return settings


def drops_of(settings: Settings) -> list[str]:
    """Ids of the drops that were run, by name."""
    return sorted(row.drop_id for row in Ledger(settings.ledger).drops())


def incidents_of(settings: Settings, drop: str) -> list[IncidentRecord]:
    """All records of a drop, heaviest first."""
    records = load_incidents(settings, drop)
    return sorted(
        records, key=lambda one: (_SEVERITIES.index(one.severity), one.isolated_component)
    )


def shipped_files(settings: Settings) -> dict[str, str]:
    """Path below `shipped_drops` -> text: incidents, tickets, sheets, and what was published."""
    ledger = Ledger(settings.ledger)
    files = {}
    for drop in drops_of(settings):
        records = [one.model_dump(mode="json") for one in incidents_of(settings, drop)]
        files[f"{drop}/incidents.json"] = as_json(records)
        for ticket in ledger.tickets(drop):
            draft = ledger.current_draft(ticket.ticket_id).draft
            if draft is None:
                raise FabricError(f"{ticket.ticket_id}: no draft was made", "run the drop again")
            place = f"{drop}/tickets/{ticket.ticket_id}"
            files[f"{place}.json"] = as_json(draft.model_dump(mode="json"))
            files[f"{place}.txt"] = ticket_text(draft) + "\n"
            sheet = sheet_of(settings, ledger, ticket.ticket_id)
            files[f"{drop}/sheets/{ticket.ticket_id}.html"] = sheet
            for path in sorted((settings.outbox / ticket.ticket_id).glob("*")):
                place = f"{drop}/outbox/{ticket.ticket_id}/{path.name}"
                files[place] = path.read_bytes().decode("utf-8")
    return files


def dossier_folders(settings: Settings) -> dict[str, Path]:
    """Path below `shipped_drops` -> the dossier that was built."""
    return {
        f"{folder.name.partition('--')[2]}/dossiers/{folder.name}": folder
        for folder in sorted(settings.dossiers.iterdir())
        if folder.is_dir()
    }


def as_json(value: Any) -> str:
    """JSON as people read it, with its letters as they are."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Write texts below a folder, byte for byte as they are."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")


def copy_dossiers(settings: Settings, folder: Path) -> None:
    """The dossiers as they were built, below a folder."""
    for name, source in dossier_folders(settings).items():
        shutil.copytree(source, folder / name)
