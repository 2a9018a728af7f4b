"""Entries of a tar, in order, from a stream that is read once.

`tarfile` reads the headers, out of a stream that bounds what a header may take; content is read here.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator

from fabric_pipeline.sources.archives.items import Item
from fabric_pipeline.sources.archives.limits import (
    ArchiveError,
    EndsEarlyError,
    EntryError,
    RefusedError,
)
from fabric_pipeline.sources.archives.names import plain_name, printable
from fabric_pipeline.sources.archives.streams import CUT, PIECE, Inflow

_SHOWN = 200  # characters of a name that cannot be taken, and of the aim of a link


def tar_items(stream: Inflow, header_bytes: int) -> Iterator[Item]:
    """All entries but folders.

    Raises ArchiveError for what is no tar, EndsEarlyError behind the last sound entry when it is cut
    or a header is damaged, and when something that was not read lies behind its end.
    """
    tar: tarfile.TarFile | None = None
    last = ""
    while True:
        stream.header_room = header_bytes
        try:
            tar = tar or tarfile.TarFile(fileobj=stream, mode="r", errors="surrogateescape")  # type: ignore[arg-type]  # reads, tells, seeks
            member = tar.next()
        except RefusedError:
            raise
        except Exception as problem:  # tarfile raises many kinds for damaged headers
            stream.is_blank_to_the_end()  # its checksum may say that all of it is damaged
            raise EndsEarlyError(_why(problem, last)) from None
        if member is None:
            break
        # Neither kept nor inherited: both can be made to grow without end.
        tar.members.clear()  # type: ignore[attr-defined]  # the stubs do not know it
        tar.pax_headers = {}
        if not member.isdir() or member.size:
            item = _item(stream, member)
            last = item.name
            yield item
    _check_end(stream, last)


def _item(stream: Inflow, member: tarfile.TarInfo) -> Item:
    try:
        name = plain_name(member.name)
        if problem := _refusal(member):
            raise EntryError(problem)
    except EntryError as refusal:
        return Item(printable(member.name[:_SHOWN]), refusal.rule)
    return Item(name, content=_content(stream, member.offset_data, member.size))


def _refusal(member: tarfile.TarInfo) -> str:
    if member.issym() or member.islnk():
        kind = "symbolic" if member.issym() else "hard"
        aim = printable(member.linkname[:_SHOWN])
        return f"{kind} link to {aim!r}, not followed; pack the file itself (tar -h)"
    if member.isdir():
        return "a folder with content, not read; pack it again"
    if not member.isreg():
        return "a device or pipe, not read; save its content to a file"
    if member.sparse is not None:
        return "a sparse file, not read; pack it again without holes"
    return "its size is negative; pack it again" if member.size < 0 else ""


def _content(stream: Inflow, start: int, size: int) -> Iterator[bytes]:
    stream.seek(start)
    while size > 0:
        piece = stream.take(min(PIECE, size))
        if not piece:
            raise EndsEarlyError(CUT)
        size -= len(piece)
        yield piece


def _why(problem: Exception, last: str) -> str:
    if str(problem).startswith("unexpected end"):
        return CUT
    return f"its headers are damaged behind {last or 'its start'}, the rest was not read; pack it again"


def _check_end(stream: Inflow, last: str) -> None:
    behind = last or "its start"
    if stream.last_read.strip(b"\0"):
        if stream.tell() <= len(stream.last_read):
            raise ArchiveError("is no readable tar; pack it again")
        stream.is_blank_to_the_end()
        raise EndsEarlyError(f"damaged behind {behind}, the rest was not read; copy it again")
    if not stream.last_read:
        raise EndsEarlyError(f"it has no end mark behind {behind}; check that it was copied whole")
    if not stream.is_blank_to_the_end():
        raise EndsEarlyError(
            f"content behind its end mark, behind {behind}, was not read; if archives were joined, "
            "drop each of them"
        )
    if stream.rest:
        raise EndsEarlyError(stream.rest)
