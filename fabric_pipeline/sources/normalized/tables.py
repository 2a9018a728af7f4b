"""Reading a normalized CSV or JSONL file row by row, with the line of each row and clear refusals.

Used for the small files of a drop (collectives, runs, events). A row that cannot be read is refused
with its line; the rows around it are read.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fabric_pipeline.model.records import MAX_TEXT, RejectedLine
from fabric_pipeline.sources.base import SourceFile

MAX_LINE = 100_000  # characters; a longer line is no row of any of our tables
_ROWS_LOOKED_AT = 5


@dataclass(frozen=True, slots=True)
class Row:
    """One row: where it stood and its fields as written."""

    line: int
    fields: dict[str, Any]
    text: str


def header_of(file: SourceFile) -> list[str]:
    """Column names of a CSV head, or the keys of the first JSONL row; [] when it is neither."""
    first, row = _first_row(file)
    if row is not None:
        return list(row)
    try:
        names = next(csv.reader([first]), [])
    except csv.Error:
        return []
    return [name.strip().lower() for name in names]


def is_jsonl(file: SourceFile) -> bool:
    """True when one of the first lines with content is one JSON object."""
    return _first_row(file)[1] is not None


def rows(file: SourceFile, rejected: list[RejectedLine]) -> Iterator[Row]:
    """All readable rows; the others go to `rejected` with the rule in words."""
    split: Callable[[str], dict[str, Any] | None]
    split = _json_fields if is_jsonl(file) else _CsvFields()
    for number, line in enumerate(file.lines, 1):
        if not line.strip():
            continue
        try:
            fields = split(line.rstrip("\r"))  # several: line ends that were converted twice
        except ValueError as problem:
            rejected.append(RejectedLine(number, line[:MAX_TEXT], str(problem)))
            continue
        if fields is not None:
            yield Row(number, fields, line[:MAX_TEXT])


def repeated_name(names: Sequence[str]) -> str:
    """The first name that stands twice, or ""; which of the two counts nobody could say."""
    return next((name for i, name in enumerate(names) if name and name in names[:i]), "")


def split_csv_line(line: str) -> list[str] | None:
    """Fields of one CSV line with quotes, or None when its quoting is broken."""
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error:
        return None


class _CsvFields:
    """Names the cells of each line after the header, which is the first line with content."""

    def __init__(self) -> None:
        self._names: list[str] | None = None

    def __call__(self, line: str) -> dict[str, Any] | None:
        """Fields by column; None for the header. ValueError: why the line is no row."""
        if self._names is None:
            self._names = [name.strip().lower() for name in split_csv_line(line) or []]
            if name := repeated_name(self._names):
                raise ValueError(f"the header names the column {name[:40]!r} twice; rename one")
            return None
        _check(line)
        cells = split_csv_line(line)
        if cells is None:
            raise ValueError("quotes in this line do not pair up")
        if repeated_name(self._names):
            raise ValueError("the header of this file cannot be used")
        if len(cells) != len(self._names):
            raise ValueError(f"row has {len(cells)} fields, the header has {len(self._names)}")
        return dict(zip(self._names, cells, strict=True))


def _json_fields(line: str) -> dict[str, Any]:
    """Fields of one JSON object. ValueError: why the line is none."""
    _check(line)
    try:
        value = json.loads(line, object_pairs_hook=_unique)
    except _RepeatedKeyError:
        raise
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ValueError("line is not one JSON object")
    return value


class _RepeatedKeyError(ValueError):
    """A key stands twice in one object; which of the two counts nobody could say."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise _RepeatedKeyError(f"key {repeated_name([k for k, _ in pairs])[:40]!r} stands twice")
    return fields


def _check(line: str) -> None:
    """ValueError when no table can hold this line."""
    if "\ufffd" in line:
        raise ValueError("line has bytes that are not UTF-8; save the file as UTF-8")
    if len(line) > MAX_LINE:
        raise ValueError(
            f"line has {len(line)} characters, more than the {MAX_LINE} a row may have"
        )
    if "\0" in line or "\r" in line:
        raise ValueError("line has control characters (NUL or a lone carriage return)")


def _first_row(file: SourceFile) -> tuple[str, dict[str, Any] | None]:
    """The first line with content, and the first JSON row when the file is JSONL.

    A row or two in front may be cut: a log that was rotated begins in the middle of a line.
    """
    lines = [line for line in file.head.split("\n") if line.strip()][:_ROWS_LOOKED_AT]
    rows_found = (_json_object(line.rstrip("\r")) for line in lines)
    first = lines[0].rstrip("\r") if lines and len(lines[0]) <= MAX_LINE else ""
    return first, next((row for row in rows_found if row is not None), None)


def _json_object(line: str) -> dict[str, Any] | None:
    try:
        return _json_fields(line)
    except ValueError:
        return None
