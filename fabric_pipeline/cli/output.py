"""Writing for people and for programs: JSON on stdout, talk on stderr, text made safe for a terminal."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Sequence
from typing import Any

# Control characters, bidi marks and zero-width characters from telemetry must not steer a terminal;
# surrogates stand for bytes of a file name that are no text and cannot be printed.
_UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)


def plain(value: object) -> str:
    """Text from a file, safe to print on one line."""
    return _UNSAFE.sub("\ufffd", str(value).replace("\n", " ").replace("\t", " "))


def harmless(text: str) -> str:
    """Text of several lines whose characters can neither steer a terminal nor break its encoding.

    Line breaks and tabs stay: a caller that prints a name on a line of its own asks `plain` first.
    """
    return _UNSAFE.sub("\ufffd", text)


def say(text: str) -> None:
    """One line of talk on stderr."""
    print(harmless(text), file=sys.stderr, flush=True)  # noqa: T201 - this is the terminal


def put(text: str = "") -> None:
    """One line of data on stdout."""
    print(harmless(text))  # noqa: T201 - this is the terminal


def put_json(value: Any) -> None:
    """One JSON document on stdout.

    ASCII only: a name from telemetry can neither steer a terminal nor break its encoding. JSON has no
    NaN (null here, it is no reading) and no infinity (text here).
    """
    print(json.dumps(_in_json(value), indent=2, default=str, allow_nan=False))  # noqa: T201


def put_table(head: Sequence[str], rows: Sequence[Sequence[object]], widest: int = 60) -> None:
    """A plain aligned table; long cells are cut with an ellipsis."""
    cells = [list(head), *([_cut(plain(cell), widest) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    for number, row in enumerate(cells):
        put("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if number == 0:
            put("  ".join("-" * width for width in widths))


def _in_json(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, dict):
        return {key: _in_json(item) for key, item in value.items()}
    return [_in_json(item) for item in value] if isinstance(value, list | tuple) else value


def _cut(text: str, widest: int) -> str:
    return text if len(text) <= widest else text[: widest - 1] + "…"
