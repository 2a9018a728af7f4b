"""How many lines a text takes in print, estimated without a browser and never too low.

Widths are the larger of Liberation Sans (metrics of Arial) and DejaVu Sans at 88 % for each character,
read from the fonts' own tables: a machine that prints has one or the other, and the sheet's style sets
DejaVu at 88 %. What is too long for a line is broken anywhere, as that style does.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

# Advance widths of the characters 0x20 to 0x7e in 1/1000 of the size.
_ASCII = (
    280, 353, 405, 738, 561, 890, 687, 242, 345, 345, 440, 738, 280, 334, 280, 297, 561, 561, 561,
    561, 561, 561, 561, 561, 561, 561, 297, 297, 738, 738, 738, 557, 1016, 667, 667, 723, 723, 667,
    611, 778, 723, 278, 500, 667, 557, 834, 723, 778, 667, 778, 723, 667, 611, 723, 667, 944, 667,
    667, 611, 345, 297, 345, 738, 557, 440, 557, 559, 500, 559, 557, 311, 559, 558, 245, 245, 511,
    245, 858, 558, 557, 559, 559, 363, 500, 346, 558, 521, 723, 521, 521, 500, 561, 297, 561, 738,
)  # fmt: skip
_MONO = 0.602
# Letters of other scripts are narrower than this in both fonts; signs and wide scripts fill a square.
_OTHER_LETTER, _SQUARE = 0.9, 1.1
# The bold faces are 11 % wider on running text.
_BOLD = 1.12


@lru_cache(maxsize=8192)
def width_em(text: str, *, bold: bool = False, mono: bool = False) -> float:
    """Width of a text in multiples of its size."""
    each = (_MONO if mono and c.isascii() else _char_em(c) for c in text)
    return sum(each) * (_BOLD if bold and not mono else 1.0)


def lines(text: str, room_em: float, *, bold: bool = False, mono: bool = False) -> int:
    """Lines that a text takes in `room_em`, broken at spaces and, where it must be, inside words."""
    space = width_em(" ", bold=bold, mono=mono)
    count, used = 1, 0.0
    for word in text.split(" "):
        wide = width_em(word, bold=bold, mono=mono)
        if used and used + space + wide > room_em:
            count, used = count + 1, 0.0
        used += wide + (space if used else 0.0)
        while used > room_em:
            count, used = count + 1, used - room_em + 1
    return count


def _char_em(char: str) -> float:
    code = ord(char)
    if 0x20 <= code <= 0x7E:
        return _ASCII[code - 0x20] / 1000
    if unicodedata.combining(char):
        return 0.0
    narrow = unicodedata.category(char).startswith("L") and (
        unicodedata.east_asian_width(char) not in "WF"
    )
    return _OTHER_LETTER if narrow else _SQUARE
