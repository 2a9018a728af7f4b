"""Many drafts through the Message Batches API at half the price: one request for each incident.

No look-up tool is offered there, since nobody could answer it; the first message holds the surroundings
up front. A request that fails in any way, and an answer that our checks refuse, is left to the agent,
with what it cost. A batch that takes too long is cancelled on the service before anything is asked again.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from fabric_pipeline.drafting import facts, surroundings
from fabric_pipeline.drafting.agent import CUT_OFF, TEXT_INSTEAD, fixed_characters
from fabric_pipeline.drafting.answer import (
    TOOL_DESCRIPTION,
    TOOL_NAME,
    DrafterAnswer,
    answer_problems,
    failed_attempt,
    shape_problems,
)
from fabric_pipeline.drafting.assemble import ticket_id
from fabric_pipeline.drafting.budget import Budget, Grant, worst_usd
from fabric_pipeline.drafting.catalogue import Catalogue
from fabric_pipeline.drafting.outcome import DraftRequest, Outcome
from fabric_pipeline.drafting.prices import cost_usd
from fabric_pipeline.drafting.prompt import PROMPT, WITHOUT_TOOLS
from fabric_pipeline.drafting.service import last_stop, model_settings, spent_of
from fabric_pipeline.incidents.ticket import FailedAttempt
from fabric_pipeline.settings import Settings

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.models.batch import Batch, BatchRequest, BatchResult

# The service is asked after a hundredth of the time that a batch may take, then half as often again each
# time; most batches end within an hour, so that a minute between two questions loses nothing.
FIRST_POLL_SHARE = 0.01
FIRST_POLL_S, LONGEST_POLL_S, POLL_GROWTH = 5.0, 60.0, 1.5
# Failed questions in a row, each after the client's own retries, before a batch is given up.
MAX_POLL_FAILURES = 5
# A cancelled batch keeps what was already answered; for so long we wait for it.
CANCEL_WAIT_S = 20.0
# The service takes 100,000 requests and 256 MB; a draft has some 50 KB.
MAX_IN_BATCH = 4_000

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Job:
    """One incident on its way through a batch."""

    index: int
    request: DraftRequest
    shown: dict[str, Any]
    asked: "BatchRequest"
    worst_usd: float


@dataclass(frozen=True, slots=True)
class _Means:
    """What every step of a batch run needs."""

    model: "AnthropicModel"
    settings: Settings
    catalogue: Catalogue
    progress: Progress
    deadline: float


async def ask_in_batches(
    requests: Sequence[DraftRequest],
    model: "AnthropicModel",
    *,
    settings: Settings,
    catalogue: Catalogue,
    budget: Budget,
    progress: Progress,
) -> dict[int, Outcome]:
    """Outcomes by position in `requests`; whatever is missing or has no answer is for the agent.

    As many requests go into one batch as the rest of the budget carries in the worst case; the others
    follow in another batch, when the first has shown what it really cost.
    """
    deadline = asyncio.get_running_loop().time() + settings.batch_timeout_s
    means = _Means(model, settings, catalogue, progress, deadline)
    waiting = list(_jobs(requests, means))
    outcomes: dict[int, Outcome] = {}
    while waiting:
        fitting = _affordable(waiting, budget)
        if not fitting:
            break
        async with budget.hold(sum(job.worst_usd for job in fitting)) as grant:
            found = await _one_batch(fitting, means, grant)
        outcomes.update(found)
        waiting = waiting[len(fitting) :] if found else []
    return outcomes


def _jobs(requests: Sequence[DraftRequest], means: _Means) -> Iterator[_Job]:
    taken: set[str] = set()
    for index, request in enumerate(requests):
        name = ticket_id(request.incident)
        if name in taken:
            continue  # the service wants every id once
        taken.add(name)
        entry = means.catalogue.entry_for(request.incident)
        shown = surroundings.first_message(request, entry)
        message = facts.as_data(shown)
        worst = worst_usd(means.settings.model, fixed_characters() + len(message), batch=True)
        yield _Job(index, request, shown, _asked(name, message, means.settings), worst)


def _asked(name: str, message: str, settings: Settings) -> "BatchRequest":
    from pydantic_ai.messages import InstructionPart, ModelRequest
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.batch import BatchRequest
    from pydantic_ai.tools import ToolDefinition

    tool = ToolDefinition(
        name=TOOL_NAME,
        description=TOOL_DESCRIPTION,
        parameters_json_schema=DrafterAnswer.model_json_schema(),
        kind="output",
    )
    return BatchRequest(
        custom_id=name,
        messages=[ModelRequest.user_text_prompt(message)],
        model_settings=model_settings(settings),
        model_request_parameters=ModelRequestParameters(
            output_mode="tool",
            output_tools=[tool],
            allow_text_output=False,
            instruction_parts=[InstructionPart(PROMPT), InstructionPart(WITHOUT_TOOLS)],
        ),
    )


def _affordable(waiting: Sequence[_Job], budget: Budget) -> list[_Job]:
    fitting: list[_Job] = []
    rest = budget.rest
    for job in waiting[:MAX_IN_BATCH]:
        rest -= job.worst_usd
        if rest < 0:
            break
        fitting.append(job)
    return fitting


async def _one_batch(jobs: Sequence[_Job], means: _Means, grant: Grant) -> dict[int, Outcome]:
    """Send, wait, read. Empty when the batch as a whole came to nothing."""
    from fabric_pipeline.drafting.failures import expected_errors

    worst = sum(job.worst_usd for job in jobs)
    try:
        encoded = [await means.model.batch_encode(job.asked) for job in jobs]
        batch = await means.model.batch_create(encoded)
    except expected_errors() as error:
        if not hasattr(error, "status_code"):
            grant.charge_unknown(worst)  # it may have arrived all the same
        means.progress(f"the batch could not be sent ({type(error).__name__}); asking one by one")
        return {}
    means.progress(f"batch {batch.id} of {len(jobs)} drafts sent")
    batch = await _settled(batch, means)
    try:
        if batch.status == "ended":
            results = await means.model.batch_results(batch)
            return dict(_read(jobs, results, means, grant))
    except expected_errors() as error:
        means.progress(f"the results could not be read ({type(error).__name__})")
    grant.charge_unknown(worst)
    means.progress(f"batch {batch.id} gave no results; asking one by one")
    return {}


async def _settled(batch: "Batch", means: _Means) -> "Batch":
    """The batch when it has ended, or as it stands after it was cancelled."""
    try:
        async with asyncio.timeout_at(means.deadline):
            ended = await _polled(batch, means)
    except TimeoutError:
        means.progress(f"batch {batch.id} took longer than {means.settings.batch_timeout_s:g} s")
        return await _cancelled(batch, means)
    except asyncio.CancelledError:
        await _cancelled(batch, means)
        raise
    return ended or await _cancelled(batch, means)


async def _polled(batch: "Batch", means: _Means) -> "Batch | None":
    """The ended batch; None when the service no longer answers questions about it."""
    from fabric_pipeline.drafting.failures import expected_errors

    pause = min(FIRST_POLL_S, means.settings.batch_timeout_s * FIRST_POLL_SHARE)
    failures = 0
    while batch.status != "ended":
        await asyncio.sleep(pause)
        pause = min(pause * POLL_GROWTH, LONGEST_POLL_S)
        try:
            batch = await means.model.batch_status(batch)
            failures = 0
        except expected_errors():
            failures += 1
            if failures >= MAX_POLL_FAILURES:
                return None
    return batch


async def _cancelled(batch: "Batch", means: _Means) -> "Batch":
    """Cancel on the service and wait a little for the end, because what was answered is paid for."""
    from fabric_pipeline.drafting.failures import expected_errors

    try:
        async with asyncio.timeout(CANCEL_WAIT_S):
            batch = await means.model.batch_cancel(batch)
            means.progress(f"batch {batch.id} cancelled")
            return await _polled(batch, means) or batch
    except expected_errors() as error:
        means.progress(f"batch {batch.id} could not be cancelled ({type(error).__name__})")
    return batch


def _read(
    jobs: Sequence[_Job], results: Sequence["BatchResult"], means: _Means, grant: Grant
) -> Iterator[tuple[int, Outcome]]:
    """Outcomes of all requests of the batch, also of those without a result."""
    from fabric_pipeline.drafting.failures import expected_errors

    by_name = {result.custom_id: result for result in results}
    for job in jobs:
        result = by_name.get(job.asked.custom_id)
        if result is None:
            grant.charge_unknown(job.worst_usd)
            yield job.index, Outcome(None, "the batch held no result for it")
            continue
        try:
            response = means.model.batch_decode(result, job.asked)
        except expected_errors():
            yield job.index, Outcome(None, f"its request in the batch {result.status}")
            continue
        spent = spent_of(response.usage)
        grant.charge(spent, batch=True)
        answer, attempts = _judged(job, response, means.catalogue)
        reason = "" if answer else "its answer from the batch did not pass our checks"
        cost = cost_usd(means.settings.model, spent, batch=True)
        yield job.index, Outcome(answer, reason, spent, cost, attempts)


def _judged(
    job: _Job, response: "ModelResponse", catalogue: Catalogue
) -> tuple[DrafterAnswer | None, tuple[FailedAttempt, ...]]:
    """The answer when it passes, else the refused answer with its problems."""
    call = next((call for call in response.tool_calls if call.tool_name == TOOL_NAME), None)
    cut = [CUT_OFF] if last_stop([response]) == "length" else []
    if call is None:
        text = response.text or ""
        return None, (failed_attempt({"text": text}, [*cut, TEXT_INSTEAD]),) if text else ()
    try:
        answer = DrafterAnswer.model_validate(call.args_as_dict())
    except ValidationError as error:
        return None, (failed_attempt(call.args, [*cut, *shape_problems(error)]),)
    except ValueError:
        return None, (failed_attempt(call.args, [*cut, "it is no JSON"]),)
    found = answer_problems(answer, job.request.incident, catalogue, [job.shown])
    if cut or found:
        return None, (failed_attempt(answer.model_dump(), [*cut, *found]),)
    return answer, ()
