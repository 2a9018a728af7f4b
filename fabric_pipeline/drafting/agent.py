"""The only module that talks to Claude: one agent run for one incident, bounded in time, tokens and tries.

`pydantic_ai` and `anthropic` are imported inside functions, because importing them costs more than a
second and most commands never draft. Annotations are evaluated here, since the agent reads those of its
tools. Falling back to the rules is decided in `drafting.draft`.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from fabric_pipeline.drafting import facts
from fabric_pipeline.drafting.catalogue import Catalogue
from fabric_pipeline.drafting.prompt import PROMPT
from fabric_pipeline.drafting.verify import problems, reading_problems
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.ticket import DraftText
from fabric_pipeline.settings import Settings

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from pydantic_ai import Agent

API_URL = "https://api.anthropic.com"
# The client repeats a call after 408, 409, 429, any 5xx and a lost connection, with growing pauses.
CLIENT_RETRIES = 3
# One attempt may use this share of the whole time, so that a hanging one leaves room for a second.
ATTEMPT_SHARE = 0.6
# A full draft is some 4,000 tokens; the rest is room for models that think first.
MAX_OUTPUT_TOKENS = 12_000
# Answers that our checks refused and that Claude may correct.
OUTPUT_RETRIES = 2
TOOL_RETRIES = 2
MAX_REQUESTS = 10
MAX_TOOL_CALLS = 16


class DrafterReading(BaseModel):
    """Your own reading of the topology: which component fails, judged from the evidence."""

    model_config = ConfigDict(extra="forbid")

    component: str = Field(
        max_length=200, description="Component id exactly as written in the incident"
    )
    why: str = Field(min_length=1, max_length=600)
    would_refute_it: str = Field(min_length=1, max_length=400)


class DrafterAnswer(BaseModel):
    """The worded part of the ticket and the drafter's own reading."""

    model_config = ConfigDict(extra="forbid")

    text: DraftText
    reading: DrafterReading


@dataclass(slots=True)
class DrafterDeps:
    """What tools and checks of one run may read; `refused` keeps what the last check said."""

    incident: IncidentRecord
    catalogue: Catalogue
    refused: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run: an answer or the reason why there is none, and the tokens spent either way."""

    answer: DrafterAnswer | None
    reason: str = ""
    input_tokens: int = 0
    output_tokens: int = 0


def ask_claude(incident: IncidentRecord, *, settings: Settings, catalogue: Catalogue) -> Outcome:
    """Ask for one draft. Never raises for what the service, the network or the model does."""
    if not all(find_spec(library) for library in ("pydantic_ai", "anthropic")):
        return Outcome(None, "the libraries pydantic-ai and anthropic are not installed")
    return _run_to_end(_ask(incident, settings, catalogue))


def _run_to_end(work: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Run a coroutine from plain code, also where this thread already runs an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="drafting") as pool:
        return pool.submit(asyncio.run, work).result()


async def _ask(incident: IncidentRecord, settings: Settings, catalogue: Catalogue) -> Outcome:
    from pydantic_ai import capture_run_messages
    from pydantic_ai.usage import RunUsage, UsageLimits

    from fabric_pipeline.drafting.failures import expected_errors, reason_for

    deps, usage = DrafterDeps(incident, catalogue), RunUsage()
    limits = UsageLimits(request_limit=MAX_REQUESTS, tool_calls_limit=MAX_TOOL_CALLS)
    shown = facts.as_data(facts.drafter_facts(incident, catalogue.entry_for(incident)))
    with capture_run_messages() as messages:
        try:
            async with _client(settings) as client:
                result = await _agent(client, settings.model).run(
                    shown,
                    deps=deps,
                    usage=usage,
                    usage_limits=limits,
                    timeout=settings.draft_timeout_s,
                )
        except expected_errors() as error:
            reason = reason_for(error, settings.draft_timeout_s, _last_stop(messages), deps.refused)
            return Outcome(None, reason, usage.input_tokens, usage.output_tokens)
    return Outcome(result.output, "", usage.input_tokens, usage.output_tokens)


def _client(settings: Settings) -> "AsyncAnthropic":
    from anthropic import AsyncAnthropic

    return AsyncAnthropic(
        api_key=settings.anthropic_api_key,
        base_url=settings.anthropic_base_url or API_URL,
        max_retries=CLIENT_RETRIES,
        timeout=settings.draft_timeout_s * ATTEMPT_SHARE,
    )


def _agent(client: "AsyncAnthropic", model: str) -> "Agent[DrafterDeps, DrafterAnswer]":
    from pydantic_ai import Agent, ModelRetry, RunContext, ToolOutput
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    agent = Agent(
        AnthropicModel(model, provider=AnthropicProvider(anthropic_client=client)),
        output_type=ToolOutput(DrafterAnswer, name="ticket_draft"),
        deps_type=DrafterDeps,
        instructions=PROMPT,
        model_settings={"max_tokens": MAX_OUTPUT_TOKENS},
        retries={"output": OUTPUT_RETRIES, "tools": TOOL_RETRIES},
        name="ticket_drafter",
    )

    @agent.tool
    def neighbours(ctx: RunContext[DrafterDeps]) -> str:
        """Both ends of the link, and the components whose trouble follows from this fault."""
        return facts.as_data(facts.neighbour_facts(ctx.deps.incident))

    @agent.tool
    def evidence(ctx: RunContext[DrafterDeps], evidence_id: str) -> str:
        """One piece of evidence with its excerpt, by id."""
        found = [item for item in ctx.deps.incident.evidence if item.evidence_id == evidence_id]
        ids = [item.evidence_id for item in ctx.deps.incident.evidence]
        return facts.as_data(
            facts.evidence_facts(found[0]) if found else {"ids": ids[: facts.MAX_ITEMS]}
        )

    @agent.tool
    def counters(ctx: RunContext[DrafterDeps]) -> str:
        """Figures of the incident by name, and the rules that fired with their limits."""
        incident = ctx.deps.incident
        rules = [rule.model_dump() for rule in incident.rules]
        return facts.as_data(facts.bounded({"numbers": incident.numbers, "rules": rules}))

    @agent.tool
    def alternatives(ctx: RunContext[DrafterDeps]) -> str:
        """Other explanations that were weighed, and what would change the verdict."""
        return facts.as_data(facts.alternative_facts(ctx.deps.incident))

    @agent.output_validator
    def check(ctx: RunContext[DrafterDeps], answer: DrafterAnswer) -> DrafterAnswer:
        found = _problems(ctx.deps, answer)
        if _last_stop(ctx.messages) == "length":
            found = ["the answer was cut off at the token limit; write a shorter one", *found]
        ctx.deps.refused[:] = found
        if found:
            raise ModelRetry("Correct these and answer again:\n- " + "\n- ".join(found[:12]))
        return answer

    return agent


def _problems(deps: DrafterDeps, answer: DrafterAnswer) -> list[str]:
    reading = answer.reading
    sentences = {"reading.why": reading.why, "reading.would_refute_it": reading.would_refute_it}
    return [
        *problems(answer.text, deps.incident, deps.catalogue),
        *reading_problems(reading.component, sentences, deps.incident, deps.catalogue),
    ]


def _last_stop(messages: Sequence[Any]) -> str:
    """Why the model stopped its last answer: `length`, `content_filter` and so on; "" when unknown."""
    stops = [message.finish_reason for message in messages if message.kind == "response"]
    return (stops[-1] if stops else None) or ""
