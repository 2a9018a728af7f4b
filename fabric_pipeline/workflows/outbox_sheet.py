"""The technician's sheet of an approved ticket as Markdown text.

Everything in a ticket is data: control characters are dropped and Markdown signs are escaped, so no
text from telemetry can forge a heading, a tick box or a link. Payloads for ticket systems are in
`outbox_payloads`.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime

from fabric_pipeline.incidents.ticket import TicketDraft

# Signs that mean something anywhere in a line, and those that do at its beginning only.
_MARKS = re.compile(r"([\\`*\[\]<~]|(?<!\w)_|_(?!\w))")
_OPENING = re.compile(r"^([#>+=|-]|\d{1,9}(?=[.)]))")
NOT_STATED = "not stated by any source"


@dataclass(frozen=True, slots=True)
class Release:
    """An approved draft on its way out: which revision, who approved it, when it leaves (UTC)."""

    draft: TicketDraft
    draft_sha256: str
    revision: int
    review_seq: int
    reviewer: str
    reason: str
    reviewed_at: datetime
    published_at: datetime


def plain(text: str, limit: int) -> str:
    """One line of printable text, `limit` characters at most, ending in `…` when it was cut.

    Control characters, line breaks and invisible direction marks become spaces or vanish.
    """
    spaced = re.sub(r"\s+", " ", text)
    kept = "".join(c for c in spaced if not unicodedata.category(c).startswith("C"))
    kept = kept.strip()
    return kept if len(kept) <= limit else kept[: limit - 1].rstrip() + "…"


def technician_sheet(release: Release) -> str:
    """The whole sheet, from where to go to the signature."""
    draft = release.draft
    blocks = [
        f"# {_prose(draft.text.title)}",
        _line("Ticket", draft.ticket_id) + f"\nPriority: **{draft.priority}**",
        _prose(draft.text.summary),
        "## Where\n\n" + "\n".join(_place(draft)),
        "## Evidence\n\n" + "\n".join(_evidence(draft)),
        "## Before you start\n\n" + "\n".join(_before(draft)),
        "## Repair\n\n" + "\n".join(_steps(draft)),
        "## Test after the repair\n\n" + "\n".join(_test(draft)),
        f"## If it does not help\n\n{_prose(draft.text.rollback)}",
        "## Approval and sign-off\n\n" + "\n".join(_signatures(release)),
    ]
    return "\n\n".join(blocks) + "\n"


def _prose(text: str) -> str:
    shown = plain(text, 2000)
    opening = _OPENING.match(shown)
    if opening:  # `1.` becomes `1\.` and `#` becomes `\#`
        cut = opening.end() if shown[0].isdigit() else 0
        return _MARKS.sub(r"\\\1", shown[:cut]) + "\\" + _MARKS.sub(r"\\\1", shown[cut:])
    return _MARKS.sub(r"\\\1", shown) or NOT_STATED


def _code(text: str) -> str:
    """An identifier, shown exactly; a backtick in it would end the code span."""
    shown = plain(text, 300).replace("`", "'")
    return f"`{shown}`" if shown else NOT_STATED


def _line(label: str, value: str | int | None) -> str:
    return f"- {label}: {_code('' if value is None else str(value))}"


def _place(draft: TicketDraft) -> list[str]:
    fields: list[tuple[str, str | int | None]] = [
        ("Site", draft.site),
        ("Row", draft.row),
        ("Rack", draft.rack),
        ("Unit", draft.unit),
        ("Node", draft.node),
        ("Node serial number (compare before touching)", draft.node_serial),
        ("Link", draft.link),
        ("Far end", draft.far_end),
        ("Fabric or switch port", draft.fabric_or_switch_port),
        ("Port label on the box", draft.port_label),
        ("Cable", draft.cable_id),
        ("GPU index", draft.gpu_index),
        ("GPU serial number", draft.gpu_serial),
        ("GPU UUID", draft.gpu_uuid),
    ]
    return [_line(label, value) for label, value in fields]


def _evidence(draft: TicketDraft) -> list[str]:
    claims = [
        f"- {_prose(statement.claim)} ({', '.join(map(_code, statement.evidence_ids))})"
        for statement in draft.text.evidence_statements
    ]
    others = [f"- Also weighed: {_prose(text)}" for text in draft.text.alternatives]
    return [f"- Fault: {_prose(draft.fault)}", *claims, *others]


def _before(draft: TicketDraft) -> list[str]:
    part_number = _code(draft.part_number)
    return [
        f"- Drain: {_prose(draft.drain_required)}",
        f"- Port isolation (for a person to decide): {_prose(draft.port_isolation_guidance)}",
        f"- Part: {_prose(draft.replacement_part)}, part number {part_number}",
        *[f"- Safety: {_prose(text)}" for text in draft.safety],
        *[f"- Tool: {_prose(text)}" for text in draft.tools],
    ]


def _steps(draft: TicketDraft) -> list[str]:
    return [
        f"{number}. [ ] {_prose(step.do)}\n   - What it shows: {_prose(step.proves)}"
        for number, step in enumerate(draft.text.repair_steps, start=1)
    ]


def _test(draft: TicketDraft) -> list[str]:
    criteria = [f"- [ ] {_prose(text)}" for text in draft.pass_criteria]
    return [_prose(draft.test_after_repair), "", *criteria]


def _signatures(release: Release) -> list[str]:
    return [
        f"- Approved by {_prose(release.reviewer)} on {release.reviewed_at:%Y-%m-%d %H:%M} UTC",
        f"- Reason: {_prose(release.reason) if release.reason else 'none given'}",
        f"- Worded by: {release.draft.drafter}, revision {release.revision}",
        _line("Content SHA-256", release.draft_sha256),
        "- Technician, time: ____________________",
        "- Old serial number / new serial number: ____________________",
        "- Returned to service by: ____________________",
    ]
