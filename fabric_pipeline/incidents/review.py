"""The one rule that says whether a ticket draft may be published, and who may review it.

Pure values in, a verdict with its reason out. The asset check, the publishing step and the command
line all ask here; the ledger's trigger enforces the same rule once more by itself.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from fabric_pipeline.incidents.ticket import TicketDraft

# Alphabets that share letters by shape (Unicode TR 39, confusables); a name is written in one of them.
LOOK_ALIKE = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC"})
MAX_REVIEWER = 200
MAX_REASON = 2000

Decision = Literal["approved", "rejected", "awaiting"]
# `current`: the newest revision. `outdated`: a newer revision exists. `retired`: the incident behind
# it is no longer found. `altered`: the stored text no longer has the hash it was recorded with.
# `other_schema`: another version of the ticket model wrote it.
Standing = Literal["current", "outdated", "retired", "altered", "other_schema"]


@dataclass(frozen=True, slots=True)
class ReviewState:
    """The latest decision on one draft, `awaiting` when nobody has decided.

    `seq` is the number of the review in the ledger, None while awaiting; `at` is UTC. `standing_why`
    says what came after an `outdated` draft, such as an edit or new evidence.
    """

    decision: Decision
    reviewer: str = ""
    reason: str = ""
    at: datetime | None = None
    seq: int | None = None
    standing: Standing = "current"
    standing_why: str = ""


class Verdict(NamedTuple):
    """Whether a draft may be published, and why or why not in one sentence."""

    may_publish: bool
    why: str


_STANDING_WHY = {
    "outdated": "a newer revision of this ticket exists and needs its own review",
    "retired": "the incident behind this draft is no longer found in its drop",
    "altered": "the stored draft no longer matches the hash that it was recorded with",
    # What goes out is what was approved, byte for byte; an upgraded draft would be another text.
    "other_schema": "this draft was written in another ticket schema than the present one; run its "
    "drop again with --force and review the new draft",
}


def verdict(state: ReviewState) -> Verdict:
    """Only the current draft with an approval by a named person as its latest review may go out."""
    if state.standing != "current":
        more = f" ({state.standing_why})" if state.standing_why else ""
        return Verdict(False, _STANDING_WHY[state.standing] + more)
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


def same_person(one: str, other: str) -> bool:
    """True when two names differ only in case, spaces, invisible signs or the way Unicode spells them."""
    return _folded(one) == _folded(other)


def is_editor(person: str, draft: TicketDraft, editors: Collection[str]) -> bool:
    """True for everybody whose words stand in this draft; `editors` as the ledger lists them."""
    words_of = [*editors, *([draft.edited_by] if draft.edited_by else [])]
    return any(same_person(person, editor) for editor in words_of)


def review_problem(
    decision: str, reviewer: str, reason: str, draft: TicketDraft, editors: Collection[str] = ()
) -> str:
    """Why a review cannot be accepted, in words; empty when it can.

    Whoever wrote the draft cannot approve it: the drafters' own names are not reviewers, and who
    edited it (`editors`) may reject but not approve.
    """
    if decision not in ("approved", "rejected"):
        return f"{decision!r} is not a decision: say approved or rejected"
    if problem := person_problem(reviewer, draft):
        return problem
    if len(reason) > MAX_REASON:
        return f"the reason is too long ({MAX_REASON} characters at most)"
    if decision == "approved" and is_editor(reviewer, draft, editors):
        return f"{reviewer.strip()!r} edited this draft; another person must approve it"
    if decision == "rejected" and not reason.strip():
        return "a rejection needs a reason, so that the next draft can be better"
    return ""


def person_problem(name: str, draft: TicketDraft, verb: str = "review") -> str:
    """Why this is not the name of a person who may edit or review this draft; empty when it is."""
    if not is_named(name):
        article = "an" if verb == "edit" else "a"
        return f"{article} {verb} needs the name of the person who makes it"
    if len(name) > MAX_REVIEWER:
        return f"the name is too long ({MAX_REVIEWER} characters at most)"
    if alphabets := mixed_alphabets(name):
        return (
            f"{name.strip()!r} mixes letters of {' and '.join(alphabets)} that look alike; "
            "an auditor could not tell it from another name"
        )
    if any(same_person(name, drafter) for drafter in (draft.drafter, draft.model) if drafter):
        return f"{name.strip()!r} wrote this draft and cannot {verb} it"
    return ""


def mixed_alphabets(name: str) -> list[str]:
    """The alphabets with letters of the same shape that one name is written in, when more than one."""
    named = (unicodedata.name(sign, "").partition(" ")[0] for sign in name if sign.isalpha())
    used = sorted({alphabet.capitalize() for alphabet in named if alphabet in LOOK_ALIKE})
    return used if len(used) > 1 else []


def _folded(name: str) -> str:
    spelled = unicodedata.normalize("NFKC", name).casefold()
    seen = "".join(sign for sign in spelled if unicodedata.category(sign) != "Cf")
    return " ".join(unicodedata.normalize("NFKC", seen).split())
