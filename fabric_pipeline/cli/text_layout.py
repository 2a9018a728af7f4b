"""Laying out lines of styled text: beside each other, in columns, wrapped, never wider than asked.

Everything is plain `rich` text, so that nothing in a name is read as markup. What the lines say
belongs to the views.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len, chop_cells
from rich.console import Group
from rich.text import Text

Lines = list[Text]


def text(*parts: str | tuple[str, str] | Text) -> Text:
    """One line from pieces, each a string, a string with its style, or a line."""
    line = Text(no_wrap=True, overflow="crop", end="")
    for part in parts:
        if isinstance(part, tuple):
            line.append(*part)
        else:
            line.append(part)
    return line


def padded(line: Text, width: int) -> Text:
    """The line, cut or filled up to exactly this many columns."""
    result = line.copy()
    result.truncate(width, overflow="crop", pad=True)
    return result


def beside(blocks: Sequence[Lines], width: int, gap: int) -> Lines:
    """Blocks side by side, each `width` columns wide, aligned at the top."""
    height = max((len(block) for block in blocks), default=0)
    lines = []
    for row in range(height):
        cells = [block[row] if row < len(block) else text() for block in blocks]
        line = text()
        for number, cell in enumerate(cells):
            line.append(" " * gap if number else "")
            line.append_text(padded(cell, width) if number < len(cells) - 1 else cell)
        lines.append(line)
    return lines


def grid(blocks: Sequence[Lines], block_width: int, width: int, gap: tuple[int, int]) -> Lines:
    """Blocks in as many columns as fit, row by row with an empty line between the rows.

    `gap` is the least and the most space between two columns.
    """
    columns = max(1, min(len(blocks), (width + gap[0]) // (block_width + gap[0])))
    spare = (width - columns * block_width) // max(1, columns - 1)
    between = max(gap[0], min(gap[1], spare))
    lines: Lines = []
    for start in range(0, len(blocks), columns):
        lines += [text()] if start else []
        lines += beside(blocks[start : start + columns], block_width, between)
    return lines


def flow(tiles: Sequence[Text], width: int, *, first: str = "", gap: int = 3) -> Lines:
    """Tiles of one width in rows, after a heading that stands before the first row."""
    indent = cell_len(first)
    tile_width = max((tile.cell_len for tile in tiles), default=0)
    columns = max(1, (width - indent + gap) // (tile_width + gap))
    lines = []
    for start in range(0, len(tiles), columns):
        head = text((first if start == 0 else " " * indent, "bold"))
        rows = beside([[tile] for tile in tiles[start : start + columns]], tile_width, gap)
        lines.append(head.append_text(rows[0]))
    return lines


def wrapped(words: str, width: int, *, indent: str = "", style: str = "") -> Lines:
    """A sentence wrapped at blanks; a word longer than the line is cut into pieces."""
    room = max(1, width - cell_len(indent))
    rows: list[str] = []
    for piece in (part for item in words.split() for part in chop_cells(item, room)):
        if rows and cell_len(rows[-1]) + 1 + cell_len(piece) <= room:
            rows[-1] += f" {piece}"
        else:
            rows.append(piece)
    return [text(indent, (row, style)) for row in rows]


def packed(pieces: Iterable[Text], width: int, *, gap: int = 3, indent: int = 0) -> Lines:
    """Pieces one after the other, a new line where the next does not fit."""
    lines: Lines = []
    for piece in pieces:
        if lines and lines[-1].cell_len + gap + piece.cell_len <= width:
            lines[-1].append(" " * gap).append_text(piece)
        else:
            lines.append(text(" " * indent if lines else "").append_text(piece))
    return lines


def picture(lines: Iterable[Text], width: int) -> Group:
    """The finished picture: no line wider than `width`, no blanks at the ends of lines."""
    finished = []
    for line in lines:
        line.rstrip()
        line.truncate(width, overflow="crop")
        line.end = "\n"
        finished.append(line)
    return Group(*finished)
