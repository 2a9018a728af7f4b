"""The vendor's return form, filled as far as the incident and the ledger know its answers.

What the form asks for is in the catalogue; a fact that is not known becomes a question for a person
and is never left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fabric_pipeline.drafting import places
from fabric_pipeline.drafting.catalogue import named_part
from fabric_pipeline.drafting.catalogue_entry import CatalogueEntry
from fabric_pipeline.drafting.history import TicketHistory
from fabric_pipeline.drafting.sanitise import clean, clip
from fabric_pipeline.incidents.record import Evidence, FiredRule, IncidentRecord, Place
from fabric_pipeline.incidents.ticket import EarlierRepair, Origin, RmaItem
from fabric_pipeline.model.components import gpu_index, parse_component

_ORIGINS: dict[str, Origin] = {
    "node": "telemetry", "component": "telemetry", "first_seen": "telemetry", "last_seen": "telemetry",
    "evidence": "telemetry", "fault": "rule", "rules": "rule", "earlier_repairs": "ledger",
}  # fmt: skip
NO_RULE = "no rule with a limit of its own; the evidence is weighed as a whole"
_OUTCOMES = {
    "waiting": "outcome not known yet",
    "verified": "helped",
    "came_back": "fault came back",
}


def rma_items(
    incident: IncidentRecord, entry: CatalogueEntry, fault: str, history: TicketHistory
) -> list[RmaItem]:
    """Every item of the form: filled, to be attached, or to be asked for."""
    facts = _facts(incident, entry, fault, history)
    needs = [need for need in entry.rma if not need.source.startswith(_absent(incident))]
    return [
        _item(need.item, need.source, facts, _origin(need.source, incident, entry))
        for need in needs
    ]


def _absent(incident: IncidentRecord) -> tuple[str, ...]:
    """Beginnings of what a form may ask of a card that is not on this PCIe link."""
    if incident.link_type != "pcie" or incident.fault_type == "shared_component":
        return ()
    if places.adapter(incident):
        return ("gpu_",)
    ends = (incident.isolated_component, incident.far_end)
    has_gpu = any(gpu_index(parse_component(end).interface) is not None for end in ends)
    return ("nic_",) if has_gpu else ()


def _item(item: str, source: str, facts: dict[str, str], origin: Origin) -> RmaItem:
    if source == "attach":
        return RmaItem(item=item, state="to_attach")
    value = clean(facts.get(source, ""), 400)
    if not value:
        return RmaItem(item=item, state="to_ask")
    return RmaItem(item=item, value=value, state="filled", origin=origin)


def _origin(source: str, incident: IncidentRecord, entry: CatalogueEntry) -> Origin:
    """Where the value behind an item comes from; the item itself is the catalogue's."""
    if source == "part_number":
        return "catalogue" if named_part(entry, incident) else "topology"
    return _ORIGINS.get(source, "topology")


def _facts(
    incident: IncidentRecord, entry: CatalogueEntry, fault: str, history: TicketHistory
) -> dict[str, str]:
    near, far = incident.place, incident.far_place
    part = named_part(entry, incident)
    return {
        "node": places.node_name(incident),
        "node_serial": _of_node(near) or _of_node(far),
        "asset_tag": near.asset_tag,
        "gpu_serial": near.gpu_serial or far.gpu_serial,
        "gpu_part_number": near.gpu_part_number or far.gpu_part_number,
        "gpu_uuid": near.gpu_uuid or far.gpu_uuid,
        "gpu_slot": near.gpu_slot or far.gpu_slot,
        "pci_address": near.pci or far.pci,
        "nic_serial": near.nic_serial or far.nic_serial,
        "nic_part_number": near.nic_part_number or far.nic_part_number,
        "switch_port": incident.fabric_or_switch_port,
        "switch_serial": _of_switch(far) or _of_switch(near),
        "cable_id": incident.cable_id,
        "cable_serial": incident.cable.serial,
        "part_number": part.part_number if part else incident.cable.part_number,
        "component": places.near_end(incident),
        "fault": fault,
        "first_seen": _moment(incident.first_seen),
        "last_seen": _moment(incident.last_seen),
        "rules": clip("; ".join(_limit(rule) for rule in incident.rules), 400) or NO_RULE,
        "evidence": _evidence(incident.evidence),
        "earlier_repairs": tried(history.repairs),
        "customer_reference": incident.service.customer_reference,
    }


def tried(repairs: Sequence[EarlierRepair]) -> str:
    """Earlier repairs in one line, oldest first, with their serials; "none reported" when there are none."""
    return clip("; ".join(_repair(one) for one in repairs), 400) or "none reported"


def _repair(one: EarlierRepair) -> str:
    serials = [("old serial", one.old_serial), ("new serial", one.new_serial)]
    named = "".join(f", {what} {clean(text, 60)}" for what, text in serials if text)
    when = places.moment(one.repaired_at)
    return f"{clean(one.action, 80)} on {when}{named}: {_OUTCOMES[one.outcome]}"


def _of_node(place: Place) -> str:
    return place.node_serial if place.node else ""


def _of_switch(place: Place) -> str:
    return "" if place.node else place.node_serial


def _moment(at: datetime | None) -> str:
    return places.moment(at) if at else ""


def _limit(rule: FiredRule) -> str:
    """A rule in the short form of a return form: its id, value, limit and source."""
    facts = [rule.value, f"limit {rule.limit}" if rule.limit else ""]
    told = ", ".join(fact for fact in facts if fact)
    source = f" ({rule.source})" if rule.source else ""
    return clean(f"{rule.rule_id}: {told or rule.says}{source}", 200)


def _evidence(items: Sequence[Evidence]) -> str:
    """`counters.csv (sha256 5e63...) lines: E1 12, E2 40-90`, file by file."""
    by_file: dict[tuple[str, str], list[Evidence]] = {}
    for item in items:
        by_file.setdefault((item.file, item.sha256), []).append(item)
    told = []
    for (file, digest), pieces in by_file.items():
        hashed = f" (sha256 {digest[:16]})" if digest else ""
        lines = ", ".join(_reference(piece) for piece in pieces)
        told.append(f"{clean(file, 80)}{hashed} lines: {lines}")
    text = "; ".join(told)
    return text if len(text) <= 400 else f"{clip(text, 370)} The dossier lists all."


def _reference(item: Evidence) -> str:
    if item.line is None:
        return f"{item.evidence_id} all"
    last = "" if item.last_line in (None, item.line) else f"-{item.last_line}"
    return f"{item.evidence_id} {item.line}{last}"
