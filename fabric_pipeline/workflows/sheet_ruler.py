"""How many lines a text takes in print, computed without a browser and never too low.

Widths are those of the fonts that the sheet carries with it (`templates/fonts`), so they hold on every
machine. Characters that these fonts lack come from some font of the machine and are taken as wide. What
is too long for a line is broken anywhere, as the sheet's style does.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path

FONTS = Path(__file__).with_name("templates") / "fonts"
# Every glyph of IBM Plex Mono is this wide, in multiples of the size.
_MONO = 0.6
# Letters that our fonts lack are narrower than this in DejaVu Sans at 88 % and in Liberation Sans; signs
# and wide scripts fill a square.
_OTHER_LETTER, _SQUARE = 0.9, 1.1
# The bold of a font that we do not know is up to 12 % wider.
_OTHER_BOLD = 1.12


class Face(StrEnum):
    """The three faces of the sheet."""

    REGULAR = "regular"
    BOLD = "bold"
    MONO = "mono"


# Text in one face, or a width in multiples of the size that is never broken.
Run = tuple[str, Face] | float


@lru_cache(maxsize=16384)
def width_em(text: str, face: Face = Face.REGULAR) -> float:
    """Width of a text in multiples of its size."""
    return sum(_char_em(char, face) for char in text)


def lines(text: str, room_em: float, face: Face = Face.REGULAR) -> int:
    """Lines that a text takes in `room_em`, broken at spaces and, where it must be, inside words."""
    return wrapped([(text, face)], room_em)


def wrapped(runs: Sequence[Run], room_em: float) -> int:
    """Lines that runs of several faces take in `room_em`, one after another without a break between."""
    count, used = 1, 0.0
    for space, word in _words(runs):
        if used and used + space + word > room_em:
            count, used = count + 1, 0.0
        used += word + (space if used else 0.0)
        while used > room_em:
            # Up to the width of one character stays free where a word is broken.
            count, used = count + 1, used - room_em + min(1.0, room_em / 2)
    return count


def _words(runs: Iterable[Run]) -> Iterable[tuple[float, float]]:
    """The space before each word and the word's width; a word may go on in the next run."""
    before, word = 0.0, 0.0
    for run in runs:
        if isinstance(run, float):
            word += run
            continue
        text, face = run
        first, *more = text.split(" ")
        word += width_em(first, face)
        for part in more:
            yield before, word
            before, word = width_em(" ", face), width_em(part, face)
    yield before, word


@lru_cache(maxsize=4096)
def _char_em(char: str, face: Face) -> float:
    if face is Face.MONO and char.isascii():
        return _MONO
    known = _widths()["bold" if face is Face.BOLD else "regular"].get(char)
    if known is not None and face is not Face.MONO:
        return known
    if unicodedata.combining(char):
        return 0.0
    narrow = unicodedata.category(char).startswith("L") and (
        unicodedata.east_asian_width(char) not in "WF"
    )
    return (_OTHER_LETTER if narrow else _SQUARE) * (_OTHER_BOLD if face is Face.BOLD else 1.0)


@cache
def _widths() -> dict[str, dict[str, float]]:
    table = json.loads((FONTS / "widths.json").read_text(encoding="utf-8"))
    return {
        face: {char: width / 1000 for char, width in table[face].items()}
        for face in ("regular", "bold")
    }
