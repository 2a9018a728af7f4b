"""Cuts a large answer of the query API into its series without holding it whole or parsing its values.

Only the compact form that servers print is cut; for any other `UnusualAnswerError` says that the
file has to be read as JSON. What a series means is decided beside this module.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TextIO

_BLOCK = 16 * 1024 * 1024  # characters that are read at once
_START = '{"metric":'
_VALUES = ',"values":[['
_END = "]]}"
_LONGEST_SERIES = 1 << 30  # characters
_NAME = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]{0,299}")
_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")


class UnusualAnswerError(ValueError):
    """The text is no answer in the compact form; read it as JSON."""


class SeriesText(NamedTuple):
    """One series: the line it stands in, its metric and labels, and the text of its values.

    `values` reads `1790000000.5,"3"],[1790000060.5,"4"`.
    """

    line: int
    name: str
    labels: dict[str, str]
    values: str


@dataclass
class SeriesStream:
    """The series of a file in order; afterwards `rest` is its text with `null` in place of each.

    `passed` are bytes that were gone through; there may be some more.
    """

    path: Path
    rest: str = ""
    passed: int = 0
    _decoder: json.JSONDecoder = field(default_factory=json.JSONDecoder)

    def __iter__(self) -> Iterator[SeriesText]:
        """Raises `UnusualAnswerError`, also after some series were given."""
        try:
            with self.path.open(encoding="utf-8", newline="") as handle:
                yield from self._cut(handle)
        except UnicodeDecodeError as broken:
            raise UnusualAnswerError("not UTF-8") from broken

    def _cut(self, handle: TextIO) -> Iterator[SeriesText]:
        """`text` is what is in hand, from `position` on it is not used yet."""
        kept: list[str] = []
        line, text, position = 1, handle.read(_BLOCK), 0
        while True:
            start = text.find(_START, position)
            end = text.find(_END, start) if start >= 0 else -1
            if end < 0:  # the rest of a series, or of the text behind the last one, is not in hand
                self.passed = handle.buffer.tell()
                more = handle.read(_BLOCK)
                text, position = text[position:] + more, 0
                if more and len(text) < _LONGEST_SERIES:
                    continue
                if start >= 0:
                    raise UnusualAnswerError("a series does not end")
                break
            line += text.count("\n", position, start)
            yield self._series(line, text, start, end)
            kept += [text[position:start], "null"]
            position = end + len(_END)
        self.rest = "".join([*kept, text])

    def _series(self, line: int, text: str, start: int, end: int) -> SeriesText:
        try:
            metric, position = self._decoder.raw_decode(text, start + len(_START))
        except (ValueError, RecursionError) as broken:
            raise UnusualAnswerError("the labels of a series are no JSON") from broken
        if not isinstance(metric, dict) or not text.startswith(_VALUES, position):
            raise UnusualAnswerError("a series of another form")
        labels = {str(key): str(value) for key, value in metric.items()}
        name = labels.pop("__name__", "")
        if not _NAME.fullmatch(name) or not all(_LABEL.fullmatch(label) for label in labels):
            raise UnusualAnswerError("a series without a plain name or with other labels")
        values = text[position + len(_VALUES) : end]
        if "\n" in values or "{" in values:
            raise UnusualAnswerError("a series of another form")
        return SeriesText(line, name, labels, values)
