"""The inbox: which drops lie in the watched folder, which of them are new, settled and not yet read.

Claiming goes through the ledger, so a drop under a second name or with old content is told apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from fabric_pipeline.errors import BadInputError
from fabric_pipeline.model.progress import Tell, silent
from fabric_pipeline.settings import Settings
from fabric_pipeline.sources.archives.names import title_of
from fabric_pipeline.sources.drop import list_drop
from fabric_pipeline.store.ledger import DropClaim, Ledger
from fabric_pipeline.store.run_mark import unfinished

# A drop whose newest file is younger than this may still be written.
SETTLE_S = 5.0


@dataclass(frozen=True, slots=True)
class InboxEntry:
    """One drop in the inbox with a cheap signature: names, sizes and times of its files."""

    path: Path
    signature: str
    newest_mtime: float

    def is_settled(self, now: datetime) -> bool:
        """True when nothing in it was written in the last seconds.

        A file time well ahead of our clock says nothing about that and does not hold a drop up.
        """
        return abs(now.timestamp() - self.newest_mtime) >= SETTLE_S


def scan(inbox: Path) -> list[InboxEntry]:
    """All drops in the inbox (folders and single files), by name; hidden names are left out."""
    if not inbox.is_dir():
        return []
    return [_entry(path) for path in sorted(inbox.iterdir()) if not path.name.startswith(".")]


def scan_all(settings: Settings) -> list[InboxEntry]:
    """All drops that wait to be read: those delivered into the inbox, then those that were pulled."""
    return [*scan(settings.inbox), *scan(settings.pulled)]


def claim(ledger: Ledger, path: Path, at: datetime, tell: Tell = silent) -> DropClaim:
    """List, hash and register one drop.

    A drop whose last diagnosis was cut short counts as not processed, also when an earlier one of the
    same content was: its tables are of two runs. Raises BadInputError for a path or drop.yaml that cannot be understood.
    """
    drop = list_drop(path, tell)
    if not drop.files:
        raise BadInputError(f"{path}: the drop is empty", "put the captures into the folder first")
    name = path.name if path.is_dir() else Path(title_of(path.name)).stem
    found = ledger.claim_drop(name, drop.path, drop.content_sha256, at)
    if found.processed and unfinished(ledger.path.parent, found.owner) is not None:
        return replace(found, processed=False)
    return found


def unread(
    ledger: Ledger, settings: Settings, now: datetime
) -> Iterator[tuple[InboxEntry, DropClaim | None, str]]:
    """Settled drops with their claim, or None and why they cannot be claimed."""
    for entry in scan_all(settings):
        if not entry.is_settled(now):
            continue
        try:
            yield entry, claim(ledger, entry.path, now), ""
        except BadInputError as problem:
            yield entry, None, str(problem)


def _entry(path: Path) -> InboxEntry:
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    stats = [(file.relative_to(path.parent).as_posix(), file.stat()) for file in files]
    signature = ";".join(f"{name}:{stat.st_size}:{stat.st_mtime_ns}" for name, stat in stats)
    return InboxEntry(path, signature, max((stat.st_mtime for _, stat in stats), default=0.0))
