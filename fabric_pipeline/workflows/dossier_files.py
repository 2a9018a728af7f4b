"""Handing out dossiers as they lie there: the list, single files, and the whole folder as one zip.

A file is opened step by step from the folder of the dossiers; a link at any step and a name that leads
elsewhere are refused. Whether a dossier holds is found out in `dossier_verify`.
"""

from __future__ import annotations

import os
import re
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.settings import Settings
from fabric_pipeline.workflows.dossier_bag import BAG_INFO, MANIFEST, SIGNATURE, TAG_MANIFEST

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,220}")
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
_MOST_FILES = 5_000
_BLOCK = 256 * 1024
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # the oldest a zip can tell; the same bytes give the same zip
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class DossierFile:
    """One file: its path in the dossier with `/`, bytes, and the SHA-256 that a manifest lists for it."""

    path: str
    size: int
    listed_sha256: str


@dataclass(frozen=True, slots=True)
class DossierFolder:
    """One dossier. `notes` are the lines of `bag-info.txt`: label and value."""

    name: str
    incident_id: str
    drop: str
    notes: tuple[tuple[str, str], ...]
    is_signed: bool

    @property
    def recorded_until(self) -> str:
        """Time of the newest recorded fact in it, "" when it states none."""
        return dict(self.notes).get("Facts-Recorded-Until", "")


def dossiers(settings: Settings) -> list[DossierFolder]:
    """All dossiers of this home, by name."""
    if not settings.dossiers.is_dir():
        return []
    names = sorted(entry.name for entry in os.scandir(settings.dossiers) if _is_dossier(entry))
    return [_described(settings, name) for name in names]


def dossier(settings: Settings, name: str) -> DossierFolder:
    """One dossier by the name of its folder; NotFoundError when there is none."""
    with _opened(settings, name):
        return _described(settings, name)


def dossier_path(settings: Settings, name: str) -> Path:
    """The folder of a dossier that is there."""
    with _opened(settings, name):
        return settings.dossiers / name


def dossier_listing(settings: Settings, name: str) -> list[DossierFile]:
    """Files of a dossier by path; links and other things that are no plain files are left out."""
    listed = _listed(settings, name)
    with _opened(settings, name) as folder:
        return [DossierFile(path, size, listed.get(path, "")) for path, size in _walk(folder)]


@contextmanager
def dossier_file(settings: Settings, name: str, path: str) -> Iterator[tuple[BinaryIO, int]]:
    """An open file of a dossier and its size; NotFoundError for whatever is no plain file in it."""
    with _opened(settings, name) as folder:
        handle = _open_below(folder, path)
    with handle:
        yield handle, os.fstat(handle.fileno()).st_size


def blocks(settings: Settings, name: str, path: str) -> Iterator[bytes]:
    """The bytes of a file of a dossier, block by block."""
    with dossier_file(settings, name, path) as (handle, _):
        while block := handle.read(_BLOCK):
            yield block


def zipped(settings: Settings, name: str) -> Iterator[bytes]:
    """The whole dossier as a zip with its folder in it, block by block; the same dossier, the same bytes."""
    out = _Outlet()
    with _opened(settings, name) as folder, zipfile.ZipFile(out, "w") as archive:
        for path, _ in _walk(folder):
            entry = zipfile.ZipInfo(f"{name}/{path}", _ZIP_TIME)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            with _open_below(folder, path) as handle, archive.open(entry, "w") as target:
                while block := handle.read(_BLOCK):
                    target.write(block)
                    yield out.taken()
            yield out.taken()
    yield out.taken()


class _Outlet:
    """Where a zip is written to, without going back; what was written can be taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes, /) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing is kept back."""

    def close(self) -> None:
        """Nothing is open."""

    def taken(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _is_dossier(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False) and _NAME.fullmatch(entry.name) is not None


@contextmanager
def _opened(settings: Settings, name: str) -> Iterator[int]:
    """A handle of the folder of a dossier."""
    if not _NAME.fullmatch(name):
        raise _missing(name)
    try:
        folder = os.open(settings.dossiers / name, _FOLDER)
    except OSError as error:
        raise _missing(name) from error
    try:
        yield folder
    finally:
        os.close(folder)


def _missing(name: str) -> NotFoundError:
    return NotFoundError(
        f"there is no dossier {name[:80]!r}", "choose one from the list of dossiers"
    )


def _open_below(folder: int, path: str) -> BinaryIO:
    *folders, last = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in (*folders, last)):
        raise _no_file(path)
    at = os.dup(folder)
    try:
        for part in folders:
            below = os.open(part, _FOLDER, dir_fd=at)
            os.close(at)
            at = below
        found = os.open(last, _FILE, dir_fd=at)
    except OSError as error:
        raise _no_file(path) from error
    finally:
        os.close(at)
    if not stat.S_ISREG(os.fstat(found).st_mode):
        os.close(found)
        raise _no_file(path)
    return os.fdopen(found, "rb")


def _no_file(path: str) -> NotFoundError:
    return NotFoundError(
        f"this dossier has no file {path[:120]!r}", "choose one from the list of its files"
    )


def _walk(folder: int) -> Iterator[tuple[str, int]]:
    """Plain files below a folder with their sizes, by path."""
    found = []
    for where, _, files, at in os.fwalk(".", dir_fd=folder, follow_symlinks=False):
        for name in files:
            facts = os.stat(name, dir_fd=at, follow_symlinks=False)
            if stat.S_ISREG(facts.st_mode):
                found.append((os.path.normpath(f"{where}/{name}"), facts.st_size))
    yield from sorted(found)[:_MOST_FILES]


def _text(settings: Settings, name: str, path: str) -> str:
    try:
        return b"".join(blocks(settings, name, path)).decode("utf-8", "replace")
    except NotFoundError:
        return ""


def _listed(settings: Settings, name: str) -> dict[str, str]:
    lines = [
        line
        for manifest in (MANIFEST, TAG_MANIFEST)
        for line in _text(settings, name, manifest).splitlines()
    ]
    return {found[2]: found[1] for line in lines if (found := _LINE.fullmatch(line))}


def _described(settings: Settings, name: str) -> DossierFolder:
    pairs = [line.partition(": ") for line in _text(settings, name, BAG_INFO).splitlines()]
    notes = tuple((label, value) for label, _, value in pairs if value)
    incident, _, drop = name.partition("--")
    is_signed = (settings.dossiers / name / SIGNATURE).is_file()
    return DossierFolder(name, incident, drop, notes, is_signed)
