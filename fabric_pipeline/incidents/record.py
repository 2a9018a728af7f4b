"""The standard incident record, versioned, with a published JSON Schema.

One record describes one physical fault (or one explicit non-fault) with everything a reviewer,
technician or auditor needs to check it. Judging happens before; nothing here reads or stores.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = "1.2"

FaultType = Literal[
    "physical_link_degradation",
    "link_down",
    "link_flapping",
    "width_or_speed_downgrade",
    "shared_component",
    "congestion",
    "not_a_link",
    "nominal",
    "no_data",
]
Severity = Literal["INFO", "WATCH", "WARNING", "CRITICAL"]
Priority = Literal["low", "normal", "high", "urgent"]
Role = Literal["cause", "symptom", "context"]


class Evidence(BaseModel):
    """One place where a statement can be checked: id, file with hash, lines, text as it stood."""

    model_config = ConfigDict(extra="forbid")

    evidence_id: str = Field(
        description="Short id cited by tickets, such as E1; unique in a record"
    )
    file: str
    sha256: str = ""
    line: int | None = None
    last_line: int | None = None
    excerpt: str = ""
    says: str = Field(default="", description="What this evidence shows, with its figures")
    query: str = Field(default="", description="SQL that finds the rows in audit.duckdb, or empty")


class Figure(BaseModel):
    """One number of the reasoning, and the query on audit.duckdb that returns exactly it."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="Name of the number, unique in a record")
    value: float = Field(description="As computed, not rounded")
    unit: str
    says: str = Field(description="What the number means")
    query: str = Field(description="One SELECT with one row and one column: the value")


class Alternative(BaseModel):
    """Another explanation that was weighed, and why it was set aside (or not)."""

    model_config = ConfigDict(extra="forbid")

    explanation: str
    why_set_aside: str


class Symptom(BaseModel):
    """A finding that follows from this incident's cause and opens no ticket of its own."""

    model_config = ConfigDict(extra="forbid")

    component: str
    kind: str
    reason: str


class FiredRule(BaseModel):
    """A rule that fired, with the value, its limit and where the limit comes from."""

    model_config = ConfigDict(extra="forbid")

    rule_id: str
    says: str
    value: str = ""
    limit: str = ""
    source: str = ""


class Place(BaseModel):
    """Where a link end sits: from topology only; empty when no topology file states it."""

    model_config = ConfigDict(extra="forbid")

    node: str = ""
    site: str = ""
    hall: str = ""
    cage: str = ""
    row: str = ""
    rack: str = ""
    unit: str = ""
    face: str = Field(default="", description="Side of the rack at which to stand: front or rear")
    node_serial: str = Field(default="", description="Of the node, or of the switch at this end")
    asset_tag: str = ""
    socket: int | None = None
    gpu: int | None = None
    gpu_uuid: str = ""
    gpu_serial: str = ""
    gpu_part_number: str = ""
    gpu_slot: str = ""
    slot: str = Field(
        default="", description="Slot of the adapter, or of the switch in its chassis"
    )
    nic_serial: str = ""
    nic_part_number: str = ""
    pci: str = ""
    port_label: str = Field(default="", description="As printed on the box, never derived")


class CableFacts(BaseModel):
    """What the topology says about the cable; empty fields are not stated."""

    model_config = ConfigDict(extra="forbid")

    medium: str = Field(default="", description="Such as DAC, ACC, AOC, MMF, SMF")
    length_m: float | None = None
    connector: str = ""
    colour: str = ""
    serial: str = ""
    part_number: str = ""


class PlatformFacts(BaseModel):
    """What tells which machine and link this is, for the choice of a catalogue entry.

    Counts are None unless the topology lists links of the GPU; a partial list counts too low.
    """

    model_config = ConfigDict(extra="forbid")

    stated: str = Field(default="", description="Platform of the node as the topology words it")
    gpu_model: str = ""
    nic_model: str = ""
    nvlinks_of_gpu: int | None = None
    nvswitches_of_gpu: int | None = Field(
        default=None, description="NVSwitches that the NVLinks of the GPU end on"
    )
    nvlink_far_end: Literal["", "gpu", "nvswitch", "switch"] = Field(
        default="", description="What the NVLink of the GPU ends on; `switch`: outside its node"
    )
    speed_gbps: float | None = Field(default=None, description="Nominal speed of the link in Gb/s")


class ServiceFacts(BaseModel):
    """Whom the ticket concerns and how fast, as the topology states it; empty when it does not."""

    model_config = ConfigDict(extra="forbid")

    contact: str = Field(default="", description="A desk or role, not a person")
    schedule: str = ""
    customer_reference: str = ""
    sla: str = Field(default="", description="For the priority of this incident")


class Spare(BaseModel):
    """A spare that fits the accused link, from the topology's list."""

    model_config = ConfigDict(extra="forbid")

    part: str
    location: str
    quantity: int | None = None
    fits: str = Field(default="", description="Part reference or platform that it is for")


class IncidentRecord(BaseModel):
    """One physical fault, or one explicit non-fault, of one drop. See the fields."""

    model_config = ConfigDict(extra="forbid")

    incident_id: str = Field(
        description="Stable over reruns and over drops: same component and fault family"
    )
    schema_version: str = SCHEMA_VERSION
    drop: str
    role: Role = "cause"
    status: Literal["open", "watch", "closed"] = "open"
    first_seen: datetime | None = None
    last_seen: datetime | None = None
    isolated_component: str = Field(description="Component id of the end that is blamed, or `none`")
    far_end: str = Field(
        default="", description="Component id of the other end, empty when unknown"
    )
    place: Place = Field(default_factory=Place)
    far_place: Place = Field(default_factory=Place)
    link_type: str = ""
    fabric_or_switch_port: str = Field(
        default="", description="Switch or NVSwitch port of the link, empty when unknown"
    )
    lane: int | None = None
    cable_id: str = ""
    part_reference: str = Field(
        default="", description="Part id from the topology, a key of the parts catalogue"
    )
    cable: CableFacts = Field(default_factory=CableFacts)
    platform: PlatformFacts = Field(default_factory=PlatformFacts)
    service: ServiceFacts = Field(default_factory=ServiceFacts)
    spares: list[Spare] = Field(default_factory=list)
    fault_type: FaultType
    error_class: str = ""
    class_basis: str = Field(default="", description="measured, reported, proxy or snapshot")
    severity: Severity
    ticket_priority: Priority
    action_code: str
    action_text: str
    summary: str = Field(description="The fault in one sentence with its figures")
    reasoning: list[str] = Field(
        default_factory=list, description="Sentence by sentence, with numbers"
    )
    would_change_the_verdict: list[str] = Field(default_factory=list)
    degradation_pct: float | None = None
    degradation_exact: str = ""
    latency_us: float | None = None
    baseline_us: float | None = None
    affected_runs: list[str] = Field(default_factory=list)
    affected_ranks: list[int] = Field(default_factory=list)
    gpu_hours_lost: float | None = None
    straggler_p_value: float | None = None
    score: float = 0.0
    confidence: float = Field(ge=0, le=1)
    evidence_grade: Literal["A", "B", "C"] = "C"
    alternatives: list[Alternative] = Field(default_factory=list)
    symptoms: list[Symptom] = Field(default_factory=list)
    rules: list[FiredRule] = Field(default_factory=list)
    repeat_count: int = 0
    numbers: dict[str, Any] = Field(default_factory=dict)
    figures: list[Figure] = Field(
        default_factory=list, description="Numbers of the reasoning, each with its query"
    )
    evidence: list[Evidence] = Field(default_factory=list)
    evidence_sha256: str = Field(
        default="", description="Hash over everything above; a draft is reused while it stays"
    )

    @property
    def needs_ticket(self) -> bool:
        """True for an accusation of a physical component at WARNING or CRITICAL."""
        physical = self.fault_type not in ("nominal", "no_data", "not_a_link", "congestion")
        return self.role == "cause" and physical and self.severity in ("WARNING", "CRITICAL")
