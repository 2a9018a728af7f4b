"""Writes invented captures to disk and reads them through a reader's public door."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from fabric_pipeline.model.records import Reading, ReadResult
from fabric_pipeline.sources.base import Hints, Reader, SourceFile

UUID = "GPU-0f0e0d0c-0b0a-0908-0706-050403020100"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def source(folder: Path, text: str | bytes, hints: Hints | None = None) -> SourceFile:
    """The text as a file of a drop."""
    path = folder / "capture.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return SourceFile(path, "capture.txt", hints=hints or Hints())


def read(reader: Reader, folder: Path, text: str | bytes, hints: Hints | None = None) -> ReadResult:
    """What a reader makes of the text; the reader must be sure that it is its own."""
    file = source(folder, text, hints)
    assert reader.score(file) >= 50
    return reader.read(file)


def values(result: ReadResult) -> dict[tuple[str, str], float | None]:
    """(interface, counter or printed words) -> value."""
    return {(r.interface, r.counter or r.counter_text): r.value for r in result.readings}


def one(result: ReadResult, interface: str, counter: str) -> Reading:
    """The only reading of a counter on an interface."""
    (found,) = [r for r in result.readings if (r.interface, r.counter) == (interface, counter)]
    return found


JUNK = [
    b"",
    b"\n\n\n",
    b"\x00\xff\xfe\x01" * 500,
    b"the quick brown fox\n" * 50,
    b"Link " * 200_000,
    b"[" * 100_000,
    b"GPU 0: " + b"x" * 1_000_000,
]
