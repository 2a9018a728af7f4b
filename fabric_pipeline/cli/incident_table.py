"""The list of incidents on a terminal: one row a fault with its ticket, the worst first.

A wide terminal gets a table, a narrow one a block for each; a pipe gets a plain table of whole words
from `ticket_commands`. What is folded into a row is decided in `portal.incident_list`.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from fabric_pipeline.cli.fabric_style import COLOURS, MUTED, TITLE, Glyphs, plural, word
from fabric_pipeline.cli.text_layout import Lines, packed, table, text, wrapped
from fabric_pipeline.workflows.incident_list import Row
from fabric_pipeline.workflows.incident_words import (
    NO_DATA,
    component_words,
    confidence_words,
    fault_words,
    time_lost,
)

_HEAD = ("", "incident", "component", "fault", "slower", "GPU time", "sure", "life", "ticket", "drops")  # fmt: skip
PLAIN_HEAD = ("incident", "severity", "life", "component", "fault", "slower %", "conf", "drop", "gpu hours", "grade", "ticket", "ticket state")  # fmt: skip


def incident_table(rows: Sequence[Row], hidden: int, signs: Glyphs, width: int) -> Lines:
    """The heading and all rows; says so when there is none."""
    lines = [_heading(rows, signs)]
    if not rows:
        said = "Nothing was found in what was measured; that does not say that everything is well."
        if not hidden:
            said = "No drop has shown an incident yet. " + said
        return [*lines, *wrapped(said, width)]
    cells = [_cells(row, signs) for row in rows]
    return [*lines, *(table(_HEAD, cells, width) or _blocks(cells, width))]


def plain_row(row: Row) -> tuple[str, ...]:
    """The cells of `PLAIN_HEAD`, "" for what was not measured."""
    record = row.record
    return (
        record.incident_id,
        record.severity,
        row.life,
        record.isolated_component,
        record.fault_type,
        "" if record.degradation_pct is None else f"{record.degradation_pct:.1f}",
        f"{record.confidence:.2f}",
        ",".join(row.drops),
        "" if record.gpu_hours_lost is None else f"{record.gpu_hours_lost:.3g}",
        record.evidence_grade,
        row.ticket.ticket_id if row.ticket else "",
        row.ticket.state if row.ticket else "",
    )


def _heading(rows: Sequence[Row], signs: Glyphs) -> Text:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.state] = counts.get(row.state, 0) + 1
    line = text(("Incidents", TITLE), f"  {plural(len(rows), 'fault')}")
    for state, number in counts.items():
        colour = COLOURS.get(state, MUTED)
        line.append("   ").append(
            f"{signs.states.get(state, '-')} {number:,} {word(state)}", colour
        )
    return line


def _cells(row: Row, signs: Glyphs) -> list[Text]:
    record = row.record
    colour = COLOURS.get(row.state, MUTED)
    kind = f", {record.error_class.replace('_', ' ')} ({record.class_basis or 'basis not stated'})" if record.error_class else ""  # fmt: skip
    sure = confidence_words(record)
    sure += "" if record.fault_type == NO_DATA else f" {record.evidence_grade}"
    slower = "" if record.degradation_pct is None else f"+{record.degradation_pct:.1f} %"
    lost = "" if record.gpu_hours_lost is None else time_lost(record.gpu_hours_lost)
    ticket = text((row.ticket.ticket_id, TITLE), f" {row.ticket.state}") if row.ticket else text()
    return [
        text((f"{signs.states.get(row.state, '-')} {word(row.state).upper()}", colour)),
        text((record.incident_id, TITLE)),
        text(signs.name(component_words(record), 80)),
        text(signs.name(fault_words(record) + kind, 80)),
        text(slower),
        text(lost),
        text(sure),
        text(row.life or ""),
        ticket,
        text((signs.name(", ".join(row.drops), 60), MUTED)),
    ]


def _blocks(rows: Sequence[Sequence[Text]], width: int) -> Lines:
    """Severity, id and component first, then the rest in as many lines as it takes."""
    words = ("", "", "", "", "slower", "GPU time", "confidence", "now", "", "in")
    lines: Lines = []
    for row in rows:
        lines += packed([text(row[0], "  ", row[1]), row[2]], width, gap=2, indent=2)
        rest = [
            text((f"{label} " if label else "", MUTED), cell)
            for label, cell in zip(words[3:], row[3:], strict=True)
            if cell.cell_len
        ]
        lines += [text("    ").append_text(one) for one in packed(rest, width - 4)]
    return lines
