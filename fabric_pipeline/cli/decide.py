"""Deciding about a draft at a terminal: the ticket is shown first, then a person answers.

The decision binds to the draft that was shown: when it is replaced or edited in between, it is refused.
What counts as a decision is checked in `workflows.review_ticket`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

from fabric_pipeline.cli.output import plain, put, put_json, say
from fabric_pipeline.errors import GateError, UsageError

if TYPE_CHECKING:
    from fabric_pipeline.store.ledger import Ledger, ReviewRow

_SHORTEST_HASH = 8
_ANSWERS = {"a": "approved", "approve": "approved", "r": "rejected", "reject": "rejected"}


def person_at_terminal() -> bool:
    """True when somebody can read what is shown and answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()


@dataclass(frozen=True, slots=True)
class Asked:
    """A decision as given on the command line; `draft` is the hash of what was read, None for not named."""

    ticket: str
    decision: str
    reviewer: str
    reason: str
    draft: str | None


def record(ledger: Ledger, asked: Asked, show: Callable[[], str], *, json: bool) -> ReviewRow:
    """Keep a decision given by flags. Whoever did not name what was read gets to read it first.

    `show` prints the draft and returns its hash. A person at a terminal is asked then; GateError for a no.
    """
    from fabric_pipeline.workflows.review_ticket import review

    shown = _whole_hash(ledger, asked)
    if shown is None:
        is_asked = person_at_terminal() and not json
        with nullcontext() if is_asked else redirect_stdout(sys.stderr):
            shown = show()
        verb = "approve" if asked.decision == "approved" else "reject"
        said = f"{verb} the draft above ({shown[:12]})?"
        if is_asked and not typer.confirm(said, default=False, err=True):
            raise GateError("nothing was recorded", "read the draft and decide again")
    return review(
        ledger, asked.ticket, shown, asked.decision, asked.reviewer, asked.reason, datetime.now(UTC)
    )


def ask(ledger: Ledger, asked: Asked, show: Callable[[], str], *, json: bool) -> ReviewRow | None:
    """Show the draft, then ask for decision, name and reason; None when it is left for later."""
    from fabric_pipeline.workflows.review_ticket import review

    if json or not person_at_terminal():
        raise UsageError("--decide asks at a terminal", "give --approve or --reject")
    shown = show()
    say("")
    answer = _prompt("[a]pprove, [r]eject, or Enter to decide later").strip().lower()
    if not answer:
        return None
    decision = _ANSWERS.get(answer)
    if decision is None:
        raise UsageError(f"{answer[:40]!r} is no answer", "nothing was recorded")
    reviewer = asked.reviewer or _prompt("your name, kept with the decision")
    needed = " (needed)" if decision == "rejected" else ""
    reason = asked.reason or _prompt(f"reason{needed}")
    return review(ledger, asked.ticket, shown, decision, reviewer, reason, datetime.now(UTC))


def put_decision(row: ReviewRow, *, json: bool) -> None:
    """What was recorded, and what comes next."""
    if json:
        put_json({name: getattr(row, name) for name in row.__slots__})
    else:
        put(
            f"{row.ticket_id} revision {row.revision} {row.decision} by {plain(row.reviewer)} "
            f"(draft {row.draft_sha256[:12]})"
        )
    if row.decision == "approved":
        say(
            f"publish it: fabric-pipeline publish {row.drop}   (with `dev` running, the review sensor does it)"
        )
    else:
        say(f"what happened to it: fabric-pipeline tickets history {row.ticket_id}")


def _prompt(words: str) -> str:
    return str(typer.prompt(words, default="", show_default=False, err=True))


def _whole_hash(ledger: Ledger, asked: Asked) -> str | None:
    """The hash that is meant: its first characters are enough for the current draft."""
    given = asked.draft
    if given is None or len(given) < _SHORTEST_HASH:
        return given
    current = ledger.current_draft(asked.ticket).draft_sha256
    return current if current.startswith(given.lower()) else given
