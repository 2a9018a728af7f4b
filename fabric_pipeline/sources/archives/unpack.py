"""Taking everything out of an archive, and out of archives inside it, into one folder.

Files are numbered on disk: names out of the archive stand in the list that comes back and never touch
the file system. Every entry is in that list, read or refused; where the folder lies and how long it is
kept is decided by the caller.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from fabric_pipeline.sources.archives.items import Item
from fabric_pipeline.sources.archives.kinds import COMPRESSION, is_container, kind_of
from fabric_pipeline.sources.archives.limits import (
    LIMITS,
    ArchiveError,
    DeliveryError,
    EndsEarlyError,
    EntryError,
    Limits,
    Meter,
    PassingError,
    RefusedError,
)
from fabric_pipeline.sources.archives.names import printable, title_of
from fabric_pipeline.sources.archives.streams import PIECE, Inflow
from fabric_pipeline.sources.archives.tar_items import tar_items
from fabric_pipeline.sources.archives.zip_items import zip_items

# Changes whenever the same archive would be taken apart differently.
RULES = "1"


@dataclass(slots=True)
class Entry:
    """One entry: `name` inside the archive, with `!` behind each archive in between.

    `file`: its name in the folder, "" when it was refused. `kind`: of an archive that was opened, and
    `inside` the number of files taken out of it. `problem`: why it was refused, or what is wrong with
    an archive that was opened none the less.
    """

    name: str
    file: str = ""
    size: int = 0
    sha256: str = ""
    kind: str = ""
    inside: int = 0
    problem: str = ""


@dataclass(slots=True)
class Contents:
    """What came out of a delivered archive; `entries` in their order. See `Entry` for the rest."""

    kind: str
    entries: list[Entry] = field(default_factory=list)
    inside: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Level:
    """How deep an archive lies: archives around it, and whether the last was one compressed file."""

    archives: int = 0
    is_compressed: bool = False

    def below(self, kind: str) -> _Level:
        return _Level(self.archives + is_container(kind), not is_container(kind))

    def refusal(self, kind: str, limits: Limits) -> str:
        """Why an archive of this kind is not opened here, or ""."""
        if not is_container(kind):
            return "compressed twice, not opened; unpack it once" if self.is_compressed else ""
        if self.archives < limits.archives:
            return ""
        return f"lies more than {limits.archives} archives deep, not opened; unpack the outer ones"


def unpack(
    archive: Path,
    folder: Path,
    name: str,
    is_readable: Callable[[Path], bool],
    limits: Limits = LIMITS,
    clock: Callable[[], float] = time.monotonic,
) -> Contents:
    """Take everything out of `archive` (shown as `name`) into the empty `folder`.

    `is_readable` tells compressed files that a reader takes as they are; those stay whole. Never raises
    for content. Raises OSError when the archive cannot be read, PassingError when time or disk ran out.
    """
    meter = Meter(limits, clock)
    opener = _Opener(folder, is_readable, meter)
    kind = kind_of(archive, meter)
    contents = Contents(kind)
    try:
        contents.inside, contents.problem = opener.open(archive, kind, "", name, _Level())
        contents.entries = opener.entries
    except PassingError:
        raise
    except DeliveryError as refusal:
        opener.roll_back(0)
        contents.problem = refusal.rule
    return contents


class _Opener:
    """Walks through a delivered archive; `entries` grows as it goes."""

    def __init__(self, folder: Path, is_readable: Callable[[Path], bool], meter: Meter) -> None:
        self.entries: list[Entry] = []
        self._folder, self._is_readable, self._meter = folder, is_readable, meter
        self._names: set[str] = set()
        self._next = 0

    def open(self, path: Path, kind: str, prefix: str, name: str, level: _Level) -> tuple[int, str]:
        """Open one archive; returns the number of files in it, and what is wrong with it."""
        first, problem = len(self.entries), ""
        try:
            with path.open("rb") as handle:
                for item in _items(handle, kind, path.stat().st_size, name, self._meter):
                    self._meter.entry()
                    self._take(item, prefix, level.below(kind))
        except ArchiveError as refusal:
            self.roll_back(first)
            return 0, refusal.rule
        except EndsEarlyError as end:
            problem = end.rule
        if len(self.entries) == first:
            problem = problem or "no file in it; nothing was measured in it"
        return sum(bool(e.file) and not e.kind for e in self.entries[first:]), problem

    def roll_back(self, first: int) -> None:
        """Forget the entries from the one at `first` on, with their files."""
        for entry in self.entries[first:]:
            self._names.discard(entry.name)
            if entry.file:
                (self._folder / entry.file).unlink()
        del self.entries[first:]

    def _take(self, item: Item, prefix: str, level: _Level) -> None:
        entry = Entry(self._unique(prefix + item.name), problem=item.problem)
        if not entry.problem and entry.name != prefix + item.name:
            entry.problem = "a second entry of this name, not read; rename it and pack again"
        self.entries.append(entry)
        if entry.problem:
            return
        try:
            self._store(entry, item.content)
        except EntryError as refusal:
            entry.problem = refusal.rule
        except EndsEarlyError as end:
            entry.problem = end.rule
            raise
        if entry.file:
            self._open_inner(entry, level)

    def _open_inner(self, entry: Entry, level: _Level) -> None:
        path = self._folder / entry.file
        kind = kind_of(path, self._meter)
        if not kind or (not is_container(kind) and self._is_readable(path)):
            return
        entry.problem = level.refusal(kind, self._meter.limits)
        if not entry.problem:
            entry.inside, entry.problem = self.open(path, kind, f"{entry.name}!", entry.name, level)
            entry.kind = kind if entry.inside or not entry.problem else ""
        if not entry.kind:
            path.unlink()
            entry.file = entry.sha256 = ""

    def _unique(self, name: str) -> str:
        """The name, with a number behind it when it is taken."""
        free, count = name, 1
        while free in self._names:
            count += 1
            free = f"{name} #{count}"
        self._names.add(free)
        return free

    def _store(self, entry: Entry, content: Iterable[bytes]) -> None:
        """Write the content under the next number; nothing stays of content that is refused."""
        file = f"{self._next:06d}"
        self._next += 1
        path, digest = self._folder / file, hashlib.sha256()
        try:
            with path.open("xb") as out:
                for piece in content:
                    self._count(entry, len(piece))
                    digest.update(piece)
                    _write(out, piece)
        except RefusedError:
            path.unlink()
            raise
        entry.file, entry.sha256 = file, digest.hexdigest()

    def _count(self, entry: Entry, size: int) -> None:
        entry.size += size
        self._meter.wrote(size)
        most = self._meter.limits.entry_bytes
        if entry.size > most:
            raise EntryError(
                f"more than {most} bytes when unpacked, not read; unpack it and drop the file"
            )


def _items(handle: BinaryIO, kind: str, size: int, name: str, meter: Meter) -> Iterator[Item]:
    if kind == "zip":
        return zip_items(handle, size, meter)
    stream = Inflow(handle, COMPRESSION.get(kind, ""), size, meter)
    if is_container(kind):
        return tar_items(stream, meter.limits.header_bytes)
    return _single(stream, printable(title_of(name).strip(".")) or "content")


def _single(stream: Inflow, name: str) -> Iterator[Item]:
    """The one file of a gzip, xz or bzip2, named as the archive without its ending."""
    yield Item(name, content=iter(lambda: stream.take(PIECE), b""))
    if stream.rest:
        raise EndsEarlyError(stream.rest)


def _write(out: BinaryIO, piece: bytes) -> None:
    try:
        out.write(piece)
    except OSError as problem:
        raise PassingError(
            f"cannot be unpacked ({problem.strerror}); make room and run again"
        ) from None
