"""Reads a log text through the reader's public door."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import Hints, SourceFile
from fabric_pipeline.sources.kernel_log.reader import KernelLogReader

ReadLog = Callable[..., ReadResult]


@pytest.fixture
def read_log(tmp_path: Path) -> ReadLog:
    """A function that writes the text to a file and reads it."""

    def read(text: str | bytes, hints: Hints | None = None) -> ReadResult:
        path = tmp_path / "capture"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return KernelLogReader().read(SourceFile(path, "capture", hints=hints or Hints()))

    return read
