"""Sections of `ibdiagnet2.db_csv`: what stands between `START_X` and `END_X`, a header and rows.

Columns are found by name, in any order and case, because versions add and drop some. What the columns
mean is decided by the reader.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.infiniband.lines import reject

_MAX_ROW = 20_000  # characters; rows of port counters have some fifty columns
MARK = re.compile(r"^\s{0,8}(?P<what>START|END)_(?P<name>[A-Z][A-Z0-9_]{1,60})\s*$")
_NUMBER = re.compile(r"^(?:0x[0-9a-fA-F]{1,16}|[0-9]{1,20})$")
# ibdiagnet prints these for a 64-bit counter that the device does not have.
_UNREAD = frozenset({2**64 - 1, 2**64 - 2})


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a section: its line, the text, and its cells by column in lower case."""

    section: str
    line: int
    text: str
    cells: Mapping[str, str]

    def text_of(self, *names: str) -> str:
        """The first of these columns that has a value, "" when none has."""
        found = (self.cells.get(name, "").strip() for name in names)
        return next((value for value in found if value and value.upper() != "N/A"), "")

    def number(self, *names: str) -> int | None:
        """The same as a whole number; None for a column that is absent, empty or no number."""
        return whole(self.text_of(*names))


def whole(text: str) -> int | None:
    """A decimal or hexadecimal number; None for text that is none and for the codes of no value."""
    if not _NUMBER.match(text):
        return None
    number = int(text, 16) if text.lower().startswith("0x") else int(text)
    return None if number in _UNREAD or number >= 2**64 else number


def section_rows(
    file: SourceFile, wanted: frozenset[str], result: ReadResult, others: Counter[str]
) -> Iterator[Row]:
    """Rows of the wanted sections in the order of the file; `others` counts the rows of the rest."""
    section, header = "", list[str]()
    for number, line in enumerate(file.lines, 1):
        if (found := MARK.match(line)) is not None:
            section, header = (found["name"] if found["what"] == "START" else ""), []
            continue
        if not section or not line.strip() or line.lstrip().startswith("#"):
            continue
        if section not in wanted:
            others[section] += 1
            continue
        cells = _cells(line)
        if not header:
            header = [cell.strip().lower() for cell in cells]
        elif not cells or len(cells) > len(header):
            rule = f"a row of {section} with {len(cells)} cells under {len(header)} columns"
            reject(result, number, line, rule)
        else:
            yield Row(section, number, line, dict(zip(header, cells, strict=False)))


def _cells(line: str) -> list[str]:
    if len(line) > _MAX_ROW:
        return []
    try:
        return next(csv.reader([line], skipinitialspace=True), [])
    except csv.Error:
        return []
