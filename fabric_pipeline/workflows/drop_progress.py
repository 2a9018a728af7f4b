"""How far the tables behind a picture have come: all of one reading, or some older than what they rest on.

Told from when each table was written and from the ledger's list of drops; no run is asked. Nothing here
reads rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from fabric_pipeline.errors import FabricError
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.lake import part_path
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.store.ledger_drops import DropRow

# Each table rests on the one before it, and a run writes them in this order.
CHAIN = ("fabric_topology", "link_counters", "spike_detections", "incident_records")
# The longest stage takes minutes for the largest drops; past this a run is taken for stopped.
STILL_AFTER = timedelta(minutes=15)
# A copied home has its files in any order within seconds; between two runs lies more than this.
_APART_NS = 30 * 10**9
State = Literal["complete", "running", "stopped"]


@dataclass(frozen=True, slots=True)
class Progress:
    """`behind` are tables of `CHAIN` that are missing or of an earlier run than what they rest on.

    `unread` are drops that a run has begun to read and of which nothing can be shown yet.
    """

    state: State
    behind: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """True when all that is shown belongs together."""
        return self.state == "complete"


def drop_progress(settings: Settings, drop: str, now: datetime) -> Progress:
    """Progress of one drop at a time."""
    rows = {row.drop_id: row for row in _known(settings)}
    unread = tuple(
        row.drop_id
        for row in rows.values()
        if not _is_done(row) and now - row.last_read < STILL_AFTER and not _is_shown(settings, row)
    )
    written = {table: _written(settings, table, drop) for table in CHAIN}
    behind = _behind(written)
    if not behind:
        return Progress("complete", (), unread)
    last = datetime.fromtimestamp(max(at or 0 for at in written.values()) / 1e9, UTC)
    own = rows.get(drop)
    if now - max(last, own.last_read if own else last) < STILL_AFTER:
        return Progress("running", behind, unread)
    # Long after, a run that the ledger has as done outweighs the times of files, which copying changes.
    if own is not None and _is_done(own):
        behind = tuple(table for table in behind if written[table] is None)
    return Progress("stopped" if behind else "complete", behind, unread)


def _behind(written: dict[str, int | None]) -> tuple[str, ...]:
    """Tables that are missing, or older than one before them."""
    found, newest = [], 0
    for table, at in written.items():
        if at is None or at < newest - _APART_NS:
            found.append(table)
        newest = max(newest, at or 0)
    return tuple(found)


def _is_done(row: DropRow) -> bool:
    return bool(row.processed_sha256) and row.processed_sha256 == row.content_sha256


def _is_shown(settings: Settings, row: DropRow) -> bool:
    return any(_written(settings, table, row.drop_id) is not None for table in CHAIN[:2])


def _written(settings: Settings, table: str, drop: str) -> int | None:
    """When a table was written, in nanoseconds; None when it is not there."""
    try:
        return part_path(settings.lake, table, drop).stat().st_mtime_ns
    except FileNotFoundError:
        return None


def _known(settings: Settings) -> list[DropRow]:
    if not settings.ledger.is_file():
        return []
    try:
        return Ledger(settings.ledger).drops()
    except FabricError:  # the ledger's own pages say what is wrong with it
        return []
