"""How high the parts of a sheet are in points, computed from the same lengths as its style.

A change in `templates/ticket_sheet.css` needs its twin here; the tests compare both in a browser.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from fabric_pipeline.workflows.sheet_model import Block, Cell, End, Line, View
from fabric_pipeline.workflows.sheet_plans import SMALL
from fabric_pipeline.workflows.sheet_ruler import Face, Run, lines, width_em, wrapped

# Points. A4 is 595.3 x 841.9; the style pads 22 at the sides, 17 above and below.
PAGE_HEIGHT, PAGE_WIDTH = 841.0 - 34, 595.2 - 44
COLUMN = (PAGE_WIDTH - 14) / 2
LEADING = 1.16
# Room for own notes is drawn when this much stays free.
NOTES_FROM = 50.0
SIGN_OFF = 53.0
# Sizes of the big values (rack, unit, face) and of the others in the strip that says where to go.
GO_SIZES = ((20.0, 13.0), (20.0, 11.0), (20.0, 9.5), (16.0, 9.5), (13.0, 9.5))
_GO_WRAPPED = 9.5
# Between entries in multiples of the size, between blocks in points; the greater of both counts.
_LIST_GAP, _BLOCK_GAP = 0.2, 5.0
BIG = ("Rack", "Unit", "Face")
# Margin, padding and border of the letter that names an origin, in points.
_BADGE_EDGES = 2 + 3.2 + 1.2
_TITLE_SIZE, _HEAD_SIZE = 12.5, 8.0
_VALUE_GAP = 1.5
# Browsers round to 1/64 of a pixel; a line that fits exactly may not.
_ROUNDING_PT = 0.1


class Entry(NamedTuple):
    """An entry of the body and the gap below it, which vanishes at the foot of a column."""

    height: float
    gap: float


def frame_pt(view: View, size: float) -> float:
    """Everything above the body, and the lines to sign on."""
    return _head(view) + _go(view.go) + _ends(view, size) + SIGN_OFF


def note_pt(*, cut: bool) -> float:
    """The line that counts what was cut."""
    return SMALL * LEADING + 1.6 + 3 if cut else 0.0


def legend_pt(words: Sequence[str], letters: str) -> float:
    """The small print at the foot: words that are not broken, and letters in boxes."""
    boxes = sum(_badge_em(letter, SMALL) for letter in letters)
    runs: list[Run] = [(word, Face.REGULAR) for word in words]
    return 4 + wrapped([boxes, *runs], PAGE_WIDTH / SMALL) * SMALL * 1.2


def _badge_em(origin: str, size: float) -> float:
    return (_BADGE_EDGES + width_em(origin) * SMALL) / size if origin else 0.0


def _head(view: View) -> float:
    room = PAGE_WIDTH - 74
    runs: list[Run] = [(view.title, Face.BOLD), _badge_em("D", _TITLE_SIZE)]
    title = wrapped(runs, room / _TITLE_SIZE) * _TITLE_SIZE * 1.2
    return max(60.0, 14.9 + 1 + title + 3 + _run(view.head, room, _HEAD_SIZE)) + 6


def _cell(cell: Cell, size: float) -> list[Run]:
    face = Face.MONO if cell.mono else Face.BOLD
    gap = _VALUE_GAP / size
    return [
        (cell.label, Face.REGULAR),
        _badge_em(cell.origin, size) + gap,
        (f" {cell.value}", face),
    ]


def _run(cells: Sequence[Cell], room: float, size: float) -> float:
    """Cells one after another in a line that wraps; a cell wider than the line takes several."""
    rows, used, gap = 0, room, 12.0
    for cell in cells:
        runs = _cell(cell, size)
        wide = sum(run if isinstance(run, float) else width_em(*run) for run in runs) * size
        if used + gap + wide > room - _ROUNDING_PT:
            rows, used = rows + 1, -gap
        if wide > room - _ROUNDING_PT:
            rows, used = rows + wrapped(runs, room / size) - 1, room
        used += gap + wide
    return rows * size * 1.35


def go_sizes(cells: Sequence[Cell]) -> tuple[float, float]:
    """Sizes of big and other values: the largest pair at which all stand in one row, else wrapped."""
    for big, other in GO_SIZES:
        if sum(_go_width(c, big if c.label in BIG else other) for c in cells) <= PAGE_WIDTH - 4:
            return big, other
    return _GO_WRAPPED, _GO_WRAPPED


def _go_width(cell: Cell, size: float) -> float:
    value = width_em(cell.value, Face.BOLD) * (size if cell.stated else SMALL)
    label = (width_em(cell.label) + _badge_em(cell.origin, SMALL)) * SMALL
    return max(value, label) + 12.7


def _go(cells: Sequence[Cell]) -> float:
    big, _ = go_sizes(cells)
    edges = 3.6 + 4 + 6
    if big > _GO_WRAPPED:
        return edges + SMALL * 1.3 + big * 1.2
    room = (PAGE_WIDTH - 4) / len(cells) - 13
    labels: list[list[Run]] = [[(c.label, Face.REGULAR), _badge_em(c.origin, SMALL)] for c in cells]
    label = max(wrapped(runs, room / SMALL) for runs in labels)
    most = max(lines(c.value, room / big, Face.BOLD) for c in cells)
    return edges + label * SMALL * 1.3 + most * big * 1.2


def _ends(view: View, size: float) -> float:
    both = max(_end(view.near, size), _end(view.far, size))
    more = size * LEADING if view.cable.more else 0
    heading = size * 1.1 * 1.25 + 1.5
    wire = _run(view.cable.run, PAGE_WIDTH - 1.6 - 16, size) + more + 4.6
    return 1.6 + 5 + heading + both + wire + 6


def _end(end: End, size: float) -> float:
    room = (PAGE_WIDTH - 1.6) / 2 - 16.6
    rows = sum(_end_row(cell, (room - 70) / size) * size + 0.8 for cell in end.rows)
    return rows + _run(end.run, room, size) + (size * LEADING if end.more else 0)


def _end_row(cell: Cell, room_em: float) -> float:
    count = lines(cell.value, room_em, Face.MONO if cell.mono else Face.BOLD)
    # Label and value stand on one baseline, and their faces differ in how far they reach below it.
    return count * LEADING + (0.1 if cell.mono else 0)


def body_pt(entries: Sequence[Entry]) -> float:
    """Height of the higher of two columns, broken at the best place."""
    return _best_break(entries)[1]


def columns(blocks: Sequence[Block], size: float) -> tuple[list[Block], list[Block]]:
    """Both columns of the body; a block that goes on in the second has no title there."""
    entries = [entry for block in blocks for entry in pieces(block, size)]
    left, right = list[Block](), list[Block]()
    room, _ = _best_break(entries)
    for block in blocks:
        count = len(block.lines) + bool(block.more)
        if count <= room:
            left.append(block)
        elif room <= 0:
            right.append(block)
        else:
            left.append(replace(block, lines=block.lines[:room], more=0))
            right.append(replace(block, title="", origin="", lines=block.lines[room:]))
        room -= count
    return left, right


def _best_break(entries: Sequence[Entry]) -> tuple[int, float]:
    """How many entries stand in the first column, and the height that gives; none is broken inside."""
    whole, above = sum(sum(entry) for entry in entries), 0.0
    found = len(entries), whole
    last = entries[-1].gap if entries else 0.0
    for number, (height, gap) in enumerate(entries, 1):
        above += height + gap
        higher = max(above - gap, whole - above - last)
        if higher < found[1]:
            found = number, higher
    return found


def pieces(block: Block, size: float) -> Iterator[Entry]:
    """Height of each entry of a block; its heading stays with the first."""
    heights = [_line(line, size, framed=block.framed) for line in block.lines]
    heights += [size * LEADING] if block.more else []
    for number, height in enumerate(heights):
        heading = 0 if number else size * 1.1 * 1.25 + 2.3
        last = number == len(heights) - 1
        yield Entry(heading + height, _BLOCK_GAP if last else size * _LIST_GAP)


def _line(line: Line, size: float, *, framed: bool) -> float:
    room = COLUMN - _ROUNDING_PT - (9 if framed else 0)
    room -= {"box": 2.0, "read": 2.0 + 7.5, "dot": 1.0, "none": 0.0}[line.mark] * size
    runs: list[Run] = [(f"{line.number}. ", Face.BOLD)] if line.number else []
    runs += [(line.label, Face.BOLD), (" ", Face.REGULAR)] if line.label else []
    runs.append((line.text, Face.REGULAR))
    if line.code:
        whole = line.code.replace(" ", "\xa0") if len(line.code) <= 30 else line.code
        runs += [(" ", Face.REGULAR), (whole, Face.MONO)]
    runs.append(_badge_em(line.origin, size))
    below: list[Run] = [(line.sub, Face.REGULAR), _badge_em(line.sub_origin, size)]
    if line.sub and size <= SMALL:  # the smallest type runs the second line on behind the first
        runs += [(" ", Face.REGULAR), *below]
    count = wrapped(runs, room / size)
    count += wrapped(below, room / size) if line.sub and size > SMALL else 0
    least = size * 1.9 if line.mark == "read" else 0
    return max(count * size * LEADING, least)
