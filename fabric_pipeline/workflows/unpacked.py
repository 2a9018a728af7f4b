"""Archives of a drop: unpacked once into a folder named after their hash, and listed like other files.

How an archive is opened safely is `sources.archives`' work. A file out of an archive is named
`capture.zip!host-3/nvlink.txt` everywhere, and is found again under that name as evidence.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from uuid import uuid4

from fabric_pipeline.model.progress import Moment, Tell, silent
from fabric_pipeline.sources.archives.kinds import is_container, kind_of
from fabric_pipeline.sources.archives.limits import LIMITS, Limits, Meter, PassingError
from fabric_pipeline.sources.archives.names import title_of
from fabric_pipeline.sources.archives.unpack import RULES, Contents, Entry, unpack
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.drop import Drop, FileStamp, Within, sha256_of
from fabric_pipeline.sources.drop_meta import DROP_YAML, DropMeta, read_meta
from fabric_pipeline.sources.registry import recognise
from fabric_pipeline.store.filelock import locked

INSIDE = "!"  # between an archive and what is in it
_INDEX = "contents.json"
_PART = ".part-"
_NOT_ALONE = "describes its folder only when the archive is given alone"


def with_archives(
    drop: Drop,
    folder: Path,
    limits: Limits = LIMITS,
    tell: Tell = silent,
) -> Drop:
    """The drop with what is in its archives listed behind each of them; `folder` keeps the files.

    The content hash stays that of what was delivered. Raises BadInputError when the drop is one
    archive and a `drop.yaml` in it cannot be understood.
    """
    listing: list[FileStamp] = []
    for stamp in drop.files:
        if not _is_archive(stamp):
            listing.append(stamp)
            continue
        tell(Moment(f"unpacking {stamp.name}", "unpack"))
        listing += _opened(stamp, folder, limits)
    if len(listing) == len(drop.files) and not any(stamp.archive for stamp in listing):
        return replace(drop, listing=tuple(listing))
    problems = list(drop.problems)
    taken = {stamp.name for stamp in drop.files}
    listing = [one if one.within is None else _named_once(one, taken) for one in listing]
    meta = _description(listing, problems) if len(drop.files) == 1 else None
    listing = [one for one in listing if not _is_stray_description(one, problems)]
    return replace(drop, listing=tuple(listing), meta=meta or drop.meta, problems=tuple(problems))


def find_inside(drop: Path, file: str, folder: Path) -> Path | None:
    """Where a file out of an archive of the drop lies, unpacked again when it has to be.

    `file` is the name in the drop, `capture.zip!host-3/nvlink.txt`. None when there is none of that
    name. The archive itself is only looked for below the drop.
    """
    parts = file.split(INSIDE)
    for count in range(1, len(parts)):
        name, inner = INSIDE.join(parts[:count]), INSIDE.join(parts[count:])
        archive = drop if drop.is_file() and name == drop.name else drop / name
        if not archive.is_file() or not archive.resolve().is_relative_to(drop.parent.resolve()):
            continue
        try:
            found = _inside(archive, name, inner, folder)
        except (OSError, PassingError):
            found = None
        if found is not None:
            return found
    return None


def trim_unpacked(
    folder: Path, keep_days: int, at: datetime, *, dry_run: bool = False
) -> list[str]:
    """Remove what came out of archives that no run needed for so long; returns the names of the folders."""
    if not folder.is_dir():
        return []
    before = (at - timedelta(days=keep_days)).timestamp()
    with locked(folder / ".lock"):
        old = [
            home
            for home in sorted(folder.iterdir())
            if home.is_dir() and home.stat().st_mtime < before
        ]
        for home in old:
            if not dry_run:
                shutil.rmtree(home, ignore_errors=True)
    return [home.name for home in old]


def _inside(archive: Path, name: str, inner: str, folder: Path) -> Path | None:
    now = archive.stat()
    home, files = _files(archive, name, folder, (now.st_size, now.st_mtime_ns))
    if inner in files and not (home / files[inner]).is_file():
        _files.cache_clear()  # what was unpacked has been deleted meanwhile
        home, files = _files(archive, name, folder, (now.st_size, now.st_mtime_ns))
    return home / files[inner] if inner in files else None


@lru_cache(maxsize=64)
def _files(
    archive: Path, name: str, folder: Path, _state: tuple[int, int]
) -> tuple[Path, dict[str, str]]:
    """Where an archive is unpacked, and file by name; the incidents of a drop ask again and again."""
    home, contents = _kept(archive, sha256_of(archive), name, folder, LIMITS)
    return home, {one.name: one.file for one in contents.entries if one.file}


def _is_archive(stamp: FileStamp) -> bool:
    """True for what has to be opened: readers of traces take gzip as it is."""
    try:
        kind = kind_of(stamp.path, Meter(LIMITS))
        return kind != "" and (is_container(kind) or not _is_readable(stamp.path))
    except OSError:
        return False  # reading it says what is wrong


def _is_readable(path: Path) -> bool:
    return recognise(SourceFile(path, path.name)).reader is not None


def _opened(stamp: FileStamp, folder: Path, limits: Limits) -> Iterator[FileStamp]:
    """The archive, then what is in it."""
    try:
        home, contents = _kept(stamp.path, stamp.sha256, stamp.name, folder, limits)
    except PassingError as problem:
        yield replace(stamp, problem=problem.rule)
        return
    except OSError as problem:
        yield replace(
            stamp, problem=f"cannot be unpacked ({problem.strerror}); check it and drop it again"
        )
        return
    is_open = bool(contents.entries)
    yield replace(
        stamp,
        archive=contents.kind if is_open else "",
        inside=contents.inside,
        problem=contents.problem if is_open else f"{contents.kind} archive: {contents.problem}",
    )
    tops = _tops(contents.entries)
    for entry in contents.entries:
        yield _stamp(stamp, entry, home, tops)


def _tops(entries: list[Entry]) -> dict[str, str]:
    """The folder that holds all there is in an archive, by the archive ("" the outermost), if one does."""
    first: dict[str, set[str]] = {}
    for entry in entries:
        archive, _, name = entry.name.rpartition(INSIDE)
        if entry.file:
            first.setdefault(archive, set()).add(name.partition("/")[0] if "/" in name else "")
    return {archive: names.pop() for archive, names in first.items() if len(names) == 1}


def _stamp(archive: FileStamp, entry: Entry, home: Path, tops: Mapping[str, str]) -> FileStamp:
    path = home / entry.file if entry.file else archive.path
    found = path.stat()
    return FileStamp(
        path=path,
        name=f"{archive.name}{INSIDE}{entry.name}",
        size=entry.size,
        mtime_ns=found.st_mtime_ns,
        sha256=entry.sha256,
        within=_within(archive.name, entry.name, tops),
        archive=entry.kind,
        inside=entry.inside,
        problem=entry.problem,
    )


def _within(archive: str, name: str, tops: Mapping[str, str]) -> Within:
    """The first folder in and around each archive may be named after a host; of one alone, the next."""
    folders: list[str] = []
    parts = name.split(INSIDE)
    for number in reversed(range(len(parts))):
        inner = parts[number].split("/")[:-1]
        folders += inner[: 2 if tops.get(INSIDE.join(parts[:number])) else 1]
    outer = archive.partition("/")
    folders += [outer[0]] if outer[1] else []
    titles = tuple(title_of(one) for one in reversed([archive, *parts[:-1]]))
    top = tops.get("", "")
    return Within(name.removeprefix(f"{top}/") if top else name, tuple(folders), titles)


def _named_once(stamp: FileStamp, taken: set[str]) -> FileStamp:
    """The stamp, refused under another name when a file of the drop bears its name already."""
    if stamp.name not in taken:
        taken.add(stamp.name)
        return stamp
    free = next(n for k in range(2, len(taken) + 3) if (n := f"{stamp.name} #{k}") not in taken)
    taken.add(free)
    said = "another file of the drop bears this very name, not read; rename one of them"
    return replace(stamp, name=free, problem=stamp.problem or said)


def _description(listing: list[FileStamp], problems: list[str]) -> DropMeta | None:
    """What the `drop.yaml` says that lies at the top of an archive which is the drop; None without."""
    for number, stamp in enumerate(listing):
        if stamp.within is not None and stamp.within.place == DROP_YAML and stamp.is_data:
            listing[number] = replace(stamp, name=DROP_YAML)
            with tempfile.TemporaryDirectory() as folder:  # errors name the file they are about
                return read_meta(Path(shutil.copy(stamp.path, Path(folder) / DROP_YAML)), problems)
    return None


def _is_stray_description(stamp: FileStamp, problems: list[str]) -> bool:
    last = stamp.name.rpartition(INSIDE)[2].rpartition("/")[2]
    is_stray = stamp.within is not None and stamp.name != DROP_YAML and last == DROP_YAML
    if is_stray and stamp.is_data:
        problems.append(f"{stamp.name}: {_NOT_ALONE}")
    return is_stray and stamp.is_data


def _kept(
    archive: Path, sha256: str, name: str, folder: Path, limits: Limits
) -> tuple[Path, Contents]:
    """The folder with the files of an archive and the list of them; unpacks it unless that was done."""
    home = folder / sha256
    with locked(folder / ".lock"):
        if (known := _read(home, name, limits)) is not None:
            os.utime(home)  # when it was needed last, for `trim_unpacked`
            return home, known
        for left in folder.glob(f"{_PART}*"):  # of a run that was killed: none is under way now
            shutil.rmtree(left, ignore_errors=True)
        part = folder / f"{_PART}{uuid4().hex}"
        part.mkdir()
        try:
            contents = unpack(archive, part, name, _is_readable, limits)
            if sha256_of(archive) != sha256:
                raise PassingError("changed while it was unpacked; drop it again when complete")
            body = asdict(contents) | {"rules": _rules(name, limits)}
            (part / _INDEX).write_text(json.dumps(body, indent=1), encoding="utf-8")
            shutil.rmtree(home, ignore_errors=True)
            part.rename(home)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        return home, contents


def _read(home: Path, name: str, limits: Limits) -> Contents | None:
    """What was unpacked before, when it was by these rules and every file still has its hash."""
    try:
        body: Mapping[str, object] = json.loads((home / _INDEX).read_bytes())
        fields = dict(body)
        if fields.pop("rules") != _rules(name, limits):
            return None
        entries = fields.pop("entries")
        contents = Contents(**fields, entries=[Entry(**one) for one in entries])  # type: ignore[arg-type, attr-defined]
        for entry in contents.entries:
            if entry.file and sha256_of(home / Path(entry.file).name) != entry.sha256:
                return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return contents


def _rules(name: str, limits: Limits) -> dict[str, object]:
    """Everything but the bytes that decides what comes out: the name of a lone file is the archive's."""
    return {"version": RULES, "title": title_of(name), "limits": asdict(limits)}
