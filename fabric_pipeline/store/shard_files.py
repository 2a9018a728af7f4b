"""How the Parquet files of a shard reach a worker, and how its result comes back and is found again.

In a shared folder inputs are read where they lie. In an object store they go under names made of their
hash; a result lies under the hash of all that it follows from, and its manifest is put there last. What a
shard is and what is computed is said elsewhere.

    inputs/<sha256>.parquet
    results/<key>/<sha256>.parquet
    results/<key>/manifest.json      what the files are called; without it they are no result
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from fabric_pipeline.errors import PipelineError, UsageError
from fabric_pipeline.store.shard_objects import ObjectShelf, checked_url
from fabric_pipeline.store.shard_shelf import FolderShelf, Kept, Shelf, put_in_place, sha256_of

LEAST_AGE = timedelta(days=1)
# What is used again is renewed from this age on, so that nothing younger than `LEAST_AGE` is in use
# and expires: a run has at least the twelve hours between the two.
_RENEWED_AFTER = timedelta(hours=12)
_HASH = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[a-z_][a-z0-9_.-]{0,99}")
_OURS = re.compile(
    r"(?:inputs/[0-9a-f]{64}\.parquet"
    r"|results/(?P<key>[0-9a-f]{64})/(?:[0-9a-f]{64}\.parquet|manifest\.json|\.[0-9a-f]{32}\.tmp))"
)
_MANIFEST = "manifest.json"
_MOST_MANIFEST_BYTES = 8 << 20
_VERSION = 1
_SENT_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Place:
    """Where shards are exchanged: an object store at `url`, or with "" folders that all workers see.

    `folder` is where a shared place keeps results. No credentials are in it: it travels in every item.
    """

    url: str = ""
    folder: str = ""

    def __post_init__(self) -> None:
        """An address that cannot be used is refused where it was given, not on a worker."""
        if self.url:
            checked_url(self.url)

    @property
    def shared(self) -> bool:
        """True when inputs are read where they lie."""
        return not self.url


class Delivered(NamedTuple):
    """One file of a result: the SHA-256 and number of its bytes."""

    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """One whole result: its files by name, and what was said about it in plain JSON values."""

    key: str
    files: Mapping[str, Delivered]
    said: Mapping[str, Any]


class Expired(NamedTuple):
    """What was trimmed."""

    files: int
    size_bytes: int


def send(place: Place, paths: Sequence[Path], sha256s: Sequence[str]) -> list[str]:
    """Make files available to workers; returns their addresses for the item, in the same order.

    In a shared place these are absolute paths. What an object store has already is not sent again.
    """
    pairs = list(zip(paths, map(_checked_hash, sha256s), strict=True))
    if place.shared:
        return [str(path.absolute()) for path, _ in pairs]
    shelf = _shelf(place)
    names = [f"inputs/{sha256}.parquet" for _, sha256 in pairs]
    with ThreadPoolExecutor(_SENT_AT_ONCE) as pool, _worded("sending files of shards"):
        given = {
            pool.submit(_give, shelf, name, path, sha256)
            for name, (path, sha256) in dict(zip(names, pairs, strict=True)).items()
        }
        for one in given:
            one.result()
    return names


@contextmanager
def fetched(place: Place, addresses: Sequence[str], sha256s: Sequence[str]) -> Iterator[list[Path]]:
    """The files as paths for as long as the block runs, in the order of the addresses.

    From an object store they come into a folder of their own, are verified, and go again at the end. In
    a shared place they are the files themselves, which are trusted as those of the lake are.
    """
    pairs = list(zip(addresses, map(_checked_hash, sha256s), strict=True))
    if place.shared:
        yield [Path(address) for address, _ in pairs]
        return
    shelf = _shelf(place)
    with TemporaryDirectory(prefix="fabric-shard-") as folder:
        arrived = {address: Path(folder) / f"{sha256}.parquet" for address, sha256 in pairs}
        with _worded(f"fetching files of a shard into {folder}"):
            for address, sha256 in dict(pairs).items():
                _take(shelf, address, sha256, arrived[address])
        yield [arrived[address] for address, _ in pairs]


def find(place: Place, key: str) -> Manifest | None:
    """The result delivered under this key before, or None: not one whose files are not all there."""
    shelf = _shelf(place)
    name = _result(key, _MANIFEST)
    with _worded(f"looking for {shelf.words(name)}"):
        found = shelf.text(name, _MOST_MANIFEST_BYTES)
        manifest = _parsed(key, found[0]) if found else None
        if found is None or manifest is None:
            return None
        for one in manifest.files.values():
            kept = shelf.look(_result(key, f"{one.sha256}.parquet"))
            if kept is None or kept.size != one.size:
                return None
        if _is_stale(found[1]):
            shelf.keep_text(name, found[0])
    return manifest


def deliver(place: Place, key: str, files: Mapping[str, Path], said: Mapping[str, Any]) -> Manifest:
    """Put a result under its key, the manifest last. It may be done twice, at once too: both are whole.

    `files` are by name (small letters, digits and `_.-`), `said` are plain JSON values.
    """
    shelf = _shelf(place)
    delivered: dict[str, Delivered] = {}
    with _worded(f"delivering {shelf.words(_result(key, ''))}"):
        for name, path in files.items():
            with path.open("rb") as stream:
                sha256 = sha256_of(stream)
            delivered[_checked_name(name)] = Delivered(sha256, path.stat().st_size)
            _give(shelf, _result(key, f"{sha256}.parquet"), path, sha256)
        listed = {name: one._asdict() for name, one in delivered.items()}
        text = json.dumps(
            {"version": _VERSION, "key": key, "files": listed, "said": dict(said)},
            sort_keys=True,
            allow_nan=False,
        )
        if len(text) > _MOST_MANIFEST_BYTES:
            raise PipelineError(
                f"what is said about {shelf.words(_result(key, ''))} has {len(text):,} characters",
                "make smaller shards, or report this fault",
            )
        shelf.keep_text(_result(key, _MANIFEST), text)
    return Manifest(key, delivered, json.loads(text)["said"])


def collect(place: Place, manifest: Manifest, name: str, target: Path) -> None:
    """Put one file of a result at `target`, over an earlier one: verified, on disk, whole or not at all."""
    if name not in manifest.files:
        raise PipelineError(
            f"the result {manifest.key} has no {name!r}, only {sorted(manifest.files)}",
            "report this fault",
        )
    shelf = _shelf(place)
    sha256 = manifest.files[name].sha256
    with _worded(f"collecting {target}"), put_in_place(target) as temporary:
        _take(shelf, _result(manifest.key, f"{sha256}.parquet"), sha256, temporary)
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())


def expire(place: Place, older_than: timedelta) -> Expired:
    """Remove inputs and results that were not used for so long, and what was half-delivered then.

    Nothing but files under our own names is touched. A result goes as a whole, its manifest first.
    Raises `UsageError` for less than a day: a run could lose what it has just sent.
    """
    if older_than < LEAST_AGE:
        raise UsageError(
            f"files of shards are kept for {older_than}", "keep them for at least a day"
        )
    shelf = _shelf(place)
    before = datetime.now(UTC) - older_than
    with _worded("removing old files of shards"):
        groups: dict[str, list[Kept]] = {}
        for kept in [*shelf.listed("inputs"), *shelf.listed("results")]:
            if ours := _OURS.fullmatch(kept.name):
                groups.setdefault(ours["key"] or kept.name, []).append(kept)
        old = [
            kept
            for group in groups.values()
            if max(kept.modified for kept in group) < before
            for kept in group
        ]
        manifests = [kept.name for kept in old if kept.name.endswith(_MANIFEST)]
        shelf.remove(manifests)
        shelf.remove([kept.name for kept in old if not kept.name.endswith(_MANIFEST)])
    return Expired(len(old), sum(kept.size for kept in old))


def _shelf(place: Place) -> Shelf:
    if not place.shared:
        return ObjectShelf(place.url)
    if not place.folder:
        raise UsageError(
            "no folder is named in which workers leave their results",
            "give a folder that all of them see, or an object store (FABRIC_SHARD_STORE)",
        )
    return FolderShelf(Path(place.folder))


def _give(shelf: Shelf, name: str, path: Path, sha256: str) -> None:
    """Put a file there unless it is; an old one is put again, which renews its age."""
    kept = shelf.look(name)
    if kept and kept.size == path.stat().st_size and not _is_stale(kept.modified):
        return
    shelf.keep_file(name, path, sha256)


def _take(shelf: Shelf, name: str, sha256: str, target: Path) -> None:
    kept = shelf.look(name)
    if kept is None:
        raise PipelineError(
            f"{shelf.words(name)} is not there any more", "run again: it is made anew"
        )
    if shelf.fetch(kept, target) != sha256:
        raise PipelineError(
            f"{shelf.words(name)} does not hold the bytes that its name stands for",
            "delete it and run again: it is made anew",
        )


def _is_stale(modified: datetime) -> bool:
    return datetime.now(UTC) - modified > _RENEWED_AFTER


def _result(key: str, name: str) -> str:
    return f"results/{_checked_hash(key)}/{name}"


def _parsed(key: str, text: str) -> Manifest | None:
    """A manifest as it was written, or None for anything else: then the shard is worked on again."""
    try:
        read = json.loads(text)
        files = {
            _checked_name(name): Delivered(_checked_hash(one["sha256"]), int(one["size"]))
            for name, one in read["files"].items()
        }
        if (read["version"], read["key"]) != (_VERSION, key) or not isinstance(read["said"], dict):
            return None
    except (ValueError, TypeError, KeyError, AttributeError, UsageError, RecursionError):
        return None
    return Manifest(key, files, read["said"])


def _checked_hash(text: str) -> str:
    if not _HASH.fullmatch(text):
        raise UsageError(
            f"{text!r} is not a SHA-256", "give 64 hexadecimal digits in small letters"
        )
    return text


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is not a name for a file of a result",
            "use small letters, digits and _.- and begin with a letter",
        )
    return name


@contextmanager
def _worded(doing: str) -> Iterator[None]:
    """What the disk of this host refuses, in words."""
    try:
        yield
    except OSError as problem:
        raise PipelineError(
            f"{doing}: {problem.strerror or problem}",
            "see to room, rights and the mount of that folder, then run again",
        ) from problem
