"""JSON objects inside text: one a line, pretty-printed over many lines, or behind a shell prompt.

Finds every top-level object with the line it starts on, and names the places that are no JSON. What
an object means belongs to the readers.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fabric_pipeline.sources.collectives.line_tags import clipped

_DECODER = json.JSONDecoder()
_FIRST_COLUMN = re.compile(r"^\{", re.MULTILINE)
_PATIENCE = 20  # broken objects for which the whole rest of the text is tried
_WHOLE = re.compile(r"\s{0,20}-?[0-9]{1,19}\s{0,20}$")
_OBJECT = re.compile(r'\{\s{0,200}"')


@dataclass(frozen=True, slots=True)
class Found:
    """One object, or a piece of text where one should be (`value` None)."""

    line: int
    value: dict[str, Any] | None
    text: str = ""


def records(text: str) -> Iterator[Found]:
    """Top-level JSON objects of a text in order.

    After a broken object the search goes on at the next line that starts an object, so one cut
    record costs one record. A list around the objects is walked into.
    """
    starts = [0, *(m.end() for m in re.finditer("\n", text))]
    begin, patience = 0, _PATIENCE
    while begin < len(text):
        limit = _next_line_object(text, begin)
        block, position = text[begin:limit], 0  # small, so that a broken object costs little
        while found := _OBJECT.search(block, position):
            position = found.start()
            line = bisect_right(starts, begin + position)
            value, end = _decode(block, position)
            if value is None and limit < len(text) and patience:
                # Objects inside this one may stand in the first column; trying costs the whole rest.
                patience -= 1
                value, end = _decode(text, begin + position)
                end -= begin
            if value is None:
                yield Found(line, None, clipped(block[position : position + 400].split("\n")[0]))
                break
            yield Found(line, value)
            position = end
        begin = max(limit, begin + position)


def _decode(text: str, begin: int) -> tuple[dict[str, Any] | None, int]:
    try:
        value, end = _DECODER.raw_decode(text, begin)
    except (ValueError, RecursionError):
        return None, begin
    return (value, end) if isinstance(value, dict) else (None, begin)


def _next_line_object(text: str, begin: int) -> int:
    """Start of the next line that opens an object in its first column, else the end of the text."""
    found = _FIRST_COLUMN.search(text, begin + 1)
    return found.start() if found else len(text)


def as_float(value: Any) -> float | None:
    """A finite number, also one written as a string; booleans and the rest are None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        if "_" in value or not value.isascii():  # Python would read 1_0 and other digits
            return None
        try:
            value = float(value[:40])
        except ValueError:
            return None
    if isinstance(value, int):
        return float(value) if abs(value) < 10**300 else None
    return value if isinstance(value, float) and math.isfinite(value) else None


def as_int(value: Any) -> int | None:
    """A whole number below 2^63 in size, also one written as a string; else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and _WHOLE.match(value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and abs(value) < 2**63 else None


def as_text(value: Any, limit: int = 300) -> str:
    """A string shortened for a record; anything that is no string is ""."""
    return clipped(value, limit) if isinstance(value, str) else ""


def as_dict(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []
