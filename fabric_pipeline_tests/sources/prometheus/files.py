"""Writes a text to a file and opens it the way the pipeline does."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from fabric_pipeline.sources.base import Hints, SourceFile


def source(
    folder: Path, text: str | bytes, node: str = "", time: datetime | None = None
) -> SourceFile:
    """A file with this content; its name says nothing about its format."""
    path = folder / "capture.dat"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return SourceFile(path, path.name, hints=Hints(node=node, time=time))
