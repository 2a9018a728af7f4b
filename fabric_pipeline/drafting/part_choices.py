"""The parts of a repair in the order of exchange, with public numbers and where a spare lies.

Numbers come from the catalogue, places of spares from the topology; nothing is matched by likeness.
"""

from __future__ import annotations

import re

from fabric_pipeline.drafting import places
from fabric_pipeline.drafting.catalogue import named_part
from fabric_pipeline.drafting.catalogue_entry import CatalogueEntry, KnownPart, PartOption
from fabric_pipeline.drafting.sanitise import clean, clip
from fabric_pipeline.incidents.record import IncidentRecord, Spare
from fabric_pipeline.incidents.ticket import PartChoice


def part_choices(incident: IncidentRecord, entry: CatalogueEntry) -> list[PartChoice]:
    """The entry's parts; the one that the topology names exactly carries its public number."""
    named = named_part(entry, incident)
    options = list(entry.parts)
    if named and named.part not in {option.name for option in options}:
        # The catalogue knows the number, but not which of its parts the number is a type of.
        options.insert(0, PartOption(name=named.description[:120]))
    return [
        _choice(option, _number_for(option, named), incident, is_first=number == 0)
        for number, option in enumerate(options)
    ]


def spare_locations(incident: IncidentRecord, entry: CatalogueEntry) -> dict[str, str]:
    """Name of a part of the entry -> where its spares lie; parts without a listed spare are missing."""
    found = {
        option.name: _fitting(option, incident, is_first=number == 0)
        for number, option in enumerate(entry.parts)
    }
    return {
        name: " and ".join(dict.fromkeys(clean(spare.location, 120) for spare in spares))
        for name, spares in found.items()
        if spares
    }


def _fitting(option: PartOption, incident: IncidentRecord, *, is_first: bool) -> list[Spare]:
    """Spares of this part that the topology lists.

    A spare belongs to the part whose `references` name it; one that carries the very number or
    reference of the link, and that no part names, belongs to the part that is exchanged first.
    """
    own = {name.casefold() for name in option.references}
    linked = {incident.part_reference.casefold(), incident.cable.part_number.casefold()} - {""}
    return [
        spare
        for spare in incident.spares
        if spare.part.casefold() in own
        or (is_first and not own and spare.part.casefold() in linked)
    ]


def _choice(
    option: PartOption, named: KnownPart | None, incident: IncidentRecord, *, is_first: bool
) -> PartChoice:
    called = places.fill(option.name, incident)
    name = f"{called}: {_kind(option, named)}" if named else called
    spares = _fitting(option, incident, is_first=is_first)
    return PartChoice(
        name=clip(name, 200),
        part_number=named.part_number if named else option.part_number,
        quantity=option.quantity,
        spare_location=clip("; ".join(_place(spare) for spare in spares), 200),
        source=named.source if named else option.source,
    )


def _kind(option: PartOption, named: KnownPart) -> str:
    """The description of the named part without the words that the option has already."""
    rest = re.sub(re.escape(option.name), "", named.description, flags=re.IGNORECASE)
    return re.sub(r"\s+,", ",", " ".join(rest.split())).strip(" ,")


def _number_for(option: PartOption, named: KnownPart | None) -> KnownPart | None:
    return named if named and named.part in (option.name, "") else None


def _place(spare: Spare) -> str:
    count = "" if spare.quantity is None else f" ({spare.quantity} in stock)"
    return f"{clean(spare.location, 120)}{count}"
