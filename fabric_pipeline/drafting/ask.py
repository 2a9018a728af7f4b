"""One bounded run of the agent for one incident: time, tokens, tries and money.

Nothing that the service, the network or the model does raises from here; every way a run can end becomes
an `Outcome` with what was spent. Falling back to the rules is decided in `drafting.finish`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabric_pipeline.drafting import facts, surroundings
from fabric_pipeline.drafting.agent import DrafterDeps, fixed_characters
from fabric_pipeline.drafting.budget import Budget
from fabric_pipeline.drafting.catalogue import Catalogue
from fabric_pipeline.drafting.outcome import MAX_ATTEMPTS, DraftRequest, Outcome
from fabric_pipeline.drafting.prices import cost_usd
from fabric_pipeline.drafting.service import last_stop, spent_of
from fabric_pipeline.settings import Settings

if TYPE_CHECKING:
    from pydantic_ai import Agent

    from fabric_pipeline.drafting.answer import DrafterAnswer

MAX_REQUESTS = 10
MAX_TOOL_CALLS = 16
# Over all requests of one draft. The first message has some 8,000 tokens and every request repeats it.
MAX_DRAFT_INPUT_TOKENS = 400_000
MAX_DRAFT_OUTPUT_TOKENS = 40_000


async def ask_claude(
    request: DraftRequest,
    agent: Agent[DrafterDeps, DrafterAnswer],
    *,
    settings: Settings,
    catalogue: Catalogue,
    budget: Budget,
) -> Outcome:
    """Ask for one draft. Never raises for what the service, the network or the model does."""
    entry = catalogue.entry_for(request.incident)
    shown = surroundings.first_message(request, entry)
    message = facts.as_data(shown)
    async with budget.grant(fixed_characters() + len(message)) as grant:
        if grant is None:
            return Outcome(None, budget.reason, was_asked=False)
        deps = DrafterDeps(request, catalogue, grant, seen=[shown])
        return await _run(agent, message, deps, settings)


async def _run(
    agent: Agent[DrafterDeps, DrafterAnswer], message: str, deps: DrafterDeps, settings: Settings
) -> Outcome:
    from pydantic_ai import capture_run_messages
    from pydantic_ai.usage import RunUsage, UsageLimits

    from fabric_pipeline.drafting.failures import expected_errors, reason_for

    usage, answer, reason = RunUsage(), None, ""
    limits = UsageLimits(
        request_limit=MAX_REQUESTS,
        tool_calls_limit=MAX_TOOL_CALLS,
        input_tokens_limit=MAX_DRAFT_INPUT_TOKENS,
        output_tokens_limit=MAX_DRAFT_OUTPUT_TOKENS,
    )
    with capture_run_messages() as messages:
        try:
            result = await agent.run(
                message,
                deps=deps,
                usage=usage,
                usage_limits=limits,
                timeout=settings.draft_timeout_s,
            )
            answer = result.output
        except expected_errors() as error:
            reason = reason_for(error, settings.draft_timeout_s, last_stop(messages), deps.refused)
    spent = spent_of(usage)
    cost = cost_usd(settings.model, spent)
    return Outcome(answer, reason, spent, cost, tuple(deps.attempts[-MAX_ATTEMPTS:]))
