"""Laying out lines of styled text: beside each other, in columns, wrapped, never wider than asked.

Everything is plain `rich` text, so that nothing in a name is read as markup. What the lines say
belongs to the views.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len, chop_cells
from rich.console import Group
from rich.text import Text

from fabric_pipeline.cli.output import plain

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


def after(head: Text, words: str, width: int, *, indent: str = "    ", style: str = "") -> Lines:
    """A sentence behind a styled beginning; on lines of its own where it does not fit."""
    if head.cell_len + cell_len(words) <= width:
        return [head.append(words, style)]
    return [head, *wrapped(words, width, indent=indent, style=style)]


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
    """The finished picture: no line wider than `width`, no blanks at the ends of lines.

    The one way out of every picture: a character that steers a terminal is replaced even if the
    view that wrote it forgot to.
    """
    finished = []
    for line in lines:
        if not line.plain.isprintable():
            line.plain = plain(line.plain)
        line.rstrip()
        line.truncate(width, overflow="crop")
        line.end = "\n"
        finished.append(line)
    return Group(*finished)


def table(
    head: Sequence[str], rows: Sequence[Sequence[Text]], width: int, *, gap: int = 2
) -> Lines:
    """An aligned table, or [] when its widest row does not fit: the caller has another form then.

    The last column is not padded. A column without any content is left out.
    """
    used = [n for n in range(len(head)) if any(row[n].cell_len for row in rows)]
    widths = {n: max([cell_len(head[n]), *(row[n].cell_len for row in rows)]) for n in used}
    if sum(widths.values()) + gap * (len(used) - 1) > width:
        return []
    between = " " * gap
    lines = [text((between.join(head[n].ljust(widths[n]) for n in used), "dim"))]
    for row in rows:
        line = text()
        for n in used:
            line.append(between if n != used[0] else "").append_text(padded(row[n], widths[n]))
        lines.append(line)
    return lines


def bullets(sentences: Iterable[str], width: int) -> Lines:
    """Sentences as a list, wrapped under their dashes."""
    lines: Lines = []
    for sentence in sentences:
        first, *rest = wrapped(sentence, width - 4) or [text()]
        lines.append(text("  - ").append_text(first))
        lines += [text("    ").append_text(row) for row in rest]
    return lines
