"""Files that are only in memory, for tests that hand thousands of small inputs to readers.

A reader sees an ordinary `SourceFile`; only Parquet, which the database opens by name, is put on disk.
How inputs are damaged and what must hold of what is read lives beside this module.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path, PosixPath
from typing import IO, Any

from fabric_pipeline.sources.base import Hints, SourceFile, TableRows
from fabric_pipeline.store.parquet_rows import ParquetFile


class HeldPath(PosixPath):
    """A path whose content is held in memory; only what readers ask of a path is answered."""

    content: bytes

    def open(self, *_: Any, **__: Any) -> IO[Any]:  # type: ignore[override]
        return io.BytesIO(self.content)

    def read_bytes(self) -> bytes:
        return self.content

    def stat(self, *_: Any, **__: Any) -> os.stat_result:
        return os.stat_result((0o100644, 0, 0, 1, 0, 0, len(self.content), 0, 0, 0))


def held(data: bytes, spill: Path, hints: Hints | None = None) -> SourceFile:
    """The bytes as a file of a drop; `spill` is written only when a reader opens a table."""
    path = HeldPath("input")
    path.content = data
    return SourceFile(path, path.name, hints=hints or Hints(), open_table=_spilled(data, spill))


def _spilled(data: bytes, spill: Path) -> Callable[[Path], TableRows]:
    def open_table(_: Path) -> TableRows:
        spill.write_bytes(data)
        return ParquetFile(spill)

    return open_table
