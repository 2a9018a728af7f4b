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
from fabric_pipeline.drafting.claims import LEFT_OUT, claims
from fabric_pipeline.drafting.forbidden import forbidden
from fabric_pipeline.drafting.history import NO_HISTORY, TicketHistory
from fabric_pipeline.drafting.history_words import offenders, tried_before
from fabric_pipeline.drafting.repair_steps import repair_steps
from fabric_pipeline.drafting.sanitise import clean, clip, figure
from fabric_pipeline.drafting.ticket_facts import costs
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.ticket import DraftText, TicketDraft
from fabric_pipeline.model.components import gpu_index, nvlink_index, parse_component

_MAX_ALTERNATIVES = 8
_MOST_LINKS = 4


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
        evidence_statements=claims(incident),
        alternatives=_alternatives(incident),
        repair_steps=repair_steps(incident, entry, history),
        rollback=clip(places.fill(entry.rollback, incident), 400),
    )


def _title(incident: IncidentRecord) -> str:
    place = places.position(incident.place) or "rack not known"
    kind = incident.fault_type.replace("_", " ")
    is_known = places.node_name(incident) or places.switch_name(incident)
    who = places.machine(incident) if is_known else "node not known"
    what = _spoken(incident)
    where = place if what == who else f"{who}, {place}"
    title = f"{incident.severity}: {kind} on {what}, {where}"
    return f"{incident.severity}: {kind}" if forbidden(title, own_words=True) else title


def _spoken(incident: IncidentRecord) -> str:
    """`NVLink 11 of GPU 5`, `PCIe link of network adapter mlx5_6`, else the interface as it is written."""
    part = parse_component(incident.isolated_component)
    link, gpu = nvlink_index(part.interface), places.own_gpu(incident)
    lane = f", lane {part.lane}" if part.lane is not None else ""
    if link is not None and gpu is not None:
        return f"NVLink {link} of GPU {gpu}{lane}"
    if places.switch_name(incident) == part.interface:
        return places.machine(incident)
    if card := _card_on_pcie(incident):
        return f"PCIe link of {card}{lane}"
    return f"{places.name(part.interface, 'link') or 'a link (not known)'}{lane}"


def _card_on_pcie(incident: IncidentRecord) -> str:
    """The card whose PCIe link this is, at whichever end; "" for other links."""
    near = parse_component(incident.isolated_component).interface
    far = parse_component(incident.far_end).interface
    if adapter := places.adapter(incident):
        return f"network adapter {adapter}"
    if incident.link_type != "pcie" and not near.endswith("/pcie"):
        return ""
    own = gpu_index(near) if gpu_index(near) is not None else gpu_index(far)
    if own is not None:
        return f"GPU {own}"
    return places.gpu(incident) if near.endswith("/pcie") else ""


def _summary(incident: IncidentRecord, entry: CatalogueEntry, history: TicketHistory) -> str:
    before = [offenders(history, incident.repeat_count), tried_before(history)]
    opening = _safe(incident.summary, 400)
    stated = [_ends(incident), _failing(incident), _since(incident), _impact(incident, opening)]
    stated += [*before, _gaps(incident, entry)]
    told = [opening, *stated[:-1], _action(incident), stated[-1]]
    whole = " ".join(sentence for sentence in told if sentence)
    if not forbidden(whole, own_words=True):
        return whole
    # Harmless halves of the record can add up to an order when they stand beside other words.
    return " ".join([LEFT_OUT, *(sentence for sentence in stated if sentence)])


def _ends(incident: IncidentRecord) -> str:
    if incident.fault_type == "shared_component":
        which = places.machine(incident)
        is_switch = places.switch_name(incident) == places.near_end(incident)
        shared = which if is_switch else places.near_end(incident)
        return f"The fault is isolated to {shared}, which several failing links share."
    other = (
        f"the other end is {places.far_end(incident)}"
        if incident.far_end
        else "the other end is not known"
    )
    return f"The fault is isolated to {places.near_end(incident)}; {other}."


def _failing(incident: IncidentRecord) -> str:
    """The links behind a shared part that fail, with their other ends, as far as one line holds them."""
    failing = [clean(str(link), 160) for link in incident.numbers.get("failing_links") or []]
    if not failing:
        return ""
    known = incident.numbers.get("links_of_the_part") or 0
    of = f" of its {known} in the topology" if known >= len(failing) else ""
    rest = len(failing) - _MOST_LINKS
    more = f" and {rest} more" if rest > 0 else ""
    told = f"Failing links ({len(failing)}{of}): {', '.join(failing[:_MOST_LINKS])}{more}."
    return "" if forbidden(told, own_words=True) else told


def _since(incident: IncidentRecord) -> str:
    if incident.first_seen is None:
        return "The time of the first error is not known."
    last = f", last on {places.moment(incident.last_seen)}" if incident.last_seen else ""
    return f"First seen on {places.moment(incident.first_seen)}{last}."


def _impact(incident: IncidentRecord, opening: str) -> str:
    """What it cost; the slowdown only where the opening sentence does not state it."""
    slower = incident.degradation_pct
    is_said = slower is not None and any(
        f"{said} %" in opening for said in (figure(slower), f"{slower:.1f}")
    )
    runs = len(incident.affected_runs)
    parts = [f"{_count(runs, 'training run')} affected"] if runs else []
    parts = [*costs(incident, slowdown=not is_said, shared=not is_said), *parts]
    return f"Impact: {'; '.join(parts)}." if parts else ""


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _action(incident: IncidentRecord) -> str:
    asked = _safe(incident.action_text, 200).rstrip(".")
    return f"Action by rule: {asked}." if asked and asked != "none" else ""


def _gaps(incident: IncidentRecord, entry: CatalogueEntry) -> str:
    """What a technician will miss on this ticket, in one sentence; "" when nothing is missing."""
    gaps = [] if places.position(incident.place) else ["rack and unit"]
    gaps += [] if places.node_name(incident) or places.switch_name(incident) else ["node"]
    gaps += (
        ["GPU slot"]
        if gpu_index(parse_component(incident.isolated_component).interface) is not None
        and not incident.place.gpu_slot
        else []
    )
    is_shared = incident.fault_type == "shared_component"
    has_far = is_shared or bool(incident.fabric_or_switch_port or incident.far_end)
    gaps += [] if has_far else ["far port"]
    gaps += [] if named_part(entry, incident) else [f"part number ({NO_PART_NUMBER})"]
    return f"Not known, ask before you go: {', '.join(gaps)}." if gaps else ""


def _alternatives(incident: IncidentRecord) -> list[str]:
    weighed = incident.alternatives[:_MAX_ALTERNATIVES]
    return [clip(_safe(f"{item.explanation}: {item.why_set_aside}", 400), 400) for item in weighed]


def _safe(text: str, limit: int) -> str:
    """The sentence in one clean line, or the statement that it was left out."""
    line = clean(text, limit)
    return LEFT_OUT if forbidden(line, own_words=True) else line
