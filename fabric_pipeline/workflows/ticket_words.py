"""Sentences that every form of a ticket shares: drain scope, order of repair, earlier work, evidence.

Values of the ticket become words here, not yet cleaned or cut for any form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fabric_pipeline.incidents.ticket import EvidenceReference, RmaItem, TicketDraft
from fabric_pipeline.model.components import gpu_index, parse_component

DRAIN_WORDS = {
    "none": "No drain needed",
    "link": "Drain the link",
    "node": "Drain the whole node",
    "nodes": "Drain several nodes",
    "unknown": "Drain scope not known: ask before you touch anything",
}
OUTCOME_WORDS = {
    "waiting": "no telemetry since",
    "verified": "fixed then",
    "came_back": "the fault came back",
}
HOW_WORDS = {"accused": "was accused", "taken_out": "was taken out", "put_in": "was put in"}


def repair_order_line(draft: TicketDraft) -> str:
    """The catalogue's order by the names under which steps are reported: `reseat (done) → swap (NEXT)`.

    Without numbers: the numbers of a ticket are those of its steps, which name their action in brackets.
    """
    done = {repair.step for repair in draft.earlier_repairs}
    words = []
    for step in draft.repair_order:
        mark = " (NEXT)" if step.step == draft.begin_at_step else ""
        mark = mark or (" (done)" if step.step in done else "")
        words.append(f"{step.action}{mark}")
    return " → ".join(words)


def gpu_label(draft: TicketDraft) -> str:
    """What the GPU index of a ticket is: that of the link's own GPU, or of the one beside its adapter."""
    own = gpu_index(parse_component(draft.link).interface)
    return "GPU index" if own is not None or draft.gpu_index is None else "GPU beside"


def ids_words(ids: Sequence[str]) -> str:
    """`E1 to E5, E9` for ids that follow each other."""
    told: list[str] = []
    run: list[str] = []
    for item in ids:
        if run and _number(item) != _number(run[-1]) + 1:
            told += _run_words(run)
            run = []
        run.append(item)
    return ", ".join([*told, *_run_words(run)])


def _number(item: str) -> int:
    digits = item.removeprefix("E")
    return int(digits) if digits.isdecimal() and len(digits) < 9 else -1


def _run_words(run: Sequence[str]) -> list[str]:
    return [f"{run[0]} to {run[-1]}"] if len(run) > 2 else list(run)


def _repairs(draft: TicketDraft) -> Iterator[str]:
    for repair in reversed(draft.earlier_repairs):
        swap = f", {repair.part}" if repair.part else ""
        serials = [f"old {repair.old_serial}"] if repair.old_serial else []
        serials += [f"new {repair.new_serial}"] if repair.new_serial else []
        numbers = f" ({', '.join(serials)})" if serials else ""
        yield (
            f"{repair.repaired_at:%Y-%m-%d} {repair.action}{swap}{numbers}: "
            f"{OUTCOME_WORDS[repair.outcome]}"
        )


def _tickets(draft: TicketDraft) -> Iterator[str]:
    for old in draft.earlier_tickets:
        yield f"{old.at:%Y-%m-%d} ticket {old.ticket_id}: {old.serial} {HOW_WORDS[old.how]}, {old.link}"


def earlier_work(draft: TicketDraft) -> list[str]:
    """Earlier repairs, newest first, then earlier tickets, one sentence each."""
    return [*_repairs(draft), *_tickets(draft)]


def evidence_words(item: EvidenceReference) -> str:
    """Id, file, lines and the beginning of the hash, such as `E1 a.csv:3-9 sha256 9c1f2e3a4b5c`."""
    rows = "" if item.line is None else f":{item.line}"
    rows += f"-{item.last_line}" if item.last_line not in (None, item.line) else ""
    digest = f" sha256 {item.sha256[:12]}" if item.sha256 else ""
    return f"{item.evidence_id} {item.file}{rows}{digest}"


def rma_words(item: RmaItem) -> str:
    """One item of the return form, headed by what is still to do about it."""
    todo = {"filled": "", "to_attach": "ATTACH: ", "to_ask": "ASK: "}[item.state]
    return f"{todo}{item.item}{': ' if item.value else ''}{item.value}"
