"""The contract between the pipeline and a reader of one file format.

A reader looks at content, never at a file's name, to say how sure it is that it can read a file, and
turns the file into plain records. It does not judge, does not import Dagster, DuckDB or pandas, and
never raises for bad content: a line it cannot read becomes a `RejectedLine` with the rule in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol

from fabric_pipeline.errors import BadInputError
from fabric_pipeline.model.records import ReadResult

HEAD_BYTES = 128 * 1024
# A file takes several times its size in memory when it is held as text and lines; 1 GiB is more than
# any tool's output but logs and series, which are read in pieces.
LARGEST_WHOLE = 1024**3


class TooLargeError(BadInputError):
    """A file that a reader has to hold whole is too large for that."""


# Bytes of a file that were gone through, and the words for this pass ("" when there is but one).
Hear = Callable[[int, str], None]


def _nobody(_size: int, _words: str) -> None:
    """Hears nothing."""


@dataclass(frozen=True, slots=True)
class Hints:
    """What the surroundings of a file say: drop.yaml, the folder it lies in.

    `node` is the host a capture was taken on; `time` when; `timezone` for local times without zone.
    """

    node: str = ""
    time: datetime | None = None
    timezone: tzinfo = UTC


class TableRows(Protocol):
    """Rows of a table file such as Parquet, opened by whoever hands the file to a reader."""

    columns: Sequence[str]

    def rows(self, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """All rows with these columns, in the order of the file; may raise errors.UnreadableTableError."""
        ...


@dataclass
class SourceFile:
    """One file of a drop, read lazily.

    `name` is how the file is shown (path relative to the drop). `text` replaces undecodable bytes
    by U+FFFD so that a reader sees every line.
    `open_table` opens Parquet for readers, which know no database; None when nobody provides it.
    `hear` is told how far a large file was gone through, by what goes through it in pieces.
    `seen` keeps what readers of one family worked out of the head, so that the next need not.
    """

    path: Path
    name: str
    sha256: str = ""
    hints: Hints = field(default_factory=Hints)
    open_table: Callable[[Path], TableRows] | None = None
    hear: Hear = field(default=_nobody, repr=False, compare=False)
    seen: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def data(self) -> bytes:
        """The whole file; raises TooLargeError for one above `LARGEST_WHOLE`."""
        if (size := self.path.stat().st_size) > LARGEST_WHOLE:
            raise TooLargeError(
                f"{size / LARGEST_WHOLE:.1f} GiB are more than a file of this kind may have, "
                f"which is read whole (at most {LARGEST_WHOLE / 1024**3:g} GiB)",
                "split it at line ends by time or by host and drop the parts",
            )
        return self.path.read_bytes()

    @cached_property
    def head(self) -> str:
        """The first 128 KiB as text, for format detection."""
        with self.path.open("rb") as handle:
            return _decode(handle.read(HEAD_BYTES))

    @cached_property
    def is_binary(self) -> bool:
        """True when the head holds NUL bytes and is not UTF-16 text."""
        with self.path.open("rb") as handle:
            head = handle.read(HEAD_BYTES)
        return b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff"))

    def starts_with(self, magic: bytes) -> bool:
        """True when the file begins with these bytes."""
        with self.path.open("rb") as handle:
            return handle.read(len(magic)) == magic

    def tail_has(self, needle: bytes, span: int = HEAD_BYTES) -> bool:
        """True when these bytes stand in the last `span` bytes (where Parquet keeps its columns)."""
        with self.path.open("rb") as handle:
            handle.seek(0, 2)
            handle.seek(max(0, handle.tell() - span))
            return needle in handle.read()

    @cached_property
    def text(self) -> str:
        """The whole file as text, line ends as they stand."""
        return _decode(self.data)

    @cached_property
    def lines(self) -> list[str]:
        r"""Lines without their ends; index 0 is line 1. Only \\n and \\r\\n end a line."""
        lines = self.text.split("\n")
        if lines and lines[-1] == "":
            lines.pop()
        return [line.removesuffix("\r") for line in lines]

    def numbered(self, _needs_all: Callable[[], bool] = lambda: True) -> Iterator[tuple[int, str]]:
        """Number (from 1) and text of the lines that a reader with `wanted_lines` has to see.

        Here these are all lines. Of a large file they may be fewer: those that match, and every
        line that comes up while `needs_all` says True.
        """
        yield from enumerate(self.lines, 1)

    def hand_over(self, result: ReadResult) -> None:
        """Offer the readings and refused lines so far, so that those of a large file need no memory.

        Here they stay; of a large file they may be taken out of the result.
        """

    @property
    def line_count(self) -> int:
        """Lines of the file; of a large file known when `numbered` has come to its end."""
        return len(self.lines)


@dataclass(frozen=True, slots=True)
class FormatNote:
    """What people should know of a format; `docs/formats.md` and `doctor --formats` show it.

    `tool`: the command or product that writes it. `versions`: whose output was read, or `not
    stated`. `recognised_by`: what in the content gives it away. `gives`: which counters and facts
    come out, in words. `traps`: what the reader refuses to conclude and what is easily misread,
    one sentence each.
    """

    tool: str
    versions: str
    recognised_by: str
    gives: str
    traps: tuple[str, ...]


class Reader(Protocol):
    """A reader of one format id.

    `yields` lists which of `readings`, `events`, `timings`, `runs`, `topology` it can produce (files
    with topology are read first). `version` changes when the same file would read differently; it is
    stored with every row. A reader may also have class attributes that are no members of this
    protocol, because a reader without them works just as well: `note`, a `FormatNote`; and
    `wanted_lines`, a regular expression that DuckDB knows (RE2) and that matches every line the
    reader has a use for and any number of others. Such a reader takes its lines from
    `SourceFile.numbered` alone, so that of a large file it is shown few; "" wants every line.
    """

    format_id: ClassVar[str]
    version: ClassVar[str]
    yields: ClassVar[frozenset[str]]

    def score(self, file: SourceFile) -> int:
        """0 (certainly not mine) to 100 (certainly mine), from content; cheap, uses `file.head`."""
        ...

    def read(self, file: SourceFile) -> ReadResult:
        """Read the whole file. Never raises for content; see module docstring."""
        ...


def note_of(reader: Reader) -> FormatNote | None:
    """The note of a reader; None for a reader that has none (somebody else's may lack it)."""
    note = getattr(reader, "note", None)
    return note if isinstance(note, FormatNote) else None


def _decode(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace")
