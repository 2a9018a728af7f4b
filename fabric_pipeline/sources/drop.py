"""A drop: the files it consists of, their hashes, and what `drop.yaml` says about them.

Listing and hashing happen here; reading the content belongs to the readers, and whether a drop was
seen before is the ledger's to say.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml

from fabric_pipeline.errors import BadInputError
from fabric_pipeline.sources.base import Hints, SourceFile

DROP_YAML = "drop.yaml"
_CHUNK = 4 * 1024 * 1024
# A folder name that looks like a host (`n07`, `gpu-r01-n03`), and words that only look like one.
_HOST_LIKE = re.compile(r"^[a-z][a-z0-9]*(?:[-_.][a-z0-9]+)*\d$", re.IGNORECASE)
_NOT_A_HOST = re.compile(
    r"^(run|day|hour|part|series|sample|window|shard|batch|capture|before|after|step|job|test|set|files?|logs?|v)[-_.]?\d*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class FileStamp:
    """One file as it was when the drop was listed."""

    path: Path
    name: str
    size: int
    mtime_ns: int
    sha256: str

    def is_unchanged(self) -> bool:
        """True while size and modification time are those of the listing."""
        try:
            stat = self.path.stat()
        except OSError:
            return False
        return (stat.st_size, stat.st_mtime_ns) == (self.size, self.mtime_ns)


@dataclass(frozen=True, slots=True)
class DropMeta:
    """What `drop.yaml` says; all of it is optional."""

    cluster: str = ""
    site: str = ""
    timezone: tzinfo = UTC
    timezone_name: str = "UTC"
    window_start: datetime | None = None
    window_end: datetime | None = None
    node_pattern: re.Pattern[str] | None = None
    files: tuple[tuple[str, str, datetime | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Drop:
    """A drop on disk: where it lies, its files in a fixed order, and its description.

    `problems` name files that could not be listed or read, each with what to do.
    """

    path: Path
    files: tuple[FileStamp, ...]
    meta: DropMeta
    problems: tuple[str, ...] = field(default=())

    @property
    def content_sha256(self) -> str:
        """Hash over names and contents of all files; the same bytes give the same hash anywhere."""
        digest = hashlib.sha256()
        for stamp in self.files:
            digest.update(f"{stamp.name}\0{stamp.sha256}\n".encode())
        return digest.hexdigest()

    def data_files(self) -> tuple[FileStamp, ...]:
        """All files but the description itself."""
        return tuple(stamp for stamp in self.files if stamp.name != DROP_YAML)

    def source(self, stamp: FileStamp, known_nodes: frozenset[str] = frozenset()) -> SourceFile:
        """The file with what its surroundings say about it."""
        return SourceFile(stamp.path, stamp.name, stamp.sha256, self._hints(stamp, known_nodes))

    def _hints(self, stamp: FileStamp, known_nodes: frozenset[str]) -> Hints:
        for pattern, node, time in self.meta.files:
            if fnmatch.fnmatch(stamp.name, pattern):
                return Hints(
                    node or self._folder_node(stamp, known_nodes), time, self.meta.timezone
                )
        return Hints(self._folder_node(stamp, known_nodes), None, self.meta.timezone)

    def _folder_node(self, stamp: FileStamp, known_nodes: frozenset[str]) -> str:
        folder, slash, _ = stamp.name.partition("/")
        if not slash or (stamp.path.is_absolute() and not stamp.path.is_relative_to(self.path)):
            return ""
        if folder in known_nodes:
            return folder
        if self.meta.node_pattern:
            return folder if self.meta.node_pattern.search(folder) else ""
        return folder if _HOST_LIKE.match(folder) and not _NOT_A_HOST.match(folder) else ""


def list_drop(path: Path) -> Drop:
    """List and hash a drop folder or a single file.

    Raises BadInputError when the path does not exist or `drop.yaml` cannot be understood.
    """
    if not path.exists():
        raise BadInputError(
            f"{path}: no such file or folder", "give the path of a drop folder or file"
        )
    root = path.absolute()
    problems: list[str] = []
    stamps = list(_stamps(root, problems))
    return Drop(root, tuple(stamps), _meta(root / DROP_YAML), tuple(problems))


def loose_files(paths: list[Path]) -> Drop:
    """Files and folders given one by one, in the order given, named as given."""
    problems: list[str] = []
    stamps: list[FileStamp] = []
    for path in paths:
        if not path.exists():
            raise BadInputError(f"{path}: no such file or folder", "check the spelling of the path")
        if path.is_dir():
            stamps += [_renamed(s, f"{path}/{s.name}") for s in _stamps(path.absolute(), problems)]
        else:
            stamps += [_renamed(s, str(path)) for s in _stamps(path.absolute(), problems)]
    return Drop(Path("/"), tuple(stamps), DropMeta(), tuple(problems))


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while chunk := handle.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _stamps(root: Path, problems: list[str]) -> Iterator[FileStamp]:
    paths = (
        [root]
        if root.is_file()
        else sorted(p for p in root.rglob("*") if p.is_file() or p.is_symlink())
    )
    for path in paths:
        name = path.name if path == root else path.relative_to(root).as_posix()
        if path.is_symlink() and not path.resolve().is_relative_to(root.parent.resolve()):
            problems.append(f"{name}: link to a place outside the drop, not followed")
            continue
        try:
            stat = path.stat()
            yield FileStamp(path, name, stat.st_size, stat.st_mtime_ns, sha256_of(path))
        except OSError as problem:
            problems.append(
                f"{name}: cannot be opened ({problem.strerror}); check its permissions and drop it again"
            )


def _renamed(stamp: FileStamp, name: str) -> FileStamp:
    return FileStamp(stamp.path, name, stamp.size, stamp.mtime_ns, stamp.sha256)


def _meta(path: Path) -> DropMeta:
    if not path.is_file():
        return DropMeta()
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        mark = getattr(problem, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark else ""
        raise BadInputError(
            f"{path.name}{where}: not readable as YAML", "correct or remove the file"
        ) from None
    if not isinstance(raw, dict):
        raise BadInputError(
            f"{path.name}: must be a mapping of keys to values", "correct or remove the file"
        )
    zone_name = str(raw.get("timezone") or "UTC")
    zone = _zone(zone_name, path.name)
    stated = raw.get("window")
    window: dict[str, Any] = stated if isinstance(stated, dict) else {}
    return DropMeta(
        cluster=str(raw.get("cluster") or ""),
        site=str(raw.get("site") or ""),
        timezone=zone,
        timezone_name=zone_name,
        window_start=_time(window.get("start"), zone, path.name),
        window_end=_time(window.get("end"), zone, path.name),
        node_pattern=_pattern(raw.get("node_pattern"), path.name),
        files=_file_hints(raw.get("files"), zone, path.name),
    )


def _zone(name: str, where: str) -> tzinfo:
    try:
        return UTC if name.upper() == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise BadInputError(
            f"{where}: timezone {name!r} is not known", "use a name such as Europe/Berlin"
        ) from None


def _time(value: Any, zone: tzinfo, where: str) -> datetime | None:
    if value in (None, ""):
        return None
    try:
        time = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        raise BadInputError(f"{where}: {value!r} is not a time", "use ISO 8601") from None
    return (time if time.tzinfo else time.replace(tzinfo=zone)).astimezone(UTC)


def _pattern(value: Any, where: str) -> re.Pattern[str] | None:
    if not value:
        return None
    try:
        return re.compile(str(value))
    except re.error as problem:
        raise BadInputError(
            f"{where}: node_pattern is no regular expression ({problem})", "correct it"
        ) from None


def _file_hints(
    value: Any, zone: tzinfo, where: str
) -> tuple[tuple[str, str, datetime | None], ...]:
    if not isinstance(value, dict):
        return ()
    hints = []
    for pattern, what in value.items():
        entry = what if isinstance(what, dict) else {"node": what}
        hints.append(
            (str(pattern), str(entry.get("node") or ""), _time(entry.get("time"), zone, where))
        )
    return tuple(hints)
