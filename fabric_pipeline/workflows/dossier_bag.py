"""The BagIt form of a dossier (RFC 8493): manifests written, checked and put into place.

Knows files, hashes and names only. What the payload holds is decided in `dossier_build`, what it must
agree with in `dossier_verify`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from fabric_pipeline import __version__
from fabric_pipeline.sources.drop import sha256_of
from fabric_pipeline.store.lake import sync_folder

PAYLOAD = "data"
BAGIT, BAG_INFO = "bagit.txt", "bag-info.txt"
MANIFEST, TAG_MANIFEST = "manifest-sha256.txt", "tagmanifest-sha256.txt"
DECLARATION = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
_TAGS = (BAGIT, BAG_INFO, MANIFEST)
_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")


def shown(text: str) -> str:
    """A text for one line of a text file: what is not printable is spelt out, never obeyed."""
    if text.isprintable():
        return text
    return "".join(ch if ch.isprintable() else f"\\u{ord(ch):04x}" for ch in text)


def payload_manifest(bag: Path) -> str:
    """Text of the payload manifest for the files that lie in `data/` now."""
    names = sorted(_files(bag, PAYLOAD))
    return "".join(f"{sha256_of(bag / name)}  {name}\n" for name in names)


def close_bag(bag: Path, identifier: str, at: datetime, notes: Sequence[tuple[str, str]]) -> str:
    """Write the four tag files around a finished payload; returns the SHA-256 of the manifest.

    `notes` are further (label, value) lines of `bag-info.txt`, the one file that tells the time.
    """
    payload = sorted(_files(bag, PAYLOAD))
    oxum = f"{sum((bag / name).stat().st_size for name in payload)}.{len(payload)}"
    info = [
        ("Bagging-Date", at.astimezone(UTC).date().isoformat()),
        ("Built-At", at.astimezone(UTC).isoformat(timespec="seconds")),
        ("Bag-Software-Agent", f"fabric-pipeline {__version__}"),
        ("External-Identifier", identifier),
        ("Payload-Oxum", oxum),
        *notes,
    ]
    _write(bag / BAGIT, DECLARATION)
    _write(bag / BAG_INFO, "".join(f"{label}: {shown(value)}\n" for label, value in info))
    _write(bag / MANIFEST, payload_manifest(bag))
    _write(bag / TAG_MANIFEST, "".join(f"{sha256_of(bag / tag)}  {tag}\n" for tag in _TAGS))
    return sha256_of(bag / MANIFEST)


def put_in_place(bag: Path, target: Path) -> None:
    """Rename a finished bag to its place; an older one there is swapped out whole."""
    for folder, _, files in os.walk(bag):
        for name in files:
            sync_folder(Path(folder) / name)
        sync_folder(Path(folder))
    if target.exists():
        replaced = bag.with_name(f"{bag.name}.replaced")
        target.rename(replaced)
        bag.rename(target)
        shutil.rmtree(replaced)
    else:
        bag.rename(target)
    sync_folder(target.parent)


def check_bag(bag: Path) -> tuple[list[str], int]:
    """What does not hold in words (empty when all holds), and the number of payload files listed.

    No file behind a symlink and no path outside the folder is ever opened.
    """
    problems = list(_foreign_entries(bag))
    missing = [name for name in (*_TAGS, TAG_MANIFEST) if not (bag / name).is_file()]
    problems += [f"{name}: is missing" for name in missing]
    if problems:
        return problems, 0
    payload = _checked(bag, MANIFEST, set(_files(bag, PAYLOAD)), problems)
    tags = {name for name in _files(bag, "") if not name.startswith(f"{PAYLOAD}/")}
    listed = _checked(bag, TAG_MANIFEST, tags - {TAG_MANIFEST}, problems)
    problems += [f"{TAG_MANIFEST}: does not list {tag}" for tag in _TAGS if tag not in listed]
    problems += _declared(bag, sorted(payload))
    return problems, len(payload)


def _foreign_entries(bag: Path) -> Iterator[str]:
    """Entries that are neither folder nor plain file. Folders behind links are not entered."""
    for folder, folders, files in os.walk(bag):
        for name in sorted([*folders, *files]):
            path = Path(folder) / name
            where = shown(path.relative_to(bag).as_posix())
            if path.is_symlink():
                yield f"{where}: is a symbolic link; a dossier holds plain files only"
            elif not (path.is_file() or path.is_dir()):
                yield f"{where}: is neither a file nor a folder"


def _checked(bag: Path, manifest: str, present: set[str], problems: list[str]) -> set[str]:
    listed: dict[str, str] = {}
    text = (bag / manifest).read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        found = _LINE.fullmatch(line)
        if not found:
            problems.append(f"{manifest} line {number}: is no hash with a file name")
        elif why := _refused(found[2], manifest):
            problems.append(f"{manifest} line {number}: {why}: {shown(found[2])}")
        elif found[2] in listed:
            problems.append(f"{manifest} line {number}: {shown(found[2])} is listed twice")
        else:
            listed[found[2]] = found[1].lower()
    for name, sha256 in listed.items():
        if name not in present:
            problems.append(f"{shown(name)}: is listed in {manifest} but not there")
        elif sha256_of(bag / name) != sha256:
            problems.append(f"{shown(name)}: its content does not have the hash in {manifest}")
    extra = sorted(present - listed.keys())
    problems += [f"{shown(name)}: is there but not listed in {manifest}" for name in extra]
    return set(listed)


def _refused(name: str, manifest: str) -> str:
    parts = PurePosixPath(name).parts
    if name.startswith(("/", "~")) or "\\" in name or ":" in name or ".." in parts:
        return "a path that leaves the dossier is refused"
    if (manifest == MANIFEST) != (parts[0] == PAYLOAD and len(parts) > 1):
        return "this file does not belong into this manifest"
    return ""


def _declared(bag: Path, payload: list[str]) -> Iterator[str]:
    if (bag / BAGIT).read_bytes() != DECLARATION.encode():
        yield f"{BAGIT}: is not the declaration of a BagIt 1.0 folder"
    there = [bag / name for name in payload if (bag / name).is_file()]
    oxum = f"{sum(path.stat().st_size for path in there)}.{len(there)}"
    info = (bag / BAG_INFO).read_text(encoding="utf-8", errors="replace").splitlines()
    if f"Payload-Oxum: {oxum}" not in info:
        yield f"{BAG_INFO}: Payload-Oxum is not {oxum}, which is what lies in {PAYLOAD}/"


def _files(bag: Path, under: str) -> Iterator[str]:
    for folder, _, files in os.walk(bag / under):
        for name in files:
            yield (Path(folder) / name).relative_to(bag).as_posix()


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def text_sha256(text: str) -> str:
    """SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()
