"""Places for files of shards as tests need them: what lies there, made older, spoilt or taken away."""

from __future__ import annotations

import hashlib
import os
import urllib.request
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fabric_pipeline.store.shard_files import (
    Manifest,
    Place,
    deliver,
)

KEY = hashlib.sha256(b"inputs, parameters, version").hexdigest()
OTHER = hashlib.sha256(b"another shard").hexdigest()
SECRET = "secret-of-the-store"
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Server:
    """An S3 store on loopback."""

    url: str

    def ask(self, method: str, path: str, body: bytes = b"") -> bytes:
        kind = {"Content-Type": "text/plain"}
        request = urllib.request.Request(self.url + path, method=method, data=body, headers=kind)  # noqa: S310
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            return bytes(answer.read())

    def names(self) -> list[str]:
        """Names of all objects in the bucket."""
        from moto.s3.models import s3_backends

        return sorted(s3_backends["123456789012"]["aws"].buckets["bucket"].keys)

    def set_age(self, part: str, age: timedelta) -> None:
        from moto.s3.models import s3_backends

        kept = s3_backends["123456789012"]["aws"].buckets["bucket"].keys
        for name in kept:
            if part in name:
                kept[name].last_modified = datetime.now(UTC).replace(tzinfo=None) - age


def shared_place(folder: Path) -> Place:
    return Place("", str(folder))


def file_place(folder: Path) -> Place:
    return Place(f"file://{folder}")


def written(path: Path, text: bytes) -> tuple[Path, str]:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    return path, hashlib.sha256(text).hexdigest()


def delivered(place: Place, folder: Path, text: bytes = b"counted", key: str = KEY) -> Manifest:
    path, _ = written(folder / "computed" / "out.parquet", text)
    return deliver(place, key, {"link_counters": path}, {"rows": 3, "pods": ("a", "b")})


def modified(name: str) -> datetime:
    from moto.s3.models import s3_backends

    found = s3_backends["123456789012"]["aws"].buckets["bucket"].keys[name].last_modified
    assert isinstance(found, datetime)
    return found


def put_object(place: Place, name: str, data: bytes) -> None:
    from obstore.store import from_url

    from_url(place.url).put(name, data)


def spoil(place: Place, name: str, data: bytes) -> None:
    if place.shared:
        path = Path(place.folder) / name
        path.unlink(missing_ok=True)
        path.write_bytes(data)
    else:
        put_object(place, name, data)


def set_age_in(place: Place, part: str, age: timedelta) -> None:
    if place.url.startswith("s3:"):
        Server("").set_age(part, age)
        return
    then = (datetime.now(UTC) - age).timestamp()
    for path in root_of(place).rglob("*"):
        if part in path.name:
            os.utime(path, (then, then))


def root_of(place: Place) -> Path:
    return Path(place.folder or place.url.removeprefix("file://"))


def left_in(place: Place) -> list[str]:
    if place.url.startswith("s3:"):
        return [name.removeprefix("shards of site/") for name in Server("").names()]
    root = root_of(place)
    return [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]
