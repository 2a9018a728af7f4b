"""Answers to what a drafter asks about an incident and the fabric around it: bounded, cleaned, read-only.

Facts of the incident come from its record, those of the fabric from a `FabricLookup` where one is given.
A look-up that fails is told to the drafter as such and stops no draft. Nothing here is quoted yet;
`facts.as_data` does that.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from fabric_pipeline.drafting import facts
from fabric_pipeline.drafting.catalogue import CatalogueEntry
from fabric_pipeline.drafting.lookup import FabricLookup
from fabric_pipeline.drafting.outcome import DraftRequest
from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.model.components import parse_component

# Rows of one answer, and the longest string in a row: some 12,000 characters in the worst usual case.
MAX_ROWS = 24
MAX_COLUMNS = 16
MAX_CELL = 160
# Whole answers stay under this; longer ones lose rows from their end.
MAX_ANSWER = 24_000
# Slow intervals in the first message; the tool shows up to MAX_ROWS.
FIRST_INTERVALS = 12
_LOG = logging.getLogger(__name__)
NO_LOOKUP = "nothing beyond the incident can be looked up for this draft"

Rows = Sequence[dict[str, Any]]


def first_message(request: DraftRequest, entry: CatalogueEntry) -> dict[str, Any]:
    """Everything a drafter gets before it asks: the incident, its surroundings, and what came before."""
    incident = request.incident
    accused = incident.isolated_component
    around = {
        "neighbours": neighbours(request, accused),
        "counters_of_the_accused_end": counters(request, accused),
        "slow_intervals": straggler_timeline(request, accused, FIRST_INTERVALS),
        "shared_with_the_symptoms": shared_components(request, _accused_and_symptoms(request)),
    }
    return {
        **facts.drafter_facts(incident, entry),
        "alternatives": facts.alternative_facts(incident),
        "surroundings": around,
        "before_this_ticket": _history(request),
    }


def evidence(request: DraftRequest, evidence_id: str) -> dict[str, Any]:
    """One piece of evidence in full; for an unknown id the ids there are."""
    items = request.incident.evidence
    found = [item for item in items if item.evidence_id == evidence_id]
    ids = [clean(item.evidence_id, 40) for item in items[: facts.MAX_ITEMS]]
    return facts.evidence_facts(found[0]) if found else {"no_such_evidence": True, "ids": ids}


def neighbours(request: DraftRequest, component: str) -> dict[str, Any]:
    """Both ends of the accused link with its symptoms, and the other links of the component's device."""
    asked = clean(component, 200)
    return {
        "incident": facts.neighbour_facts(request.incident),
        "links_of_the_device": _looked_up(request, lambda fabric: fabric.neighbours(asked)),
    }


def counters(request: DraftRequest, component: str) -> dict[str, Any]:
    """Counters of a link end over the drop, beside the figures and rules of the incident."""
    asked, incident = clean(component, 200), request.incident
    held: dict[str, Any] = {"counters": _looked_up(request, lambda fabric: fabric.counters(asked))}
    if _same(asked, incident.isolated_component):
        rules = [rule.model_dump() for rule in incident.rules[: facts.MAX_ITEMS]]
        held["incident"] = facts.bounded({"numbers": incident.numbers, "rules": rules})
    return held


def shared_components(request: DraftRequest, components: Sequence[str]) -> dict[str, Any]:
    """Parts that several of these links have in common."""
    asked = [clean(component, 200) for component in components[: facts.MAX_ITEMS]]
    return {"shared": _looked_up(request, lambda fabric: fabric.shared_components(asked))}


def straggler_timeline(
    request: DraftRequest, component: str, most: int = MAX_ROWS
) -> dict[str, Any]:
    """Slow intervals of the runs over a link, and what the incident says of the runs it slows."""
    asked, incident = clean(component, 200), request.incident
    found = _looked_up(request, lambda fabric: fabric.straggler_timeline(asked), most)
    told = {
        "affected_runs": incident.affected_runs[: facts.MAX_ITEMS],
        "latency_us": incident.latency_us,
        "baseline_us": incident.baseline_us,
        "straggler_p_value": incident.straggler_p_value,
    }
    return {"incident": facts.bounded(told), "slow_intervals": found}


def earlier_tickets(request: DraftRequest, serial: str) -> dict[str, Any]:
    """Tickets that named this serial: from the history of the ticket and from the ledger."""
    asked = clean(serial, 120)
    known = [
        ticket.model_dump(mode="json")
        for ticket in request.history.tickets
        if ticket.serial == asked
    ]
    return {
        "known_to_the_ticket": _rows(known, MAX_ROWS),
        "tickets": _looked_up(request, lambda fabric: fabric.earlier_tickets(asked)),
    }


def alternatives(request: DraftRequest) -> dict[str, Any]:
    """Other explanations that were weighed, and what would change the verdict."""
    return {"alternatives": facts.alternative_facts(request.incident)}


def _history(request: DraftRequest) -> dict[str, Any]:
    history = request.history
    repairs = [repair.model_dump(mode="json") for repair in history.repairs]
    tickets = [ticket.model_dump(mode="json") for ticket in history.tickets]
    return {
        "repairs": _rows(repairs, MAX_ROWS),
        "tickets": _rows(tickets, MAX_ROWS),
        "begin_at_step": history.begin_at_step,
    }


def _accused_and_symptoms(request: DraftRequest) -> list[str]:
    symptoms = [symptom.component for symptom in request.incident.symptoms]
    return list(dict.fromkeys([request.incident.isolated_component, *symptoms]))


def _looked_up(
    request: DraftRequest, ask: Callable[[FabricLookup], Rows], most: int = MAX_ROWS
) -> dict[str, Any]:
    """Rows of the fabric; a note instead when there is no look-up or when it failed."""
    if request.lookup is None:
        return {"note": NO_LOOKUP}
    try:
        return _rows(ask(request.lookup), most)
    except Exception as error:  # whatever a look-up trips over, the draft goes on without it
        _LOG.exception("a look-up of the drafter failed")
        return {"note": f"this look-up failed ({type(error).__name__}); the answer is not known"}


def _rows(rows: Rows, most: int) -> dict[str, Any]:
    narrow = [dict(islice(row.items(), MAX_COLUMNS)) for row in rows[:most]]
    shown = [facts.bounded(row, MAX_CELL) for row in narrow]
    while len(shown) > 1 and len(str(shown)) > MAX_ANSWER:
        shown.pop()
    return {"rows": shown, "left_off": len(rows) - len(shown)}


def _same(one: str, other: str) -> bool:
    return parse_component(one.casefold()) == parse_component(other.casefold())
