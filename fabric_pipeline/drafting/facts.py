"""What a drafter may see: a bounded, cleaned and clearly quoted structure of one incident.

Every string passes `sanitise.clean`, every list has a length limit, and what was left off is counted.
Evidence excerpts are given one at a time by a tool of the agent, never in the first message. What is
looked up in the fabric around the incident is the business of `drafting.surroundings`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fabric_pipeline.drafting import places
from fabric_pipeline.drafting.catalogue import CatalogueEntry
from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.incidents.record import Evidence, IncidentRecord

# Bounds of what an incident alone fills: some 20,000 characters or 7,000 tokens for a rich record.
MAX_ITEMS = 24
MAX_TEXT = 400
MAX_NUMBERS = 60
OPEN_TAG = "<incident_data>"
CLOSE_TAG = "</incident_data>"


def drafter_facts(incident: IncidentRecord, entry: CatalogueEntry) -> dict[str, Any]:
    """The facts of one incident and its catalogue entry, ready to be shown as data.

    Keys: `fault`, `place`, `far_place`, `cable`, `platform`, `spares`, `reasoning`, `rules`, `evidence`
    (id and what it shows), `numbers`, `catalogue`, and `left_off` with the count of what did not fit.
    """
    left_off: dict[str, int] = {}
    return {
        "fault": _fault(incident),
        "place": bounded(incident.place.model_dump()),
        "far_place": bounded(incident.far_place.model_dump()),
        "cable": bounded(incident.cable.model_dump()),
        "platform": bounded(incident.platform.model_dump()),
        "spares": _some([spare.model_dump() for spare in incident.spares], "spares", left_off),
        "reasoning": _some(incident.reasoning, "reasoning", left_off),
        "rules": _some([rule.model_dump() for rule in incident.rules], "rules", left_off),
        "evidence": _some([_headline(item) for item in incident.evidence], "evidence", left_off),
        "numbers": bounded(dict(list(incident.numbers.items())[:MAX_NUMBERS])),
        "catalogue": catalogue_facts(incident, entry),
        "left_off": left_off,
    }


def catalogue_facts(incident: IncidentRecord, entry: CatalogueEntry) -> dict[str, Any]:
    """The catalogue's texts with the incident's names filled in."""
    part = entry.known_part(incident.part_reference)
    steps = [
        {"action": step.action, "do": step.do, "proves": step.proves} for step in entry.repair_steps
    ]
    texts = {
        "title": entry.title,
        "replaceable_part": entry.replaceable_part,
        "part_number": part.part_number if part else "",
        "part_description": part.description if part else "",
        "tools": list(entry.tools),
        "safety": list(entry.safety),
        "drain": entry.drain,
        "port_isolation": entry.port_isolation,
        "repair_steps": steps,
        "test_after_repair": entry.test_after_repair,
        "pass_criteria": list(entry.pass_criteria),
        "rollback": entry.rollback,
    }
    return {key: _filled(value, incident) for key, value in texts.items()}


def evidence_facts(item: Evidence) -> dict[str, Any]:
    """One piece of evidence in full, its excerpt cut to three times the usual length."""
    shown = _headline(item)
    shown["excerpt"] = clean(item.excerpt, 3 * MAX_TEXT)
    return shown


def neighbour_facts(incident: IncidentRecord) -> dict[str, Any]:
    """Both ends, and the components whose trouble follows from this incident."""
    symptoms = [symptom.model_dump() for symptom in incident.symptoms[:MAX_ITEMS]]
    return {
        "near_end": clean(incident.isolated_component),
        "far_end": clean(incident.far_end),
        "switch_port": clean(incident.fabric_or_switch_port),
        "symptoms": bounded(symptoms),
        "symptoms_left_off": max(0, len(incident.symptoms) - MAX_ITEMS),
        "affected_runs": bounded(incident.affected_runs[:MAX_ITEMS]),
        "affected_ranks": incident.affected_ranks[:MAX_ITEMS],
    }


def alternative_facts(incident: IncidentRecord) -> list[Any]:
    """The other explanations that were weighed, and what would change the verdict."""
    weighed: list[Any] = [item.model_dump() for item in incident.alternatives[:MAX_ITEMS]]
    doubts = [{"would_change_the_verdict": text} for text in incident.would_change_the_verdict]
    return [bounded(item) for item in weighed + doubts[:MAX_ITEMS]]


def as_data(facts: object) -> str:
    """Facts as JSON between tags that no string inside can close, because `<` and `>` are escaped."""
    text = json.dumps(facts, ensure_ascii=False, default=str)
    body = text.replace("<", "\\u003c").replace(">", "\\u003e")
    return f"{OPEN_TAG}\n{body}\n{CLOSE_TAG}"


def bounded(value: Any, longest: int = MAX_TEXT) -> Any:
    """The same structure with every string cleaned, every list cut and nothing deeper than 4 levels."""
    return _bounded(value, 4, longest)


def _bounded(value: Any, depth: int, longest: int) -> Any:
    if isinstance(value, str):
        return clean(value, longest)
    if isinstance(value, (bool, int, float)) or value is None:
        return value
    if depth and isinstance(value, Mapping):
        items = list(value.items())[:MAX_NUMBERS]
        return {clean(str(key), 80): _bounded(item, depth - 1, longest) for key, item in items}
    if depth and isinstance(value, Sequence):
        return [_bounded(item, depth - 1, longest) for item in value[:MAX_ITEMS]]
    return clean(str(value), longest)


def _fault(incident: IncidentRecord) -> dict[str, Any]:
    wanted = (
        "incident_id drop first_seen last_seen isolated_component far_end link_type"
        " fabric_or_switch_port lane cable_id part_reference fault_type error_class class_basis severity"
        " ticket_priority action_code action_text summary degradation_pct degradation_exact latency_us"
        " baseline_us affected_runs affected_ranks gpu_hours_lost straggler_p_value confidence"
        " evidence_grade repeat_count"
    )
    shown: dict[str, Any] = bounded(incident.model_dump(mode="json", include=set(wanted.split())))
    return shown


def _headline(item: Evidence) -> dict[str, Any]:
    kept: dict[str, Any] = bounded(item.model_dump(exclude={"excerpt", "query", "sha256"}))
    return kept


def _some(items: Sequence[Any], what: str, left_off: dict[str, int]) -> list[Any]:
    if len(items) > MAX_ITEMS:
        left_off[what] = len(items) - MAX_ITEMS
    return [bounded(item) for item in items[:MAX_ITEMS]]


def _filled(value: Any, incident: IncidentRecord) -> Any:
    if isinstance(value, str):
        return clean(places.fill(value, incident), 900)
    if isinstance(value, dict):
        return {key: _filled(item, incident) for key, item in value.items()}
    return [_filled(item, incident) for item in value]
