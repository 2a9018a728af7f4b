"""Entries of a zip: `zipfile` reads the list at its end, the content is read here, piece by piece.

Sizes in the list are compared with what comes out and never relied upon; checksums must be right.
"""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

from fabric_pipeline.sources.archives.items import Item
from fabric_pipeline.sources.archives.limits import (
    ArchiveError,
    DeliveryError,
    EndsEarlyError,
    EntryError,
    Limits,
    Meter,
    RefusedError,
    bomb_rule,
)
from fabric_pipeline.sources.archives.names import plain_name, printable
from fabric_pipeline.sources.archives.streams import PIECE, Inflow

_METHODS = {
    zipfile.ZIP_STORED: "",
    zipfile.ZIP_DEFLATED: "deflate",
    zipfile.ZIP_BZIP2: "bzip2-entry",
}
_LOCAL = struct.Struct("<4s22x2H")  # signature, lengths of name and extra field
_LOCAL_SIGNATURE = b"PK\x03\x04"
_ENCRYPTED, _AES = 0x1 | 0x40, 99
_FROM_DOS = 0
_SHOWN = 200
_DAMAGED = "damaged (its checksum or size is not the one stated); copy the archive again"


def zip_items(handle: BinaryIO, size: int, meter: Meter) -> Iterator[Item]:
    """All entries but folders, in the order of the list.

    Raises ArchiveError when the list cannot be read or entries share bytes, DeliveryError for too many.
    """
    listed = _listed(handle, size, meter.limits)
    if len(listed) > meter.limits.entries:
        raise DeliveryError(meter.too_many())
    _check_overlap(listed)
    grown = _Growth(meter.limits, size)
    for info in listed:
        from_windows = info.create_system == _FROM_DOS
        is_folder = info.is_dir() or (from_windows and info.orig_filename.endswith("\\"))
        if is_folder and not info.file_size:
            continue
        try:
            name = plain_name(info.orig_filename, from_windows=from_windows)
            if (
                problem := "a folder with content, not read; pack it again"
                if is_folder
                else _refusal(info)
            ):
                raise EntryError(problem)
        except EntryError as refusal:
            yield Item(printable(info.orig_filename[:_SHOWN]), refusal.rule)
            continue
        yield Item(name, content=_content(handle, info, grown, meter))


@dataclass(slots=True)
class _Growth:
    """What all entries of a zip together may come to; `size`: bytes of the zip."""

    limits: Limits
    size: int
    found: int = 0

    def add(self, size: int) -> None:
        self.found += size
        if self.found > self.limits.ratio * self.size + self.limits.slack_bytes:
            raise ArchiveError(bomb_rule(self.limits))


class _ShortReads:
    """The file as `zipfile` sees it: no single read may be longer than a list of entries can be."""

    def __init__(self, handle: BinaryIO, size: int, most: int) -> None:
        self._handle, self._size, self._most = handle, size, most

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            size = max(0, self._size - self._handle.tell())
        if size > self._most:
            raise ArchiveError("its list of entries is too long; split it or drop the folder")
        return self._handle.read(size)

    def seek(self, position: int, whence: int = 0) -> int:
        return self._handle.seek(position, whence)

    def tell(self) -> int:
        return self._handle.tell()

    def seekable(self) -> bool:
        return True


def _listed(handle: BinaryIO, size: int, limits: Limits) -> list[zipfile.ZipInfo]:
    guarded = _ShortReads(handle, size, limits.directory_bytes)
    try:
        with zipfile.ZipFile(cast("BinaryIO", guarded)) as listing:
            return listing.infolist()
    except RefusedError:
        raise
    except Exception:  # zipfile raises many kinds for damaged lists
        raise ArchiveError(
            "zip without a readable list of entries, which stands at its end; copy it again completely"
        ) from None


def _check_overlap(listed: list[zipfile.ZipInfo]) -> None:
    end = 0
    for info in sorted(listed, key=lambda one: one.header_offset):
        if info.header_offset < end:
            raise ArchiveError(
                "its entries share the same bytes, as in archives made to fill disks"
            )
        end = info.header_offset + _LOCAL.size + info.compress_size


def _refusal(info: zipfile.ZipInfo) -> str:
    form = stat.S_IFMT(info.external_attr >> 16)
    if form == stat.S_IFLNK:
        return "symbolic link, not followed; pack the file itself"
    if form not in (0, stat.S_IFREG):
        return "a device or pipe, not read; save its content to a file"
    if info.flag_bits & _ENCRYPTED or info.compress_type == _AES:
        return "encrypted; pack it again without a password"
    if info.compress_type not in _METHODS:
        return f"compressed by method {info.compress_type}, which is not read; use deflate (zip -Z deflate)"
    return ""


def _content(
    handle: BinaryIO, info: zipfile.ZipInfo, grown: _Growth, meter: Meter
) -> Iterator[bytes]:
    """The content in pieces; raises EntryError when it is not what the list says."""
    handle.seek(max(info.header_offset, 0))
    head = handle.read(_LOCAL.size)
    if len(head) < _LOCAL.size or not head.startswith(_LOCAL_SIGNATURE):
        raise EntryError(_DAMAGED)
    _, name_length, extra_length = _LOCAL.unpack(head)
    start = info.header_offset + _LOCAL.size + name_length + extra_length
    if start + info.compress_size > grown.size:
        raise EntryError(_DAMAGED)
    part = cast("BinaryIO", _Part(handle, start, info.compress_size))
    stream = Inflow(part, _METHODS[info.compress_type], info.compress_size, meter)
    checksum = found = 0
    while piece := _next_piece(stream, bomb_rule(meter.limits)):
        checksum, found = zlib.crc32(piece, checksum), found + len(piece)
        grown.add(len(piece))
        yield piece
    if (checksum, found) != (info.CRC, info.file_size):
        raise EntryError(_DAMAGED)


def _next_piece(stream: Inflow, bomb: str) -> bytes:
    try:
        return stream.take(PIECE)
    except (ArchiveError, EndsEarlyError) as problem:  # of this entry alone
        raise EntryError(bomb if problem.rule == bomb else _DAMAGED) from None


class _Part:
    """A span of a file; each read goes to its own place, because nested archives read between."""

    def __init__(self, handle: BinaryIO, start: int, size: int) -> None:
        self._handle, self._at, self._end = handle, start, start + size

    def read(self, size: int) -> bytes:
        self._handle.seek(self._at)
        piece = self._handle.read(min(size, self._end - self._at))
        self._at += len(piece)
        return piece
