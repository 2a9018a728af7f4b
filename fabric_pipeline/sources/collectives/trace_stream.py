"""Chrome traces as text: decompressing within a limit, and walking events one by one.

Walking instead of parsing keeps memory at the size of the text, and a trace that was cut gives all
events before the cut. What an event means belongs to the readers.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Generator, Iterator
from typing import Any

from fabric_pipeline.sources.base import SourceFile

MAX_TRACE_BYTES = 512 * 1024 * 1024  # decompressed; a guard against archives made to fill memory
SNIFF_BYTES = 64 * 1024
_GZIP = b"\x1f\x8b"
_BLANKS = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder()


def sniff(file: SourceFile) -> str:
    """The first 64 KiB of the content, decompressed when the file is gzip."""
    with file.path.open("rb") as handle:
        head = handle.read(SNIFF_BYTES)
    if not head.startswith(_GZIP):
        return "" if file.is_binary else file.head[:SNIFF_BYTES]
    try:
        data = zlib.decompressobj(31).decompress(head, SNIFF_BYTES)
    except zlib.error:
        return ""
    return data.decode("utf-8", "replace")


def load(file: SourceFile) -> tuple[str, str]:
    """The whole text, and in words why it is not whole ("" when it is)."""
    if not file.data.startswith(_GZIP):
        if len(file.data) > MAX_TRACE_BYTES:
            return "", f"the trace is larger than {MAX_TRACE_BYTES} bytes and was not opened"
        return file.text, ""
    parts, problem = _inflate(file.data)
    return b"".join(parts).decode("utf-8", "replace"), problem


def _inflate(data: bytes) -> tuple[list[bytes], str]:
    """All members of a gzip file up to the limit; a broken or cut member ends the text."""
    parts: list[bytes] = []
    room = MAX_TRACE_BYTES
    while data.startswith(_GZIP):
        stream = zlib.decompressobj(31)
        try:
            part = stream.decompress(data, room)
        except zlib.error:
            return parts, "the compressed file is damaged"
        parts.append(part)
        room -= len(part)
        if room <= 0 or stream.unconsumed_tail:
            return parts, f"the trace is larger than {MAX_TRACE_BYTES} bytes; the rest was not read"
        if not stream.eof:
            return parts, "the compressed file ends too early"
        data = stream.unused_data
    return parts, ""


class TraceWalk:
    """Items of a trace: events, and the other keys of the surrounding object.

    `cut` says in words where the text stopped being JSON; "" when it was whole.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.cut = ""

    def items(self) -> Iterator[tuple[str, Any]]:
        """`("", event)` for every event, `(key, value)` for every other key."""
        position = _skip(self.text, 0)
        opening = self.text[position : position + 1]
        if opening == "[":
            yield from self._events(position + 1)
        elif opening == "{":
            yield from self._object(position + 1)
        else:
            self.cut = "the text does not begin with a list or an object"

    def _object(self, position: int) -> Iterator[tuple[str, Any]]:
        while True:
            position = _skip(self.text, position)
            if self.text.startswith("}", position):
                return
            key, position = self._value(position)
            position = _skip(self.text, position)
            if not isinstance(key, str) or not self.text.startswith(":", position):
                self.cut = self.cut or f"no key at character {position}"
                return
            position = _skip(self.text, position + 1)
            if key == "traceEvents" and self.text.startswith("[", position):
                position = yield from self._events(position + 1)
            else:
                value, position = self._value(position)
                if not self.cut:
                    yield key, value
            if self.cut:
                return

    def _events(self, position: int) -> Generator[tuple[str, Any], None, int]:
        """Yields events; the generator's return value is the position behind the list."""
        while True:
            position = _skip(self.text, position)
            if self.text.startswith("]", position):
                return position + 1
            event, position = self._value(position)
            if self.cut:
                return position
            yield "", event

    def _value(self, position: int) -> tuple[Any, int]:
        try:
            return _DECODER.raw_decode(self.text, position)
        except (ValueError, RecursionError):
            self.cut = f"the text stops being JSON at character {position}"
            return None, position


def _skip(text: str, position: int) -> int:
    found = _BLANKS.match(text, position)
    return found.end() if found else position
