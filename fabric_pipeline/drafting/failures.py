"""Why Claude gave no usable draft, in our own words.

The texts of providers are not repeated: they hold request ids, sometimes addresses, and they end up in a
ticket. Which of these failures are worth another try is decided by the client and the agent.
"""

from __future__ import annotations

from fabric_pipeline.drafting.budget import BudgetSpentError
from fabric_pipeline.drafting.sanitise import clip, figure

_BY_STATUS = {
    400: "the service refused the request as malformed",
    401: "the service refused the key",
    402: "the account has no credit left",
    403: "the key may not use this model",
    404: "the service does not know this model",
    413: "the request was too large for the service",
    429: "the rate limit was still reached after all retries",
    529: "the service was still overloaded after all retries",
}


def expected_errors() -> tuple[type[Exception], ...]:
    """Everything that service, network, model and libraries may raise.

    The libraries stumble over answers of a foreign shape with plain Python errors, so these are in it;
    the plain RuntimeError of blocked model requests is not, it has to be loud.
    """
    import httpx2
    from anthropic import AnthropicError
    from pydantic_ai.exceptions import AgentRunError, UserError

    of_libraries = (AgentRunError, UserError, AnthropicError, httpx2.HTTPError, httpx2.InvalidURL)
    plain = (OSError, ValueError, TypeError, AttributeError, LookupError)
    return (BudgetSpentError, *of_libraries, *plain)


def reason_for(error: Exception, timeout_s: float, last_stop: str, refused: list[str]) -> str:
    """One sentence for the ticket.

    `last_stop` is why the model stopped its last answer, `refused` what our checks said to it.
    """
    if isinstance(error, BudgetSpentError):
        return "what the budget of the run left for this draft was used up without a usable answer"
    return (
        _http(error)
        or _timing(error, timeout_s)
        or _answer(error, last_stop, refused)
        or _other(error)
    )


def _http(error: Exception) -> str:
    status = getattr(error, "status_code", None)
    if not isinstance(status, int):
        return ""
    return f"{_BY_STATUS.get(status, 'the service failed')} (HTTP {status})"


def _timing(error: Exception, timeout_s: float) -> str:
    from pydantic_ai.exceptions import ModelConnectionError, ModelTimeoutError, RunTimedOut

    if isinstance(error, (RunTimedOut, ModelTimeoutError, TimeoutError)):
        return f"no usable answer within {figure(timeout_s)} s"
    return "the service could not be reached" if isinstance(error, ModelConnectionError) else ""


def _answer(error: Exception, last_stop: str, refused: list[str]) -> str:
    from pydantic_ai.exceptions import UnexpectedModelBehavior, UsageLimitExceeded

    if isinstance(error, UsageLimitExceeded):
        return "the model used up its requests or tool calls without an answer"
    if not isinstance(error, UnexpectedModelBehavior):
        return ""
    if last_stop == "content_filter":
        return "the model declined to answer"
    if last_stop == "length":
        return "the answer was cut off at the token limit"
    if refused:
        return clip(f"its text did not pass our checks: {'; '.join(refused[:3])}", 400)
    return "its answer did not have the shape that was asked for"


def _other(error: Exception) -> str:
    return f"the service's answer could not be used ({type(error).__name__})"
