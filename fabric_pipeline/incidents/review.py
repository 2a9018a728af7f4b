"""The one rule that says whether a ticket draft may be published, and who may review it.

Pure values in, a verdict with its reason out. The asset check, the publishing step and the command
line all ask here; the ledger's trigger enforces the same rule once more by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from fabric_pipeline.incidents.ticket import TicketDraft

MAX_REVIEWER = 200
MAX_REASON = 2000

Decision = Literal["approved", "rejected", "awaiting"]
# `current`: the newest revision. `outdated`: a newer revision exists. `retired`: the incident behind
# it is no longer found. `altered`: the stored text no longer has the hash it was recorded with.
Standing = Literal["current", "outdated", "retired", "altered"]


@dataclass(frozen=True, slots=True)
class ReviewState:
    """The latest decision on one draft, `awaiting` when nobody has decided.

    `seq` is the number of the review in the ledger, None while awaiting; `at` is UTC.
    """

    decision: Decision
    reviewer: str = ""
    reason: str = ""
    at: datetime | None = None
    seq: int | None = None
    standing: Standing = "current"


class Verdict(NamedTuple):
    """Whether a draft may be published, and why or why not in one sentence."""

    may_publish: bool
    why: str


_STANDING_WHY = {
    "outdated": "a newer revision of this ticket exists and needs its own review",
    "retired": "the incident behind this draft is no longer found in its drop",
    "altered": "the stored draft no longer matches the hash that it was recorded with",
}


def verdict(state: ReviewState) -> Verdict:
    """Only the current draft with an approval by a named person as its latest review may go out."""
    if state.standing != "current":
        return Verdict(False, _STANDING_WHY[state.standing])
    if state.decision == "rejected":
        return Verdict(False, f"rejected by {state.reviewer}: {state.reason}")
    if state.decision != "approved":
        return Verdict(False, "no person has reviewed this draft yet")
    if state.seq is None or state.at is None or not is_named(state.reviewer):
        return Verdict(False, "the approval names no reviewer, review or time")
    return Verdict(True, f"approved by {state.reviewer} on {state.at:%Y-%m-%d %H:%M} UTC")


def is_named(reviewer: str) -> bool:
    """True when a reviewer's name holds at least one letter or digit."""
    return any(character.isalnum() for character in reviewer)


def review_problem(decision: str, reviewer: str, reason: str, draft: TicketDraft) -> str:
    """Why a review cannot be accepted, in words; empty when it can.

    Whoever wrote the draft cannot approve it, so the drafters' own names are not reviewers.
    """
    if decision not in ("approved", "rejected"):
        return f"{decision!r} is not a decision: say approved or rejected"
    if not is_named(reviewer):
        return "a review needs the name of the person who decides"
    if len(reviewer) > MAX_REVIEWER or len(reason) > MAX_REASON:
        return f"reviewer ({MAX_REVIEWER}) or reason ({MAX_REASON} characters at most) is too long"
    if reviewer.strip().casefold() in {draft.drafter, draft.model.casefold()}:
        return f"{reviewer.strip()!r} wrote this draft and cannot review it"
    if decision == "rejected" and not reason.strip():
        return "a rejection needs a reason, so that the next draft can be better"
    return ""
