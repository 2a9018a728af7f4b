"""A drop: the files it consists of, their hashes, and what is known of each from its surroundings.

Listing and hashing happen here; reading the content belongs to the readers, `drop.yaml` to
`sources.drop_meta`, opening archives to `workflows.unpacked`, and whether a drop was seen before is the
ledger's to say.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from fabric_pipeline.errors import BadInputError
from fabric_pipeline.model.captures import stated_time
from fabric_pipeline.model.progress import Moment, Tell, silent
from fabric_pipeline.sources.base import Hints, SourceFile, TableRows
from fabric_pipeline.sources.drop_meta import DROP_YAML, DropMeta, read_meta

_CHUNK = 4 * 1024 * 1024
# A folder name that looks like a host (`n07`, `node-1`), and words that only look like one.
_HOST_LIKE = re.compile(r"^(?=.*\d$)[a-z][a-z0-9]*(?:[-_.][a-z0-9]+)*$", re.IGNORECASE)
_NOT_A_HOST = re.compile(
    r"^(run|day|week|month|hour|minute|part|series|sample|window|shard|chunk|batch|capture|snapshot|before|after|step|phase|round"
    r"|iter|epoch|job|test|case|set|drop|data|files?|logs?|out|output|results?|tmp|exp|attempt|rank|rack|incident|ticket|issue|v)"
    r"[-_.]?\d*$",
    re.IGNORECASE,
)


# Words in the name of an archive that say what it is for, not on which host it was made.
_NOT_A_TITLE = re.compile(
    r"(?:^|[-_.])(?:report|bundle|archive|backup|dump|diag\w*|support|collect\w*|sos\w*|nvidia|dcgm\w*|ufm|nccl"
    r"|kern|syslog|messages|journal|telemetry|metrics|counters|traces?|\d{4,})(?:[-_.]|\d*$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Within:
    """Where a file lay that came out of an archive.

    `place`: its path in the archive, as `drop.yaml` may name it; `folders`: those that may be named
    after a host, innermost first; `titles`: names of the archives around it without their endings.
    """

    place: str
    folders: tuple[str, ...]
    titles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileStamp:
    """One file as it was when the drop was listed.

    `archive`: kind of an archive whose `inside` files are listed behind it. `problem`: why a file or an
    entry of an archive is not read, or what is wrong with an archive that was opened.
    """

    path: Path
    name: str
    size: int
    mtime_ns: int
    sha256: str
    within: Within | None = None
    archive: str = ""
    inside: int = 0
    problem: str = ""

    @property
    def is_data(self) -> bool:
        """True for a file that is given to the readers."""
        return not (self.archive or self.problem)

    def is_unchanged(self) -> bool:
        """True while size and modification time are those of the listing."""
        try:
            now = self.path.stat()
        except OSError:
            return False
        return (now.st_size, now.st_mtime_ns) == (self.size, self.mtime_ns)


@dataclass(frozen=True, slots=True)
class Drop:
    """A drop on disk: where it lies, its files in a fixed order, and its description.

    `files` are those delivered, `listing` the same with what came out of archives (empty before they
    were opened; a description that came out of one is named `drop.yaml` there). `problems` name files
    that could not be listed or read, each with what to do.
    """

    path: Path
    files: tuple[FileStamp, ...]
    meta: DropMeta
    problems: tuple[str, ...] = field(default=())
    listing: tuple[FileStamp, ...] = field(default=())

    @property
    def content_sha256(self) -> str:
        """Hash over names and contents of all files as delivered; the same bytes give the same hash anywhere."""
        digest = hashlib.sha256()
        for stamp in self.files:
            digest.update(f"{stamp.name}\0{stamp.sha256}\n".encode())
        return digest.hexdigest()

    def stamps(self) -> tuple[FileStamp, ...]:
        """All files, archives and refused entries in their order; no name is there twice."""
        return self.listing or self.files

    def data_files(self) -> tuple[FileStamp, ...]:
        """The files to be read: all but the description itself and what is set apart."""
        return tuple(one for one in self.stamps() if one.name != DROP_YAML and one.is_data)

    def source(
        self,
        stamp: FileStamp,
        known_nodes: frozenset[str] = frozenset(),
        open_table: Callable[[Path], TableRows] | None = None,
    ) -> SourceFile:
        """The file with what its surroundings say about it."""
        hints = self._hints(stamp, known_nodes)
        return SourceFile(stamp.path, stamp.name, stamp.sha256, hints, open_table)

    def _hints(self, stamp: FileStamp, known_nodes: frozenset[str]) -> Hints:
        places = {stamp.name, stamp.within.place if stamp.within else stamp.name}
        for pattern, node, time in self.meta.files:
            if any(fnmatch.fnmatch(place, pattern) for place in places):
                time = time or stated_time(stamp.name, self.meta.timezone)
                return Hints(node or self._node(stamp, known_nodes), time, self.meta.timezone)
        time = stated_time(stamp.name, self.meta.timezone)
        return Hints(self._node(stamp, known_nodes), time, self.meta.timezone)

    def _node(self, stamp: FileStamp, known_nodes: frozenset[str]) -> str:
        """The host that a folder, or an archive, is named after; "" when none is."""
        if stamp.within is None:
            return self._named_after_a_host(self._folder(stamp), known_nodes)
        for folder in stamp.within.folders:
            if node := self._named_after_a_host(folder, known_nodes):
                return node
        for title in stamp.within.titles:
            node = self._named_after_a_host(title, known_nodes)
            if node and (
                title in known_nodes or self.meta.node_pattern or not _NOT_A_TITLE.search(title)
            ):
                return node
        return ""

    def _folder(self, stamp: FileStamp) -> str:
        folder, slash, _ = stamp.name.partition("/")
        is_elsewhere = stamp.path.is_absolute() and not stamp.path.is_relative_to(self.path)
        return "" if not slash or is_elsewhere else folder

    def _named_after_a_host(self, folder: str, known_nodes: frozenset[str]) -> str:
        if folder in known_nodes:
            return folder
        if self.meta.node_pattern:
            return folder if self.meta.node_pattern.search(folder) else ""
        return folder if _HOST_LIKE.match(folder) and not _NOT_A_HOST.match(folder) else ""


def list_drop(path: Path, tell: Tell = silent) -> Drop:
    """List and hash a drop folder or a single file; `tell` hears of every few megabytes.

    Raises BadInputError when the path does not exist or `drop.yaml` cannot be understood.
    """
    root = _checked(path, "give the path of a drop folder or file").absolute()
    problems: list[str] = []
    stamps = tuple(_stamps(root, problems, tell))
    described = root / DROP_YAML
    if os.path.lexists(described) and not any(stamp.path == described for stamp in stamps):
        # Without it times and nodes could be misread, so it is not passed over like another file.
        said = next((one for one in problems if one.startswith(DROP_YAML)), DROP_YAML)
        raise BadInputError(said, "make the file readable or remove it")
    return Drop(root, stamps, read_meta(described, problems), tuple(problems))


def loose_files(paths: list[Path], tell: Tell = silent) -> Drop:
    """Files and folders given one by one, in the order given, named as given; each file once."""
    problems: list[str] = []
    stamps: dict[str, FileStamp] = {}
    for path in paths:
        is_folder = _checked(path, "check the spelling of the path").is_dir()
        for stamp in _stamps(path.absolute(), problems, tell):
            name = _shown(f"{path}/") + stamp.name if is_folder else _shown(str(path))
            if is_folder and stamp.name == DROP_YAML:
                problems.append(f"{name}: describes its folder only when that is given alone")
            else:
                stamps.setdefault(name, replace(stamp, name=name))
    return Drop(Path("/"), tuple(stamps.values()), DropMeta(), tuple(problems))


def sha256_of(path: Path, on_bytes: Callable[[int], None] = lambda _: None) -> str:
    """SHA-256 of a file, read in pieces; `on_bytes` hears the size of each."""
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while chunk := handle.read(_CHUNK):
            digest.update(chunk)
            on_bytes(len(chunk))
    return digest.hexdigest()


def _checked(path: Path, remedy: str) -> Path:
    """The path when it is a file or folder."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a NUL in the name
        raise BadInputError(f"{path}: no such file or folder", remedy) from None
    except OSError as problem:
        raise BadInputError(f"{path}: cannot be opened ({problem.strerror})", remedy) from None
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise BadInputError(f"{path}: neither a file nor a folder", "save the output to a file")
    return path


class _Hashing:
    """Tells how much of what lies there was hashed; sizes are those of the beginning."""

    def __init__(self, paths: list[Path], tell: Tell) -> None:
        self._tell, self._size, self._files, self._of_files = tell, 0, 0, len(paths)
        self._of_size = sum(_size(path) for path in paths) if tell is not silent else 0
        self._name = ""

    def file(self, number: int, name: str) -> None:
        self._files, self._name = number, name
        self.more(0)

    def more(self, size: int) -> None:
        self._size += size
        words = f"checking {self._name}"
        self._tell(Moment(words, "hash", self._files, self._of_files, self._size, self._of_size))


def _size(path: Path) -> int:
    """Bytes of a file, 0 when it cannot be asked: hashing it says why."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _stamps(root: Path, problems: list[str], tell: Tell) -> Iterator[FileStamp]:
    """Every file below a folder, or the one file; what cannot be taken is named in `problems`."""
    paths = [root] if root.is_file() else _paths_below(root, problems)
    hashing = _Hashing(paths, tell)
    for number, path in enumerate(paths):
        name = _shown(path.name if path == root else path.relative_to(root).as_posix())
        try:
            refusal = "" if path == root else _refusal(path, root)
            if refusal:
                problems.append(f"{name}: {refusal}")
                continue
            found = path.stat()
            hashing.file(number, name)
            sha256 = sha256_of(path, hashing.more)
            yield FileStamp(path, name, found.st_size, found.st_mtime_ns, sha256)
        except OSError as problem:
            problems.append(
                f"{name}: cannot be opened ({problem.strerror}); check its permissions and drop it again"
            )


def _paths_below(root: Path, problems: list[str]) -> list[Path]:
    """All entries that are no folders, sorted; a folder that cannot be listed is a problem."""

    def unlisted(problem: OSError) -> None:
        folder = _shown(os.path.relpath(problem.filename or root, root))
        problems.append(
            f"{folder}: the folder cannot be listed ({problem.strerror}); check its permissions"
        )

    found = []
    for folder, folders, files in os.walk(root, onerror=unlisted):
        here = Path(folder)
        found += [here / name for name in files]
        found += [here / name for name in folders if (here / name).is_symlink()]
    return sorted(found)


def _refusal(path: Path, root: Path) -> str:
    """Why an entry of a drop is not read, or ""."""
    if path.is_symlink():
        try:
            target = path.resolve(strict=True)
        except (OSError, RuntimeError):  # RuntimeError: links in a circle
            return "link that leads nowhere; drop the file itself"
        if not target.is_relative_to(root.resolve()):
            return "link to a place outside the drop, not followed; drop the file itself"
        if target.is_dir():
            return "link to a folder of the drop, not followed; its files are read where they lie"
    mode = path.lstat().st_mode
    is_plain = stat.S_ISREG(mode) or stat.S_ISLNK(mode)
    return "" if is_plain else "neither a file nor a folder, not read; save its content to a file"


def _shown(name: str) -> str:
    """A name as text; bytes of it that are not UTF-8 are written out as escapes."""
    return os.fsencode(name).decode("utf-8", errors="backslashreplace")
