"""The repair ticket as a validated model: what a technician needs, with the origin of every field.

Drafters fill it, people edit and review it, publishing writes it out. Limits on length keep a draft on
one printed page. Whether a draft may be published is decided in `incidents.review`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from fabric_pipeline.incidents.record import CableFacts

TICKET_SCHEMA_VERSION = "2.0"
Origin = Literal["topology", "telemetry", "rule", "catalogue", "drafted", "ledger"]
DrainScope = Literal["none", "link", "node", "nodes", "unknown"]

# Which origin each field has, whoever wrote the draft: the portal and the sheet print it beside the
# field so that a reviewer knows what was generated. `ledger`: reported by people or earlier tickets.
FIELD_ORIGINS: dict[str, Origin] = {
    "title": "drafted",
    "site": "topology",
    "hall": "topology",
    "cage": "topology",
    "row": "topology",
    "rack": "topology",
    "unit": "topology",
    "face": "topology",
    "node": "telemetry",
    "node_serial": "topology",
    "asset_tag": "topology",
    "gpu_index": "telemetry",
    "gpu_slot": "topology",
    "socket": "topology",
    "pci_address": "topology",
    "gpu_uuid": "topology",
    "gpu_serial": "topology",
    "gpu_part_number": "topology",
    "port_label": "topology",
    "link": "telemetry",
    "lane": "telemetry",
    "far_end": "topology",
    "far_place": "topology",
    "fabric_or_switch_port": "topology",
    "cable_id": "topology",
    "cable": "topology",
    "priority": "rule",
    "sla": "topology",
    "contact": "topology",
    "schedule": "topology",
    "customer_reference": "topology",
    "fault": "rule",
    "rules_fired": "rule",
    "first_seen": "telemetry",
    "last_seen": "telemetry",
    "evidence": "telemetry",
    "replacement_part": "catalogue",
    "part_number": "catalogue",
    "parts": "catalogue",
    "repair_order": "catalogue",
    "begin_at_step": "ledger",
    "summary": "drafted",
    "evidence_statements": "drafted",
    "alternatives": "drafted",
    "port_isolation_guidance": "catalogue",
    "drain_scope": "catalogue",
    "drain_required": "catalogue",
    "job_impact": "telemetry",
    "safety": "catalogue",
    "tools": "catalogue",
    "repair_steps": "drafted",
    "test_after_repair": "catalogue",
    "pass_criteria": "catalogue",
    "rollback": "drafted",
    "rma": "catalogue",
    "earlier_repairs": "ledger",
    "earlier_tickets": "ledger",
    "topology_finding": "drafted",
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


class RepairOrderStep(BaseModel):
    """One step of the catalogue's repair order, by the name under which a done repair is reported."""

    model_config = ConfigDict(extra="forbid")

    step: int = Field(ge=1)
    action: str = Field(pattern=r"^[a-z][a-z0-9_]{1,59}$")
    part: str = Field(default="", max_length=200, description="Part that this step exchanges")


class DraftText(BaseModel):
    """The part of a ticket that a drafter words. Facts come from the incident, not from here."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(max_length=140)
    summary: str = Field(max_length=900)
    evidence_statements: list[EvidenceStatement] = Field(min_length=1, max_length=10)
    alternatives: list[str] = Field(default_factory=list, max_length=8)
    repair_steps: list[RepairStep] = Field(min_length=1, max_length=10)
    rollback: str = Field(max_length=400)


class TopologyFinding(BaseModel):
    """The drafter's own reading of which lane, port or shared component fails; it overrides nothing."""

    model_config = ConfigDict(extra="forbid")

    component: str = Field(max_length=200)
    level: Literal["lane", "port", "link", "shared_component", "device"]
    why: str = Field(max_length=600)
    would_refute_it: str = Field(max_length=400)
    evidence_ids: list[str] = Field(default_factory=list, max_length=10)
    agrees_with_isolation: bool


class FarPlace(BaseModel):
    """Where the other end sits; fields are empty when no topology states them."""

    model_config = ConfigDict(extra="forbid")

    device: str = ""
    slot: str = ""
    port: str = ""
    port_label: str = ""
    site: str = ""
    row: str = ""
    rack: str = ""
    unit: str = ""
    serial: str = ""


class PartChoice(BaseModel):
    """One part that the repair may need, in the order in which it would be replaced."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(max_length=200)
    part_number: str = Field(
        default="", description="Public vendor number from the catalogue, or empty"
    )
    quantity: int = Field(default=1, ge=1)
    spare_location: str = Field(default="", description="From the topology's list of spares")
    source: str = Field(default="", description="Where the part number is published")


class EvidenceReference(BaseModel):
    """Where a reviewer finds a piece of evidence: file with hash and lines."""

    model_config = ConfigDict(extra="forbid")

    evidence_id: str
    file: str
    sha256: str = ""
    line: int | None = None
    last_line: int | None = None


class RmaItem(BaseModel):
    """One item that the vendor's return form asks for, filled as far as it is known."""

    model_config = ConfigDict(extra="forbid")

    item: str = Field(max_length=200)
    value: str = Field(default="", max_length=400)
    state: Literal["filled", "to_attach", "to_ask"]
    origin: Origin = Field(
        default="catalogue", description="Where the value comes from; that of the item when empty"
    )


class EarlierRepair(BaseModel):
    """A repair that a person reported on this incident, and what the drops after it showed."""

    model_config = ConfigDict(extra="forbid")

    action: str = Field(max_length=400)
    step: int | None = None
    part: str = ""
    old_serial: str = ""
    new_serial: str = ""
    repaired_at: datetime
    outcome: Literal["waiting", "verified", "came_back"]


class EarlierTicket(BaseModel):
    """An earlier ticket in which the same serial was accused or replaced."""

    model_config = ConfigDict(extra="forbid")

    ticket_id: str
    serial: str
    link: str
    at: datetime
    how: Literal["accused", "taken_out", "put_in"]


class FailedAttempt(BaseModel):
    """An answer of Claude that did not pass the checks, for the reviewer; never published."""

    model_config = ConfigDict(extra="forbid")

    problems: list[str] = Field(max_length=12)
    answer: str = Field(max_length=8000, description="The answer as JSON, cleaned and cut")


# What a reviewer does not approve: accounts, and attempts that are shown beside the draft.
_NOT_APPROVED = frozenset(
    {
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "requests",
        "cost_usd",
        "failed_attempts",
    }
)


class TicketDraft(BaseModel):
    """One draft revision: facts of the incident plus the drafter's text, and who wrote it."""

    model_config = ConfigDict(extra="forbid")

    ticket_id: str
    incident_id: str
    drop: str
    schema_version: str = TICKET_SCHEMA_VERSION
    site: str = ""
    hall: str = ""
    cage: str = ""
    row: str = ""
    rack: str = ""
    unit: str = ""
    face: str = ""
    node: str
    node_serial: str = ""
    asset_tag: str = ""
    gpu_index: int | None = None
    gpu_slot: str = ""
    socket: int | None = None
    pci_address: str = ""
    gpu_uuid: str = ""
    gpu_serial: str = ""
    gpu_part_number: str = ""
    port_label: str = Field(default="", description="As printed on the box; never derived")
    link: str
    lane: int | None = None
    far_end: str = ""
    far_place: FarPlace = Field(default_factory=FarPlace)
    fabric_or_switch_port: str = ""
    cable_id: str = ""
    cable: CableFacts = Field(default_factory=CableFacts)
    priority: Literal["low", "normal", "high", "urgent"]
    sla: str = Field(default="", description="As the topology states it for this priority")
    contact: str = ""
    schedule: str = ""
    customer_reference: str = ""
    fault: str
    rules_fired: list[str] = Field(default_factory=list, max_length=12)
    first_seen: datetime | None = None
    last_seen: datetime | None = None
    evidence: list[EvidenceReference] = Field(default_factory=list)
    replacement_part: str = Field(
        description="From the parts catalogue, or the statement that it has no entry"
    )
    part_number: str = ""
    parts: list[PartChoice] = Field(default_factory=list, max_length=8)
    repair_order: list[RepairOrderStep] = Field(default_factory=list, max_length=8)
    begin_at_step: int = Field(
        default=1, ge=1, description="Step of the repair order that is next, after earlier repairs"
    )
    port_isolation_guidance: str
    drain_scope: DrainScope = "unknown"
    drain_required: str
    job_impact: str = ""
    safety: list[str] = Field(default_factory=list)
    tools: list[str] = Field(default_factory=list)
    test_after_repair: str
    pass_criteria: list[str] = Field(min_length=1)
    rma: list[RmaItem] = Field(default_factory=list)
    earlier_repairs: list[EarlierRepair] = Field(default_factory=list)
    earlier_tickets: list[EarlierTicket] = Field(default_factory=list)
    text: DraftText
    topology_finding: TopologyFinding | None = None
    drafter: Literal["claude", "rules"]
    drafter_note: str = Field(
        default="", description="Why the rules drafter wrote this, when Claude was asked and failed"
    )
    edited_by: str = Field(default="", description="Last person who edited the text, or empty")
    model: str = ""
    effort: str = ""
    prompt_version: str = ""
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None
    failed_attempts: list[FailedAttempt] = Field(default_factory=list, max_length=6)
    evidence_sha256: str = ""
    basis_sha256: str = Field(
        default="",
        description="Hash over evidence, catalogue entry and repair history; a draft is reused while it stays",
    )

    @property
    def sha256(self) -> str:
        """Hash of the content that a reviewer approves: everything but accounts and failed attempts."""
        return content_sha256(self.model_dump(mode="json", exclude=set(_NOT_APPROVED)))


def content_sha256(body: Mapping[str, Any]) -> str:
    """The same hash from a draft as JSON, whichever version of the model wrote it."""
    kept = {name: value for name, value in body.items() if name not in _NOT_APPROVED}
    text = json.dumps(kept, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
