"""Builds a ticket: facts of the incident, catalogue and ledger in every field, a drafter's text beside them.

Both drafters end here, so that location, parts, priority, safety and pass criteria never depend on who
worded the rest. Fields that need more than a copy are made in `ticket_facts`, `part_choices`, `rma_items`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal

from fabric_pipeline.drafting import places, ticket_facts
from fabric_pipeline.drafting.catalogue import NO_PART_NUMBER, named_part
from fabric_pipeline.drafting.catalogue_entry import CatalogueEntry
from fabric_pipeline.drafting.forbidden import forbidden
from fabric_pipeline.drafting.history import NO_HISTORY, TicketHistory
from fabric_pipeline.drafting.part_choices import part_choices
from fabric_pipeline.drafting.rma_items import rma_items
from fabric_pipeline.drafting.sanitise import clean, figure
from fabric_pipeline.incidents.record import CableFacts, IncidentRecord
from fabric_pipeline.incidents.ticket import (
    DraftText,
    FailedAttempt,
    RepairOrderStep,
    TicketDraft,
    TopologyFinding,
)
from fabric_pipeline.model.components import UNKNOWN

# Inside this band a latency counts as the baseline; the same band decides what noise is in a diagnosis.
LATENCY_BAND_PCT = 5


@dataclass(frozen=True, slots=True)
class Authorship:
    """Who worded a draft, with what, and what it cost. Tokens spent on a failed attempt count too."""

    drafter: Literal["claude", "rules"]
    note: str = ""
    model: str = ""
    effort: str = ""
    prompt_version: str = ""
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None
    failed_attempts: tuple[FailedAttempt, ...] = ()


def ticket_id(incident: IncidentRecord) -> str:
    """Id of the ticket of this incident: the same over reruns, one incident has one ticket."""
    return f"T-{incident.incident_id.removeprefix('INC-')}"


def basis_sha256(incident: IncidentRecord, entry: CatalogueEntry, history: TicketHistory) -> str:
    """Hash over everything a draft rests on: evidence, catalogue entry, repair history.

    A stored draft may stand in for a new one while this stays the same.
    """
    body = {
        "evidence": incident.evidence_sha256,
        "entry": entry.model_dump(mode="json", by_alias=True),
        "repairs": [one.model_dump(mode="json") for one in history.repairs],
        "tickets": [one.model_dump(mode="json") for one in history.tickets],
        "begin_at_step": history.begin_at_step,
    }
    text = json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def assemble(
    incident: IncidentRecord,
    entry: CatalogueEntry,
    text: DraftText,
    by: Authorship,
    finding: TopologyFinding | None = None,
    history: TicketHistory = NO_HISTORY,
) -> TicketDraft:
    """The ticket, its facts from the incident, the catalogue and the ledger alone."""
    return TicketDraft(
        ticket_id=ticket_id(incident),
        incident_id=incident.incident_id,
        drop=incident.drop,
        **_where(incident),
        **_link(incident),
        **_urgency(incident),
        **_evidence(incident),
        **_repair(incident, entry, history),
        text=text,
        topology_finding=finding,
        drafter=by.drafter,
        drafter_note=by.note,
        model=by.model,
        effort=by.effort,
        prompt_version=by.prompt_version,
        requests=by.requests,
        input_tokens=by.input_tokens,
        output_tokens=by.output_tokens,
        cache_read_tokens=by.cache_read_tokens,
        cache_write_tokens=by.cache_write_tokens,
        cost_usd=by.cost_usd,
        failed_attempts=list(by.failed_attempts),
        evidence_sha256=incident.evidence_sha256,
        basis_sha256=basis_sha256(incident, entry, history),
    )


_COPIED_TEXT = "site hall cage row rack unit face node_serial asset_tag gpu_uuid gpu_serial gpu_part_number port_label"
_COPIED = _COPIED_TEXT.split()


def _where(incident: IncidentRecord) -> dict[str, Any]:
    place = incident.place
    return {
        **{name: clean(getattr(place, name), 120) for name in _COPIED},
        "node": clean(places.node_name(incident), 120) or _switch(incident) or "not known",
        "gpu_index": places.gpu_number(incident),
        "gpu_slot": ticket_facts.gpu_slot(incident),
        "socket": place.socket,
        "pci_address": clean(place.pci, 120),
    }


def _switch(incident: IncidentRecord) -> str:
    return places.machine(incident) if places.switch_name(incident) else ""


def _link(incident: IncidentRecord) -> dict[str, Any]:
    cable = incident.cable
    return {
        "link": clean(incident.isolated_component, 200),
        "lane": incident.lane,
        "far_end": clean(incident.far_end.removeprefix(f"{UNKNOWN}:"), 200),
        "far_place": ticket_facts.far_place(incident),
        "fabric_or_switch_port": ticket_facts.switch_port(incident),
        "cable_id": clean(incident.cable_id, 120),
        "cable": CableFacts(
            medium=clean(cable.medium, 80),
            length_m=cable.length_m,
            connector=clean(cable.connector, 80),
            colour=clean(cable.colour, 80),
            serial=clean(cable.serial, 120),
            part_number=clean(cable.part_number, 120),
        ),
    }


def _urgency(incident: IncidentRecord) -> dict[str, Any]:
    service = incident.service
    return {
        "priority": incident.ticket_priority,
        "sla": clean(service.sla, 200),
        "contact": clean(service.contact, 200),
        "schedule": clean(service.schedule, 200),
        "customer_reference": clean(service.customer_reference, 120),
        "job_impact": ticket_facts.job_impact(incident),
    }


def _evidence(incident: IncidentRecord) -> dict[str, Any]:
    return {
        "fault": fault_line(incident),
        "rules_fired": ticket_facts.rules_fired(incident),
        "first_seen": incident.first_seen,
        "last_seen": incident.last_seen,
        "evidence": ticket_facts.evidence_references(incident),
    }


def _repair(
    incident: IncidentRecord, entry: CatalogueEntry, history: TicketHistory
) -> dict[str, Any]:
    part = named_part(entry, incident)
    return {
        "replacement_part": replacement_part(incident, entry),
        "part_number": part.part_number if part else "",
        "parts": part_choices(incident, entry),
        "repair_order": [
            RepairOrderStep(step=number, action=step.action, part=places.fill(step.part, incident))
            for number, step in enumerate(entry.repair_steps, start=1)
        ],
        "begin_at_step": max(1, history.begin_at_step),
        "port_isolation_guidance": places.fill(entry.port_isolation, incident),
        "drain_scope": entry.drain_scope,
        "drain_required": places.fill(entry.drain, incident),
        "safety": [places.fill(text, incident) for text in entry.safety],
        "tools": [places.fill(text, incident) for text in entry.tools],
        "test_after_repair": places.fill(entry.test_after_repair, incident),
        "pass_criteria": pass_criteria(incident, entry),
        "rma": rma_items(incident, entry, fault_line(incident), history),
        "earlier_repairs": list(history.repairs),
        "earlier_tickets": list(history.tickets),
    }


_ERROR_CLASSES = {
    "corrected_single": "corrected one-bit errors",
    "corrected_multi": "corrected errors of several bits",
    "detected_retransmitted": "errors detected and sent again",
    "recovered_link": "link recoveries",
    "uncorrected": "errors past correction",
}
_CLASS_BASES = {
    "reported": "as the source states it",
    "proxy": "the counter does not say how many bits",
    "snapshot": "from a single reading",
}


def fault_line(incident: IncidentRecord) -> str:
    """Kind of fault, severity, what its errors are, and how that is known."""
    parts = [incident.fault_type.replace("_", " "), incident.severity]
    if incident.error_class:
        kind = _ERROR_CLASSES.get(incident.error_class, incident.error_class.replace("_", " "))
        known = _CLASS_BASES.get(incident.class_basis, incident.class_basis)
        parts.append(f"{kind} ({known})" if known else kind)
    return clean(", ".join(parts), 200)


def replacement_part(incident: IncidentRecord, entry: CatalogueEntry) -> str:
    """The part as the catalogue names it, and whether the catalogue has a number for it."""
    part = named_part(entry, incident)
    if part:
        return f"{part.part_number}: {part.description}"
    stated = f"{places.fill(entry.replaceable_part, incident)}; {NO_PART_NUMBER}"
    wanted = places.name(incident.part_reference, "part")
    if not wanted or entry.answers_to(incident.part_reference):
        return stated
    unlisted = f"{stated}; the catalogue does not list {wanted!r}"
    return stated if forbidden(unlisted, own_words=True) else unlisted


def pass_criteria(incident: IncidentRecord, entry: CatalogueEntry) -> list[str]:
    """The catalogue's criteria, with the latency limit of this incident behind them where one is known."""
    criteria = [places.fill(text, incident) for text in entry.pass_criteria]
    if incident.baseline_us:
        limit = incident.baseline_us * (1 + LATENCY_BAND_PCT / 100)
        criteria.append(
            "When a job crosses this link again: median latency of the collectives that were slow at most "
            f"{figure(limit)} µs, their baseline of {figure(incident.baseline_us)} µs and {LATENCY_BAND_PCT} % for noise"
        )
    return criteria
