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
# A signature lies over the tag manifest, so that it can stand in no manifest itself (RFC 8493, 2.2.1
# leaves tag files free to be unlisted).
SIGNATURE = f"{TAG_MANIFEST}.sig"
_TAGS = (BAGIT, BAG_INFO, MANIFEST)
_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")


def shown(text: str) -> str:
    """A text for one line of a text file: what is not printable is spelt out, never obeyed."""
    if text.isprintable():
        return text
    return "".join(ch if ch.isprintable() else f"\\u{ord(ch):04x}" for ch in text)


def close_bag(bag: Path, identifier: str, notes: Sequence[tuple[str, str]]) -> str:
    """Write the four tag files around a finished payload; returns the SHA-256 of the manifest.

    `notes` are further (label, value) lines of `bag-info.txt`. No clock is read: what tells a time
    comes in with the notes.
    """
    _write(bag / BAGIT, DECLARATION)
    info = [
        ("Bag-Software-Agent", f"fabric-pipeline {__version__}"),
        ("External-Identifier", identifier),
        ("Payload-Oxum", _oxum(bag, _payload(bag))),
        *notes,
    ]
    _write(bag / BAG_INFO, "".join(f"{label}: {shown(value)}\n" for label, value in info))
    _write(bag / MANIFEST, _hashes(bag, _payload(bag)))
    _write(bag / TAG_MANIFEST, _hashes(bag, _TAGS))
    return sha256_of(bag / MANIFEST)


def dates(recorded: str) -> list[tuple[str, str]]:
    """Notes that tell the time: that of the newest recorded fact, ISO 8601; [] when there is none."""
    if not recorded:
        return []
    time = datetime.fromisoformat(recorded).astimezone(UTC)
    return [
        ("Bagging-Date", time.date().isoformat()),
        ("Facts-Recorded-Until", time.isoformat(timespec="seconds")),
    ]


def is_same_bag(one: Path, other: Path) -> bool:
    """True when two closed bags that hold have the same bytes in every file but a signature."""
    if not other.is_dir() or check_bag(other)[0]:
        return False
    return (one / TAG_MANIFEST).read_bytes() == (other / TAG_MANIFEST).read_bytes()


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
    listed = _checked(bag, TAG_MANIFEST, tags - {TAG_MANIFEST, SIGNATURE}, problems)
    problems += [f"{TAG_MANIFEST}: does not list {tag}" for tag in _TAGS if tag not in listed]
    problems += _declared(bag, sorted(payload))
    if not problems:  # the same hashes in other words: a byte that no hash covers was changed
        forms = ((MANIFEST, _hashes(bag, _payload(bag))), (TAG_MANIFEST, _hashes(bag, _TAGS)))
        problems += [
            f"{name}: is not written as a dossier writes it"
            for name, text in forms
            if (bag / name).read_bytes() != text.encode()
        ]
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
    oxum = _oxum(bag, [name for name in payload if (bag / name).is_file()])
    info = (bag / BAG_INFO).read_text(encoding="utf-8", errors="replace").splitlines()
    if f"Payload-Oxum: {oxum}" not in info:
        yield f"{BAG_INFO}: Payload-Oxum is not {oxum}, which is what lies in {PAYLOAD}/"


def _payload(bag: Path) -> list[str]:
    return sorted(_files(bag, PAYLOAD))


def _oxum(bag: Path, names: Sequence[str]) -> str:
    """Bytes and number of the payload files, as RFC 8493 counts them."""
    return f"{sum((bag / name).stat().st_size for name in names)}.{len(names)}"


def _hashes(bag: Path, names: Sequence[str]) -> str:
    return "".join(f"{sha256_of(bag / name)}  {name}\n" for name in names)


def _files(bag: Path, under: str) -> Iterator[str]:
    for folder, _, files in os.walk(bag / under):
        for name in files:
            yield (Path(folder) / name).relative_to(bag).as_posix()


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def text_sha256(text: str) -> str:
    """SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()
