"""The link-health matrix in text: one row a GPU or node, one column a link, cell = share of its limit.

Worst rows first; rows in which nothing stands out are folded into one line with their count. Pure: a
`FabricView` and a width in, rich text out.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Group
from rich.text import Text

from fabric_pipeline.cli.fabric_style import (
    COLOURS,
    MUTED,
    TITLE,
    Glyphs,
    counter_text,
    figure,
    glyphs,
    plural,
    span_text,
    word,
)
from fabric_pipeline.cli.link_list import LinkList, state_counts
from fabric_pipeline.cli.text_layout import Lines, packed, padded, picture, text, wrapped
from fabric_pipeline.detect.spikes.thresholds import SpikeLimits
from fabric_pipeline.workflows.fabric_view_model import LINK_KINDS, TROUBLE, FabricView, Link
from fabric_pipeline.workflows.matrix_rows import (
    SHARE_STEPS,
    WORTH_A_LOOK,
    Column,
    Kind,
    Row,
    column_number,
    columns_of,
    rows_of,
    silent_rows,
)

_TITLES = {"nvlink": "NVLink", "nic": "Network links", "pcie": "PCIe"}
_NONE = {"nvlink": "No NVLink", "nic": "No network link", "pcie": "No PCIe link"}
_NOUNS = {"nvlink": "GPU", "nic": "node", "pcie": "node"}
_RAMP_COLOURS = (MUTED, "yellow", "yellow", "bold yellow", "bold red")
_MOST_ROWS = 200


def render_matrix(view: FabricView, *, kind: Kind, width: int, unicode: bool = True) -> Group:
    """The matrix of one kind of link, no line wider than `width` columns."""
    return picture(matrix_lines(view, kind, glyphs(unicode), width), width)


def matrix_lines(
    view: FabricView, kind: Kind, signs: Glyphs, width: int, fresh: Sequence[Text] = ()
) -> Lines:
    """The matrix as lines; `fresh` stands under the heading."""
    links = [link for link in view.links if link.link_type in LINK_KINDS[kind]]
    lines = [*_heading(view, links, kind, signs, width), *fresh, text()]
    if not links:
        return [*lines, *wrapped(f"{_NONE[kind]} is stated or measured in this drop.", width)]
    rows = rows_of(links, kind)
    drawing = _Matrix(view, kind, signs, width)
    for group in dict.fromkeys(row.group for row in rows):
        lines += drawing.table([row for row in rows if row.group == group])
    lines += [text(), *_legend(kind, signs, width)]
    silent = [node for node in view.nodes if node.state == "no_data"]
    return lines + LinkList(view, signs, width).silent(silent)


def _heading(
    view: FabricView, links: Sequence[Link], kind: Kind, signs: Glyphs, width: int
) -> Lines:
    title = text((f"{_TITLES[kind]}, share of the limit", TITLE))
    drop = text("drop ", (signs.name(view.drop), TITLE))
    when = text(span_text(view.window_start, view.window_end))
    lines = packed([title, drop, when], width)
    lines += packed([text((plural(len(links), "link"), MUTED)), *state_counts(links, signs)], width)
    for note in view.notes:
        lines += wrapped(note, width, style=COLOURS["watch"])
    return lines


class _Matrix:
    """Draws the tables of one kind of link."""

    def __init__(self, view: FabricView, kind: Kind, signs: Glyphs, width: int) -> None:
        self._view = view
        self._noun = _NOUNS[kind]
        self._signs = signs
        self._width = width
        self._faults = {one.incident_id: one.fault_type for one in view.incidents}

    def table(self, rows: Sequence[Row]) -> Lines:
        """Rows that stand out, rows without data, and one line for each kind of the rest."""
        shown = [row for row in rows if row.stands_out][:_MOST_ROWS]
        silent = silent_rows(self._view, rows)
        drawn = [*shown, *(row for row, _ in silent)]
        labels = [self._label(row, 1) for row in shown]
        labels += [self._label(row, number) for row, number in silent]
        lines: Lines = []
        if drawn:
            label = 2 + min(max(map(cell_len, labels)), max(8, self._width // 3))
            columns = columns_of(rows, drawn)
            for part in _parts(columns, self._width - label - 2):
                lines += _header(part, label, self._signs)
                for row, name in zip(drawn, labels, strict=True):
                    line = self._row(row, name, part, label)
                    is_last = part[-1] == columns[-1]
                    lines.append(self._explained(line, row) if is_last else line)
                lines.append(text())
        folded = self._folded(rows, shown)
        return lines + folded if folded else lines[:-1]

    def _label(self, row: Row, number: int) -> str:
        counted = f", {plural(number, self._noun)}" if number > 1 else ""
        return (self._signs.name(row.name, 32) or "(name not known)") + counted

    def _row(self, row: Row, name: str, columns: Sequence[Column], label: int) -> Text:
        """State and name of the row, then a sign for each column."""
        state = row.state
        style = COLOURS[state] if state != "healthy" else ""
        sign = (f"{self._signs.states[state]} ", COLOURS[state])
        line = padded(text(sign, (name, style)), label).append(" ")
        before = None
        for key in columns:
            line.append(" " if key[0] != before else "")
            before = key[0]
            line.append_text(_cell(row.cells.get(key), self._signs)).append(" ")
        return line

    def _explained(self, line: Text, row: Row) -> Text:
        """The row with its worst link in words, as many as there is room for."""
        if not row.stands_out:
            return line
        colour = COLOURS[row.state] if row.state in TROUBLE else MUTED
        for said in self._sayings(row.worst_link):
            shown = self._signs.name(said, 160)
            if cell_len(shown) <= self._width - line.cell_len - 1:
                return line.append(f" {shown}", colour)
        return line

    def _sayings(self, link: Link) -> tuple[str, ...]:
        """What to say of a link, the longest first."""
        device, _, last = link.a.interface.partition("/")
        name = last if last.startswith("nvlink") and device.startswith("gpu") else link.a.interface
        end = max(link.ends, key=lambda end: (end.reading.share or 0.0, end.reading.events or 0.0))
        if not end.reading.counter:
            faults = [self._faults[i] for i in link.incidents if i in self._faults]
            fault = faults[0] if faults else word(link.state)
            return f"{name} {fault} {' '.join(link.incidents)}", f"{name} {fault}", fault
        counted = counter_text(end.reading, self._signs)
        named = f"{name} {counted}"
        at_far = f"{named} (far end)" if end is link.b else named
        return at_far, named, counted, counted.rpartition(", ")[2]

    def _folded(self, rows: Sequence[Row], shown: Sequence[Row]) -> Lines:
        """The rows not drawn, counted: clean, partly without data, wholly without data."""
        drawn = {id(row) for row in shown}
        rest = [row for row in rows if id(row) not in drawn]
        below = f"below {WORTH_A_LOOK * 100:.0f} % of the limit"
        parts = {
            "watch": [row for row in rest if row.stands_out],
            "healthy": [row for row in rest if row.is_clean],
            "no_data": [row for row in rest if row.is_silent],
        }
        counted = sum(map(len, parts.values()))
        said = [
            ("watch", len(parts["watch"]), "stand out as well: see --json"),
            ("healthy", len(parts["healthy"]), f"with every link measured and {below}"),
            ("no_data", len(rest) - counted, f"with some links without data, the others {below}"),
            ("no_data", len(parts["no_data"]), "without any data"),
        ]
        noun, many = ("switch", "switches") if rows[0].group else (self._noun, "")
        lines: Lines = []
        for state, number, words in said:
            if number:
                what = plural(number, noun, many)
                what = what.replace(" ", " more ", 1) if shown else what
                sign = text((f"{self._signs.states[state]} ", COLOURS[state]))
                first, *others = wrapped(f"{what} {words}", self._width - 2)
                lines += [sign.append_text(first), *(text("  ").append_text(o) for o in others)]
        return lines


def _parts(columns: Sequence[Column], room: int) -> list[list[Column]]:
    """Columns in as few bands as the room allows; each column takes two characters."""
    fitting = max(1, (room - len({group for group, _ in columns})) // 2)
    return [list(columns[start : start + fitting]) for start in range(0, len(columns), fitting)]


def _header(columns: Sequence[Column], label: int, signs: Glyphs) -> Lines:
    """Group names, then the number of each column written downwards."""
    numbers = [signs.name(column_number(column), 12) or "-" for column in columns]
    height = max(map(len, numbers))
    top = text(" " * (label + 1))
    below = [text(" " * (label + 1)) for _ in range(height)]
    before = None
    for (group, _), number in zip(columns, numbers, strict=True):
        if group != before:
            top.append(" " * max(1, below[0].cell_len + 1 - top.cell_len))
            top.append(signs.name(group, 16), MUTED)
            for line in below:
                line.append(" ")
            before = group
        for place, line in enumerate(below):
            line.append(f"{number.rjust(height)[place]} ", MUTED)
    return [top, *below]


def _cell(link: Link | None, signs: Glyphs) -> Text:
    """One sign: hatch, state, ramp, or `+` for errors of a counter without a fixed limit."""
    if link is None:
        return text(" ")
    state, share = link.state, link.share
    if state == "no_data":
        return text((signs.states[state], COLOURS[state]))
    if share is None or share < SHARE_STEPS[0]:
        if state in TROUBLE:
            return text((signs.states[state], COLOURS[state]))
        counted = share is None and any(end.reading.counter for end in link.ends)
        return text(("+" if counted else signs.states["healthy"], MUTED))
    step = max(number for number, limit in enumerate(SHARE_STEPS) if share >= limit)
    return text((signs.ramp[step], _RAMP_COLOURS[step]))


def _legend(kind: Kind, signs: Glyphs, width: int) -> Lines:
    shares = [text((signs.states["healthy"], MUTED), f" below {WORTH_A_LOOK * 100:.0f} %")]
    for number, (sign, step) in enumerate(zip(signs.ramp, SHARE_STEPS, strict=True)):
        end = "of the limit and above" if number == len(SHARE_STEPS) - 1 else ""
        shares.append(text((sign, _RAMP_COLOURS[number]), f" {step * 100:.0f} % {end}".rstrip()))
    states = [
        text((signs.states[state], COLOURS[state]), f" {word(state)}")
        for state in (*TROUBLE, "no_data")
    ]
    states.append(text(("+", MUTED), " counted, no fixed limit"))
    lines = [*packed(shares, width), *packed(states, width)]
    return lines + wrapped(f"Limits: {_limits(kind)}.", width, style=MUTED)


def _limits(kind: Kind) -> str:
    limits = SpikeLimits()
    replays = f"replays {figure(limits.replay_per_hour)}/h"
    crc = f"CRC {figure(limits.crc_per_second * 3600)}/h"
    retrains = f"retrains {figure(limits.recoveries_per_day)}"
    said = {
        "nvlink": (replays, crc, retrains),
        "pcie": (replays, retrains),
        "nic": (
            f"errors past correction {limits.ber_failed:g} per bit",
            crc,
            f"{retrains} and link downs {figure(limits.link_downs)}",
        ),
    }
    totals = f"totals without a time span {figure(limits.snapshot_severe)}"
    return "; ".join((*said[kind], totals))
