"""How far the tables behind a picture have come: all of one reading, or some older than what they rest on.

A run is at work while a living process holds the drop, whatever the times of files say: a copied home
and a killed run are no run. What is older is told from when each table was written. Nothing here reads rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fabric_pipeline.errors import FabricError
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.lake import head_path
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.store.ledger_drops import DropRow
from fabric_pipeline.store.run_mark import Begun, is_at_work, unfinished

# Each table rests on the one before it, and a run writes them in this order.
CHAIN = ("fabric_topology", "link_counters", "spike_detections", "incident_records")
# A copied home has its files in any order within seconds; between two runs lies more than this.
_APART_NS = 30 * 10**9
State = Literal["complete", "running", "stopped"]


@dataclass(frozen=True, slots=True)
class Progress:
    """`behind` are tables of `CHAIN` that are missing or of an earlier run than what they rest on.

    `unread` are drops that a run is reading and of which nothing can be shown yet.
    """

    state: State
    behind: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """True when all that is shown belongs together."""
        return self.state == "complete"


def drop_progress(settings: Settings, drop: str) -> Progress:
    """Progress of one drop at a time."""
    rows = {row.drop_id: row for row in _known(settings)}
    unread = tuple(
        row.drop_id
        for row in rows.values()
        if not _is_done(row)
        and not _is_shown(settings, row)
        and is_at_work(settings.home, row.drop_id)
    )
    written = {table: _written(settings, table, drop) for table in CHAIN}
    begun = unfinished(settings.home, drop)
    behind = _behind(written, begun)
    if is_at_work(settings.home, drop) and (begun or behind):
        return Progress("running", behind, unread)
    own = rows.get(drop)
    # Times of files change when they are copied; of a run that came to its end the ledger knows.
    if begun is None and own is not None and _is_done(own):
        behind = tuple(table for table in behind if written[table] is None)
    return Progress("stopped" if behind else "complete", behind, unread)


def _behind(written: dict[str, int | None], begun: Begun | None) -> tuple[str, ...]:
    """Tables that are missing, of before a run that has not ended, or older than one before them."""
    since = int(begun.at.timestamp() * 1e9) if begun else 0
    found, newest = [], 0
    for table, at in written.items():
        if at is None or at < since or at < newest - _APART_NS:
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
        return head_path(settings.lake, table, drop).stat().st_mtime_ns
    except FileNotFoundError:
        return None


def _known(settings: Settings) -> list[DropRow]:
    if not settings.ledger.is_file():
        return []
    try:
        return Ledger(settings.ledger).drops()
    except FabricError:  # the ledger's own pages say what is wrong with it
        return []
