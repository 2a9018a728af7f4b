"""Tickets and the review queue on a terminal: where each stands, who decided, how long it waits.

A wide terminal gets a table, a narrow one a block for each ticket. What is in the queue is gathered in
`portal.queue_list`; plain rows for a pipe stand here too, so that both show the same facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from rich.text import Text

from fabric_pipeline.cli.fabric_style import MUTED, TITLE, Glyphs, plural
from fabric_pipeline.cli.text_layout import Lines, bullets, packed, table, text, wrapped
from fabric_pipeline.store.ledger_tickets import TicketRow
from fabric_pipeline.workflows.queue_list import Queue, Waiting

# Shape and colour of where a ticket stands; the word is always beside it.
_STATES = {
    "awaiting": ("?", "bold yellow"), "approved": ("+", "bold"), "published": ("=", MUTED),
    "rejected": ("x", "bold red"), "superseded": ("-", MUTED),
}  # fmt: skip
_PRIORITIES = {"urgent": "bold red", "high": "bold yellow", "normal": "", "low": MUTED}
PLAIN_HEAD = ("ticket", "state", "priority", "drafter", "incident is", "drop", "title")
QUEUE_HEAD = ("ticket", "priority", "waits", "since", "revision", "drafter", "drop", "place", "title", "to know")  # fmt: skip


def ticket_table(
    rows: Sequence[TicketRow], lives: Mapping[str, str], signs: Glyphs, width: int
) -> Lines:
    """Every ticket with its state and the life of its incident; says so when there is none."""
    if not rows:
        said = "There is no ticket. Drafts are made when a drop accuses a link."
        return [text(("Tickets", TITLE)), *wrapped(said, width)]
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.state] = counts.get(row.state, 0) + 1
    said = "   ".join(f"{number} {state}" for state, number in counts.items())
    cells = [
        [
            _state(row),
            text((row.ticket_id, TITLE)),
            text((row.priority, _PRIORITIES.get(row.priority, ""))),
            text(_drafter(row)),
            text(lives.get(row.incident_id, "")),
            text((_decided(row, signs), MUTED)),
            text((row.drop, MUTED)),
            text(signs.name(row.title, 300)),
        ]
        for row in rows
    ]
    head = ("", "ticket", "priority", "worded by", "incident is", "decided", "drop", "title")
    lines = [text(("Tickets", TITLE), f"  {said}")]
    return lines + (table(head, cells, width) or _blocks(cells, width))


def queue_lines(queue: Queue, now: datetime, signs: Glyphs, width: int) -> Lines:
    """What waits, the most urgent and oldest first, then lost approvals, decisions, what is gone."""
    decided = len(queue.decided) + queue.more_decided
    lines = [
        text(("Review queue", TITLE), f"  {plural(len(queue.waiting), 'draft waits', 'drafts wait')} for a person   {decided} decided"),
        *wrapped("Nothing leaves the pipeline before a person has approved exactly the text that goes out.", width, style=MUTED),
    ]  # fmt: skip
    for one in queue.waiting:
        lines += [text(), *_waiting(one, now, signs, width)]
    if not queue.waiting:
        lines += [text(), text("No draft waits.")]
    if queue.expired:
        lines += [text(), text(("Approvals that no longer count", TITLE))]
        lines += bullets(
            (signs.name(f"{row.ticket_id}: {row.expired}", 400) for row in queue.expired), width
        )
    if queue.decided:
        lines += [text(), text(("Decided", TITLE))]
        for row in queue.decided[:20]:
            said = f"{_decided(row, signs)}: {row.reason or 'no reason given'}"
            head = text(_state(row), "  ", (row.ticket_id, TITLE), f" revision {row.revision}")
            lines += packed([head, text(signs.name(said, 300))], width, gap=2, indent=4)
    if queue.gone:
        lines += [text(), text(("No longer found", TITLE))]
        lines += bullets(
            (signs.name(f"{row.ticket_id}: {why}", 400) for row, why in queue.gone), width
        )
    return lines


def plain_ticket(row: TicketRow, life: str) -> tuple[str, ...]:
    """The cells of `PLAIN_HEAD`."""
    return (row.ticket_id, row.state, row.priority, _drafter(row), life, row.drop, row.title)


def plain_waiting(one: Waiting, now: datetime) -> tuple[str, ...]:
    """The cells of `QUEUE_HEAD`."""
    row = one.row
    return (
        row.ticket_id, row.priority, age(row.drafted_at, now), f"{row.drafted_at:%Y-%m-%dT%H:%MZ}",
        str(row.revision), _drafter(row), row.drop, one.place, row.title, " ".join(one.notes),
    )  # fmt: skip


def waiting_as_json(one: Waiting, now: datetime) -> dict[str, object]:
    """One waiting draft for programs."""
    row = one.row
    return {
        "ticket_id": row.ticket_id, "incident_id": row.incident_id, "drop": row.drop, "revision": row.revision,
        "draft_sha256": row.draft_sha256, "priority": row.priority, "title": row.title, "link": row.link,
        "drafter": row.drafter, "edited_by": row.edited_by, "drafted_at": row.drafted_at.isoformat(),
        "waits_minutes": int((now - _utc(row.drafted_at)).total_seconds() // 60),
        "place": one.place, "sla": one.sla, "notes": list(one.notes), "expired": row.expired,
    }  # fmt: skip


def age(since: datetime, now: datetime) -> str:
    """How long something waits: minutes, hours or days."""
    minutes = max(0, int((now - _utc(since)).total_seconds() // 60))
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // 1440} days"


def _utc(at: datetime) -> datetime:
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _waiting(one: Waiting, now: datetime, signs: Glyphs, width: int) -> Lines:
    row = one.row
    priority = row.priority or "unknown"
    head = [
        text((f"{priority.upper():<7}", _PRIORITIES.get(priority, "bold red"))),
        text((row.ticket_id, TITLE), f" revision {row.revision}"),
        text(
            f"waits {age(row.drafted_at, now)}",
            (f" since {row.drafted_at:%Y-%m-%d %H:%M} UTC", MUTED),
        ),
        text((signs.name(one.sla, 80), MUTED)),
    ]
    lines = packed([piece for piece in head if piece.cell_len], width, gap=2, indent=4)
    lines += wrapped(
        signs.name(row.title, 300) or "a draft that cannot be read",
        width,
        indent="    ",
        style=TITLE,
    )
    where = f"{one.place or 'place not stated'}; drop {row.drop}"
    lines += wrapped(signs.name(where, 200), width, indent="    ", style=MUTED)
    return lines + wrapped(signs.name(" ".join(one.notes), 600), width, indent="    ")


def _state(row: TicketRow) -> Text:
    sign, colour = _STATES.get(row.state, ("?", ""))
    return text((f"{sign} {row.state}", colour))


def _drafter(row: TicketRow) -> str:
    return f"{row.drafter}, edited" if row.edited_by else row.drafter


def _decided(row: TicketRow, signs: Glyphs) -> str:
    if not row.reviewer:
        return ""
    at = f" {row.reviewed_at:%Y-%m-%d %H:%M} UTC" if row.reviewed_at else ""
    return f"{'approved' if row.state == 'published' else row.state} by {signs.name(row.reviewer, 40)}{at}"


def _blocks(rows: Sequence[Sequence[Text]], width: int) -> Lines:
    words = ("", "", "", "worded by", "incident is", "", "drop")
    lines: Lines = []
    for row in rows:
        lines += packed([text(row[0], "  ", row[1]), row[2]], width, gap=2, indent=4)
        lines += wrapped(row[-1].plain, width, indent="    ")
        rest = [
            text((f"{label} " if label else "", MUTED), cell)
            for label, cell in zip(words[3:], row[3:-1], strict=True)
            if cell.cell_len
        ]
        lines += [text("    ").append_text(one) for one in packed(rest, width - 4)]
    return lines
