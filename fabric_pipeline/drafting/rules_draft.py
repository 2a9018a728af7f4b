"""The drafter that needs no model: the same ticket from incident and catalogue, in plain English.

It runs when no key is set or when Claude fails for good. A sentence of the record that reads like an
order or like markup is left out and the ticket says so; facts stay in their fields either way.
"""

from __future__ import annotations

from fabric_pipeline.drafting import places
from fabric_pipeline.drafting.assemble import Authorship, assemble
from fabric_pipeline.drafting.catalogue import (
    NO_PART_NUMBER,
    Catalogue,
    CatalogueEntry,
    named_part,
)
from fabric_pipeline.drafting.forbidden import forbidden
from fabric_pipeline.drafting.history import NO_HISTORY, TicketHistory
from fabric_pipeline.drafting.history_words import offenders, tried_before
from fabric_pipeline.drafting.repair_steps import repair_steps
from fabric_pipeline.drafting.sanitise import clean, clip, figure
from fabric_pipeline.drafting.ticket_facts import gpu_hours
from fabric_pipeline.incidents.record import Evidence, IncidentRecord
from fabric_pipeline.incidents.ticket import DraftText, EvidenceStatement, TicketDraft
from fabric_pipeline.model.components import device_of, gpu_index, nvlink_index, parse_component

LEFT_OUT = (
    "A sentence was left out here because it reads like an order; the incident record holds it."
)
_MAX_CLAIMS = 10
_MAX_ALTERNATIVES = 8


def draft_by_rules(
    incident: IncidentRecord,
    catalogue: Catalogue,
    by: Authorship | None = None,
    history: TicketHistory = NO_HISTORY,
) -> TicketDraft:
    """A complete ticket without any model. `by` carries the note and tokens of a failed attempt."""
    entry = catalogue.entry_for(incident)
    text = draft_text(incident, entry, history)
    return assemble(incident, entry, text, by or Authorship(drafter="rules"), history=history)


def draft_text(
    incident: IncidentRecord, entry: CatalogueEntry, history: TicketHistory = NO_HISTORY
) -> DraftText:
    """The worded part of the ticket."""
    return DraftText(
        title=clip(_title(incident), 140),
        summary=clip(_summary(incident, entry, history), 900),
        evidence_statements=_statements(incident),
        alternatives=_alternatives(incident),
        repair_steps=repair_steps(incident, entry, history),
        rollback=clip(places.fill(entry.rollback, incident), 400),
    )


def _title(incident: IncidentRecord) -> str:
    place = places.position(incident.place) or "rack not known"
    kind = incident.fault_type.replace("_", " ")
    who = places.node(incident) if places.node_name(incident) else "node not known"
    title = f"{incident.severity}: {kind} on {_spoken(incident)}, {who}, {place}"
    return f"{incident.severity}: {kind}" if forbidden(title, own_words=True) else title


def _spoken(incident: IncidentRecord) -> str:
    """`NVLink 11 of GPU 5`, `PCIe link of GPU 3`, else the interface as it is written."""
    part = parse_component(incident.isolated_component)
    link, gpu = nvlink_index(part.interface), places.gpu_number(incident)
    lane = f", lane {part.lane}" if part.lane is not None else ""
    if link is not None and gpu is not None:
        return f"NVLink {link} of GPU {gpu}{lane}"
    if part.interface.endswith("/pcie"):
        device = f"GPU {gpu}" if gpu is not None else places.name(device_of(part.interface), "link")
        return f"PCIe link of {device}{lane}"
    return f"{places.name(part.interface, 'link') or 'a link (not known)'}{lane}"


def _summary(incident: IncidentRecord, entry: CatalogueEntry, history: TicketHistory) -> str:
    before = [offenders(history, incident.repeat_count), tried_before(history)]
    stated = [_ends(incident), _since(incident), _impact(incident), *before, _gaps(incident, entry)]
    told = [_safe(incident.summary, 300), *stated[:-1], _action(incident), stated[-1]]
    whole = " ".join(sentence for sentence in told if sentence)
    if not forbidden(whole, own_words=True):
        return whole
    # Harmless halves of the record can add up to an order when they stand beside other words.
    return " ".join([LEFT_OUT, *(sentence for sentence in stated if sentence)])


def _ends(incident: IncidentRecord) -> str:
    other = (
        f"the other end is {places.far_end(incident)}"
        if incident.far_end
        else "the other end is not known"
    )
    return f"The fault is isolated to {places.near_end(incident)}; {other}."


def _since(incident: IncidentRecord) -> str:
    if incident.first_seen is None:
        return "The time of the first error is not known."
    last = f", last on {places.moment(incident.last_seen)}" if incident.last_seen else ""
    return f"First seen on {places.moment(incident.first_seen)}{last}."


def _impact(incident: IncidentRecord) -> str:
    parts = []
    if incident.degradation_pct is not None:
        parts.append(
            f"collective or step time {figure(incident.degradation_pct)} % above the baseline"
        )
    if incident.affected_runs:
        parts.append(f"{_count(len(incident.affected_runs), 'training run')} affected")
    if incident.gpu_hours_lost is not None:
        parts.append(gpu_hours(incident.gpu_hours_lost))
    return f"Impact: {'; '.join(parts)}." if parts else ""


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _action(incident: IncidentRecord) -> str:
    asked = _safe(incident.action_text, 200).rstrip(".")
    return f"Action by rule: {asked}." if asked and asked != "none" else ""


def _gaps(incident: IncidentRecord, entry: CatalogueEntry) -> str:
    """What a technician will miss on this ticket, in one sentence; "" when nothing is missing."""
    gaps = [] if places.position(incident.place) else ["rack and unit"]
    gaps += [] if places.node_name(incident) else ["node"]
    gaps += (
        ["GPU slot"]
        if gpu_index(parse_component(incident.isolated_component).interface) is not None
        and not incident.place.gpu_slot
        else []
    )
    gaps += [] if incident.fabric_or_switch_port or incident.far_end else ["far port"]
    gaps += [] if named_part(entry, incident) else [f"part number ({NO_PART_NUMBER})"]
    return f"Not known, ask before you go: {', '.join(gaps)}." if gaps else ""


def _statements(incident: IncidentRecord) -> list[EvidenceStatement]:
    if not incident.evidence:
        claim = (
            "The record names no file as evidence; it rests on the figures in the record itself."
        )
        return [EvidenceStatement(claim=claim, evidence_ids=[incident.incident_id])]
    fits = len(incident.evidence) <= _MAX_CLAIMS
    first = incident.evidence if fits else incident.evidence[: _MAX_CLAIMS - 1]
    stated = [
        EvidenceStatement(claim=_claim(item), evidence_ids=[item.evidence_id]) for item in first
    ]
    rest = incident.evidence[len(first) :]
    if rest:
        claim = "The rest of the evidence carries this diagnosis too; the dossier quotes it."
        stated.append(
            EvidenceStatement(claim=claim, evidence_ids=[item.evidence_id for item in rest])
        )
    return stated


def _claim(item: Evidence) -> str:
    file = places.name(item.file, "evidence") or "the evidence file"
    where = f"line {item.line}" if item.line is not None else "as a whole"
    if item.line is not None and item.last_line not in (None, item.line):
        where = f"lines {item.line} to {item.last_line}"
    said = _safe(item.says, 260).rstrip(".") or "The reading behind this diagnosis"
    claim = clip(f"{said} ({file}, {where}).", 400)
    return LEFT_OUT if forbidden(claim, own_words=True) else claim


def _alternatives(incident: IncidentRecord) -> list[str]:
    weighed = incident.alternatives[:_MAX_ALTERNATIVES]
    return [clip(_safe(f"{item.explanation}: {item.why_set_aside}", 400), 400) for item in weighed]


def _safe(text: str, limit: int) -> str:
    """The sentence in one clean line, or the statement that it was left out."""
    line = clean(text, limit)
    return LEFT_OUT if forbidden(line, own_words=True) else line
