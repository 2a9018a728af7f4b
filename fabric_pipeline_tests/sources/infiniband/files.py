"""Writes invented captures to disk and reads them through a reader's public door."""

from __future__ import annotations

from pathlib import Path

from fabric_pipeline.model.records import Reading, ReadResult
from fabric_pipeline.sources.base import Hints, Reader, SourceFile


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


def one(result: ReadResult, interface: str, counter: str) -> Reading:
    """The only reading of a counter on an interface."""
    (found,) = [r for r in result.readings if (r.interface, r.counter) == (interface, counter)]
    return found


def ends(result: ReadResult) -> set[frozenset[str]]:
    """The links of a result as pairs of interfaces."""
    assert result.topology is not None
    return {frozenset((k["a"]["port"], k["b"]["port"])) for k in result.topology.links}
