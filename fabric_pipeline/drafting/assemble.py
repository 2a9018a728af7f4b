"""Builds a ticket: facts of the incident and the catalogue in every field, a drafter's text beside them.

Both drafters end here, so that location, part, priority, safety and pass criteria never depend on who
worded the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fabric_pipeline.drafting import places
from fabric_pipeline.drafting.catalogue import NO_PART_NUMBER, CatalogueEntry
from fabric_pipeline.drafting.forbidden import forbidden
from fabric_pipeline.drafting.sanitise import clean, figure
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.ticket import DraftText, TicketDraft, TopologyFinding

# Inside this band a latency counts as the baseline; the same band decides what noise is in a diagnosis.
LATENCY_BAND_PCT = 5


@dataclass(frozen=True, slots=True)
class Authorship:
    """Who worded a draft, with what, and what it cost. Tokens spent on a failed attempt count too."""

    drafter: Literal["claude", "rules"]
    note: str = ""
    model: str = ""
    prompt_version: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


def ticket_id(incident: IncidentRecord) -> str:
    """Id of the ticket of this incident: the same over reruns, one incident has one ticket."""
    return f"T-{incident.incident_id.removeprefix('INC-')}"


def assemble(
    incident: IncidentRecord,
    entry: CatalogueEntry,
    text: DraftText,
    by: Authorship,
    finding: TopologyFinding | None = None,
) -> TicketDraft:
    """The ticket, its facts from the incident and the catalogue alone."""
    place = incident.place
    part = entry.known_part(incident.part_reference)
    return TicketDraft(
        ticket_id=ticket_id(incident),
        incident_id=incident.incident_id,
        drop=incident.drop,
        site=clean(place.site, 120),
        row=clean(place.row, 120),
        rack=clean(place.rack, 120),
        unit=clean(place.unit, 120),
        node=clean(places.node_name(incident), 120) or "not known",
        node_serial=clean(place.node_serial, 120),
        gpu_index=places.gpu_number(incident),
        gpu_uuid=clean(place.gpu_uuid, 120),
        gpu_serial=clean(place.gpu_serial, 120),
        port_label=clean(place.port_label, 120),
        link=clean(incident.isolated_component, 200),
        far_end=clean(incident.far_end, 200),
        fabric_or_switch_port=clean(incident.fabric_or_switch_port, 200),
        cable_id=clean(incident.cable_id, 120),
        priority=incident.ticket_priority,
        fault=fault_line(incident),
        replacement_part=replacement_part(incident, entry),
        part_number=part.part_number if part else "",
        port_isolation_guidance=places.fill(entry.port_isolation, incident),
        drain_required=places.fill(entry.drain, incident),
        safety=list(entry.safety),
        tools=list(entry.tools),
        test_after_repair=places.fill(entry.test_after_repair, incident),
        pass_criteria=pass_criteria(incident, entry),
        text=text,
        topology_finding=finding,
        drafter=by.drafter,
        drafter_note=by.note,
        model=by.model,
        prompt_version=by.prompt_version,
        input_tokens=by.input_tokens,
        output_tokens=by.output_tokens,
        cost_usd=by.cost_usd,
        evidence_sha256=incident.evidence_sha256,
    )


def fault_line(incident: IncidentRecord) -> str:
    """Kind of fault, severity, error class and the basis of that class."""
    parts = [incident.fault_type.replace("_", " "), incident.severity]
    if incident.error_class:
        basis = f" ({incident.class_basis})" if incident.class_basis else ""
        parts.append(f"{incident.error_class.replace('_', ' ')}{basis}")
    return clean(", ".join(parts), 200)


def replacement_part(incident: IncidentRecord, entry: CatalogueEntry) -> str:
    """The part as the catalogue names it, and whether the catalogue has a number for it."""
    part = entry.known_part(incident.part_reference)
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
            f"Median all-reduce latency at most {figure(limit)} µs in the same test, that is the baseline of "
            f"{figure(incident.baseline_us)} µs and {LATENCY_BAND_PCT} % for noise"
        )
    return criteria
