"""Finds JSON documents in a text: one, several, behind shell prompts, or cut off in the middle.

Knows no format. Of a document that does not end, the whole objects that begin with a `metric` key
are saved.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_KEYS = r"\{\s{0,20}\"(?:status|resultType|metric|data|isPartial)\""
# A document begins a line, or one of the known keys shows it behind a prompt.
_START = re.compile(
    rf"(?:^[ \t]{{0,200}}(?=\{{\s{{0,200}}\"|\[\s{{0,200}}[\[{{]))|(?={_KEYS})", re.MULTILINE
)
_KNOWN = re.compile(_KEYS)
_SERIES = re.compile(r'\{\s{0,200}"metric"\s{0,20}:')
_MAX_FAILURES = 20  # starts of documents or series that lead nowhere
_EXCERPT = 200


@dataclass(slots=True)
class JsonDocument:
    """One document: where it starts, its value or the pieces saved, and why it broke or ""."""

    start: int
    values: list[Any] = field(default_factory=list)
    broken: str = ""
    excerpt: str = ""


def documents(text: str) -> Iterator[JsonDocument]:
    """The documents of a text in order; text between them is skipped."""
    position, failures = 0, 0
    while failures < _MAX_FAILURES:
        found = _START.search(text, position)
        if found is None:
            return
        start = found.end()
        value, end, problem = _decode(text, start)
        if not problem:
            yield JsonDocument(start, [value])
            position = end
            continue
        failures += 1
        pieces, end = _saved(text, start)
        if pieces or _KNOWN.match(text, start):
            yield JsonDocument(start, pieces, problem, text[start : start + _EXCERPT])
        position = max(end, start + 1)


def _decode(text: str, start: int) -> tuple[Any, int, str]:
    """Value, end and "" or why the JSON at `start` cannot be read."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
    except json.JSONDecodeError as broken:
        if broken.pos >= len(text.rstrip()) or "Unterminated" in broken.msg:
            return None, start, "the JSON ends before it is complete"
        return None, start, f"the JSON is broken: {broken.msg}"
    except (RecursionError, ValueError):
        return None, start, "the JSON is nested too deeply or holds a number too long to read"
    return value, end, ""


def _saved(text: str, start: int) -> tuple[list[Any], int]:
    """Whole series objects behind `start`, and where the last one ends."""
    pieces: list[Any] = []
    position, failures = start, 0
    while failures < _MAX_FAILURES:
        found = _SERIES.search(text, position)
        if found is None:
            break
        value, end, problem = _decode(text, found.start())
        if problem:
            failures += 1
            position = found.start() + 1
        else:
            pieces.append(value)
            position = end
    return pieces, position
