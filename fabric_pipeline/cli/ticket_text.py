"""A ticket draft as plain terminal text for the person who reviews it.

The ticket itself is worded by `workflows.outbox_text`; here stands what leaves the pipeline never: answers
of Claude that did not pass, who edited, and what the draft cost.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.workflows.outbox_text import WIDTH, narrowed, ticket_lines, wrapped


def ticket_text(draft: TicketDraft, *, full: bool = False, columns: int = WIDTH) -> str:
    """The whole draft with the letter of each field's origin, in 100 columns or what the terminal has.

    `full` also prints the answers of failed attempts; otherwise only how many failed, and why.
    """
    with narrowed(columns):
        return "\n".join([*ticket_lines(draft), *_account(draft, full=full)])


def _account(draft: TicketDraft, *, full: bool) -> Iterator[str]:
    attempts = draft.failed_attempts
    if attempts:
        yield f"\nANSWERS THAT DID NOT PASS THE CHECKS: {len(attempts)}"
        for number, attempt in enumerate(attempts, 1):
            for problem in attempt.problems:
                yield from wrapped(problem, f"  {number}. ")
            yield from wrapped(attempt.answer if full else "", "     answer: ")
    if draft.edited_by:
        yield ""
        yield from wrapped(f"Last edited by {draft.edited_by}; whoever edits cannot approve.")
    if draft.requests or draft.input_tokens or draft.output_tokens:
        yield ""
        yield from wrapped(_cost(draft))


def _cost(draft: TicketDraft) -> str:
    cached = f", {draft.cache_read_tokens:,} from the cache" if draft.cache_read_tokens else ""
    written = f", {draft.cache_write_tokens:,} written to it" if draft.cache_write_tokens else ""
    cost = "price not known" if draft.cost_usd is None else f"{draft.cost_usd:.4f} US dollars"
    words = [f"effort {draft.effort}"] if draft.effort else []
    words += [f"prompt {draft.prompt_version}"] if draft.prompt_version else []
    return (
        f"Cost: {cost}; {draft.requests} requests, {draft.input_tokens:,} tokens in{cached}{written}, "
        f"{draft.output_tokens:,} out{'; ' if words else ''}{', '.join(words)}"
    )
