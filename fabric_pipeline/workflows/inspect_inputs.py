"""What `inspect` is given: files, folders, patterns and stdin, in the order given, as one drop.

A pattern is resolved here because a shell leaves it alone in quotes or where nothing matches. Stdin is
kept in a file so that every reader, and an archive, can be read from it. Reading starts in `ingest`.
"""

from __future__ import annotations

import glob
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from fabric_pipeline.errors import BadInputError, UsageError
from fabric_pipeline.model.components import natural_key
from fabric_pipeline.model.progress import Tell, silent
from fabric_pipeline.sources.archives.kinds import kind_of
from fabric_pipeline.sources.archives.limits import LIMITS, Meter
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.drop import Drop, FileStamp, list_drop, loose_files
from fabric_pipeline.sources.registry import recognise
from fabric_pipeline.workflows.unread_files import why_unknown

STDIN = "-"
# More than any tool prints; what is larger is a file already and is named instead of piped.
MAX_STDIN_BYTES = 2 * 1024**3
_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Given:
    """What the caller knows of the captures beside their content.

    `stdin` is read when `-` is among the paths. `node` and `time` stand for captures that lie in no
    folder named after a host and have no `drop.yaml`; what a file says of itself goes before them.
    """

    stdin: BinaryIO | None = None
    node: str = ""
    time: datetime | None = None


def given_drop(paths: list[Path], given: Given, folder: Path, tell: Tell = silent) -> Drop:
    """The drop of these paths; `folder` keeps what came by stdin.

    One folder is a drop with its `drop.yaml`; anything else is a list of loose captures. Raises
    BadInputError for a path that does not exist, a pattern that matches nothing and a stdin that holds
    nothing readable, UsageError for `-` given twice.
    """
    if [str(path) for path in paths].count(STDIN) > 1:
        raise UsageError(
            "- is given more than once", "stdin can be read once; name files beside it"
        )
    found = [match for path in paths for match in _matches(path)]
    if len(found) == 1 and str(found[0]) != STDIN and found[0].is_dir():
        return list_drop(found[0], tell)
    kept = [_kept_stdin(given.stdin, folder) if str(path) == STDIN else path for path in found]
    drop = loose_files(kept, tell)
    if kept == found:
        return drop
    spool = kept[[str(path) for path in found].index(STDIN)]
    files = tuple(_as_stdin(one) if one.path == spool else one for one in drop.files)
    return replace(drop, files=files)


def with_hints(drop: Drop, given: Given) -> Drop:
    """The drop with the given node and time for files whose surroundings state none.

    Raises UsageError when one time is given for several captures: they would lose their order.
    """
    if not given.node and given.time is None:
        return drop
    files = drop.data_files()
    if given.time is not None and len(files) > 1:
        raise UsageError(
            f"one --time for {len(files)} files",
            "give one capture with its time, or write the times into the drop.yaml of a folder",
        )
    hints = []
    for stamp in files:
        known = drop.source(stamp).hints
        time = known.time or given.time
        hints.append((glob.escape(stamp.name), known.node or given.node, time))
    if len({hint[1:] for hint in hints}) == 1:
        hints = [("*", *hints[0][1:])]
    return replace(drop, meta=replace(drop.meta, files=(*hints, *drop.meta.files)))


def _matches(path: Path) -> list[Path]:
    """The path itself, or what a pattern stands for, in natural order."""
    text = str(path)
    if text == STDIN or not glob.has_magic(text) or _exists(path):
        return [path]
    # Path.glob would resolve the fixed part of a pattern and lose it as it was given.
    found = sorted(glob.glob(text, recursive=True), key=natural_key)  # noqa: PTH207
    if not found:
        raise BadInputError(f"{text}: no file matches", "check the pattern and the folder it names")
    return [Path(one) for one in found]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # the listing says what is wrong with it
        return True


def _kept_stdin(stream: BinaryIO | None, folder: Path) -> Path:
    """Everything on stdin as a file."""
    path = folder / "stdin"
    size = 0
    with path.open("wb") as handle:
        while stream is not None and (chunk := stream.read(_CHUNK)):
            size += len(chunk)
            if size > MAX_STDIN_BYTES:
                limit = MAX_STDIN_BYTES // 1024**3
                raise BadInputError(
                    f"stdin holds more than {limit} GiB",
                    "save it to a file and name that: files may be larger",
                )
            handle.write(chunk)
    if size == 0:
        raise BadInputError(
            "stdin is empty",
            "pipe the output of a command: dmesg | fabric-pipeline inspect - (a command that prints its "
            "errors to stderr leaves nothing)",
        )
    _refuse_binary(path)
    return path


def _refuse_binary(path: Path) -> None:
    """Bytes that are no archive, no format that is read and no text: said at once, not as no data."""
    file = SourceFile(path, STDIN)
    if file.is_binary and not kind_of(path, Meter(LIMITS)) and recognise(file).reader is None:
        what, _, remedy = why_unknown(file, path.stat().st_size).partition("; ")
        raise BadInputError(f"stdin: {what}", remedy.replace("drop", "give"))


def _as_stdin(stamp: FileStamp) -> FileStamp:
    return replace(stamp, name=STDIN)
