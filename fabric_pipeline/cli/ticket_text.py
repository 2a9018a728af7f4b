"""A ticket draft as plain terminal text: what to do where, with the origin of each field.

The sheet that leaves the pipeline is `workflows.outbox_sheet`; this is for the person who reviews.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from fabric_pipeline.cli.output import plain
from fabric_pipeline.incidents.ticket import FIELD_ORIGINS, TicketDraft

_WIDTH = 100
_FIELDS = (
    ("site", "Site"),
    ("row", "Row"),
    ("rack", "Rack"),
    ("unit", "Unit"),
    ("node", "Node"),
    ("node_serial", "Node serial"),
    ("gpu_index", "GPU index"),
    ("gpu_serial", "GPU serial"),
    ("port_label", "Port label"),
    ("link", "Link"),
    ("far_end", "Far end"),
    ("fabric_or_switch_port", "Switch port"),
    ("cable_id", "Cable"),
    ("replacement_part", "Part"),
    ("part_number", "Part number"),
)


def ticket_text(draft: TicketDraft) -> str:
    """The whole draft, wrapped to 100 columns; [T] topology, [M] telemetry, [R] rule, [C] catalogue, [D] drafted."""
    return "\n".join(_lines(draft))


def _lines(draft: TicketDraft) -> Iterator[str]:
    yield from _wrapped(
        draft.text.title.upper() if draft.text.title.islower() else draft.text.title
    )
    author = f"Claude ({draft.model})" if draft.drafter == "claude" else "rules"
    yield f"priority {draft.priority}, worded by {author}{', ' + draft.drafter_note if draft.drafter_note else ''}"
    yield ""
    yield from _wrapped(draft.text.summary)
    yield "\nWHERE"
    for name, label in _FIELDS:
        value = getattr(draft, name)
        shown = "not stated by any source" if value in ("", None) else plain(value)
        yield f"  {_badge(name)} {label:<12} {shown}"
    yield "\nEVIDENCE"
    yield from _wrapped(f"Fault: {draft.fault}", "  [R] ")
    for statement in draft.text.evidence_statements:
        yield from _wrapped(f"{statement.claim} ({', '.join(statement.evidence_ids)})", "  [D] ")
    yield from _section("ALSO WEIGHED", draft.text.alternatives, "alternatives")
    yield "\nBEFORE"
    yield from _wrapped(f"Drain: {draft.drain_required}", "  [R] ")
    yield from _wrapped(f"Port isolation: {draft.port_isolation_guidance}", "  [R] ")
    for text in draft.safety:
        yield from _wrapped(f"Safety: {text}", "  [C] ")
    if draft.tools:
        yield from _wrapped(f"Tools: {', '.join(draft.tools)}", "  [C] ")
    yield "\nREPAIR"
    for number, step in enumerate(draft.text.repair_steps, 1):
        yield from _wrapped(step.do, f"  {number}. ")
        yield from _wrapped(f"shows: {step.proves}", "     ")
    yield "\nTEST AFTER THE REPAIR"
    yield from _wrapped(draft.test_after_repair, "  ")
    yield from _section("", draft.pass_criteria, "pass_criteria")
    yield "\nIF IT DOES NOT HELP"
    yield from _wrapped(draft.text.rollback, "  ")
    if draft.topology_finding is not None:
        agrees = "agrees with" if draft.topology_finding.agrees_with_isolation else "DISAGREES with"
        yield "\nTHE DRAFTER'S OWN READING"
        yield from _wrapped(
            f"{draft.topology_finding.component}: {agrees} the isolation. {draft.topology_finding.why}",
            "  ",
        )


def _section(head: str, texts: list[str], name: str) -> Iterator[str]:
    if texts and head:
        yield f"\n{head}"
    for text in texts:
        yield from _wrapped(text, f"  {_badge(name)} ")


def _badge(name: str) -> str:
    letters = {
        "topology": "T",
        "telemetry": "M",
        "rule": "R",
        "catalogue": "C",
        "drafted": "D",
        "ledger": "L",
    }
    return f"[{letters[FIELD_ORIGINS[name]]}]"


def _wrapped(text: str, head: str = "") -> list[str]:
    return textwrap.wrap(
        plain(text), _WIDTH, initial_indent=head, subsequent_indent=" " * len(head)
    ) or [head.rstrip()]
