"""The doors to drafting: tickets of many incidents, or of one, by Claude when a key is set, else by rules.

Whatever happens to Claude, a complete draft comes back for every incident, and it says who wrote it and
why. The deterministic isolation stands in the ticket either way; a drafter's own finding is noted beside
it. All drafts of one call share one client, one budget and one bound on simultaneous requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from fabric_pipeline.drafting.agent import build_agent
from fabric_pipeline.drafting.ask import ask_claude
from fabric_pipeline.drafting.batch import ask_in_batches
from fabric_pipeline.drafting.budget import Budget
from fabric_pipeline.drafting.catalogue import Catalogue
from fabric_pipeline.drafting.finish import by_rules, finished
from fabric_pipeline.drafting.history import NO_HISTORY, TicketHistory
from fabric_pipeline.drafting.lookup import FabricLookup
from fabric_pipeline.drafting.outcome import DraftRequest, Outcome
from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.drafting.service import check_effort, open_client, open_model
from fabric_pipeline.errors import DraftingError
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.settings import Settings

if TYPE_CHECKING:
    from pydantic_ai.models.anthropic import AnthropicModel

__all__ = ["DraftRequest", "draft_ticket", "draft_tickets"]

NO_LIBRARIES = "the libraries pydantic-ai and anthropic are not installed"
Progress = Callable[[str], None]
_Result = TypeVar("_Result")


def draft_ticket(
    incident: IncidentRecord,
    *,
    settings: Settings,
    catalogue: Catalogue,
    history: TicketHistory = NO_HISTORY,
    lookup: FabricLookup | None = None,
) -> TicketDraft:
    """The draft of one incident that needs a ticket; DraftingError for one that needs none."""
    request = DraftRequest(incident, history, lookup)
    return draft_tickets([request], settings=settings, catalogue=catalogue)[0]


def draft_tickets(
    requests: Sequence[DraftRequest],
    *,
    settings: Settings,
    catalogue: Catalogue,
    progress: Progress = lambda _: None,
) -> list[TicketDraft]:
    """Drafts in the order of the requests.

    DraftingError when an incident needs no ticket, UsageError for an effort that the service does not
    know; both before anything is asked. `progress` hears one line for each draft that is asked for, and
    how batches go.
    """
    for request in requests:
        _check_needed(request.incident)
    check_effort(settings.effort)
    if not (settings.anthropic_api_key and requests):
        return [by_rules(request, catalogue) for request in requests]
    if all(find_spec(library) for library in ("pydantic_ai", "anthropic")):
        outcomes = _run_to_end(_outcomes(requests, settings, catalogue, progress))
    else:
        outcomes = [Outcome(None, NO_LIBRARIES, was_asked=False)] * len(requests)
    return [
        finished(request, outcome, settings=settings, catalogue=catalogue)
        for request, outcome in zip(requests, outcomes, strict=True)
    ]


async def _outcomes(
    requests: Sequence[DraftRequest], settings: Settings, catalogue: Catalogue, progress: Progress
) -> list[Outcome]:
    """First the batch where one is worth it, then the agent for whatever has no answer yet."""
    budget = Budget(settings.model, settings.draft_budget_usd)
    seats = asyncio.Semaphore(settings.draft_concurrency)
    async with open_client(settings) as client:
        model = open_model(client, settings.model)
        agent = build_agent(model, settings)
        early = await _from_batch(requests, model, settings, catalogue, budget, progress)

        async def one(index: int, request: DraftRequest) -> Outcome:
            earlier = early.get(index)
            if earlier and earlier.answer:
                return earlier
            async with seats:
                progress(f"{clean(request.incident.isolated_component, 200)}: asking Claude")
                found = await ask_claude(
                    request, agent, settings=settings, catalogue=catalogue, budget=budget
                )
            return found.after(earlier)

        return await asyncio.gather(*(one(*numbered) for numbered in enumerate(requests)))


async def _from_batch(
    requests: Sequence[DraftRequest],
    model: AnthropicModel,
    settings: Settings,
    catalogue: Catalogue,
    budget: Budget,
    progress: Progress,
) -> dict[int, Outcome]:
    if not 0 < settings.batch_from <= len(requests):
        return {}
    return await ask_in_batches(
        requests, model, settings=settings, catalogue=catalogue, budget=budget, progress=progress
    )


def _check_needed(incident: IncidentRecord) -> None:
    if not incident.needs_ticket:
        raise DraftingError(
            f"incident {incident.incident_id} ({incident.fault_type}, {incident.severity}) accuses no part",
            "draft tickets only for incidents at WARNING or CRITICAL that name a component as the cause",
        )


def _run_to_end(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine from plain code, also where this thread already runs an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="drafting") as pool:
        return pool.submit(asyncio.run, work).result()
