"""The steps of a draft by rules: find the machine, the catalogue's order from where it stands, hand back.

After a repair that did not help the steps begin with the next one of the order, and say what was tried.
"""

from __future__ import annotations

from fabric_pipeline.drafting import places
from fabric_pipeline.drafting.assemble import fault_line
from fabric_pipeline.drafting.catalogue_entry import CatalogueEntry, CatalogueStep
from fabric_pipeline.drafting.forbidden import forbidden
from fabric_pipeline.drafting.history import TicketHistory
from fabric_pipeline.drafting.history_words import next_step, tried_before
from fabric_pipeline.drafting.part_choices import spare_locations
from fabric_pipeline.drafting.sanitise import clip
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.ticket import RepairStep

_WAIT = "Wait for the confirmation that Port isolation and Drain ask for."
_MAX_STEPS = 10
_LONGEST = 400


def repair_steps(
    incident: IncidentRecord, entry: CatalogueEntry, history: TicketHistory
) -> list[RepairStep]:
    """At most ten steps; each says what to do and what its outcome would prove."""
    spares = spare_locations(incident, entry)
    left = entry.repair_steps[max(0, history.begin_at_step - 1) :]
    middle = [_step(step, incident, spares.get(step.part, "")) for step in left]
    tried = [_tried(entry, history)] if history.repairs or history.begin_at_step > 1 else []
    if len(middle) + len(tried) + 2 > _MAX_STEPS:
        tried = []  # the summary says it as well
    return [_find_it(incident), *tried, *middle, _hand_back(incident)]


def _step(step: CatalogueStep, incident: IncidentRecord, spare: str) -> RepairStep:
    do = _named(step.action, places.fill(step.do, incident))
    with_spare = f"{do} Spare: {spare}." if spare else do
    if len(with_spare) <= _LONGEST and not forbidden(with_spare, own_words=True):
        do = with_spare
    return RepairStep(
        do=clip(do, _LONGEST), proves=clip(places.fill(step.proves, incident), _LONGEST)
    )


def _named(action: str, do: str) -> str:
    """The step headed by the name under which it is reported when done, where there is room for it."""
    named = f"[{action}] {do}"
    return named if len(named) <= _LONGEST else do


def _tried(entry: CatalogueEntry, history: TicketHistory) -> RepairStep:
    do = " ".join(part for part in (tried_before(history), next_step(history, entry)) if part)
    return RepairStep(
        do=clip(do, _LONGEST),
        proves="What was tried need not be done again; its outcome rules its part out.",
    )


def _find_it(incident: IncidentRecord) -> RepairStep:
    place, who = places.way_to(incident.place), places.machine(incident)
    serial = places.name(incident.place.node_serial, "serial")
    label = places.name(incident.place.port_label, "port")
    tag = places.name(incident.place.asset_tag, "asset tag")
    go = (
        f"Go to {place} and find {who}."
        if place
        else f"The rack is not known: ask the inventory for {who}."
    )
    check = (
        f"Compare the serial on the pull-out tab with {serial}." if serial else "Note its serial."
    )
    more = [
        f"The port is printed {label} on the box." if label else "",
        _other_end(incident),
        f"Its asset tag is {tag}." if tag else "",
    ]
    do = " ".join([go, check, _WAIT])
    for sentence in filter(None, more):
        longer = f"{do.removesuffix(_WAIT)}{sentence} {_WAIT}"
        do = longer if len(longer) <= _LONGEST else do
    if forbidden(do, own_words=True) or len(do) > _LONGEST:
        do = f"Find the machine by the fields of this ticket. {_WAIT}"
    return RepairStep(
        do=do, proves="You stand at the right machine, and no job uses the link any more."
    )


def _other_end(incident: IncidentRecord) -> str:
    """Where the other end sits, when that is another place than the near one."""
    near, far = incident.place, incident.far_place
    if not far.rack or (near.node, near.rack, near.unit) == (far.node, far.rack, far.unit):
        return ""
    label = places.name(far.port_label, "port")
    printed = f", printed {label}" if label else ""
    at = places.position(far.model_copy(update={"site": ""}) if far.site == near.site else far)
    return f"The other end is {places.far_end(incident)}{printed}, in {at}."


def _hand_back(incident: IncidentRecord) -> RepairStep:
    do = (
        "Run the test of this ticket, write old and new serials and every reading beside its pass criterion,"
        " and tell the owner of the node or switch that the work is done."
    )
    fault = fault_line(incident).split(",")[0]
    proves = f"All criteria met: the {fault} is repaired. One missed: follow Rollback."
    return RepairStep(do=do, proves=clip(proves, _LONGEST))
