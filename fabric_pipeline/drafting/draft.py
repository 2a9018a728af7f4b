"""Drafts the ticket of one incident: by Claude when a key is set, by the rules otherwise.

Whatever happens to Claude, a complete draft comes back, and it says who wrote it and why. The
deterministic isolation stands in the ticket either way; a drafter's own reading is noted beside it.
"""

from __future__ import annotations

from fabric_pipeline.drafting.agent import DrafterReading, Outcome, ask_claude
from fabric_pipeline.drafting.assemble import Authorship, assemble
from fabric_pipeline.drafting.catalogue import Catalogue
from fabric_pipeline.drafting.prices import cost_usd
from fabric_pipeline.drafting.prompt import PROMPT_ID
from fabric_pipeline.drafting.rules_draft import draft_by_rules
from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.drafting.verify import same_component
from fabric_pipeline.errors import DraftingError
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.ticket import TicketDraft, TopologyFinding
from fabric_pipeline.settings import Settings


def draft_ticket(
    incident: IncidentRecord, *, settings: Settings, catalogue: Catalogue
) -> TicketDraft:
    """The draft of one incident that needs a ticket; DraftingError for one that needs none."""
    if not incident.needs_ticket:
        raise DraftingError(
            f"incident {incident.incident_id} ({incident.fault_type}, {incident.severity}) accuses no part",
            "draft tickets only for incidents at WARNING or CRITICAL that name a component as the cause",
        )
    if not settings.anthropic_api_key:
        return draft_by_rules(incident, catalogue)
    outcome = ask_claude(incident, settings=settings, catalogue=catalogue)
    if outcome.answer is None:
        return draft_by_rules(incident, catalogue, _rules_after(outcome, settings.model))
    reading = _reading(outcome.answer.reading, incident)
    by = _authorship(outcome, settings.model)
    return assemble(incident, catalogue.entry_for(incident), outcome.answer.text, by, reading)


def _authorship(outcome: Outcome, model: str) -> Authorship:
    return Authorship(
        drafter="claude",
        model=model,
        prompt_version=PROMPT_ID,
        input_tokens=outcome.input_tokens,
        output_tokens=outcome.output_tokens,
        cost_usd=cost_usd(model, outcome.input_tokens, outcome.output_tokens),
    )


def _rules_after(outcome: Outcome, model: str) -> Authorship:
    """The rules wrote the text, so no model is named as its author; what was spent is kept."""
    return Authorship(
        drafter="rules",
        note=f"Claude ({clean(model, 60)}) was asked and gave no usable draft: {outcome.reason}.",
        input_tokens=outcome.input_tokens,
        output_tokens=outcome.output_tokens,
        cost_usd=cost_usd(model, outcome.input_tokens, outcome.output_tokens),
    )


def _reading(reading: DrafterReading, incident: IncidentRecord) -> TopologyFinding:
    return TopologyFinding(
        level="link",
        component=clean(reading.component, 200),
        why=clean(reading.why, 600),
        would_refute_it=clean(reading.would_refute_it, 400),
        agrees_with_isolation=same_component(reading.component, incident.isolated_component),
    )
