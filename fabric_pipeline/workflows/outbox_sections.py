"""The content of a ticket as titled lists of sentences, for the fields of outside ticket systems.

Every line is one printable line. Limits of a receiver and its markup are in `outbox_payloads` and
`outbox_jira`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.workflows.sheet_text import NOT_STATED, one_line
from fabric_pipeline.workflows.ticket_words import (
    DRAIN_WORDS,
    earlier_work,
    evidence_words,
    repair_order_line,
    rma_words,
)


class Section(NamedTuple):
    """A heading and its lines; `numbered` lines are steps in order."""

    title: str
    lines: list[str]
    numbered: bool = False


def sections(draft: TicketDraft) -> list[Section]:
    """All sections that have content, in the order of the technician's sheet."""
    listed = [
        Section("Where to go", where(draft)),
        Section("This end", this_end(draft)),
        Section("Other end and cable", other_end(draft)),
        Section("Service terms", service_terms(draft)),
        Section("Bring", bring(draft)),
        Section("Before you start", before(draft)),
        Section("Steps", steps(draft), numbered=True),
        Section("Test after the repair", test(draft)),
        Section("If it does not help", _clean([draft.text.rollback])),
        Section("Earlier work", _clean(earlier_work(draft))),
        Section("Why", why(draft)),
        Section("Evidence", _clean(map(evidence_words, draft.evidence))),
        Section("For a return to the vendor", _clean(map(rma_words, draft.rma))),
    ]
    return [section for section in listed if section.lines]


def where(draft: TicketDraft) -> list[str]:
    """From site to node, top down; rack and unit say so when no source states them."""
    return _named(
        ("Site", draft.site),
        ("Hall", draft.hall),
        ("Cage", draft.cage),
        ("Row", draft.row),
        ("Rack", draft.rack or NOT_STATED),
        ("Unit", draft.unit or NOT_STATED),
        ("Face", draft.face),
        ("Node", draft.node),
        ("Node serial", draft.node_serial or NOT_STATED),
        ("Asset tag", draft.asset_tag),
    )


def this_end(draft: TicketDraft) -> list[str]:
    """The accused end and its GPU in every numbering that is known."""
    return _named(
        ("Link", draft.link),
        ("Lane", draft.lane),
        ("Port label", draft.port_label or NOT_STATED),
        ("GPU index", NOT_STATED if draft.gpu_index is None else draft.gpu_index),
        ("GPU slot", draft.gpu_slot),
        ("Socket", draft.socket),
        ("PCI address", draft.pci_address),
        ("GPU UUID", draft.gpu_uuid),
        ("GPU serial", draft.gpu_serial),
        ("GPU part number", draft.gpu_part_number),
    )


def other_end(draft: TicketDraft) -> list[str]:
    """The far end, where it sits, and the cable between."""
    far, cable = draft.far_place, draft.cable
    place = ", ".join(text for text in (far.site, far.row, far.rack, far.unit) if one_line(text))
    return _named(
        ("Far end", draft.far_end or NOT_STATED),
        ("Fabric or switch port", draft.fabric_or_switch_port or NOT_STATED),
        ("Device", far.device),
        ("Slot", far.slot),
        ("Port", far.port),
        ("Port label", far.port_label),
        ("Place", place),
        ("Serial", far.serial),
        ("Cable", draft.cable_id or NOT_STATED),
        ("Medium", cable.medium),
        ("Length", "" if cable.length_m is None else f"{cable.length_m:g} m"),
        ("Connector", cable.connector),
        ("Colour", cable.colour),
        ("Cable serial", cable.serial),
        ("Cable part number", cable.part_number),
    )


def service_terms(draft: TicketDraft) -> list[str]:
    """What the site has agreed for work of this priority."""
    return _named(
        ("Priority", draft.priority),
        ("Respond within", draft.sla),
        ("Schedule", draft.schedule),
        ("Contact", draft.contact),
        ("Customer reference", draft.customer_reference),
    )


def bring(draft: TicketDraft) -> list[str]:
    """Parts with number, quantity and spare, then tools."""
    parts = [
        f"{part.quantity} x {part.name}, part number {part.part_number or NOT_STATED.lower()}, "
        f"spare: {part.spare_location or NOT_STATED.lower()}"
        for part in draft.parts
    ]
    replaced = _named(
        ("Replace", draft.replacement_part), ("Part number", draft.part_number or NOT_STATED)
    )
    return [*replaced, *_clean(parts), *_named(("Tools", ", ".join(draft.tools)))]


def before(draft: TicketDraft) -> list[str]:
    """Drain, isolation, impact and safety: texts for people, nothing is done by the pipeline."""
    return [
        *_clean([f"{DRAIN_WORDS[draft.drain_scope]}. {draft.drain_required}"]),
        *_named(
            ("Port isolation", draft.port_isolation_guidance), ("Job impact", draft.job_impact)
        ),
        *_named(*(("Safety", text) for text in draft.safety)),
    ]


def steps(draft: TicketDraft) -> list[str]:
    """The repair steps, each with what its outcome proves."""
    return [
        one_line(step.do) + (f" (proves: {one_line(step.proves)})" if step.proves.strip() else "")
        for step in draft.text.repair_steps
    ]


def test(draft: TicketDraft) -> list[str]:
    """The test and each criterion."""
    return _clean([draft.test_after_repair, *(f"Pass: {text}" for text in draft.pass_criteria)])


def why(draft: TicketDraft) -> list[str]:
    """Fault, rules, order of repair, claims with their evidence, what else was weighed."""
    claims = [
        f"{item.claim} ({', '.join(item.evidence_ids)})" for item in draft.text.evidence_statements
    ]
    return [
        *_named(
            ("Fault", draft.fault),
            ("Rules fired", ", ".join(draft.rules_fired)),
            ("Order of repair", repair_order_line(draft)),
        ),
        *_clean(claims),
        *_named(*(("Also weighed", text) for text in draft.text.alternatives)),
    ]


def _named(*pairs: tuple[str, object]) -> list[str]:
    shown = ((name, "" if value is None else one_line(str(value))) for name, value in pairs)
    return [f"{name}: {value}" for name, value in shown if value]


def _clean(texts: Iterable[str]) -> list[str]:
    return [line for line in map(one_line, texts) if line]
