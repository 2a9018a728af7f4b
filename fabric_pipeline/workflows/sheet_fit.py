"""Makes a ticket fit one A4 page: the largest type and the longest texts whose estimate fits win.

First the type gets smaller, down to 7.5 points, then texts that a repair does not need are cut, last
the steps. The estimate mirrors `templates/ticket_sheet.css` and is not too low for the two font
families that the style names; the tests print the longest tickets and count pages.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.workflows.sheet_model import Block, Cell, End, Fit, Line, View
from fabric_pipeline.workflows.sheet_ruler import lines, width_em
from fabric_pipeline.workflows.sheet_view import view_of

# Points. A4 is 595.3 x 841.9; the style pads 22 at the sides, 17 above and below.
PAGE_HEIGHT, PAGE_WIDTH = 841.0 - 34, 595.2 - 44
COLUMN = (PAGE_WIDTH - 14) / 2
SMALL, LEADING = 7.5, 1.16
NOTES_FROM = 50.0
SIGN_OFF, LEGEND = 55.0, 24.0
# Sizes of the big values (rack, unit, face) and of the others in the strip that says where to go.
GO_SIZES = ((20.0, 13.0), (16.0, 11.0), (13.0, 9.5))
_GO_WRAPPED = 9.5
_LIST_GAP = 0.2
BIG = ("Rack", "Unit", "Face")

_DENSE = Fit(7.5)
_SHORT = replace(_DENSE, claims=5, claim=220, asides=3, aside=200, records=6, record=140)
_SHORTER = replace(
    _SHORT, summary=450, claims=3, claim=150, asides=2, records=4, record=110, facts=8, tools=12,
)  # fmt: skip
_TIGHT = replace(
    _SHORTER, summary=200, claims=1, asides=1, aside=150, records=2, record=90, facts=6,
)  # fmt: skip
_PLAIN = replace(
    _TIGHT, summary=0, claims=0, claim=90, asides=0, aside=110, records=1, record=70, proves=90, facts=4,
)  # fmt: skip
# What a technician can still work with: every step, the place, each kind of safety and test.
_BARE = replace(
    _PLAIN, step=150, proves=0, prose=90, claim=60, aside=60, criterion=60, records=0, record=50,
    safety=6, criteria=5, tools=4, parts=2, fact=40, facts=1, go=22, title=100,
)  # fmt: skip
# Fits whatever a ticket holds, even when every letter is as wide as it is high.
_LAST = replace(
    _BARE, step=26, prose=24, claim=20, aside=20, criterion=20, record=20, safety=3, criteria=3, tools=1,
    parts=1, fact=14, facts=0, go=8, title=40,
)  # fmt: skip
# Below this a text says nothing; it is left out and counted.
_SHORTEST_TEXT = 12
_COUNTS = frozenset(
    {"claims", "asides", "records", "safety", "criteria", "tools", "parts", "facts"}
)


def _between(most: Fit, least: Fit, share: float) -> Fit:
    """Limits between two fits; what steps prove goes before what to do and where."""
    limits = {}
    for name in (field.name for field in fields(Fit) if field.name != "size_pt"):
        low, high = getattr(least, name), getattr(most, name)
        limit = round(low + (high - low) * (share**2 if name == "proves" else share))
        shown = name in _COUNTS or name == "go" or limit >= _SHORTEST_TEXT
        limits[name] = limit if shown else 0
    return Fit(SMALL, **limits)


def _rungs(most: Fit, least: Fit, count: int) -> list[Fit]:
    return [_between(most, least, 1 - number / count) for number in range(count)]


LADDER = (
    *(Fit(size) for size in (9.5, 9.0, 8.5, 8.0)), _DENSE, _SHORT, _SHORTER,
    *_rungs(_TIGHT, _PLAIN, 8), *_rungs(_PLAIN, _BARE, 40), *_rungs(_BARE, _LAST, 12), _LAST,
)  # fmt: skip


def fitted(draft: TicketDraft, reserved_pt: float) -> tuple[View, Fit, float]:
    """The best view that fits beside `reserved_pt` of bars, its fit, and the points that stay free."""

    def spare(fit: Fit) -> float:
        return PAGE_HEIGHT - reserved_pt - height_pt(view_of(draft, fit), fit)

    rung = bisect_left(LADDER[:-1], True, key=lambda fit: spare(fit) >= 0)
    fit = LADDER[rung]
    return view_of(draft, fit), fit, spare(fit)


def height_pt(view: View, fit: Fit) -> float:
    """Estimated height of everything but the bars above and below."""
    top = _head(view) + _go(view.go) + _ends(view, fit)
    cut = view.shortened or view.left_out
    note = SMALL * LEADING + 6 if cut else 0
    return top + _body(view.blocks, fit) + note + SIGN_OFF + LEGEND


def _head(view: View) -> float:
    room = PAGE_WIDTH - 74
    title = lines(f"{view.title} nn", room / 12.5, bold=True) * 12.5 * LEADING
    return max(66.0, 20 + title + _run(view.head, room, 8.0) + 6)


def _run(cells: Sequence[Cell], room: float, size: float) -> float:
    """Cells one after another in a line that wraps; a cell wider than the line takes several."""
    rows, used = 1, 0.0
    for cell in cells:
        wide = _inline(cell) * size + 13
        if used and used + wide > room:
            rows, used = rows + 1, 0.0
        if wide > room:
            rows += lines(f"{cell.label} nn {cell.value}", room / size, bold=True) - 1
        used += wide
    return rows * size * 1.35 if cells else 0.0


def _inline(cell: Cell) -> float:
    value = width_em(cell.value, bold=not cell.mono, mono=cell.mono)
    return width_em(f"{cell.label} {cell.origin}") + value + 1.2


def go_sizes(cells: Sequence[Cell]) -> tuple[float, float]:
    """Sizes of big and other values: the largest pair at which all stand in one row, else wrapped."""
    for big, other in GO_SIZES:
        if sum(_go_width(c, big if c.label in BIG else other) for c in cells) <= PAGE_WIDTH - 4:
            return big, other
    return _GO_WRAPPED, _GO_WRAPPED


def _go_width(cell: Cell, size: float) -> float:
    value = width_em(cell.value, bold=True) * (size if cell.stated else SMALL)
    return max(value, (width_em(f"{cell.label} {cell.origin}") + 0.9) * SMALL) + 13


def _go(cells: Sequence[Cell]) -> float:
    big, _ = go_sizes(cells)
    if big > _GO_WRAPPED:
        return 6 + SMALL * 1.3 + big * LEADING + 8
    room = (PAGE_WIDTH - 4) / len(cells) - 13
    label = max(lines(f"{c.label} {c.origin}n", room / SMALL) for c in cells)
    most = max(lines(c.value, room / big, bold=True) for c in cells)
    return 6 + label * SMALL * 1.3 + most * big * LEADING + 8


def _ends(view: View, fit: Fit) -> float:
    size = fit.size_pt
    both = max(_end(view.near, size), _end(view.far, size))
    more = size * 1.35 if view.cable.more else 0
    return size * 1.45 + 6 + both + _run(view.cable.run, PAGE_WIDTH - 18, size) + more + 5 + 7


def _end(end: End, size: float) -> float:
    room = PAGE_WIDTH / 2 - 18
    rows = sum(
        lines(cell.value, (room - 70) / size, mono=cell.mono, bold=not cell.mono) * size * LEADING
        + 0.8
        for cell in end.rows
    )
    return rows + _run(end.run, room, size) + (size * 1.35 if end.more else 0)


def _body(blocks: Sequence[Block], fit: Fit) -> float:
    """Two columns: the best place to break between entries, as none is broken inside."""
    pieces = list(_pieces(blocks, fit))
    whole, above, best = sum(pieces), 0.0, sum(pieces)
    for piece in pieces:
        above += piece
        best = min(best, max(above, whole - above))
    return best + 6


def _pieces(blocks: Sequence[Block], fit: Fit) -> Iterator[float]:
    for block in blocks:
        entries = [_line(line, fit, framed=block.framed) for line in block.lines]
        entries += [fit.size_pt * (LEADING + _LIST_GAP)] if block.more else []
        entries[0] += fit.size_pt * 1.1 * 1.25 + 2.4
        entries[-1] += 4
        yield from entries


def _line(line: Line, fit: Fit, *, framed: bool) -> float:
    size = fit.size_pt
    room = COLUMN - (10 if framed else 0)
    room -= {"box": 2.0, "read": 2.0 + 7.5, "dot": 1.0, "none": 0.0}[line.mark] * size
    number = f"{line.number}. " if line.number else ""
    label = number + f"{line.label}{'n' * (1 + len(line.label) // 6)} " if line.label else number
    badge = " nn" if line.origin else ""
    code = f" {line.code}{'n' * (len(line.code) // 8)}" if line.code else ""
    sub = f"{line.sub} nn" if line.sub_origin else line.sub
    if size > SMALL:
        count = lines(f"{label}{line.text}{code}{badge}", room / size)
        count += lines(sub, room / size) if sub else 0
    else:  # the smallest type runs the second line on behind the first
        count = lines(f"{label}{line.text}{code}{badge} {sub}".rstrip(), room / size)
    least = size * 1.9 if line.mark == "read" else 0
    return max(count * size * LEADING, least) + _LIST_GAP * size
