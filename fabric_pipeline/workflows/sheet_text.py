"""Texts of a ticket made fit for paper: one printable line, cut openly, and a count of what was cut.

Nothing here knows a layout; how much room a text gets is decided in `sheet_fit`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

NOT_STATED = "Not stated by any source"
T = TypeVar("T")


@lru_cache(maxsize=2048)
def one_line(text: str) -> str:
    """Printable text on one line: control characters and invisible direction marks vanish."""
    spaced = re.sub(r"\s+", " ", text)
    return "".join(c for c in spaced if not unicodedata.category(c).startswith("C")).strip()


def plain(text: str, limit: int) -> str:
    """One line of printable text, `limit` characters at most, ending in `…` when it was cut."""
    kept = one_line(text)
    if limit <= 0:
        return ""
    return kept if len(kept) <= limit else kept[: limit - 1].rstrip() + "…"


class Cutter:
    """Cuts texts and lists to the room there is, and counts each cut so that the sheet can say so."""

    def __init__(self) -> None:
        self.shortened = 0
        self.left_out = 0

    def text(self, text: str, limit: int) -> str:
        """The text in `limit` characters; with no room at all it counts as left out."""
        length = len(one_line(text))
        self.left_out += limit <= 0 < length
        self.shortened += 0 < limit < length
        return plain(text, limit)

    def some(self, items: Sequence[T], count: int) -> tuple[list[T], int]:
        """The first `count` items, and how many were left out."""
        more = max(0, len(items) - count)
        self.left_out += more
        return list(items[:count]), more
