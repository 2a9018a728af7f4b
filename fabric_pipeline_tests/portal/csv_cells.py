"""Cells of a CSV file that a spreadsheet would take for a formula."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_STARTS = "=+-@\t\r"
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?")


def formulas(rows: Iterable[Sequence[str]]) -> list[str]:
    """The cells that would run; a negative number is none."""
    return [
        cell for row in rows for cell in row if cell[:1] and cell[0] in _STARTS and not _NUMBER.fullmatch(cell)
    ]  # fmt: skip
