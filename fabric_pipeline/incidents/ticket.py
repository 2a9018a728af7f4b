"""The repair ticket as a validated model: what a technician needs, with the origin of every field.

Drafters fill it, reviewers read it, publishing writes it out. Limits on length keep a draft on one
printed page. Whether a draft may be published is decided in `incidents.review`.
"""

from __future__ import annotations

import hashlib
import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

TICKET_SCHEMA_VERSION = "1.0"
Origin = Literal["topology", "telemetry", "rule", "catalogue", "drafted"]

# Which origin each field has, whoever wrote the draft: the portal and the sheet print it beside the
# field so that a reviewer knows what was generated.
FIELD_ORIGINS: dict[str, Origin] = {
    "title": "drafted",
    "site": "topology",
    "row": "topology",
    "rack": "topology",
    "unit": "topology",
    "node": "telemetry",
    "node_serial": "topology",
    "gpu_index": "telemetry",
    "gpu_uuid": "topology",
    "gpu_serial": "topology",
    "port_label": "topology",
    "link": "telemetry",
    "far_end": "topology",
    "fabric_or_switch_port": "topology",
    "cable_id": "topology",
    "priority": "rule",
    "fault": "rule",
    "replacement_part": "catalogue",
    "part_number": "catalogue",
    "summary": "drafted",
    "evidence_statements": "drafted",
    "alternatives": "drafted",
    "port_isolation_guidance": "rule",
    "drain_required": "rule",
    "safety": "rule",
    "tools": "rule",
    "repair_steps": "drafted",
    "test_after_repair": "rule",
    "pass_criteria": "rule",
    "rollback": "drafted",
}


class EvidenceStatement(BaseModel):
    """One claim and the ids of the evidence that carries it."""

    model_config = ConfigDict(extra="forbid")

    claim: str = Field(max_length=400)
    evidence_ids: list[str] = Field(min_length=1)


class RepairStep(BaseModel):
    """One step for a person, and what its outcome would prove."""

    model_config = ConfigDict(extra="forbid")

    do: str = Field(max_length=400)
    proves: str = Field(max_length=400)


class DraftText(BaseModel):
    """The part of a ticket that a drafter words. Facts come from the incident, not from here."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(max_length=140)
    summary: str = Field(max_length=900)
    evidence_statements: list[EvidenceStatement] = Field(min_length=1, max_length=10)
    alternatives: list[str] = Field(default_factory=list, max_length=8)
    repair_steps: list[RepairStep] = Field(min_length=1, max_length=10)
    rollback: str = Field(max_length=400)


class TopologyReading(BaseModel):
    """The drafter's own reading of which lane or port fails; recorded, never overriding."""

    model_config = ConfigDict(extra="forbid")

    component: str
    why: str = Field(max_length=600)
    would_refute_it: str = Field(max_length=400)
    agrees_with_isolation: bool


class TicketDraft(BaseModel):
    """One draft revision: facts of the incident plus the drafter's text, and who wrote it."""

    model_config = ConfigDict(extra="forbid")

    ticket_id: str
    incident_id: str
    drop: str
    schema_version: str = TICKET_SCHEMA_VERSION
    site: str = ""
    row: str = ""
    rack: str = ""
    unit: str = ""
    node: str
    node_serial: str = ""
    gpu_index: int | None = None
    gpu_uuid: str = ""
    gpu_serial: str = ""
    port_label: str = ""
    link: str
    far_end: str = ""
    fabric_or_switch_port: str = ""
    cable_id: str = ""
    priority: Literal["low", "normal", "high", "urgent"]
    fault: str
    replacement_part: str = Field(
        description="From the parts catalogue, or the statement that it has no entry"
    )
    part_number: str = ""
    port_isolation_guidance: str
    drain_required: str
    safety: list[str] = Field(default_factory=list)
    tools: list[str] = Field(default_factory=list)
    test_after_repair: str
    pass_criteria: list[str] = Field(min_length=1)
    text: DraftText
    topology_reading: TopologyReading | None = None
    drafter: Literal["claude", "rules"]
    drafter_note: str = Field(
        default="", description="Why the rules drafter wrote this, when Claude was asked and failed"
    )
    model: str = ""
    prompt_version: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    evidence_sha256: str = ""

    @property
    def sha256(self) -> str:
        """Hash of the content that a reviewer approves: everything but tokens and cost."""
        volatile = {"input_tokens", "output_tokens", "cost_usd"}
        body = self.model_dump(mode="json", exclude=volatile)
        text = json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()
