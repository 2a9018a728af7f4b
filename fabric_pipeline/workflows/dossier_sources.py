"""The source files that an incident cites: where they lie now, and whether they are still the same.

Names come from records and may be hostile: nothing outside the drop is opened. Showing lines is done
in `dossier_excerpts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal

from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.drop import sha256_of
from fabric_pipeline.workflows.dossier_bag import shown
from fabric_pipeline.workflows.unpacked import INSIDE, find_inside

State = Literal["unchanged", "no_hash", "changed", "gone", "outside", "binary"]
SAYS: Mapping[State, str] = {
    "unchanged": "the file has the hash that the incident states",
    "no_hash": "the incident states no hash for this file",
    "changed": "CHANGED since it was read: the lines are no evidence any more and are not shown",
    "gone": "GONE: the file is not where the drop was read from, no line can be shown",
    "outside": "REFUSED: the name leads out of the drop, the file was not opened",
    "binary": "the file is binary: numbers count its rows, which stand in rows/raw_telemetry.csv",
}


@dataclass(frozen=True, slots=True)
class Source:
    """One source file of an incident and what became of it; `path` is set when it may be opened."""

    file: str
    state: State
    recorded_sha256: str
    sha256_now: str
    path: Path | None = field(default=None, compare=False)

    @property
    def note(self) -> str:
        """One line for `bag-info.txt`."""
        return f"{shown(self.file)}: {SAYS[self.state]}"


def source_path(drop: Path, file: str, unpacked: Path | None = None) -> Path | None:
    """Where a source file lies, None when its name leads out of the drop.

    `unpacked` is the folder of what came out of archives: a file in one is looked for there.
    """
    parts = PurePosixPath(file).parts
    if not parts or ".." in parts or file.startswith("/") or "\0" in file:
        return None
    path = drop if drop.is_file() and file == drop.name else drop / file
    # The drop itself may hold links to files beside it, never further away (as when it was listed).
    if not path.resolve().is_relative_to(drop.parent.resolve()):
        return None
    if unpacked is not None and INSIDE in file and not path.exists():
        return find_inside(drop, file, unpacked) or path
    return path


def look_at(drop: Path | None, file: str, recorded: str, unpacked: Path | None = None) -> Source:
    """What became of a source file since it was read, and where it lies if it may be opened.

    `recorded` is the hash that the incident states, "" when it states none.
    """
    if drop is None:
        return Source(file, "gone", recorded, "")
    path = source_path(drop, file, unpacked)
    if path is None:
        return Source(file, "outside", recorded, "")
    try:
        now = sha256_of(path)
        is_binary = SourceFile(path, file).is_binary
    except OSError:
        return Source(file, "gone", recorded, "")
    state: State = "unchanged" if now == recorded else "changed" if recorded else "no_hash"
    if is_binary and state != "changed":
        state = "binary"
    return Source(file, state, recorded, now, path)
