"""Rows of the boxed tables that dcgmi prints: `| left cell | right cell |`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.nvidia_smi.captures import CapturedLine, captured_lines, squeezed


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row without its frame. `left` is "" in a row that continues the one above."""

    line: CapturedLine
    left: str
    right: str


def table_rows(file: SourceFile, *, head_only: bool = False) -> Iterator[TableRow]:
    """Rows of one or two cells; rules, section titles and other lines are left out."""
    for line in captured_lines(file, head_only=head_only):
        text = line.text.strip()
        if len(text) < 3 or text[0] != "|" or text[-1] != "|":
            continue
        cells = [squeezed(cell) for cell in text[1:-1].split("|")]
        if len(cells) > 2 or cells[0].startswith("----"):
            continue
        yield TableRow(line, cells[0], cells[1] if len(cells) == 2 else "")
