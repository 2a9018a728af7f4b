"""Large files of a drop read apart: on the workers of an engine, or not at all when they were read before.

The rows come into the staging tables in the order of the files either way, so the tables are those of a
reading in one go. What is kept of a file is `workflows.staged_shelf`; small drops never come here.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from fabric_pipeline.engine.base import Engine
from fabric_pipeline.engine.local import LocalEngine
from fabric_pipeline.errors import FabricError, PipelineError
from fabric_pipeline.model.progress import Moment, Tell
from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.settings import Settings
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.drop import Drop, FileStamp
from fabric_pipeline.sources.registry import BUILT_IN, Match
from fabric_pipeline.store.columns import DatabaseError
from fabric_pipeline.store.duck import session
from fabric_pipeline.store.parquet_rows import ParquetFile
from fabric_pipeline.store.shard_files import Manifest, Place, fetched, send
from fabric_pipeline.workflows import staging
from fabric_pipeline.workflows.file_reading import refused_whole, understood
from fabric_pipeline.workflows.staged_shelf import (
    UNUSABLE,
    FileRead,
    Marks,
    find_read,
    keep_read,
    marks,
    our_reader,
    take_read,
)
from fabric_pipeline.workflows.staged_trim import MOST_BYTES, trim_folder

FROM_BYTES = 64 * 10**6  # of files worth it; a drop below is read faster than anything is kept
_LEAST_KEPT = (
    2 * 1024 * 1024
)  # bytes of one file; below, writing what was read costs too much of it
_LEAST_SENT = 256 * 1024  # bytes of one file that a worker is given
READING = "reading large files"
LOCAL = LocalEngine.name  # reads in this process, so nothing is read ahead of its turn


@dataclass(frozen=True, slots=True)
class Aside:
    """Where what was read of large files is kept, and the engine that may read them."""

    place: Place
    engine: Engine


def aside_of(settings: Settings, engine: Engine) -> Aside:
    """The folder of the home; for workers that do not see it, their object store."""
    url = "" if engine.name == LOCAL else settings.shard_store
    return Aside(Place(url, str(settings.staged)), engine)


@dataclass(frozen=True, slots=True)
class ReadItem:
    """One file for a worker. `address` is where its bytes are, as `shard_files.send` gave it."""

    read: FileRead
    key: str
    address: str
    stamp: FileStamp
    latest: datetime
    place: Place


def read_one(item: ReadItem) -> Manifest | None:
    """Read one file and keep what was understood of it; what is there already is not read again.

    None for a file that has something wrong with it: it is read again where that is told.
    """
    if item.key != item.read.key:
        raise PipelineError(
            "a worker has another version of the pipeline",
            "install the same version on all workers",
        )
    if (kept := find_read(item.place, item.read, item.latest)) is not None:
        return kept
    with (
        fetched(item.place, [item.address], [item.read.sha256]) as (path,),
        closing(session()) as con,
    ):
        staging.prepare(con, [item.stamp], item.read.zone)
        file = SourceFile(path, item.stamp.name, item.read.sha256, item.read.hints, ParquetFile)
        since, reader = marks(con), our_reader(item.read.format_id)
        problem, result = understood(con, file, reader, item.stamp.size, item.latest)
        is_moving = item.place.shared and not item.stamp.is_unchanged()
        if problem or is_moving or refused_whole(result):
            return None
        return keep_read(con, item.place, item.read, item.latest, since, result)


def _least(engine: Engine) -> int:
    return _LEAST_KEPT if engine.name == LOCAL else _LEAST_SENT


def _is_large(stamp: FileStamp, match: Match, least: int) -> bool:
    """True for a file that is large enough and read by a reader of ours: another's code has no hash here."""
    form = match.format_id
    return stamp.size >= least and form in BUILT_IN and our_reader(form) is match.reader


def files_apart(
    aside: Aside | None,
    drop: Drop,
    turns: Sequence[Sequence[tuple[FileStamp, Match]]],
    latest: datetime,
    tell: Tell,
) -> FilesApart | None:
    """The large files of a drop that has enough of them, else None."""
    if aside is None:
        return None
    least = _least(aside.engine)
    large = (
        stamp.size for turn in turns for stamp, match in turn if _is_large(stamp, match, least)
    )
    return FilesApart(aside, drop, turns, latest, tell) if sum(large) >= FROM_BYTES else None


@dataclass(slots=True)
class FilesApart:
    """The large files of one drop: `take` what is known of them, `keep` what was just read.

    `turns` are the files in the order of reading, in groups of which each may name nodes for the next.
    """

    aside: Aside
    drop: Drop
    turns: Sequence[Sequence[tuple[FileStamp, Match]]]
    latest: datetime
    tell: Tell
    problems: list[str] = field(default_factory=list)
    _is_more_kept: bool = False
    _sent: dict[str, tuple[FileRead, Manifest | None]] = field(default_factory=dict)

    def take(
        self, connection: Any, stamp: FileStamp, file: SourceFile, match: Match
    ) -> ReadResult | None:
        """Stage what is known of a file without reading it; None, and nothing staged, when it has to be read."""
        if not self._is_apart(stamp, match):
            return None
        read = self._read_of(file, match)
        sent, kept = self._sent.pop(stamp.name, (None, None))
        if sent != read:  # nobody read it, or with the name of another host
            kept = find_read(self.aside.place, read, self.latest)
        if kept is None:
            return None
        try:
            result = take_read(connection, self.aside.place, kept, file.name)
        except UNUSABLE:
            staging.forget(connection, file.name)
            return None
        # Work of its own, because its rate says nothing of the files that have to be read.
        self.tell(Moment(f"{stamp.name}: taken as it was read", "take"))
        return result

    def begin(self, connection: Any, stamp: FileStamp, match: Match) -> Marks | None:
        """Where the rows of a file begin that is to be kept; None for one that is not."""
        return marks(connection) if self._is_apart(stamp, match) else None

    def keep(
        self, connection: Any, stamp: FileStamp, file: SourceFile, match: Match, since: Marks, result: ReadResult
    ) -> None:  # fmt: skip
        """Keep what was read of a file that held still meanwhile. Not being able to is told, no more."""
        if not stamp.is_unchanged():
            return
        read = self._read_of(file, match)
        try:
            keep_read(connection, self.aside.place, read, self.latest, since, result)
            self._is_more_kept = True
        except (FabricError, DatabaseError, OSError) as problem:
            said = (str(problem).splitlines() or [""])[0][:300]
            self.problems.append(f"{stamp.name}: read, but not kept for the next reading ({said})")

    def start_turn(self, turn: int, known_nodes: frozenset[str]) -> None:
        """Give the files of one turn to the workers, with the nodes that are known by now."""
        if not self._is_sent:
            return
        reads = [
            (stamp, self._read_of(self.drop.source(stamp, known_nodes), match))
            for stamp, match in self.turns[turn]
            if self._is_apart(stamp, match)
        ]
        place = self.aside.place
        missing = [(s, r) for s, r in reads if find_read(place, r, self.latest) is None]
        if not missing:
            return
        addresses = send(place, [s.path for s, _ in missing], [s.sha256 for s, _ in missing])
        items = [
            ReadItem(read, read.key, address, stamp, self.latest, place)
            for (stamp, read), address in zip(missing, addresses, strict=True)
        ]
        self._is_more_kept = True
        done = self.aside.engine.map(read_one, items, words=READING, tell=self.tell)
        failed: dict[str, list[str]] = {}
        for item, one in zip(items, done, strict=True):
            if one.is_failed:
                failed.setdefault(one.problem, []).append(item.stamp.name)
            else:
                self._sent[item.stamp.name] = (item.read, one.result)
        for problem, (name, *more) in failed.items():
            others = f" and {len(more)} more" if more else ""
            self.problems.append(f"{name}{others}: read here, a worker failed: {problem}")

    def end(self) -> list[str]:
        """Keep the folder within its bounds; returns what went wrong on the way, in words."""
        if self._is_more_kept and self.aside.place.shared:
            with suppress(OSError):  # another process trims it as well
                trim_folder(Path(self.aside.place.folder), MOST_BYTES)
        return self.problems

    @property
    def _is_sent(self) -> bool:
        return self.aside.engine.name != LOCAL

    def _is_apart(self, stamp: FileStamp, match: Match) -> bool:
        return _is_large(stamp, match, _least(self.aside.engine))

    def _read_of(self, file: SourceFile, match: Match) -> FileRead:
        return FileRead(file.sha256, match.format_id, file.hints, self.drop.meta.timezone_name)
