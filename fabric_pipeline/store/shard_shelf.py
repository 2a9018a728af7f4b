"""Where files of shards are kept under names made of their content: what such a shelf can do, and a shared folder as one.

Nothing kept is ever changed in place: a name either has all of its bytes or does not exist. What the
names mean is said in `shard_files`, and an object store as a shelf is in `shard_objects`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from fabric_pipeline.errors import PipelineError
from fabric_pipeline.store.lake import sync_folder


@dataclass(frozen=True, slots=True)
class Kept:
    """One file on a shelf: its name, its bytes, and when it was last put there (UTC, of the shelf's clock)."""

    name: str
    size: int
    modified: datetime


class Shelf(Protocol):
    """Keeps whole files under names with slashes. A failure is an error of `fabric_pipeline.errors`."""

    def words(self, name: str) -> str:
        """The full address of a name, as a person would look for it."""

    def look(self, name: str) -> Kept | None:
        """What is known about a name; None when nothing is kept there."""

    def keep_file(self, name: str, path: Path, sha256: str) -> None:
        """Keep the bytes of a file, over what was there; refused when they do not have this hash."""

    def keep_text(self, name: str, text: str) -> None:
        """Keep a small text, over what was there."""

    def text(self, name: str, most_bytes: int) -> tuple[str, datetime] | None:
        """A small text and when it was put there; None when there is none or it is none."""

    def fetch(self, kept: Kept, target: Path) -> str:
        """Make the new file `target` with these bytes; returns the SHA-256 of what has arrived."""

    def listed(self, under: str) -> Iterator[Kept]:
        """Everything kept under a folder, in no order."""

    def remove(self, names: Sequence[str]) -> None:
        """Forget these names; one that has gone already is no error."""


def sha256_of(stream: BufferedReader) -> str:
    """Hash of the rest of a stream."""
    return hashlib.file_digest(stream, "sha256").hexdigest()


def checked_hash(stream: BufferedReader, path: Path, sha256: str) -> None:
    """Refuse a file whose bytes are not those that were meant; its hash would be a false name."""
    if sha256_of(stream) != sha256:
        raise PipelineError(
            f"{path} is not the file with the SHA-256 {sha256}: it was changed meanwhile",
            "run again",
        )


@dataclass(frozen=True, slots=True)
class FolderShelf:
    """A folder that all workers see. Files are linked into it where the file system can, else copied."""

    root: Path

    def words(self, name: str) -> str:
        """See `Shelf.words`."""
        return str(self.root / name)

    def look(self, name: str) -> Kept | None:
        """See `Shelf.look`."""
        try:
            found = (self.root / name).stat()
        except FileNotFoundError:
            return None
        return Kept(name, found.st_size, datetime.fromtimestamp(found.st_mtime, UTC))

    def keep_file(self, name: str, path: Path, sha256: str) -> None:
        """See `Shelf.keep_file`; the file is on disk before its name is."""
        with path.open("rb") as stream:
            checked_hash(stream, path, sha256)
            os.fsync(stream.fileno())
        with put_in_place(self.root / name) as temporary:
            link_or_copy(path, temporary)
            os.utime(temporary)  # its age on the shelf counts, not that of the file

    def keep_text(self, name: str, text: str) -> None:
        """See `Shelf.keep_text`."""
        with (
            put_in_place(self.root / name) as temporary,
            temporary.open("w", encoding="utf-8") as out,
        ):
            out.write(text)
            out.flush()
            os.fsync(out.fileno())

    def text(self, name: str, most_bytes: int) -> tuple[str, datetime] | None:
        """See `Shelf.text`."""
        kept = self.look(name)
        if kept is None or kept.size > most_bytes:
            return None
        try:
            return (self.root / name).read_text(encoding="utf-8"), kept.modified
        except (FileNotFoundError, UnicodeDecodeError):
            return None

    def fetch(self, kept: Kept, target: Path) -> str:
        """See `Shelf.fetch`."""
        source = self.root / kept.name
        with source.open("rb") as stream:
            sha256 = sha256_of(stream)
        link_or_copy(source, target)
        return sha256

    def listed(self, under: str) -> Iterator[Kept]:
        """See `Shelf.listed`."""
        for path in (self.root / under).rglob("*"):
            kept = self.look(path.relative_to(self.root).as_posix()) if path.is_file() else None
            if kept:
                yield kept

    def remove(self, names: Sequence[str]) -> None:
        """See `Shelf.remove`; a folder that is empty afterwards goes too."""
        for name in names:
            (self.root / name).unlink(missing_ok=True)
        for folder in {(self.root / name).parent for name in names}:
            try:
                folder.rmdir()
            except OSError:  # something is left in it, or another has removed it
                continue


def link_or_copy(source: Path, target: Path) -> None:
    """The new name `target` for the bytes of a file: a hard link, where there are none a copy."""
    try:
        os.link(source.resolve(), target)  # the file, not a symbolic link to it
    except OSError:  # another file system, or one without links
        shutil.copyfile(source, target)


@contextmanager
def put_in_place(target: Path) -> Iterator[Path]:
    """A temporary name beside `target`; what the block made there takes its place, or nothing does.

    Temporary files are named as those of the lake are, so that what a killed run left is swept.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{uuid4().hex}.tmp")
    try:
        yield temporary
        temporary.replace(target)
        sync_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)
