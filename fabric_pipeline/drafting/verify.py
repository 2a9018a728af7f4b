"""Checks a draft against the incident and the catalogue, whoever wrote it. Pure: text in, problems out.

A draft passes when every name and figure in it is known, every claim cites evidence that exists, no
sentence orders anything done to a machine, and nothing required is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from fabric_pipeline.drafting import places
from fabric_pipeline.drafting.catalogue import Catalogue, CatalogueEntry
from fabric_pipeline.drafting.facts import catalogue_facts
from fabric_pipeline.drafting.forbidden import forbidden
from fabric_pipeline.drafting.identifiers import Known, collect, pairs_in, spellings, strangers
from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.ticket import DraftText
from fabric_pipeline.model.components import parse_component

# Under these lengths a technician could not act on the ticket alone.
MIN_SUMMARY = 80
MIN_STEPS = 2
MIN_WORDS = 12

_PART_NUMBER = re.compile(
    r"(?:\bpart\s{0,2}(?:number|no\.?|#)|\bp/?n\b)\s{0,2}(?:is\b|:|=|#)?\s{0,2}([A-Z0-9][\w/-]{2,40})",
    re.IGNORECASE,
)


def problems(text: DraftText, incident: IncidentRecord, catalogue: Catalogue) -> list[str]:
    """What is wrong with this draft, one sentence each, field first; empty when nothing is."""
    entry = catalogue.entry_for(incident)
    known = known_facts(incident, entry)
    found = _missing(text, incident) + _uncited(text, incident)
    for field, words in _texts(text):
        found += [f"{field}: {reason}" for reason in forbidden(words)]
        found += _unknown_words(field, words, known, len(text.repair_steps))
        found += _part_numbers(field, words, incident, entry)
    return list(dict.fromkeys(found))


def reading_problems(
    component: str, sentences: dict[str, str], incident: IncidentRecord, catalogue: Catalogue
) -> list[str]:
    """What is wrong with a drafter's own reading of the topology; `sentences` by field name."""
    known = known_facts(incident, catalogue.entry_for(incident))
    named = clean(component, 200)
    found = (
        []
        if named.lower() in known.tokens
        else ["reading.component: not a component of this incident"]
    )
    for field, words in sentences.items():
        found += [f"{field}: {reason}" for reason in forbidden(words)]
        found += _unknown_words(field, words, known, 0)
    return found


def same_component(reading: str, isolated: str) -> bool:
    """True when both name the same link end; a lane that only one of them states does not part them."""
    ours, theirs = (
        parse_component(isolated.casefold()),
        parse_component(clean(reading, 200).casefold()),
    )
    lanes = {ours.lane, theirs.lane} - {None}
    return (ours.node, ours.interface) == (theirs.node, theirs.interface) and len(lanes) <= 1


def known_facts(incident: IncidentRecord, entry: CatalogueEntry) -> Known:
    """Every name and figure that a draft of this incident may use."""
    # Numbers inside a query (`limit 1`) are no facts of the incident.
    unsaid: dict[str, Any] = {"evidence_sha256": True, "schema_version": True, "figures": {"__all__": {"query"}}}  # fmt: skip
    record = incident.model_dump(mode="json", exclude=unsaid)
    texts = [*_leaves(record), *_leaves(catalogue_facts(incident, entry)), *_derived(incident)]
    places_named = [
        *_leaves(incident.place.model_dump()),
        *_leaves(incident.far_place.model_dump()),
    ]
    return collect(texts, places_named)


def _texts(text: DraftText) -> Iterator[tuple[str, str]]:
    yield "title", text.title
    yield "summary", text.summary
    yield "rollback", text.rollback
    for number, statement in enumerate(text.evidence_statements, start=1):
        yield f"evidence statement {number}", statement.claim
    for number, words in enumerate(text.alternatives, start=1):
        yield f"alternative {number}", words
    for number, step in enumerate(text.repair_steps, start=1):
        yield f"repair step {number} (do)", step.do
        yield f"repair step {number} (proves)", step.proves


def _unknown_words(field: str, words: str, known: Known, steps: int) -> list[str]:
    return [
        f"{field}: {clean(stranger, 40)!r} stands neither in the incident nor in the catalogue"
        for stranger in strangers(words, known, steps)
    ]


def _missing(text: DraftText, incident: IncidentRecord) -> list[str]:
    found = [f"{field}: empty" for field, words in _texts(text) if not words.strip()]
    if len(text.summary) < MIN_SUMMARY or len(text.summary.split()) < MIN_WORDS:
        found.append(f"summary: too short to act on (at least {MIN_SUMMARY} characters)")
    if len(text.repair_steps) < MIN_STEPS:
        found.append(f"repair_steps: fewer than {MIN_STEPS} steps")
    if not _names_the_link(f"{text.title} {text.summary}", incident):
        found.append("title and summary: neither names the isolated component")
    others = pairs_in(text.title) - _own_pairs(incident)
    found += [
        f"title: {kind} {number} is not of the isolated link" for kind, number in sorted(others)
    ]
    return found


def _names_the_link(words: str, incident: IncidentRecord) -> bool:
    part = parse_component(incident.isolated_component)
    wanted = {places.near_end(incident), part.interface}
    if any(name and name.casefold() in words.casefold() for name in wanted):
        return True
    pairs = pairs_in(part.interface)
    return bool(pairs) and pairs <= pairs_in(words)


def _own_pairs(incident: IncidentRecord) -> set[tuple[str, int]]:
    own = [
        incident.isolated_component,
        incident.far_end,
        incident.fabric_or_switch_port,
        incident.cable_id,
    ]
    own += [incident.action_text, *_leaves(incident.place.model_dump()), *_derived(incident)]
    return pairs_in(" ; ".join(own))


def _uncited(text: DraftText, incident: IncidentRecord) -> list[str]:
    allowed = evidence_ids(incident)
    cited = {ref for statement in text.evidence_statements for ref in statement.evidence_ids}
    return [
        f"evidence_statements: there is no evidence {clean(ref, 40)!r}"
        for ref in sorted(cited - allowed)
    ]


def evidence_ids(incident: IncidentRecord) -> set[str]:
    """Ids that a claim may cite; the record itself stands in when it holds no evidence."""
    return {item.evidence_id for item in incident.evidence} or {incident.incident_id}


def _part_numbers(
    field: str, words: str, incident: IncidentRecord, entry: CatalogueEntry
) -> list[str]:
    part = entry.known_part(incident.part_reference)
    allowed = part.part_number.casefold() if part else ""
    stated = [hit for hit in _PART_NUMBER.findall(words) if any(char.isdigit() for char in hit)]
    wrong = [hit for hit in stated if hit.rstrip(".").casefold() != allowed]
    return [f"{field}: the catalogue holds no part number {clean(hit, 40)!r}" for hit in wrong]


def _derived(incident: IncidentRecord) -> list[str]:
    """Other spellings of known facts: GPU, slot, unit and lane in words, times in short form."""
    place, far = incident.place, incident.far_place
    words = [places.near_end(incident), places.far_end(incident), places.port(incident)]
    words += [places.gpu(incident), places.node(incident), places.cable(incident)]
    words += [f"rack {end.rack} row {end.row} unit {end.unit} U{end.unit}" for end in (place, far)]
    words += [f"socket {end.socket}" for end in (place, far) if end.socket is not None]
    words += [f"lane {incident.lane}"] if incident.lane is not None else []
    words += [f"rank {rank}" for rank in incident.affected_ranks]
    words += [f"rack {digits}" for end in (place, far) for digits in re.findall(r"\d+", end.rack)]
    words += [
        spelling
        for at in (incident.first_seen, incident.last_seen)
        if at
        for spelling in _times(at)
    ]
    counts = (incident.evidence, incident.symptoms, incident.alternatives, incident.rules)
    words += [
        str(len(items)) for items in (*counts, incident.affected_runs, incident.affected_ranks)
    ]
    return words


def _times(at: datetime) -> list[str]:
    readings = [at, at.astimezone(UTC)] if at.tzinfo else [at]
    forms = (
        "%Y-%m-%d %H:%M:%S",
        "%H:%M",
        "%Y-%m-%dT%H:%M:%SZ",
        "%Y-%m-%dT%H:%MZ",
        "%Y-%m-%dT%H:%M",
    )
    return [each.strftime(form) for each in readings for form in forms]


def _leaves(value: Any) -> Iterator[str]:
    """Every string and number of a structure as text, keys of mappings included."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from _leaves(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str):
        yield clean(value, 4000)
    elif value is not None and not isinstance(value, bool):
        yield from spellings(value)
