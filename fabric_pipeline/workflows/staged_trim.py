"""How long and how much is kept of what was read of large files. What is kept is `workflows.staged_shelf`.

Everything here may go at any time: a file of which nothing is kept is read again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from time import time

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.shard_files import LEAST_AGE, Expired, Place, expire

# Of 100 bytes of text some 1 to 10 are kept, so this stands for a few hundred gigabytes of telemetry.
MOST_BYTES = 10 * 10**9
_RESULTS, _MANIFEST = "results", "manifest.json"


@dataclass(frozen=True, slots=True)
class _Kept:
    folder: Path
    size: int
    used_at: float
    is_whole: bool


def trim(
    settings: Settings, *, keep_bytes: int = MOST_BYTES, older_than: timedelta | None = None
) -> Expired:
    """Remove what was not used for `older_than` (at least a day), then the longest unused above `keep_bytes`.

    Use is noted to half a day. Only the folder of the home is looked at, an object store has its own rules.
    """
    folder = settings.staged
    gone = Expired(0, 0)
    if older_than is not None and folder.is_dir():
        gone = expire(Place("", str(folder)), older_than)
    more = trim_folder(folder, keep_bytes)
    return Expired(gone.files + more.files, gone.size_bytes + more.size_bytes)


def trim_folder(folder: Path, keep_bytes: int) -> Expired:
    """Remove the longest unused, and what a killed run left for a day, until `keep_bytes` are not exceeded."""
    kept = sorted(_kept(folder), key=lambda one: (one.is_whole, one.used_at))
    size = sum(one.size for one in kept)
    files = removed = 0
    for one in kept:
        is_left = not one.is_whole and time() - one.used_at > LEAST_AGE.total_seconds()
        if not is_left and (size <= keep_bytes or not one.is_whole):
            continue
        size -= one.size
        removed += one.size
        files += _remove(one.folder)
    return Expired(files, removed)


def _kept(folder: Path) -> Iterator[_Kept]:
    results = folder / _RESULTS
    for one in results.iterdir() if results.is_dir() else ():
        with suppress(OSError):  # another run removes it just now
            found = {path.name: path.stat() for path in one.iterdir()}
            manifest = found.get(_MANIFEST)
            newest = max((stat.st_mtime for stat in found.values()), default=0.0)
            size = sum(stat.st_size for stat in found.values())
            used_at = manifest.st_mtime if manifest else newest
            yield _Kept(one, size, used_at, manifest is not None)


def _remove(folder: Path) -> int:
    """The manifest first: without it the rest is no result."""
    names = [path.name for path in folder.iterdir()]
    for name in sorted(names, key=lambda name: name != _MANIFEST):
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):  # a run has put something into it
        folder.rmdir()
    return len(names)
