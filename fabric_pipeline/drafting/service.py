"""The Claude service as drafting uses it: one client, one model, the settings of every request.

`pydantic_ai` and `anthropic` are imported inside functions, because importing them costs more than a
second and most commands never draft. What is asked, and what becomes of the answers, lies elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fabric_pipeline.drafting.budget import MAX_OUTPUT_TOKENS
from fabric_pipeline.drafting.prices import Spent
from fabric_pipeline.errors import UsageError
from fabric_pipeline.settings import Settings

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
    from pydantic_ai.usage import RequestUsage, RunUsage

API_URL = "https://api.anthropic.com"
# The client repeats a call after 408, 409, 429, any 5xx and a lost connection, with growing pauses, and
# waits as long as `retry-after` says; the time of the whole draft ends that wait in any case.
CLIENT_RETRIES = 3
# One attempt may use this share of the whole time, so that a hanging one leaves room for a second.
ATTEMPT_SHARE = 0.6
# What the service takes as effort; "" leaves it to the model. Source: `AnthropicEffort` of pydantic-ai 2.62.
EFFORTS = ("low", "medium", "high", "xhigh", "max")


def check_effort(effort: str) -> None:
    """UsageError for an effort that the service does not know."""
    if effort and effort not in EFFORTS:
        raise UsageError(
            f"FABRIC_EFFORT is {effort!r}, not an effort the service knows",
            f"unset it or give one of {', '.join(EFFORTS)}",
        )


def open_client(settings: Settings) -> AsyncAnthropic:
    """The one client of a run; all its drafts share it."""
    from anthropic import AsyncAnthropic

    return AsyncAnthropic(
        api_key=settings.anthropic_api_key,
        base_url=settings.anthropic_base_url or API_URL,
        max_retries=CLIENT_RETRIES,
        timeout=settings.draft_timeout_s * ATTEMPT_SHARE,
    )


def open_model(client: AsyncAnthropic, name: str) -> AnthropicModel:
    """The model behind that client."""
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=client))


def model_settings(settings: Settings, *, conversation: bool = False) -> AnthropicModelSettings:
    """Length of an answer, effort, and cache marks.

    Instructions and tools are the same for every incident of a run, so that only its first request pays
    for them in full. The mark on a conversation makes look-ups and corrections cheap; a request in a
    batch has neither.
    """
    chosen: AnthropicModelSettings = {
        "max_tokens": MAX_OUTPUT_TOKENS,
        "anthropic_cache_instructions": True,
        "anthropic_cache_tool_definitions": True,
    }
    if conversation:
        chosen["anthropic_cache"] = True
    if settings.effort:
        chosen["anthropic_effort"] = settings.effort  # type: ignore[typeddict-item]  # see check_effort
    return chosen


def spent_of(usage: RunUsage | RequestUsage) -> Spent:
    """Tokens as the service reported them."""
    return Spent(
        usage.requests,
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
    )


def last_stop(messages: Sequence[Any]) -> str:
    """Why the model stopped its last answer: `length`, `content_filter` and so on; "" when unknown."""
    stops = [message.finish_reason for message in messages if message.kind == "response"]
    return (stops[-1] if stops else None) or ""
