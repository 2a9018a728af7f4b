"""What of an old drop is thrown away, and when: readings go, what was found and decided stays for ever.

Readings are the tables that grow with telemetry. A drop that an open incident, an undecided ticket or a run
needs keeps them. Nothing is removed before the ledger says so; docs/how_to/keep_history.md is the policy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from fabric_pipeline.errors import UsageError
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.sources.drop import sha256_of
from fabric_pipeline.store import lake
from fabric_pipeline.store.audit import AuditBuilt, rebuild_audit
from fabric_pipeline.store.duck import scalar, session
from fabric_pipeline.store.incident_life import lives
from fabric_pipeline.store.ledger import DropRow, DropSpan, ExpiredTable, Ledger
from fabric_pipeline.store.run_mark import at_work, is_at_work, unfinished
from fabric_pipeline.store.shard_files import Expired
from fabric_pipeline.workflows.shards_trim import trim_shards
from fabric_pipeline.workflows.unpacked import trim_unpacked

# Three months: most vendors ask for logs of the last weeks in a return, and a fault that comes back after
# a quarter is looked at as a new one. Policy value.
KEEP_READINGS_DAYS = 90
# An archive that no run opened for so long is packed again; it is unpacked when it is needed.
KEEP_UNPACKED_DAYS = 7
# What a killed run left half-written; no run writes one file for so long.
_LEFTOVER_AFTER = timedelta(days=1)
READINGS = tuple(name for name, table in TABLES.items() if table.is_bulk)
_NOTHING = Expired(0, 0)
# Nobody waits for anything about a fault in one of these states.
_AT_REST = ("quiet", "verified", "withdrawn")


@dataclass(frozen=True, slots=True)
class Due:
    """Readings of one drop that are old enough; `kept_for` says why they stay, "" when they go."""

    drop: str
    tables: tuple[str, ...]
    last: datetime
    kept_for: str


@dataclass(frozen=True, slots=True)
class Retained:
    """Outcome: what expired (or would), what was kept and why, and what else was cleared away."""

    expired: list[ExpiredTable]
    kept: list[Due]
    unpacked: list[str]
    leftovers: int
    audit: AuditBuilt | None = None
    shards: Expired = _NOTHING

    @property
    def bytes(self) -> int:
        """Size of what expired."""
        return sum(one.bytes for one in self.expired)


def retain(
    settings: Settings, at: datetime, *, keep_days: int = KEEP_READINGS_DAYS, dry_run: bool = False
) -> Retained:
    """Throw away by policy, note it in the ledger, verify all of the ledger, and bring the audit file up to it.

    `dry_run` only says what would go. Safe to repeat and to be killed: what the ledger says is gone and is
    still there goes the next time.
    """
    if keep_days < 1:
        raise UsageError("readings are kept for at least one day", "give --keep-days 1 or more")
    ledger = Ledger(settings.ledger)
    due = list(due_drops(settings, ledger, at, keep_days))
    policy = f"readings older than {keep_days} days"
    expired: list[ExpiredTable] = []
    for one in due:
        if not one.kept_for:
            expired += _expire(settings, ledger, one, policy, at, dry_run=dry_run)
    kept = [one for one in due if one.kept_for]
    unpacked = trim_unpacked(settings.unpacked, KEEP_UNPACKED_DAYS, at, dry_run=dry_run)
    leftovers = list(_leftovers(settings, at))
    if dry_run:
        return Retained(expired, kept, unpacked, len(leftovers))
    for path in leftovers:
        path.unlink(missing_ok=True)
    audit = rebuild_audit(settings, at=at, whole_chain=True)
    # Last, because an object store that cannot be reached should keep nothing else from being done.
    return Retained(expired, kept, unpacked, len(leftovers), audit, trim_shards(settings))


def _expire(
    settings: Settings, ledger: Ledger, due: Due, policy: str, at: datetime, *, dry_run: bool
) -> list[ExpiredTable]:
    """The ledger says so first; a run that came meanwhile keeps the drop."""
    if dry_run:
        return [_described(settings, due.drop, table, policy, at) for table in due.tables]
    with at_work(settings.home, due.drop):
        if ledger.drop(due.drop).last_read > due.last:
            return []
        found = [_described(settings, due.drop, table, policy, at) for table in due.tables]
        ledger.record_expired(found)
        for table in due.tables:
            lake.remove_rows(settings.lake, table, due.drop)
    return found


def due_drops(settings: Settings, ledger: Ledger, at: datetime, keep_days: int) -> Iterator[Due]:
    """Drops that were measured and last read longer ago than that and still have readings, oldest first."""
    before = at - timedelta(days=keep_days)
    rows = {row.drop_id: row for row in ledger.drops() if row.last_read < before}
    if not rows:
        return
    there = {table: lake.written_at(settings.lake, table) for table in READINGS}
    spans = ledger.spans()
    newest = _newest_of_clusters(spans.values())
    due = []
    for drop, row in rows.items():
        tables = tuple(table for table in READINGS if drop in there[table])
        last = _last_moment(row, spans.get(drop))
        if tables and last < before:
            due.append((last, drop, tables))
    undecided = ledger.undecided_drops()
    for last, drop, tables in sorted(due):
        why = _kept_for(settings, ledger, drop, undecided, newest)
        yield Due(drop, tables, last, why)


def _kept_for(
    settings: Settings,
    ledger: Ledger,
    drop: str,
    undecided: Collection[str],
    newest: Collection[str],
) -> str:
    if is_at_work(settings.home, drop) or unfinished(settings.home, drop) is not None:
        return "a run of it is under way or was cut short"
    if drop in newest:
        return "it is the newest drop of its cluster"
    if drop in undecided:
        return "a ticket of it is not decided or not published"
    names = [seen.incident_id for seen in ledger.standing_ends([drop])]
    for name, life in lives(ledger, names).items():
        if life.state.state not in _AT_REST:
            return f"incident {name} is {life.state.state}"
    return ""


def _newest_of_clusters(spans: Iterable[DropSpan]) -> set[str]:
    """By the last reading; pages without a choice show the newest drop."""
    newest: dict[str | None, DropSpan] = {}
    for one in spans:
        known = newest.get(one.cluster)
        if one.last is not None and (known is None or known.last is None or known.last < one.last):
            newest[one.cluster] = one
    return {one.drop for one in newest.values()}


def _last_moment(row: DropRow, span: DropSpan | None) -> datetime:
    """A drop of old readings that was read lately is as young as its reading."""
    return max(row.last_read, span.last) if span is not None and span.last else row.last_read


def _described(
    settings: Settings, drop: str, table: str, policy: str, at: datetime
) -> ExpiredTable:
    head = lake.head_path(settings.lake, table, drop)
    with closing(session()) as connection:
        lake.attach(connection, settings.lake, table, drop, as_name="expiring")
        rows = int(scalar(connection, "select count(*) from expiring") or 0)
    parts = {head, *lake.parts_of(settings.lake, table, drop)}
    size = sum(path.stat().st_size for path in parts)
    return ExpiredTable(drop, table, rows, size, sha256_of(head), policy, at)


def _leftovers(settings: Settings, at: datetime) -> Iterator[Path]:
    """Half-written files of killed runs, long enough ago that no run writes them any more."""
    before = (at - _LEFTOVER_AFTER).timestamp()
    for path in settings.lake.glob("*/drop=*/.*.tmp"):
        if path.is_file() and path.stat().st_mtime < before:
            yield path
