"""Making any text file fit for DuckDB's line scanner without losing a line or its number.

The scanner ends a line at a lone carriage return, stops at bytes that are not UTF-8 and has a longest
line; a file with such things is copied with marks in their place. What the marks mean to a row is said
in `sources.normalized.counters_sql`.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

from fabric_pipeline.model.records import MAX_TEXT
from fabric_pipeline.sources.normalized.counters_sql import CONTROL, LINE_SEPARATOR, OVERLONG

_LONG_LINE = 1_000_000  # characters; a longer line is cut in the clean copy and then refused
_LONGEST = (
    128 * 1024 * 1024
)  # bytes of a line that are kept; readers look at the first few thousand
_CHUNK = 4 * 1024 * 1024
_PIECE = 64 * 1024 * 1024  # bytes of a large file that are read at once


@contextlib.contextmanager
def clean_copy(path: Path) -> Iterator[Path]:
    """The file itself when DuckDB's line scanner can take it as it is, else a cleaned scratch copy.

    Cleaning keeps the number of lines. What no row can hold is marked (`BAD_BYTES` and
    its neighbours), so that each such line is refused as itself; UTF-16 becomes UTF-8.
    """
    if _is_clean(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="fabric-") as folder:
        copy = Path(folder) / "clean.txt"
        with (
            path.open(encoding=_encoding(path), errors="replace", newline="\n") as source,
            copy.open("w", encoding="utf-8", newline="\n") as target,
        ):
            target.writelines(_bounded_lines(source))
        yield copy


def clean_pieces(
    path: Path, size: int = _PIECE, gone_through: Callable[[int], None] = lambda _: None
) -> Iterator[tuple[Path, int]]:
    """A UTF-8 file in scratch copies of some `size` bytes that DuckDB's line scanner can take.

    Each comes with the number of lines before it and is gone when the next one is asked for; then
    `gone_through` hears the bytes up to its end. Lines are whole and marked as `clean_copy` does.
    """
    before = 0
    with tempfile.TemporaryDirectory(prefix="fabric-") as folder, path.open("rb") as handle:
        piece = Path(folder) / "piece.txt"
        while data := handle.read(size):
            data += _rest_of_line(handle)
            write_clean(data, piece)
            yield piece, before
            before += data.count(b"\n")
            gone_through(handle.tell())


def whole_lines(
    path: Path, size: int, gone_through: Callable[[int], None] = lambda _: None
) -> Iterator[bytes]:
    """A file in pieces of some `size` bytes, each of whole lines, without UTF-8's mark in front.

    `gone_through` hears the bytes up to the end of each piece when the next one is asked for.
    """
    with path.open("rb") as handle:
        if handle.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
            handle.seek(0)
        while piece := handle.read(size):
            if not piece.endswith(b"\n"):
                piece += handle.readline(_LONGEST)
                while not piece.endswith(b"\n") and (more := handle.readline(_LONGEST)):
                    piece = piece if more[-1:] != b"\n" else piece + b"\n"
            yield piece
            gone_through(handle.tell())


def write_clean(data: bytes, path: Path) -> bool:
    """Write lines of a UTF-8 file so that DuckDB's line scanner can take them; False: with marks."""
    is_plain = data.isascii() and not any(end in data for end in (b"\r", b"\0", b"\x1f"))
    if (is_plain and not _has_long_line(data)) or _is_clean_data(io.BytesIO(data)):
        path.write_bytes(data)
        return True
    text = io.TextIOWrapper(io.BytesIO(data), "utf-8", "replace", newline="\n")
    with path.open("w", encoding="utf-8", newline="\n") as target:
        target.writelines(_bounded_lines(text))
    return False


def _rest_of_line(handle: BinaryIO) -> bytes:
    """The bytes up to the next line end; of an overlong line only so many that it is seen as one."""
    rest = handle.readline(_LONG_LINE)
    while rest and not rest.endswith(b"\n"):
        more = handle.readline(_LONG_LINE)
        if not more:
            break
        rest = rest[: 2 * _LONG_LINE] + (more if len(rest) < 2 * _LONG_LINE else more[-1:])
    return rest


def _is_clean(path: Path) -> bool:
    """True when DuckDB takes the name of the file and all that is in it."""
    if os.fsencode(path).decode("utf-8", errors="replace") != str(path):
        return False  # DuckDB takes no such file name
    with path.open("rb") as handle:
        return _is_clean_data(handle)


def _is_clean_data(handle: BinaryIO) -> bool:
    """True for UTF-8 without a mark in front, with one kind of line ends and no overlong line."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    ends = {b"\n": 0, b"\r": 0, b"\r\n": 0}
    before = b""
    if handle.read(3) == codecs.BOM_UTF8:
        return False
    handle.seek(0)
    try:
        while chunk := handle.read(_CHUNK):
            decoder.decode(chunk)
            if b"\0" in chunk or b"\x1f" in chunk or _has_long_line(chunk):
                return False
            for end in ends:
                ends[end] += chunk.count(end)
            ends[b"\r\n"] += before == b"\r" and chunk.startswith(b"\n")
            before = chunk[-1:]
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return ends[b"\r"] == 0 or ends[b"\r"] == ends[b"\r\n"] == ends[b"\n"]


def _has_long_line(chunk: bytes) -> bool:
    """True when a part of the chunk without a line end is longer than a line may be."""
    start = 0
    while len(chunk) - start > _LONG_LINE:
        end = chunk.rfind(b"\n", start, start + _LONG_LINE)
        if end < 0:
            return True
        start = end + 1
    return False


def _encoding(path: Path) -> str:
    """UTF-16 when the file begins as such, else UTF-8."""
    with path.open("rb") as handle:
        is_utf16 = handle.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return "utf-16" if is_utf16 else "utf-8-sig"


def _bounded_lines(source: TextIO) -> Iterator[str]:
    """Lines with what no row can hold marked; only a line feed ends a line, an overlong one is cut."""
    marks = "\ufeff"  # of byte order, in front of the first line: DuckDB would drop one of its own
    while line := source.readline(_LONG_LINE):
        text, is_ended = line.removesuffix("\n"), line.endswith("\n")
        text = text.rstrip("\r").lstrip(marks)  # several line ends: converted twice
        marks = ""
        for character in ("\0", "\r", LINE_SEPARATOR):
            text = text.replace(character, CONTROL)
        if not is_ended and len(line) == _LONG_LINE:
            text = text[:MAX_TEXT] + OVERLONG
            while (line := source.readline(_LONG_LINE)) and not line.endswith("\n"):
                pass
            is_ended = line.endswith("\n")
        yield text + ("\n" if is_ended else "")
