"""Fields of a ticket that are copied from the record in other words: far end, rules, evidence, impact.

The same for every drafter. The return form is filled in `drafting.rma_items`, parts in
`drafting.part_choices`.
"""

from __future__ import annotations

from fabric_pipeline.drafting import places
from fabric_pipeline.drafting.sanitise import clean, clip, figure
from fabric_pipeline.incidents.record import FiredRule, IncidentRecord
from fabric_pipeline.incidents.ticket import EvidenceReference, FarPlace
from fabric_pipeline.model.components import device_of, gpu_index, parse_component

_MAX_RULES = 12
_MAX_NAMED = 6
_GPU_MINUTE = 1 / 60  # in hours
NO_JOB = "None known: no slowed collective crosses this link in this drop."


def far_place(incident: IncidentRecord) -> FarPlace:
    """Device and port of the other end and where it sits, as far as the topology says."""
    place, far = incident.far_place, parse_component(incident.far_end)
    device = device_of(far.interface)
    port = far.interface[len(device) + 1 :]
    in_node = f"{device} in {far.node}" if device and far.node else device or far.node
    return FarPlace(
        device=clean(in_node, 160),
        slot=clean(place.slot or place.gpu_slot, 120),
        port=clean(port, 120),
        port_label=clean(place.port_label, 120),
        site=clean(place.site, 120),
        row=clean(place.row, 120),
        rack=clean(place.rack, 120),
        unit=clean(place.unit, 120),
        serial=clean(place.node_serial, 120),
    )


def switch_port(incident: IncidentRecord) -> str:
    """Switch or NVSwitch port as the topology names it, else words that say what is not known."""
    known = clean(incident.fabric_or_switch_port, 200)
    if known:
        return known
    if incident.fault_type == "shared_component":
        return "several: the ports of the failing links, named in the summary"
    if incident.far_end:
        return f"none: the link ends on {clean(incident.far_end, 160)}, which is no switch port"
    if incident.link_type in ("nvlink", "pcie"):
        return "not known: no topology names the far end of this link; it lies inside the machine"
    return "not known: no topology names the far end; follow the cable"


def gpu_slot(incident: IncidentRecord) -> str:
    """Slot of the GPU; when no GPU index is known, words that say so."""
    if places.own_gpu(incident) is not None:
        return clean(incident.place.gpu_slot, 120)
    part = parse_component(incident.isolated_component)
    device = places.name(device_of(part.interface), "link") or "this link"
    if places.switch_name(incident):
        return f"none: {device} is a switch"
    if incident.place.gpu is not None:
        return f"beside {'this link' if ' ' in device else device}, not on this link"
    at_far_end = gpu_index(parse_component(incident.far_end).interface)
    if at_far_end is not None:
        return f"GPU {at_far_end} is at the other end of this link"
    if "/port-" in part.interface:
        return f"GPU not known: {device} serves several GPUs"
    return f"GPU not known: no topology says which GPU stands beside {device}"


def rules_fired(incident: IncidentRecord) -> list[str]:
    """One sentence a rule: what it says, the value, the limit and where the limit is published."""
    shown = incident.rules
    if len(shown) > _MAX_RULES:
        shown = shown[: _MAX_RULES - 1]
    told = [_rule(rule) for rule in shown]
    rest = len(incident.rules) - len(shown)
    return [*told, f"{rest} more rules stand in the incident record"] if rest else told


def _rule(rule: FiredRule) -> str:
    limit = f", limit {rule.limit}" if rule.limit else ""
    value = f": {rule.value}{limit}" if rule.value else limit
    source = f" (source of the limit: {rule.source})" if rule.source else ""
    return clean(f"{rule.rule_id}: {rule.says}{value}{source}", 400)


def evidence_references(incident: IncidentRecord) -> list[EvidenceReference]:
    """Every piece of evidence with file, hash and lines."""
    return [
        EvidenceReference(
            evidence_id=item.evidence_id,
            file=clean(item.file, 400),
            sha256=clean(item.sha256, 64),
            line=item.line,
            last_line=item.last_line,
        )
        for item in incident.evidence
    ]


def job_impact(incident: IncidentRecord) -> str:
    """Which runs and ranks were slowed, by how much, and what it cost; or that none is known."""
    parts = []
    if incident.affected_runs:
        parts.append(f"slowed runs: {_some(incident.affected_runs)}")
    if incident.affected_ranks:
        parts.append(f"late ranks: {_some([str(rank) for rank in incident.affected_ranks])}")
    parts += costs(incident)
    if not parts:
        return NO_JOB
    text = clip("; ".join(parts), 600)
    return f"{text[0].upper()}{text[1:]}."


def costs(incident: IncidentRecord, *, slowdown: bool = True, shared: bool = True) -> list[str]:
    """Slowdown and GPU-hours lost, and whether other accused links have a part in them."""
    told = []
    if slowdown and incident.degradation_pct is not None:
        told.append(
            f"collective or step time {figure(incident.degradation_pct)} % above the baseline"
        )
    if incident.gpu_hours_lost is not None:
        told.append(gpu_hours(incident.gpu_hours_lost))
    together = incident.numbers.get("links_accused_over_its_runs") or 0
    if told and shared and together > 1:
        told.append(
            f"{together} links are accused over the same runs, and the share of each is not separable here"
        )
    return told


def gpu_hours(lost: float) -> str:
    """GPU-hours that the recorded collectives account for, in words when it is next to nothing."""
    if lost < _GPU_MINUTE:
        return "less than a GPU-minute lost in the recorded collectives"
    return f"at least {figure(lost)} GPU-hours lost in the recorded collectives"


def _some(items: list[str]) -> str:
    named = ", ".join(clean(item, 60) for item in items[:_MAX_NAMED])
    rest = len(items) - _MAX_NAMED
    return f"{named} and {rest} more" if rest > 0 else named
