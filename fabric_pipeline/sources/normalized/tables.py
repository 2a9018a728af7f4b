"""Reading a normalized CSV or JSONL file row by row, with the line of each row and clear refusals.

Used for the small files of a drop (collectives, runs, events). A row that cannot be read is refused
with its line; the rows around it are read.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fabric_pipeline.model.records import MAX_TEXT, RejectedLine
from fabric_pipeline.sources.base import SourceFile

MAX_LINE = 100_000  # characters; a longer line is no row of any of our tables


@dataclass(frozen=True, slots=True)
class Row:
    """One row: where it stood and its fields as written."""

    line: int
    fields: dict[str, Any]
    text: str


def header_of(file: SourceFile) -> list[str]:
    """Column names of a CSV head, or the keys of the first JSONL row; [] when it is neither."""
    first = next((line for line in file.head.splitlines() if line.strip()), "")
    if not first or len(first) > MAX_LINE:
        return []
    if first.lstrip().startswith("{"):
        row = _json_object(first)
        return list(row) if row else []
    try:
        names = next(csv.reader([first]), [])
    except csv.Error:
        return []
    return [name.strip().lower() for name in names]


def is_jsonl(file: SourceFile) -> bool:
    """True when the first line with content is one JSON object."""
    first = next((line for line in file.head.splitlines() if line.strip()), "")
    return first.lstrip().startswith("{")


def rows(file: SourceFile, rejected: list[RejectedLine]) -> Iterator[Row]:
    """All readable rows; the others go to `rejected` with the rule in words."""
    names: list[str] | None = None
    jsonl = is_jsonl(file)
    for number, line in enumerate(file.lines, 1):
        if not line.strip():
            continue
        rule = line_rule(line)
        fields: dict[str, Any] | None = None
        if not rule and jsonl:
            fields = _json_object(line)
            rule = "" if fields is not None else "line is not one JSON object"
        elif not rule:
            cells = _csv_cells(line)
            if names is None:
                names = [cell.strip().lower() for cell in cells]
                continue
            fields, rule = _named(names, cells)
        if rule or fields is None:
            rejected.append(RejectedLine(number, line[:MAX_TEXT], rule))
        else:
            yield Row(number, fields, line[:MAX_TEXT])


def line_rule(line: str) -> str:
    """Why no table can hold this line, or ""."""
    if "\ufffd" in line:
        return "line has bytes that are not UTF-8; save the file as UTF-8"
    if len(line) > MAX_LINE:
        return f"line has {len(line)} characters, more than the {MAX_LINE} a row may have"
    if "\0" in line:
        return "line has NUL bytes"
    return ""


def _named(names: list[str], cells: list[str]) -> tuple[dict[str, Any] | None, str]:
    if len(cells) != len(names):
        return None, f"row has {len(cells)} fields, the header has {len(names)}"
    return dict(zip(names, cells, strict=True)), ""


def _csv_cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error:
        return []


def _json_object(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
