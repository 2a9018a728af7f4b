"""Invented incidents and drafts for tests of the ledger, the gate and the audit file."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fabric_pipeline.incidents.record import Evidence, IncidentRecord
from fabric_pipeline.incidents.ticket import (
    DraftText,
    EvidenceStatement,
    RepairStep,
    TicketDraft,
)
from fabric_pipeline.settings import Settings

START = datetime(2031, 3, 4, 5, 6, 7, tzinfo=UTC)
TICKET = "TKT-00000000000a"
INCIDENT = "INC-00000000000a"


def later(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def settings(home: Path) -> Settings:
    return Settings(root=home, home=home / "warehouse")


def draft(
    ticket_id: str = TICKET, *, title: str = "Reseat the cable", **changes: Any
) -> TicketDraft:
    text = DraftText(
        title=title,
        summary="Link errors rise while the collective slows down.",
        evidence_statements=[EvidenceStatement(claim="replay counts rise", evidence_ids=["E1"])],
        repair_steps=[RepairStep(do="reseat the cable", proves="contact was the cause")],
        rollback="put the old cable back",
    )
    fields: dict[str, Any] = {
        "ticket_id": ticket_id,
        "incident_id": INCIDENT,
        "drop": "d1",
        "node": "calc-07",
        "link": "calc-07:gpu2/nvlink-5",
        "priority": "high",
        "fault": "physical_link_degradation",
        "replacement_part": "the catalogue has no entry",
        "port_isolation_guidance": "a person may take the port out of service",
        "drain_required": "drain the node first",
        "test_after_repair": "run the all-reduce test for ten minutes",
        "pass_criteria": ["no replay in ten minutes"],
        "text": text,
        "drafter": "rules",
        "evidence_sha256": sha("evidence"),
    }
    return TicketDraft(**{**fields, **changes})


def incident(incident_id: str = INCIDENT, *, drop: str = "d1", **changes: Any) -> IncidentRecord:
    fields: dict[str, Any] = {
        "incident_id": incident_id,
        "drop": drop,
        "isolated_component": "calc-07:gpu2/nvlink-5",
        "fault_type": "physical_link_degradation",
        "severity": "CRITICAL",
        "ticket_priority": "high",
        "action_code": "reseat",
        "action_text": "reseat the cable",
        "summary": "errors rise",
        "confidence": 0.9,
        "gpu_hours_lost": 12.5,
        "evidence": [Evidence(evidence_id="E1", file="a.csv", sha256=sha("a"), line=4, says="9")],
        "evidence_sha256": sha("evidence"),
    }
    return IncidentRecord(**{**fields, **changes})
