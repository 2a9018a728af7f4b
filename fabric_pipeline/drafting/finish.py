"""From an outcome to a ticket: Claude's text where there is one, the rules' text where there is not.

Accounts and refused answers go into the draft either way, and a draft that the rules wrote after Claude
was asked says why.
"""

from __future__ import annotations

from fabric_pipeline.drafting.answer import finding_of
from fabric_pipeline.drafting.assemble import Authorship, assemble
from fabric_pipeline.drafting.catalogue import Catalogue
from fabric_pipeline.drafting.outcome import DraftRequest, Outcome
from fabric_pipeline.drafting.prompt import PROMPT_ID
from fabric_pipeline.drafting.rules_draft import draft_by_rules
from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.settings import Settings


def by_rules(request: DraftRequest, catalogue: Catalogue) -> TicketDraft:
    """The draft when Claude is not to be asked."""
    return draft_by_rules(request.incident, catalogue, history=request.history)


def finished(
    request: DraftRequest, outcome: Outcome, *, settings: Settings, catalogue: Catalogue
) -> TicketDraft:
    """The draft after Claude was asked, with or without success."""
    incident, answer = request.incident, outcome.answer
    by = _authorship(outcome, settings)
    if answer is None:
        return draft_by_rules(incident, catalogue, by, request.history)
    finding = finding_of(answer.finding, incident)
    entry = catalogue.entry_for(incident)
    return assemble(incident, entry, answer.text, by, finding, request.history)


def _authorship(outcome: Outcome, settings: Settings) -> Authorship:
    """Who wrote the text and what was spent; when the rules did, no model is named as the author."""
    spent, is_claude = outcome.spent, outcome.answer is not None
    return Authorship(
        drafter="claude" if is_claude else "rules",
        note="" if is_claude else _note(outcome, settings.model),
        model=settings.model if is_claude else "",
        effort=settings.effort if is_claude else "",
        prompt_version=PROMPT_ID if is_claude else "",
        requests=spent.requests,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        cache_read_tokens=spent.cache_read_tokens,
        cache_write_tokens=spent.cache_write_tokens,
        cost_usd=outcome.cost_usd,
        failed_attempts=outcome.attempts,
    )


def _note(outcome: Outcome, model: str) -> str:
    asked = "was asked and gave no usable draft" if outcome.was_asked else "was not asked"
    return f"Claude ({clean(model, 60)}) {asked}: {outcome.reason}."
