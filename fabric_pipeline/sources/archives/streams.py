"""Bytes out of a compressed file, piece by piece, forward only, with the bound on growth.

Nothing here asks a library to unpack more than one piece at a time, so that memory stays flat whatever
a file claims. What the bytes are is told apart in `tar_items` and `zip_items`.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import BinaryIO, Protocol

from fabric_pipeline.sources.archives.limits import (
    ArchiveError,
    EndsEarlyError,
    Meter,
    bomb_rule,
)

PIECE = 1 << 16
DAMAGED = "its compressed content is damaged, so nothing of it can be trusted; copy it again"
CUT = "it ends too early; copy it again completely"
MAGIC = {"gzip": b"\x1f\x8b", "xz": b"\xfd7zXZ\x00", "bzip2": b"BZh"}
_PADDED = ("gzip", "xz")  # zero bytes may follow


class _Codec(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _Zlib:
    """zlib with the face of the other two."""

    def __init__(self, wbits: int) -> None:
        self._inner = zlib.decompressobj(wbits)
        self._is_full = False  # output may wait inside zlib though all input is taken

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not (self._inner.unconsumed_tail or self._is_full)

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        piece = self._inner.decompress(self._inner.unconsumed_tail + data, max_length)
        self._is_full = len(piece) == max_length
        return piece


class Inflow:
    """Reads like a file for `tarfile`: `read`, `tell`, and `seek` forwards or one byte back.

    `kind`: gzip, xz, bzip2 (any number of them joined), deflate, bzip2-entry, or "" for plain bytes;
    `size`: bytes of the packed file. Raises ArchiveError for damage and for growth beyond the ratio,
    EndsEarlyError where the file is cut. `rest` tells, at the end, of foreign bytes behind it.
    """

    def __init__(self, handle: BinaryIO, kind: str, size: int, meter: Meter) -> None:
        self._handle, self._kind, self._meter = handle, kind, meter
        self._room = meter.limits.ratio * size + meter.limits.slack_bytes
        self._codec = self._new()
        self._held, self._at, self._position = b"", 0, 0
        self.header_room = meter.limits.header_bytes
        self.last_read = b""
        self.rest = ""

    def read(self, size: int = -1) -> bytes:
        """Exactly so many bytes, less only at the end; for headers, which may take `header_room`."""
        self.header_room -= max(size, 1)
        if size < 0 or self.header_room < 0:
            raise ArchiveError("a header in it is longer than any real one; pack it again")
        self.last_read = self.take(size)
        return self.last_read

    def take(self, size: int) -> bytes:
        """As `read`, for content."""
        parts = []
        while size > 0:
            if self._at == len(self._held):
                before = self._held[-1:]
                self._held = before + self._pull()
                self._at = len(before)
                if self._at == len(self._held):
                    break
            part = self._held[self._at : self._at + size]
            self._at += len(part)
            self._position += len(part)
            size -= len(part)
            parts.append(part)
        return b"".join(parts)

    def peek(self, size: int) -> bytes:
        """The next bytes, which stay to be read."""
        while len(self._held) - self._at < size:
            more = self._pull()
            if not more:
                break
            self._held += more
        return self._held[self._at : self._at + size]

    def tell(self) -> int:
        """Bytes read so far."""
        return self._position

    def seek(self, position: int) -> None:
        """Skip to a later byte, or step one back, as `tarfile` does before each header."""
        if position == self._position - 1 and self._at > 0:
            self._at -= 1
            self._position -= 1
        elif position < self._position:
            raise ArchiveError("its entries lie over one another; pack it again")
        while self._position < position and self.take(min(PIECE, position - self._position)):
            pass

    def is_blank_to_the_end(self) -> bool:
        """Read the rest (its checksum stands at the end); False when more than zeros was there."""
        blank = True
        while piece := self.take(PIECE):
            blank = blank and not piece.strip(b"\0")
        return blank

    def _pull(self) -> bytes:
        """The next piece, b"" at the end."""
        try:
            piece = self._inflated() if self._codec else self._raw()
        except (zlib.error, lzma.LZMAError, ValueError, EOFError) as problem:
            big = isinstance(problem, lzma.LZMAError) and "emory" in str(problem)
            said = "it needs more memory to unpack than any usual preset; pack it again"
            raise ArchiveError(said if big else DAMAGED) from None
        except OSError as problem:
            if problem.errno is None:  # bz2 says so of damaged data
                raise ArchiveError(DAMAGED) from None
            raise
        self._room -= len(piece)
        if self._room < 0:
            raise ArchiveError(bomb_rule(self._meter.limits))
        return piece

    def _raw(self) -> bytes:
        self._meter.tick()
        return self._handle.read(PIECE)

    def _inflated(self) -> bytes:
        codec = self._codec
        while codec is not None:
            data = b""
            if codec.eof:
                data = self._next_stream(codec.unused_data)
                if not data:
                    return b""
                self._codec = codec = self._new()
            elif codec.needs_input and not (data := self._raw()):
                raise EndsEarlyError(f"{CUT} (what came before the cut has no checksum)")
            if codec is not None and (piece := codec.decompress(data, PIECE)):
                return piece
        return b""

    def _next_stream(self, data: bytes) -> bytes:
        """Beginning of a stream that is joined on, b"" when there is none."""
        magic = MAGIC.get(self._kind)
        if magic is None:
            return b""
        while True:
            if self._kind in _PADDED:
                data = data.lstrip(b"\0")
            if len(data) >= len(magic):
                break
            more = self._raw()
            if not more:
                break
            data += more
        if data and not data.startswith(magic):
            self.rest = f"bytes behind its end are no {self._kind} and were not read; pack it again"
            return b""
        return data

    def _new(self) -> _Codec | None:
        memory = self._meter.limits.memory_bytes
        makers: dict[str, Callable[[], _Codec]] = {
            "gzip": lambda: _Zlib(31),
            "deflate": lambda: _Zlib(-15),
            "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=memory),
            "bzip2": bz2.BZ2Decompressor,
            "bzip2-entry": bz2.BZ2Decompressor,
        }
        return makers[self._kind]() if self._kind else None
