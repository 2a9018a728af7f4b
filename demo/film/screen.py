"""What a terminal shows, as HTML: pyte keeps the screen, our own fonts and colours draw it."""

from __future__ import annotations

import base64
import html
import re
from itertools import groupby
from pathlib import Path

import pyte
from pyte.screens import Char

from demo.film.shell import COLUMNS, ROWS

_FONTS = Path(__file__).resolve().parents[2] / "fabric_pipeline" / "portal" / "static" / "vendor"
_TEXT = "#dbe3ec"
_COLOURS = {
    "red": "#ff6b62", "green": "#5fd393", "brown": "#f0b03a", "blue": "#5aaeff", "cyan": "#4fc9d8",
    "magenta": "#c792ea", "white": "#dbe3ec", "black": "#8b9bae", "brightblack": "#8b9bae",
    "default": _TEXT,
}  # fmt: skip
_HEX = re.compile("[0-9a-f]{6}")
# Lines of tables: to which sides (left, right, up, down) each goes. Our font has no such characters.
_BOX = {
    "─": "lr", "│": "ud", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu",
    "├": "rud", "┤": "lud", "┬": "lrd", "┴": "lru", "┼": "lrud",
}  # fmt: skip
_ARMS = {
    "l": "0 50%/50% 1px", "r": "100% 50%/50% 1px", "u": "50% 0/1px 50%", "d": "50% 100%/1px 50%",
}  # fmt: skip


def font_faces() -> str:
    """Style rules with the two fonts inside, for pages that are served by nobody."""
    faces = []
    for family, file in (("Inter", "inter.woff2"), ("JetBrains Mono", "jetbrains-mono.woff2")):
        data = base64.b64encode((_FONTS / file).read_bytes()).decode("ascii")
        faces.append(
            f"@font-face{{font-family:'{family}';font-weight:100 900;"
            f"src:url(data:font/woff2;base64,{data}) format('woff2')}}"
        )
    return "".join(faces)


def terminal_page(width: int, height: int) -> str:
    """The page that stands around the screen."""
    return (
        f"<!doctype html><meta charset='utf-8'><style>{font_faces()}"
        f"body{{margin:0;background:#0b0e13;width:{width}px;height:{height}px;overflow:hidden}}"
        "#window{position:absolute;inset:20px;border:1px solid #27313d;border-radius:10px;"
        "background:#11161d;overflow:hidden}"
        "#title{font:500 14px/38px Inter;color:#8b9bae;padding:0 18px;border-bottom:1px solid #27313d}"
        "pre{margin:0;padding:12px 18px;font:400 20px/28.4px 'JetBrains Mono',monospace;color:#dbe3ec;"
        "font-variant-ligatures:none}i{display:inline-block;width:1ch;height:28.4px;"
        "vertical-align:top;text-align:center;font-style:normal;overflow:hidden}</style>"
        "<div id='window'><div id='title'>operator: ~/fabric</div><pre id='screen'></pre></div>"
    )


class Screen:
    """A screen of the film's size; feed it what a terminal would get."""

    def __init__(self) -> None:
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.Stream(self._screen)

    def feed(self, text: str) -> None:
        """Take text and control sequences."""
        self._stream.feed(text)

    def markup(self) -> str:
        """The screen as the inside of a `pre`."""
        return "\n".join(self._row(y) for y in range(ROWS))

    def _row(self, y: int) -> str:
        row = self._screen.buffer[y]
        cursor = self._screen.cursor.x if y == self._screen.cursor.y else -1
        cells = [(row[x], x == cursor) for x in range(COLUMNS)]
        return "".join(
            _run("".join(cell.data for cell, _ in run), *looks)
            for looks, run in groupby(cells, key=lambda one: _looks(*one))
        )


def _looks(cell: Char, is_cursor: bool) -> tuple[str, bool, bool]:
    known = _COLOURS.get(cell.fg.removeprefix("bright"), _COLOURS.get(cell.fg, _TEXT))
    colour = f"#{cell.fg}" if _HEX.fullmatch(cell.fg) else known
    return colour, cell.bold, is_cursor


def _run(text: str, colour: str, bold: bool, is_cursor: bool) -> str:
    inside = "".join(_cell(one) for one in text)
    weight = ";font-weight:700" if bold else ""
    block = ";background:#5aaeff88" if is_cursor else ""
    if not block and colour == _TEXT and not weight:
        return inside
    return f'<span style="color:{colour}{weight}{block}">{inside}</span>'


def _cell(character: str) -> str:
    """One character; what our font may lack gets a cell of its own, so that columns stay in line."""
    if character in _BOX:
        drawn = "linear-gradient(#8b9bae,#8b9bae) no-repeat "
        arms = ",".join(drawn + _ARMS[side] for side in _BOX[character])
        return f'<i style="background:{arms}"></i>'
    return html.escape(character) if character.isascii() else f"<i>{html.escape(character)}</i>"
