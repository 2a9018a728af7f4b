"""The technician's sheet of a ticket: one A4 page of HTML for a browser's print dialogue.

The page runs no script and loads nothing: its only style is named by hash in its own content security
policy. Everything in a ticket is data and is escaped by the template. Which revision is printed and
whether it is approved is decided by the caller (`ticket_sheet`, `publish_ticket`).
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

import segno
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from segno.encoder import DataOverflowError

from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.workflows.field_origins import LETTERS, MEANINGS
from fabric_pipeline.workflows.sheet_fit import BIG, LEADING, NOTES_FROM, SMALL, fitted, go_sizes
from fabric_pipeline.workflows.sheet_ruler import lines, width_em
from fabric_pipeline.workflows.sheet_text import NOT_STATED, plain

TEMPLATES = Path(__file__).with_name("templates")
NOT_REVIEWED = "No person has approved exactly this text."
# A longer address gives a code too fine for a phone to read from paper.
_MAX_QR = 300
_BARS_PT = 30 + 6 + 18 + 5
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
        return f"fabric-pipeline ticket {ticket} revision {self.revision} sha256 {self.draft_sha256[:16]}"


def technician_sheet(sheet: Sheet) -> str:
    """The whole page as HTML, exactly one A4 page in print whatever the length of the ticket."""
    approved = sheet.is_approved
    approval = sheet.approval if approved else None
    told = _approval_words(approval) if approval else ""
    view, fit, spare = fitted(sheet.draft, _reserved(told, sheet.address))
    style, csp = _style()
    return (
        _environment()
        .get_template("ticket_sheet.html")
        .render(
            sheet=sheet,
            view=view,
            style=style,
            csp=csp,
            qr=_qr(sheet.address),
            barred=not approved,
            standing=plain(sheet.standing or NOT_REVIEWED, 150),
            approved=told,
            size_class=f"s{round(fit.size_pt * 10)}",
            go_class=f"g{round(go_sizes(view.go)[0])}",
            big=BIG,
            notes=spare >= NOTES_FROM,
            not_stated=NOT_STATED,
            address=sheet.address,
            signs=SIGNS,
            legend=[(LETTERS[origin], MEANINGS[origin]) for origin in LETTERS],
            author=author(sheet.draft),
            incident=plain(sheet.draft.incident_id, 60),
            printed=f"{sheet.printed_at:%Y-%m-%d %H:%M}" if sheet.printed_at else "",
        )
    )


def _approval_words(approval: Approval) -> str:
    reason = f": {plain(approval.reason, 110)}" if approval.reason.strip() else ""
    when = f"{approval.at:%Y-%m-%d %H:%M} UTC, revision {approval.revision}"
    return f"by {plain(approval.reviewer, 80)} on {when}{reason}"


def _reserved(approved: str, address: str) -> float:
    """Points for the bars or the approval, and for an address too long for the note of one line."""
    address_pt = (lines(address, 66) - 1) * SMALL * LEADING + (9 if width_em(address) > 38 else 0)
    if not approved:
        return _BARS_PT + address_pt
    box = 10 + (lines(f"Approved {approved}", 60) + 1) * 8.5 * 1.25
    return 6 + max(30, box) + address_pt


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
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _style() -> tuple[Markup, str]:
    """The style, and the policy that allows it and nothing else. The style is ours, not data."""
    text = (TEMPLATES / "ticket_sheet.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return Markup(text), policy  # noqa: S704 - a file of this package


def _qr(text: str) -> Markup:
    try:
        code = segno.make(text, error="m", micro=False)
    except DataOverflowError:  # a hostile ticket id, far longer than any that the ledger takes
        code = segno.make(hashlib.sha256(text.encode()).hexdigest(), error="m", micro=False)
    drawn = code.svg_inline(omitsize=True, border=2, svgclass=None, lineclass=None)
    return Markup(drawn)  # noqa: S704 - path data drawn by segno, no text of the ticket
