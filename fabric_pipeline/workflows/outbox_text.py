"""A ticket as plain text of 100 columns, grouped like the technician's sheet, each field with its letter.

For terminals and e-mail. Everything in a ticket is data: no text of it adds a line, a colour or a
heading. What only the reviewer sees (failed attempts, costs) is added by the command line.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.workflows.field_origins import LETTERS, MEANINGS, letter
from fabric_pipeline.workflows.outbox_sheet import author
from fabric_pipeline.workflows.sheet_text import NOT_STATED, one_line
from fabric_pipeline.workflows.ticket_words import (
    DRAIN_WORDS,
    earlier_work,
    evidence_words,
    gpu_label,
    ids_words,
    repair_order_line,
    rma_words,
)

WIDTH = 100
_NARROWEST = 40
_columns = ContextVar("columns", default=WIDTH)
_LABEL = 15
# Fields that matter to whoever stands in front of the rack: said to be missing when they are.
_NEEDED = frozenset(
    {
        "rack", "unit", "node", "node_serial", "gpu_index", "port_label", "link", "far_end",
        "fabric_or_switch_port", "cable_id", "replacement_part", "part_number",
    }
)  # fmt: skip
_WHERE = (
    ("site", "Site"), ("hall", "Hall"), ("cage", "Cage"), ("row", "Row"), ("rack", "Rack"),
    ("unit", "Unit"), ("face", "Face"), ("node", "Node"), ("node_serial", "Node serial"),
    ("asset_tag", "Asset tag"),
)  # fmt: skip
_THIS_END = (
    ("link", "Link"), ("lane", "Lane"), ("port_label", "Port label"), ("gpu_index", "GPU index"),
    ("gpu_slot", "GPU slot"), ("socket", "Socket"), ("pci_address", "PCI address"),
    ("gpu_uuid", "GPU UUID"), ("gpu_serial", "GPU serial"), ("gpu_part_number", "GPU part no."),
)  # fmt: skip
_FAR = (
    ("device", "Device"), ("slot", "Slot"), ("port", "Port"), ("port_label", "Port label"),
    ("site", "Site"), ("row", "Row"), ("rack", "Rack"), ("unit", "Unit"), ("serial", "Serial"),
)  # fmt: skip
_CABLE = (
    ("medium", "Medium"), ("length_m", "Length, m"), ("connector", "Connector"), ("colour", "Colour"),
    ("serial", "Cable serial"), ("part_number", "Cable part no."),
)  # fmt: skip
_DESK = (
    ("priority", "Priority"), ("sla", "Respond within"), ("schedule", "When"), ("contact", "Contact"),
    ("customer_reference", "Customer ref."), ("first_seen", "First seen"), ("last_seen", "Last seen"),
)  # fmt: skip


@contextmanager
def narrowed(columns: int) -> Iterator[None]:
    """Lines made inside are wrapped for a terminal of so many columns, never wider than `WIDTH`."""
    token = _columns.set(min(WIDTH, max(_NARROWEST, columns)))
    try:
        yield
    finally:
        _columns.reset(token)


def ticket_lines(draft: TicketDraft) -> Iterator[str]:
    """The whole ticket line by line; sections without content are left out."""
    yield from wrapped(draft.text.title, f"[{letter('title')}] ")
    yield from wrapped(f"ticket {draft.ticket_id}, incident {draft.incident_id}")
    yield from wrapped(author(draft))
    yield from wrapped(draft.drafter_note, "Note: ")
    yield from _section("", _fields(draft, _DESK))
    yield ""
    yield from wrapped(draft.text.summary, f"[{letter('summary')}] ")
    yield from _section("WHERE", _fields(draft, _WHERE))
    yield from _section("THIS END", _this_end(draft))
    yield from _section("OTHER END", _other_end(draft))
    yield from _section("BRING", _bring(draft))
    yield from _section("BEFORE YOU START", _before(draft))
    yield from _section("STEPS", _steps(draft))
    yield from _section("TEST AFTER THE REPAIR", _test(draft))
    yield from _section("IF IT DOES NOT HELP", _told([draft.text.rollback], "rollback"))
    yield from _section("EARLIER WORK", _told(earlier_work(draft), "earlier_repairs"))
    yield from _section("WHY", _why(draft))
    yield from _section("EVIDENCE", _told(map(evidence_words, draft.evidence), "evidence"))
    yield from _section("FOR A RETURN TO THE VENDOR", _rma(draft))
    yield from _section("THE DRAFTER'S OWN READING", _finding(draft))
    yield ""
    yield from wrapped(
        ", ".join(f"[{LETTERS[origin]}] {meaning}" for origin, meaning in MEANINGS.items())
    )


def wrapped(text: str, head: str = "") -> list[str]:
    """The text in lines of 100 columns (or `narrowed`) behind `head`; nothing when there is no text."""
    shown = one_line(text)
    if not shown:
        return []
    indent = " " * len(head)
    columns = _columns.get()
    return textwrap.wrap(
        shown, columns, initial_indent=head, subsequent_indent=indent,
        break_on_hyphens=columns == WIDTH,
    )  # fmt: skip


def _section(head: str, lines: Iterator[str]) -> Iterator[str]:
    first = next(lines, None)
    if first is not None:
        if head:
            yield f"\n{head}"
        yield first
        yield from lines


def _field(label: str, value: object, path: str, *, needed: bool) -> list[str]:
    text = one_line("" if value is None else str(value))
    if not text and not needed:
        return []
    return wrapped(text or NOT_STATED, f"  [{letter(path)}] {label:<{_LABEL}} ")


def _fields(draft: TicketDraft, names: tuple[tuple[str, str], ...]) -> Iterator[str]:
    for name, label in names:
        value = getattr(draft, name)
        shown = (
            f"{value:%Y-%m-%d %H:%M} UTC"
            if name in ("first_seen", "last_seen") and value
            else value
        )
        yield from _field(label, shown, name, needed=name in _NEEDED)


def _this_end(draft: TicketDraft) -> Iterator[str]:
    names = dict(_THIS_END) | {"gpu_index": gpu_label(draft)}
    yield from _fields(draft, tuple(names.items()))


def _other_end(draft: TicketDraft) -> Iterator[str]:
    names = (("far_end", "Far end"), ("fabric_or_switch_port", "Switch port"))
    yield from _fields(draft, names)
    for name, label in _FAR:
        yield from _field(label, getattr(draft.far_place, name), "far_place", needed=False)
    yield from _fields(draft, (("cable_id", "Cable"),))
    for name, label in _CABLE:
        yield from _field(label, getattr(draft.cable, name), "cable", needed=False)


def _bring(draft: TicketDraft) -> Iterator[str]:
    yield from _fields(draft, (("replacement_part", "Replace"), ("part_number", "Part number")))
    for number, part in enumerate(draft.parts, 1):
        told = (
            f"{part.quantity} x {part.name}, part number {part.part_number or NOT_STATED.lower()}"
        )
        yield from _field(f"Part {number}", told, "parts", needed=False)
        spare = part.spare_location or NOT_STATED
        yield from _field("  spare", spare, "parts[].spare_location", needed=True)
    yield from _field("Tools", ", ".join(draft.tools), "tools", needed=False)


def _before(draft: TicketDraft) -> Iterator[str]:
    yield from _told([f"{DRAIN_WORDS[draft.drain_scope]}. {draft.drain_required}"], "drain_scope")
    isolation = [draft.port_isolation_guidance] if draft.port_isolation_guidance.strip() else []
    yield from _told([f"Port isolation: {text}" for text in isolation], "port_isolation_guidance")
    impact = [draft.job_impact] if draft.job_impact.strip() else []
    yield from _told([f"Job impact: {text}" for text in impact], "job_impact")
    yield from _told([f"Safety: {text}" for text in draft.safety], "safety")


def _steps(draft: TicketDraft) -> Iterator[str]:
    order = repair_order_line(draft)
    yield from wrapped(order, f"  [{letter('repair_order')}] order: ")
    for number, step in enumerate(draft.text.repair_steps, 1):
        yield from wrapped(step.do, f"  [{letter('repair_steps')}] {number}. ")
        yield from wrapped(step.proves, "      proves: ")
    if order:
        yield from wrapped("A done step is reported by its name in brackets.", "      ")


def _test(draft: TicketDraft) -> Iterator[str]:
    yield from _told([draft.test_after_repair], "test_after_repair")
    for text in draft.pass_criteria:
        yield from wrapped(text, f"  [{letter('pass_criteria')}] pass: ")


def _why(draft: TicketDraft) -> Iterator[str]:
    yield from _field("Fault", draft.fault, "fault", needed=True)
    for number, rule in enumerate(draft.rules_fired):
        yield from _field("" if number else "Rules", rule, "rules_fired", needed=False)
    for item in draft.text.evidence_statements:
        told = f"{item.claim} ({ids_words(item.evidence_ids)})"
        yield from _told([told], "evidence_statements")
    yield from _told([f"Also weighed: {text}" for text in draft.text.alternatives], "alternatives")


def _rma(draft: TicketDraft) -> Iterator[str]:
    for item in draft.rma:
        yield from wrapped(rma_words(item), f"  [{LETTERS[item.origin]}] ")


def _finding(draft: TicketDraft) -> Iterator[str]:
    finding = draft.topology_finding
    if finding is None:
        return
    agrees = "AGREES" if finding.agrees_with_isolation else "DISAGREES"
    level = finding.level.replace("_", " ")
    told = f"{finding.component} ({level}): {agrees} with the isolation. {finding.why}"
    yield from _told([told], "topology_finding")
    ids = f" ({', '.join(finding.evidence_ids)})" if finding.evidence_ids else ""
    refuted = (
        [f"Would refute it: {finding.would_refute_it}{ids}"] if finding.would_refute_it else []
    )
    yield from _told(refuted, "topology_finding")


def _told(texts: Iterable[str], path: str) -> Iterator[str]:
    for text in texts:
        yield from wrapped(text, f"  [{letter(path)}] ")
