"""Assembles the Dagster definitions; tests replace resources here instead of patching."""

from __future__ import annotations

from typing import Any

import dagster as dg

from fabric_pipeline.orchestration.assets import audit, dispatch, findings, ingest
from fabric_pipeline.orchestration.checks import accounting, review
from fabric_pipeline.orchestration.jobs import diagnose_drop, publish, retention
from fabric_pipeline.orchestration.pull import hourly_pull, pull_prometheus
from fabric_pipeline.orchestration.resources import FabricResource
from fabric_pipeline.orchestration.schedules import daily_retention, hourly_drops
from fabric_pipeline.orchestration.sensors import drop_sensor, review_sensor


def build_definitions(**resources: Any) -> dg.Definitions:
    """All assets, checks, jobs, sensors and schedules; keyword arguments replace resources."""
    return dg.Definitions(
        assets=[
            ingest.telemetry_drop,
            ingest.read_drop,
            ingest.link_counters,
            findings.spike_detections,
            findings.stragglers,
            findings.straggler_correlations,
            findings.incident_records,
            dispatch.ticket_drafts,
            dispatch.evidence_dossiers,
            dispatch.published_tickets,
            audit.audit_database,
        ],
        asset_checks=[accounting.nothing_lost, accounting.ledger_agrees, review.human_review],
        jobs=[diagnose_drop, publish, pull_prometheus, retention],
        sensors=[drop_sensor, review_sensor],
        schedules=[hourly_drops, hourly_pull(), daily_retention],
        resources={"fabric": FabricResource(), **resources},
        # Steps are short and share one DuckDB per step: one process is several times faster than one
        # process per step. Runs are parallel, and shards later.
        executor=dg.in_process_executor,
    )
