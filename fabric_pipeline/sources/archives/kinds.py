"""Which kind of archive a file is, from its first bytes; names are not looked at."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from fabric_pipeline.sources.archives.limits import Meter, RefusedError
from fabric_pipeline.sources.archives.streams import MAGIC, Inflow

BLOCK = 512  # of a tar
_CHECKSUM = slice(148, 156)
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_TAR_OF = {"gzip": "tar.gz", "xz": "tar.xz", "bzip2": "tar.bz2"}
COMPRESSION = {"gzip": "gzip", "xz": "xz", "bzip2": "bzip2"} | {t: k for k, t in _TAR_OF.items()}


def kind_of(path: Path, meter: Meter) -> str:
    """zip, tar, tar.gz, tar.xz, tar.bz2, gzip, xz, bzip2, or "" for anything else.

    Raises OSError when the file cannot be opened.
    """
    with path.open("rb") as handle:
        head = handle.read(BLOCK)
        if head.startswith(_ZIP):
            return "zip"
        if is_tar(head):
            return "tar"
        packed = next((kind for kind, magic in MAGIC.items() if head.startswith(magic)), "")
        if packed == "bzip2" and head[4:10] != b"1AY&SY":
            return ""  # a text may begin with BZh
        return _TAR_OF[packed] if packed and _holds_tar(handle, packed, path, meter) else packed


def is_container(kind: str) -> bool:
    """True when an archive of this kind holds entries with names."""
    return kind not in MAGIC


def is_tar(block: bytes) -> bool:
    """True when the block is a tar header: its checksum, in octal digits, is right."""
    if len(block) < BLOCK or not block[0]:
        return False
    digits = block[_CHECKSUM].strip(b" \0")
    if not digits.isdigit() or digits.strip(b"01234567"):
        return False
    plain = block[: _CHECKSUM.start] + b" " * 8 + block[_CHECKSUM.stop :]
    signed = sum(plain) - 256 * sum(byte > 127 for byte in plain)
    return int(digits, 8) in (sum(plain), signed)


def _holds_tar(handle: BinaryIO, packed: str, path: Path, meter: Meter) -> bool:
    handle.seek(0)
    try:
        return is_tar(Inflow(handle, packed, path.stat().st_size, meter).peek(BLOCK))
    except RefusedError:
        return False  # opening it says what is wrong
