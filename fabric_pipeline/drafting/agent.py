"""The agent that asks Claude: its instructions, its look-up tools, its checks, the guard of the budget.

`pydantic_ai` and `anthropic` are imported inside functions, because importing them costs more than a
second and most commands never draft. Annotations are evaluated here, since the agent reads those of its
tools. Answers come whole: nothing is streamed, as no person watches a draft grow and the checks need
all of it. Running it for one incident is the business of `drafting.ask`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from fabric_pipeline.drafting import facts, surroundings
from fabric_pipeline.drafting.answer import (
    TOOL_DESCRIPTION,
    TOOL_NAME,
    DrafterAnswer,
    answer_problems,
    failed_attempt,
    shape_problems,
)
from fabric_pipeline.drafting.budget import BudgetSpentError, Grant
from fabric_pipeline.drafting.catalogue import Catalogue
from fabric_pipeline.drafting.outcome import DraftRequest
from fabric_pipeline.drafting.prompt import PROMPT, WITH_TOOLS
from fabric_pipeline.drafting.service import last_stop, model_settings, spent_of
from fabric_pipeline.incidents.ticket import FailedAttempt
from fabric_pipeline.settings import Settings

if TYPE_CHECKING:
    from pydantic_ai import Agent
    from pydantic_ai.capabilities import Hooks
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models.anthropic import AnthropicModel

# Answers that our checks refused and that Claude may correct.
OUTPUT_RETRIES = 2
TOOL_RETRIES = 2
# Length of the definitions of the look-up tools, rounded up.
TOOLS_CHARACTERS = 4_000
TEXT_INSTEAD = "it answered in plain text instead of handing in a draft"
CUT_OFF = "the answer was cut off at the token limit; write a shorter one"


@dataclass(slots=True)
class DrafterDeps:
    """What tools and checks of one run may read and keep.

    `seen` is what was shown to the drafter and may be repeated by it; `refused` is what the last check
    said; `attempts` are all refused answers.
    """

    request: DraftRequest
    catalogue: Catalogue
    grant: Grant
    seen: list[Any]
    refused: list[str] = field(default_factory=list)
    attempts: list[FailedAttempt] = field(default_factory=list)

    def refuse(self, answer: object, found: Sequence[str]) -> None:
        """Keep an answer that did not pass."""
        self.refused[:] = found
        self.attempts.append(failed_attempt(answer, found))


def build_agent(model: "AnthropicModel", settings: Settings) -> "Agent[DrafterDeps, DrafterAnswer]":
    """The agent of a run, with its tools, checks and the guard of the budget."""
    from pydantic_ai import Agent, ModelRetry, RunContext, ToolOutput

    agent = Agent(
        model,
        output_type=ToolOutput(DrafterAnswer, name=TOOL_NAME, description=TOOL_DESCRIPTION),
        deps_type=DrafterDeps,
        instructions=[PROMPT, WITH_TOOLS],
        model_settings=model_settings(settings, conversation=True),
        retries={"output": OUTPUT_RETRIES, "tools": TOOL_RETRIES},
        capabilities=[_hooks()],
        name="ticket_drafter",
    )
    _add_tools(agent)

    @agent.output_validator
    def check(ctx: RunContext[DrafterDeps], answer: DrafterAnswer) -> DrafterAnswer:
        deps = ctx.deps
        found = answer_problems(answer, deps.request.incident, deps.catalogue, deps.seen)
        if last_stop(ctx.messages) == "length":
            found = [CUT_OFF, *found]
        if found:
            deps.refuse(answer.model_dump(), found)
            raise ModelRetry("Correct these and answer again:\n- " + "\n- ".join(found[:12]))
        deps.refused.clear()
        return answer

    return agent


def _hooks() -> "Hooks[DrafterDeps]":
    """The budget's guard around each request, and the keeper of answers without the right shape."""
    from pydantic_ai import ModelRetry
    from pydantic_ai.capabilities import Hooks
    from pydantic_ai.exceptions import ModelHTTPError

    hooks: Hooks[DrafterDeps] = Hooks()

    @hooks.on.model_request
    async def guarded(ctx: Any, *, request_context: Any, handler: Any) -> "ModelResponse":
        deps: DrafterDeps = ctx.deps
        worst = deps.grant.check(fixed_characters() + _characters(request_context.messages))
        try:
            response: ModelResponse = await handler(request_context)
        except (ModelHTTPError, BudgetSpentError):
            raise  # an error of the service is not billed
        except BaseException:
            deps.grant.charge_unknown(worst)
            raise
        deps.grant.charge(spent_of(response.usage))
        if not response.tool_calls:
            _keep_text(deps, response)
        return response

    @hooks.on.output_validate_error
    def shapeless(ctx: Any, *, output_context: Any, output: Any, error: Any) -> Any:  # noqa: ARG001
        if not isinstance(error, ModelRetry):
            cut = [CUT_OFF] if last_stop(ctx.messages) == "length" else []
            ctx.deps.refuse(output, [*cut, *shape_problems(error)])
            ctx.deps.refused.clear()  # the reason for the ticket is then the shape or the cut
        raise error

    return hooks


def _add_tools(agent: "Agent[DrafterDeps, DrafterAnswer]") -> None:
    """The look-ups. They are coroutines so that they run one at a time, on the thread of the event loop:
    a look-up may hold a database connection that is not to be used by two threads at once.
    """
    from pydantic_ai import RunContext

    def told(ctx: RunContext[DrafterDeps], answer: dict[str, Any]) -> str:
        ctx.deps.seen.append(answer)
        return facts.as_data(answer)

    @agent.tool
    async def evidence(ctx: RunContext[DrafterDeps], evidence_id: str) -> str:
        """One piece of evidence of the incident with its excerpt, by id."""
        return told(ctx, surroundings.evidence(ctx.deps.request, evidence_id))

    @agent.tool
    async def neighbours(ctx: RunContext[DrafterDeps], component: str) -> str:
        """Both ends and symptoms of the incident, and the other links of the device that a component is on."""
        return told(ctx, surroundings.neighbours(ctx.deps.request, component))

    @agent.tool
    async def counters(ctx: RunContext[DrafterDeps], component: str) -> str:
        """Error counters of one link end over the drop, beside those of its siblings."""
        return told(ctx, surroundings.counters(ctx.deps.request, component))

    @agent.tool
    async def shared_components(ctx: RunContext[DrafterDeps], components: list[str]) -> str:
        """Parts that at least two of these links have in common, with how many clean links they carry."""
        return told(ctx, surroundings.shared_components(ctx.deps.request, components))

    @agent.tool
    async def straggler_timeline(ctx: RunContext[DrafterDeps], component: str) -> str:
        """Slow intervals of the runs that cross a link, with the errors counted in them."""
        return told(ctx, surroundings.straggler_timeline(ctx.deps.request, component))

    @agent.tool
    async def earlier_tickets(ctx: RunContext[DrafterDeps], serial: str) -> str:
        """Tickets in which a serial number was accused, taken out or put in before."""
        return told(ctx, surroundings.earlier_tickets(ctx.deps.request, serial))

    @agent.tool
    async def alternatives(ctx: RunContext[DrafterDeps]) -> str:
        """Other explanations that were weighed, and what would change the verdict."""
        return told(ctx, surroundings.alternatives(ctx.deps.request))


def _keep_text(deps: DrafterDeps, response: "ModelResponse") -> None:
    if response.text:
        deps.refuse({"text": response.text}, [TEXT_INSTEAD])
        deps.refused.clear()


def _characters(messages: Sequence[Any]) -> int:
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    return len(ModelMessagesTypeAdapter.dump_json(list(messages)))


@cache
def fixed_characters() -> int:
    """Length of what every request carries: instructions, tools, the shape of the answer."""
    shape = len(json.dumps(DrafterAnswer.model_json_schema()))
    return len(PROMPT) + len(WITH_TOOLS) + shape + TOOLS_CHARACTERS
