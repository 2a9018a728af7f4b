"""The technician's sheet of a ticket: one A4 page of HTML for a browser's print dialogue.

The page runs no script and loads nothing: its only style, with the fonts in it, is named by hash in its
own content security policy. Everything in a ticket is data and is escaped by the template. Which revision is printed and
whether it is approved is decided by the caller (`ticket_sheet`, `publish_ticket`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.workflows.field_origins import LETTERS, MEANINGS
from fabric_pipeline.workflows.sheet_fit import fitted
from fabric_pipeline.workflows.sheet_height import (
    BIG,
    LEADING,
    NOTES_FROM,
    PAGE_WIDTH,
    columns,
    go_sizes,
    legend_pt,
)
from fabric_pipeline.workflows.sheet_plans import SMALL
from fabric_pipeline.workflows.sheet_ruler import Face, lines, width_em
from fabric_pipeline.workflows.sheet_style import TEMPLATES, style_and_policy
from fabric_pipeline.workflows.sheet_text import NOT_STATED, plain

if TYPE_CHECKING:
    from jinja2 import Environment

NOT_REVIEWED = "No person has approved exactly this text."
# A longer address gives a code too fine for a phone to read from paper.
_MAX_QR = 300
_BARS_PT = 30 + 6 + 18 + 5
# Sentences of the small print up to this length stay on one line.
_SHORT = 70
# Names up to this width (multiples of the size) fit the narrowest text of the sheet at each type size.
_UNBROKEN_EM = 17.0
WHERE_WHOLE = "Whole ticket:"
SIGNS = (
    "Technician",
    "Date and time, UTC",
    "Test passed (initials)",
    "Old serial number",
    "New serial number",
    "Returned to service by",
)


@dataclass(frozen=True, slots=True)
class Approval:
    """Who approved which content when (UTC); `seq` is the review's number in the ledger."""

    seq: int
    reviewer: str
    reason: str
    at: datetime
    revision: int
    draft_sha256: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """One revision of a ticket to print. `standing` says why it is not approved, when it is not.

    `draft_sha256` is the hash under which the ledger keeps this text; the caller has checked that it does.
    `printed_at` is UTC; None prints no time, so that the same input gives the same bytes.
    """

    draft: TicketDraft
    draft_sha256: str
    revision: int
    approval: Approval | None = None
    standing: str = ""
    portal_url: str = ""
    printed_at: datetime | None = None

    @property
    def is_approved(self) -> bool:
        """True when the approval is about exactly this revision and exactly this text."""
        approval = self.approval
        return (
            approval is not None
            and approval.revision == self.revision
            and approval.draft_sha256 == self.draft_sha256
        )

    @property
    def address(self) -> str:
        """What the square code says: the ticket's page, else words that name it for good."""
        ticket = self.draft.ticket_id
        page = f"{self.portal_url}/tickets/{ticket}?revision={self.revision}"
        if self.portal_url and len(page) <= _MAX_QR:
            return page
        text = f"revision {self.revision}, sha256 {self.draft_sha256[:16]}"
        return f"fabric-pipeline tickets {ticket} ({text})"


def technician_sheet(sheet: Sheet) -> str:
    """The whole page as HTML, exactly one A4 page in print whatever the length of the ticket."""
    approved = sheet.is_approved
    approval = sheet.approval if approved else None
    told = _approval_words(approval) if approval else ""
    foot = _foot(sheet)
    view, fit, spare = fitted(sheet.draft, _reserved(sheet, told, foot))
    style, csp = style_and_policy()
    return (
        _environment()
        .get_template("ticket_sheet.html")
        .render(
            sheet=sheet,
            view=view,
            columns=columns(view.blocks, fit.size_pt),
            style=style,
            csp=csp,
            qr=_qr(sheet.address),
            barred=not approved,
            standing=plain(sheet.standing or NOT_REVIEWED, 150),
            approved=told,
            size_class=f"s{round(fit.size_pt * 10)}",
            go_class=_go_class(go_sizes(view.go)),
            big=BIG,
            notes=spare >= NOTES_FROM,
            not_stated=NOT_STATED,
            address=sheet.address,
            signs=SIGNS,
            legend=[(LETTERS[origin], MEANINGS[origin]) for origin in LETTERS],
            foot=foot,
            short=_SHORT,
            cut=_cut_words(view.shortened, view.left_out),
            where_whole=WHERE_WHOLE,
        )
    )


def _go_class(sizes: tuple[float, float]) -> str:
    big, other = sizes
    return f"g{round(big)} v{round(other)}"


def _approval_words(approval: Approval) -> str:
    reason = f": {plain(approval.reason, 110)}" if approval.reason.strip() else ""
    when = f"{approval.at:%Y-%m-%d %H:%M} UTC, revision {approval.revision}"
    return f"by {plain(approval.reviewer, 80)} on {when}{reason}"


def _reserved(sheet: Sheet, approved: str, foot: list[str]) -> float:
    """Points for the bars or the approval, the small print, and a long address in the cut note."""
    note = f"{_cut_words(999, 999)} {WHERE_WHOLE} {sheet.address}"
    note_pt = (lines(note, (PAGE_WIDTH - 14) / SMALL) - 1) * SMALL * LEADING
    legend = [f" {MEANINGS[origin]}, " for origin in LETTERS]
    legend += [f" {_unbroken(text)}" for text in foot]
    fixed = note_pt + legend_pt(["Origin: ", *legend], "".join(LETTERS.values()))
    if not approved:
        return _BARS_PT + fixed
    box = 10 + (lines(f"Approved {approved}", (PAGE_WIDTH - 24) / 8.5, Face.BOLD) + 1) * 8.5 * 1.25
    return 6 + max(30, box) + fixed


def _unbroken(text: str) -> str:
    return text.replace(" ", "\xa0") if len(text) <= _SHORT else text


def _cut_words(shortened: int, left_out: int) -> str:
    """How much is missing, in words; empty when nothing is."""
    texts = f"{shortened} text{'' if shortened == 1 else 's'} shortened (…)" if shortened else ""
    entries = f"{left_out} {'entry' if left_out == 1 else 'entries'} left out" if left_out else ""
    told = ", ".join(words for words in (texts, entries) if words)
    return f"Cut to fit one page: {told}." if told else ""


def _foot(sheet: Sheet) -> list[str]:
    printed = f"Printed {sheet.printed_at:%Y-%m-%d %H:%M} UTC." if sheet.printed_at else ""
    incident = f"Incident {plain(sheet.draft.incident_id, 60)}."
    told = [author(sheet.draft), incident, "Diagnosis only: nothing was changed.", printed]
    return [text for text in told if text]


def author(draft: TicketDraft) -> str:
    """Who worded the drafted fields, and who edited them, as one or two sentences."""
    who = (
        f"Claude ({plain(draft.model, 40)})"
        if draft.drafter == "claude"
        else "rules, without a model"
    )
    edited = f", edited by {plain(draft.edited_by, 60)}" if draft.edited_by else ""
    return f"Drafted fields worded by {who}{edited}."


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["kept"] = _kept
    return environment


def _kept(text: str) -> Markup:
    """The text escaped, each name such as `leaf-7/port-2` in a box that is not broken between lines."""
    return Markup(" ").join(
        Markup('<span class="whole">{}</span>').format(word) if _is_name(word) else word
        for word in text.split(" ")
    )


def _is_name(word: str) -> bool:
    return any(sign in word for sign in "-/") and width_em(word) <= _UNBROKEN_EM


def _qr(text: str) -> Markup:
    import segno
    from segno.encoder import DataOverflowError

    try:
        code = segno.make(text, error="m", micro=False)
    except DataOverflowError:  # a hostile ticket id, far longer than any that the ledger takes
        code = segno.make(hashlib.sha256(text.encode()).hexdigest(), error="m", micro=False)
    drawn = code.svg_inline(omitsize=True, border=2, svgclass=None, lineclass=None)
    return Markup(drawn)  # noqa: S704 - path data drawn by segno, no text of the ticket
