"""Taking drops through the pipeline in tests: by the stages alone, or by a Dagster job in process."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.dispatch_stages import dossier_stage
from fabric_pipeline.workflows.draft_drop import draft_stage
from fabric_pipeline.workflows.drop_stages import (
    correlation_stage,
    incident_stage,
    ingest_stage,
    link_counters_stage,
    spike_stage,
    straggler_stage,
)
from fabric_pipeline.workflows.inbox import claim
from fabric_pipeline.workflows.run_drops import begin_diagnosis, end_diagnosis
from fabric_pipeline.workflows.table_rows import write_table

ROOT = Path(__file__).resolve().parent.parent
NOW = datetime(2024, 7, 8, 9, 10, 11, tzinfo=UTC)


def diagnose_without_dagster(
    settings: Settings, drop: Path, at: datetime = NOW, *, dossiers: bool = False
) -> str:
    """All stages of a diagnosis in their order, dossiers only when asked for; returns the drop id."""
    ledger = Ledger(settings.ledger)
    found = claim(ledger, drop, at)
    drop_id = found.drop_id
    begin_diagnosis(settings, drop_id, at)
    results, _ = ingest_stage(settings, drop_id, drop, at)
    results.append(link_counters_stage(settings, drop_id))
    results.append(spike_stage(settings, drop_id))
    results.append(straggler_stage(settings, drop_id))
    results.append(correlation_stage(settings, drop_id))
    results.append(incident_stage(settings, drop_id, at)[0])
    results.append(draft_stage(settings, drop_id, at))
    results.append(
        dossier_stage(settings, drop_id, at)
        if dossiers
        else write_table(settings, drop_id, "evidence_dossiers", [])
    )
    broken = [(result.table, result.violations) for result in results if result.violations]
    assert broken == []
    end_diagnosis(settings, drop_id, at)
    return drop_id


def copy_home(source: Path, target: Path) -> None:
    """Copy a home that others may be reading: a reader's index of the ledger comes and goes meanwhile."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.sqlite-shm", "*.sqlite-wal"))
