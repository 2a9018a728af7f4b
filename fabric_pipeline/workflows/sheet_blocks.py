"""The body of the sheet: what to bring, before, steps, test, rollback, earlier work, why, return.

Each block is cut to the room of a `Fit`. The strip of places above the body is in `sheet_view`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.workflows.field_origins import LETTERS, letter
from fabric_pipeline.workflows.sheet_model import Block, Fit, Line
from fabric_pipeline.workflows.sheet_text import NOT_STATED, Cutter
from fabric_pipeline.workflows.ticket_words import (
    DRAIN_WORDS,
    earlier_work,
    evidence_words,
    ids_words,
    repair_order_line,
    rma_words,
)


def body_blocks(draft: TicketDraft, fit: Fit, cut: Cutter) -> Iterator[Block]:
    """All blocks in reading order; one without lines has nothing to say."""
    yield _bring(draft, fit, cut)
    yield _before(draft, fit, cut)
    yield _steps(draft, fit, cut)
    yield _test(draft, fit, cut)
    yield Block(
        "If it does not help",
        letter("rollback"),
        [Line(cut.text(draft.text.rollback, fit.prose))] if draft.text.rollback.strip() else [],
    )
    yield _earlier(draft, fit, cut)
    yield _why(draft, fit, cut)
    yield _rma(draft, fit, cut)


def _bring(draft: TicketDraft, fit: Fit, cut: Cutter) -> Block:
    parts, more = cut.some(draft.parts, fit.parts)
    named = any(part.part_number == draft.part_number for part in draft.parts)
    number = "" if named else f", part number {draft.part_number or NOT_STATED.lower()}"
    stated = cut.text(f"{draft.replacement_part}{number}", fit.fact * 3)
    lines = [Line(stated, label="To replace.", origin=letter("replacement_part"))]
    for part in parts:
        number = cut.text(part.part_number, max(24, fit.fact))
        gap = "" if number else f" {NOT_STATED.lower()}"
        text = f"{part.quantity} \u00d7 {cut.text(part.name, fit.fact)}, part number{gap}"
        spare = cut.text(part.spare_location, fit.fact) or NOT_STATED.lower()
        lines.append(
            Line(
                text,
                "box",
                f"Spare: {spare}",
                origin=letter("parts"),
                sub_origin=letter("parts[].spare_location"),
                code=number,
            )
        )
    if more:
        lines.append(Line(f"{more} more parts in the ticket"))
    tools, more = cut.some(draft.tools, fit.tools)
    if tools:
        rest = f", {more} more in the ticket" if more else ""
        listed = ", ".join(cut.text(tool, fit.fact) for tool in tools) + rest
        lines.append(Line(listed, "box", label="Tools.", origin=letter("tools")))
    return Block("Bring", "", lines)


def _before(draft: TicketDraft, fit: Fit, cut: Cutter) -> Block:
    safety, more = cut.some(draft.safety, fit.safety)
    told = [
        (DRAIN_WORDS[draft.drain_scope], draft.drain_required, "drain_scope"),
        ("Port isolation", draft.port_isolation_guidance, "port_isolation_guidance"),
        ("Job impact", draft.job_impact, "job_impact"),
    ]
    head = [
        Line(
            cut.text(text, fit.prose),
            "dot" if path == "job_impact" else "box",
            label=f"{label}.",
            origin=letter(path) if path == "job_impact" else "",
        )
        for label, text, path in told
        if text.strip() or path == "drain_scope"
    ]
    careful = [Line(cut.text(text, fit.prose), "box") for text in safety]
    return Block("Before you start", letter("safety"), [*head, *careful], more, framed=True)


def _steps(draft: TicketDraft, fit: Fit, cut: Cutter) -> Block:
    steps = [
        Line(
            cut.text(step.do, fit.step),
            "box",
            f"Proves: {proves}" if (proves := cut.text(step.proves, fit.proves)) else "",
            str(number),
        )
        for number, step in enumerate(draft.text.repair_steps, 1)
    ]
    # Words for the hand that works; a report may name a step either way.
    order = cut.text(repair_order_line(draft).replace("_", " "), fit.step)
    told = [Line(order, label="Order of repair.", origin=letter("repair_order"))] if order else []
    return Block("Steps", letter("repair_steps"), [*told, *steps])


def _test(draft: TicketDraft, fit: Fit, cut: Cutter) -> Block:
    criteria, more = cut.some(draft.pass_criteria, fit.criteria)
    test = cut.text(draft.test_after_repair, fit.prose)
    lines = [Line(test)] if test else []
    lines += [Line(cut.text(text, fit.criterion), "read") for text in criteria]
    return Block("Test after the repair", letter("pass_criteria"), lines, more, framed=True)


def _earlier(draft: TicketDraft, fit: Fit, cut: Cutter) -> Block:
    told = earlier_work(draft)
    kept, more = cut.some(told, fit.records)
    lines = [Line(cut.text(text, fit.record), "dot") for text in kept]
    return Block("Earlier work on this link and its parts", letter("earlier_repairs"), lines, more)


def _why(draft: TicketDraft, fit: Fit, cut: Cutter) -> Block:
    rules = "; ".join(draft.rules_fired)
    lines = [Line(cut.text(draft.fault, fit.aside), label="Fault.", origin=letter("fault"))]
    if rules:
        lines.append(Line(cut.text(rules, fit.aside), label="Rules.", origin=letter("rules_fired")))
    if summary := cut.text(draft.text.summary, fit.summary):
        lines.append(Line(summary, origin=letter("summary")))
    claims, more = cut.some(draft.text.evidence_statements, fit.claims)
    for item in claims:
        ids = ids_words(item.evidence_ids)
        claim = f"{cut.text(item.claim, fit.claim)} [{cut.text(ids, 60)}]"
        lines.append(Line(claim, "dot", origin=letter("evidence_statements")))
    asides, more_asides = cut.some(draft.text.alternatives, fit.asides)
    for text in asides:
        aside = cut.text(text, fit.aside)
        lines.append(Line(aside, "dot", label="Also weighed.", origin=letter("alternatives")))
    finding = draft.topology_finding
    if finding is not None:
        agrees = "agrees" if finding.agrees_with_isolation else "DISAGREES"
        told = cut.text(
            f"{finding.component} ({agrees} with the diagnosis). {finding.why}", fit.claim
        )
        lines.append(
            Line(told, "dot", label="Drafter's reading.", origin=letter("topology_finding"))
        )
    if draft.evidence:
        lines.append(_evidence(draft, fit, cut))
    return Block("Why", "", lines, more + more_asides)


def _evidence(draft: TicketDraft, fit: Fit, cut: Cutter) -> Line:
    kept, more = cut.some(draft.evidence, fit.records + 1)
    told = [cut.text(evidence_words(item), fit.record) for item in kept]
    told += [f"{more} more in the ticket"] if more else []
    return Line("; ".join(told), label="Evidence.", origin=letter("evidence"))


def _rma(draft: TicketDraft, fit: Fit, cut: Cutter) -> Block:
    kept, more = cut.some(sorted(draft.rma, key=lambda item: item.state == "filled"), fit.records)
    lines = [
        Line(
            cut.text(rma_words(item), fit.record),
            "dot" if item.state == "filled" else "box",
            origin=LETTERS[item.origin],
        )
        for item in kept
    ]
    return Block("For a return to the vendor", "", lines, more)
