"""Archives as tools write them and as nobody should: all content is invented here."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from fabric_pipeline.sources.archives.limits import LIMITS, Limits
from fabric_pipeline.sources.archives.unpack import Contents, unpack

Files = Mapping[str, bytes]


def zipped(files: Files, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def tarred(files: Files, *more: tarfile.TarInfo) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for member in more:
            archive.addfile(member)
    return out.getvalue()


def member(name: str, kind: bytes, aim: str = "") -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname = kind, aim
    return found


PACKERS: dict[str, Callable[[Files], bytes]] = {
    "zip": zipped,
    "tar": tarred,
    "tar.gz": lambda files: gzip.compress(tarred(files), mtime=0),
    "tar.xz": lambda files: lzma.compress(tarred(files), preset=0),
    "tar.bz2": lambda files: bz2.compress(tarred(files), 1),
}


def directory(names: list[str], offset: int, content: bytes) -> bytes:
    """A zip whose entries all lie at `offset`: the first `content`, then the list, then its end."""
    head = struct.pack(
        "<5H3L2H", 20, 0, 0, 0, 0, zlib.crc32(content), len(content), len(content), 1, 0
    )
    crc, size = zlib.crc32(content), len(content)
    listed = b"".join(
        b"PK\x01\x02"
        + struct.pack(
            "<6H3L5H2L", 20, 20, 0, 0, 0, 0, crc, size, size, len(name), 0, 0, 0, 0, 0, offset
        )
        + name.encode()
        for name in names
    )
    body = b"PK\x03\x04" + head + b"x" + content
    count = min(len(names), 0xFFFF)
    end = b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, count, count, len(listed), len(body), 0)
    return body + listed + end


def opened(folder: Path, data: bytes, name: str = "in.zip", limits: Limits = LIMITS) -> Contents:
    """What comes out of these bytes; everything that is listed as kept lies in the folder, and no more."""
    archive, inside = folder / "archive", folder / "inside"
    archive.write_bytes(data)
    inside.mkdir(exist_ok=True)
    for left in inside.iterdir():
        left.unlink()
    contents = unpack(archive, inside, name, lambda _: False, limits)
    assert {p.name for p in inside.iterdir()} == {one.file for one in contents.entries if one.file}
    assert {p.name for p in folder.iterdir()} == {"archive", "inside"}
    assert len({one.name for one in contents.entries}) == len(contents.entries)
    return contents


def kept(folder: Path, contents: Contents) -> dict[str, bytes]:
    """Name -> content of all files that came out, but the archives among them."""
    return {
        one.name: (folder / "inside" / one.file).read_bytes()
        for one in contents.entries
        if one.file and not one.kind
    }


def problems(contents: Contents) -> dict[str, str]:
    return {one.name: one.problem for one in contents.entries if one.problem}
