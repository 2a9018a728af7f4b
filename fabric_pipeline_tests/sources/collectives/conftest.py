"""Shared by the tests of these readers: a file with given content, read through the public door."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fabric_pipeline.sources.base import SourceFile

MakeFile = Callable[[str | bytes], SourceFile]


@pytest.fixture
def make_file(tmp_path: Path) -> MakeFile:
    """Writes text or bytes to a new file without a telling name."""
    count = 0

    def make(content: str | bytes) -> SourceFile:
        nonlocal count
        count += 1
        path = tmp_path / f"input{count}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return SourceFile(path, path.name)

    return make
