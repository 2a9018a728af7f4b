"""An object store as a shelf for files of shards: S3, Google Cloud Storage, Azure or a mounted folder, through obstore.

Large files go in parts, both ways. Endpoint and credentials are found by obstore itself in the variables
of each cloud (`AWS_...`, `GOOGLE_...`, `AZURE_...`); they are never read, passed on or printed here.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fabric_pipeline.errors import FabricError, PipelineError, UsageError
from fabric_pipeline.store.shard_shelf import Kept, checked_hash

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SCHEMES = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl", "file")
_PART_BYTES = 8 << 20  # 10,000 parts are the most that S3 takes: files up to 80 GB
_PARTS_AT_ONCE = 4
_DELETED_AT_ONCE = 1000
# A store that hiccups is asked again for some seconds; a shard that still fails is tried again by the engine.
_RETRIES = 5
_RETRY_S = 20
_CODE = re.compile(r"<Code>([A-Za-z]{1,60})</Code>")
_HOST = re.compile(r"https?://(?:[^/\s@]*@)?([^/\s@?]{1,200})")
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "bucket does not exist", "canonicalize")
_NO_RIGHT = ("401 Unauthorized", "403 Forbidden", "169.254.169.254", "Permission denied")


def checked_url(url: str) -> str:
    """The address itself; one that is none, or that holds a secret, is refused without repeating it."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise UsageError(
            "the shard store is not the address of an object store or folder",
            f"give a URL that begins with one of {', '.join(f'{name}://' for name in SCHEMES)}",
        )
    is_account = parts.scheme.startswith("abfs") and not parts.password
    if parts.query or parts.fragment or ("@" in parts.netloc and not is_account):
        raise UsageError(
            "the URL of the shard store holds credentials or options",
            "give bucket and prefix only; keys belong into the variables of the cloud, such as AWS_ACCESS_KEY_ID",
        )
    if not (parts.netloc or (parts.scheme == "file" and parts.path.strip("/"))):
        raise UsageError(
            f"{url!r} names no bucket or folder", "give one, such as s3://bucket/shards"
        )
    return url


@dataclass(slots=True)
class ObjectShelf:
    """The objects under one URL, over connections that last as long as this shelf. It does not travel."""

    url: str
    _store: ObjectStore | None = field(default=None, init=False, repr=False)

    def words(self, name: str) -> str:
        """See `Shelf.words`."""
        return f"{self.url.rstrip('/')}/{name}"

    def look(self, name: str) -> Kept | None:
        """See `Shelf.look`."""
        with self._asked(name) as (obs, store):
            try:
                return _kept(obs.head(store, name))
            except FileNotFoundError as problem:
                _stop_without_bucket(problem)
                return None

    def keep_file(self, name: str, path: Path, sha256: str) -> None:
        """See `Shelf.keep_file`; the bytes that are sent are those of the file that was hashed."""
        with path.open("rb") as stream, self._asked(name) as (obs, store):
            checked_hash(stream, path, sha256)
            stream.seek(0)
            obs.put(store, name, stream, chunk_size=_PART_BYTES, max_concurrency=_PARTS_AT_ONCE)

    def keep_text(self, name: str, text: str) -> None:
        """See `Shelf.keep_text`."""
        with self._asked(name) as (obs, store):
            obs.put(store, name, text.encode("utf-8"), use_multipart=False)

    def text(self, name: str, most_bytes: int) -> tuple[str, Any] | None:
        """See `Shelf.text`."""
        with self._asked(name) as (obs, store):
            try:
                got = obs.get(store, name)
                if got.meta["size"] > most_bytes:
                    return None
                return str(bytes(got.bytes()), "utf-8"), got.meta["last_modified"]
            except FileNotFoundError as problem:
                _stop_without_bucket(problem)
                return None
            except UnicodeDecodeError:
                return None

    def fetch(self, kept: Kept, target: Path) -> str:
        """See `Shelf.fetch`; part by part, each with the store's own retries."""
        digest = hashlib.sha256()
        with self._asked(kept.name) as (obs, store), target.open("xb") as out:
            for start in range(0, kept.size, _PART_BYTES):
                end = min(start + _PART_BYTES, kept.size)
                part = obs.get_range(store, kept.name, start=start, end=end)
                digest.update(part)
                out.write(part)
        return digest.hexdigest()

    def listed(self, under: str) -> Iterator[Kept]:
        """See `Shelf.listed`."""
        with self._asked(under) as (obs, store):
            for page in obs.list(store, under, chunk_size=_DELETED_AT_ONCE):
                yield from map(_kept, page)

    def remove(self, names: Sequence[str]) -> None:
        """See `Shelf.remove`."""
        for first in range(0, len(names), _DELETED_AT_ONCE):
            some = list(names[first : first + _DELETED_AT_ONCE])
            with self._asked(some[0]) as (obs, store):
                try:
                    obs.delete(store, some)
                except FileNotFoundError:  # another removed one of them; the rest is still to do
                    for name in some:
                        with suppress(FileNotFoundError):
                            obs.delete(store, name)

    @contextmanager
    def _asked(self, name: str) -> Iterator[tuple[ModuleType, ObjectStore]]:
        """The library and the store, for calls about one name; what the store says is put in words."""
        obs = _library()
        try:
            if self._store is None:
                self._store = _opened(self.url)
            yield obs, self._store
        except (obs.exceptions.BaseError, FileNotFoundError) as problem:
            raise _worded(self.words(name), self.url, str(problem)) from None


def _library() -> ModuleType:
    try:
        import obstore
        import obstore.exceptions
    except ImportError as problem:
        raise UsageError(
            "an object store is set for shards, but the library for it is not installed",
            "run `make setup-cluster` here and on every worker, or unset FABRIC_SHARD_STORE",
        ) from problem
    return obstore


def _opened(url: str) -> ObjectStore:
    from obstore.store import LocalStore, from_url

    if url.startswith("file:"):
        return LocalStore.from_url(url, automatic_cleanup=True)
    backoff = {
        "init_backoff": timedelta(seconds=0.2),
        "max_backoff": timedelta(seconds=3),
        "base": 2,
    }
    retry = {
        "max_retries": _RETRIES,
        "retry_timeout": timedelta(seconds=_RETRY_S),
        "backoff": backoff,
    }
    return from_url(url, retry_config=retry)  # type: ignore[call-overload,no-any-return]


def _kept(found: Any) -> Kept:
    return Kept(found["path"], found["size"], found["last_modified"])


def _stop_without_bucket(problem: FileNotFoundError) -> None:
    """A missing object is an answer, a missing bucket is not."""
    if any(sign in str(problem) for sign in _NO_BUCKET):
        raise problem


def _worded(place: str, url: str, said: str) -> FabricError:
    """What a store said, in words; of its own text only what cannot hold a key is repeated."""
    if any(sign in said for sign in _NO_BUCKET):
        return UsageError(
            f"there is no bucket or folder for {url}",
            "create or mount it, or correct FABRIC_SHARD_STORE and the endpoint",
        )
    code = _CODE.search(said)
    if any(sign in said for sign in _NO_RIGHT) or "necessary privileges" in said:
        return UsageError(
            f"{place}: the store refused access{f' ({code[1]})' if code else ''}",
            "set the credentials of the cloud, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, here and on every worker",
        )
    if "not found" in said:
        return PipelineError(f"{place} is not there, or not any more", "run again: it is made anew")
    return PipelineError(
        f"{place}: the store did not do it: {_cause(said)}{f' ({code[1]})' if code else ''}",
        "see whether it can be reached from this host (AWS_ENDPOINT_URL, and AWS_ALLOW_HTTP=true for one without TLS), then run again",
    )


def _cause(said: str) -> str:
    """What went wrong with which host: no bodies, queries or names of users, which may hold keys."""
    line = said.splitlines()[0].split("<?xml")[0] if said else ""
    host = _HOST.search(line)
    cause = re.sub(r"\?[^\s]*", "", line.rsplit(" - ", 1)[-1])[:200].strip(" :-")
    return f"{cause}, asking {host[1]}" if host else cause
