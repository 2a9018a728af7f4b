"""Large logs: DuckDB finds the lines that a reader has a use for, the reader reads only those.

Lines keep their numbers, and what is read is equal to reading all of them; the file is gone through in
pieces, so its size costs no memory. Which lines a reader wants is told by the reader (`wanted_lines`).
"""

from __future__ import annotations

import codecs
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import Reader, SourceFile
from fabric_pipeline.sources.normalized.counters_sql import CONTROL, OVERLONG, line_texts_sql
from fabric_pipeline.store.columns import DatabaseError
from fabric_pipeline.store.duck import glob_safe
from fabric_pipeline.workflows.line_cleaning import whole_lines, write_clean
from fabric_pipeline.workflows.staging import add_result

LARGE = 2 * 1024 * 1024  # bytes; a smaller file is read faster by its reader alone
_MANY = 20_000  # readings that are staged at once
_PIECE = 32 * 1024 * 1024  # bytes that are gone through at once
_LONGEST = (
    128 * 1024 * 1024
)  # bytes of a line that are kept; readers look at the first few thousand

# A line with marks is one that cleaning has changed: the reader shall see for itself.
_WANTED = f"""
select line, line_text from (select row_number() over () as line, line_text from ({line_texts_sql()}))
where regexp_matches(line_text, ?) or (? and (contains(line_text, chr({ord(CONTROL)})) or contains(line_text, chr({ord(OVERLONG)}))))
"""


def sifted(connection: Any, file: SourceFile, reader: Reader, latest: datetime) -> SourceFile:
    """The file for its reader: of a large log the lines that it wants, else the file as it is.

    UTF-16 is left as it is. The connection is used while the reader goes through the lines.
    """
    wanted = getattr(reader, "wanted_lines", None)
    is_utf16 = file.starts_with(codecs.BOM_UTF16_LE) or file.starts_with(codecs.BOM_UTF16_BE)
    if wanted is None or is_utf16 or file.path.stat().st_size < LARGE:
        return file

    def take(result: ReadResult) -> None:
        add_result(connection, file, reader, result, latest)

    said = (file.path, file.name, file.sha256, file.hints, file.open_table, file.hear, file.seen)
    return SiftedFile(*said, connection, wanted, take)


@dataclass
class SiftedFile(SourceFile):
    """A file that shows the lines its reader wants, and every line while the reader asks for all."""

    connection: Any = None
    wanted: str = ""
    take: Callable[[ReadResult], None] = lambda _: None
    _count: int = field(default=0, repr=False)

    @property
    def line_count(self) -> int:
        """Lines that were gone through, shown or not."""
        return self._count

    def hand_over(self, result: ReadResult) -> None:
        """Stage readings and refused lines when they have become many."""
        if len(result.readings) + len(result.rejected) >= _MANY:
            self.take(ReadResult(readings=result.readings, rejected=result.rejected))
            result.readings, result.rejected = [], []

    def numbered(self, needs_all: Callable[[], bool] = lambda: True) -> Iterator[tuple[int, str]]:
        """Number and text of lines in order; of each piece the last unwanted line is shown as well.

        By that a reader knows the last line of the file, and the last before its last wanted ones.
        """
        self._count = 0
        with tempfile.TemporaryDirectory(prefix="fabric-") as folder:
            for piece in whole_lines(self.path, _PIECE, lambda size: self.hear(size, "")):
                start = 0
                while start < len(piece) and (not self.wanted or needs_all()):
                    end = piece.find(b"\n", start)
                    end = len(piece) if end < 0 else end
                    self._count += 1
                    yield self._count, _text(piece[start:end])
                    start = end + 1
                if start < len(piece):
                    before, rest = self._count, piece[start:] if start else piece
                    lines = rest.count(b"\n") + (not rest.endswith(b"\n"))
                    self._count += lines
                    for number, text in self._wanted_of(rest, lines, Path(folder) / "piece.txt"):
                        yield before + number, text

    def _wanted_of(self, piece: bytes, count: int, scratch: Path) -> list[tuple[int, str]]:
        """Number within the piece and text of the lines to show."""
        is_as_it_was = write_clean(piece, scratch)
        values = [glob_safe(str(scratch)), self.wanted, not is_as_it_was]
        try:
            found: list[tuple[int, str]] = self.connection.execute(_WANTED, values).fetchall()
        except DatabaseError:  # its scanner failed on something: the reader goes through all lines
            return list(enumerate(map(_text, _split(piece)), 1))
        if not is_as_it_was:
            lines = _split(piece)
            found = [(number, _text(lines[number - 1])) for number, _ in found]
        _add_last_unwanted(found, piece, count)
        return found


def _add_last_unwanted(found: list[tuple[int, str]], piece: bytes, number: int) -> None:
    """Add to the found lines, in its place, the last of all `number` lines that is none of them."""
    end = len(piece) - piece.endswith(b"\n")
    at = len(found)
    while at and found[at - 1][0] == number:
        at, number = at - 1, number - 1
        end = piece.rfind(b"\n", 0, end)
    if number:
        found.insert(at, (number, _text(piece[piece.rfind(b"\n", 0, end) + 1 : end])))


def _split(piece: bytes) -> list[bytes]:
    lines = piece.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def _text(line: bytes) -> str:
    return line.decode("utf-8", errors="replace").removesuffix("\r")
