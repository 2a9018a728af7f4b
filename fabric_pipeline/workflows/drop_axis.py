"""Drops as marks on a time axis: when each was measured, what it found, and whether anything judged it.

Read for many drops at once from the footers and a few columns of their tables; placing the marks on a
screen belongs to the front doors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.duck import glob_safe, session
from fabric_pipeline.store.lake import part_path
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.ingest_report import cluster_of

_TIMED = ("link_counters", "collective_timings")
_WINDOWS_SQL = """
select filename, min(ts), max(ts) from read_parquet($files, filename = true, hive_partitioning = false) group by filename
"""
_FOUND_SQL = """
select filename, count(*) filter (role = 'cause' and severity = 'CRITICAL'), count(*) filter (role = 'cause' and severity = 'WARNING'),
    count(*) filter (severity = 'WATCH' and fault_type <> 'no_data'), count(*) filter (fault_type = 'no_data')
from read_parquet($files, filename = true, hive_partitioning = false, union_by_name = true) group by filename
"""


@dataclass(frozen=True, slots=True)
class DropMark:
    """One drop on the axis; `start` and `end` (UTC) are None when nothing in it carries a time.

    `critical` and `warning` count accusations, `watch` watched components, `silent` records of what
    was not measured. `is_judged` is False while no diagnosis of it is there.
    """

    drop: str
    start: datetime | None = None
    end: datetime | None = None
    cluster: str = ""
    critical: int = 0
    warning: int = 0
    watch: int = 0
    silent: int = 0
    is_judged: bool = False

    @property
    def state(self) -> str:
        """The worst that was found; `no_data` for a drop that nothing judged, never healthy."""
        if not self.is_judged:
            return "no_data"
        found = (("critical", self.critical), ("warning", self.warning), ("watch", self.watch))
        return next((state for state, count in found if count), "healthy")


def drop_marks(settings: Settings, drops: Sequence[str]) -> list[DropMark]:
    """A mark for each of the drops, in the given order."""
    connection = session()
    try:
        windows: dict[str, list[tuple[datetime, datetime]]] = {}
        for table in _TIMED:
            for drop, row in _rows(connection, _WINDOWS_SQL, settings.lake, table, drops):
                if row[0] is not None:
                    windows.setdefault(drop, []).append((row[0], row[1]))
        found = dict(_rows(connection, _FOUND_SQL, settings.lake, "incident_records", drops))
    finally:
        connection.close()
    gone = [drop for drop in drops if drop not in windows]
    if gone and settings.ledger.is_file():  # readings that expired: when they were is still known
        spans = Ledger(settings.ledger).spans()
        for drop in gone:
            one = spans.get(drop)
            if one is not None and one.first is not None and one.last is not None:
                windows[drop] = [(one.first, one.last)]
    return [_mark(settings, drop, windows.get(drop, []), found.get(drop)) for drop in drops]


def in_time(marks: Sequence[DropMark]) -> list[DropMark]:
    """The marks that carry a time, by when they were measured: by start, then end, then name."""
    timed = [(mark.start, mark.end, mark.drop, mark) for mark in marks if mark.start and mark.end]
    return [mark for *_, mark in sorted(timed, key=lambda one: one[:3])]


def drop_before(marks: Sequence[DropMark], drop: str) -> str | None:
    """The drop of the same cluster that was measured before this one, None for the first."""
    ordered = _alike(marks, drop)
    at = next((n for n, mark in enumerate(ordered) if mark.drop == drop), 0)
    return ordered[at - 1].drop if at else None


def drop_after(marks: Sequence[DropMark], drop: str) -> str | None:
    """The drop of the same cluster that was measured after this one, None for the last."""
    ordered = _alike(marks, drop)
    at = next((n for n, mark in enumerate(ordered) if mark.drop == drop), len(ordered))
    return ordered[at + 1].drop if at + 1 < len(ordered) else None


def _alike(marks: Sequence[DropMark], drop: str) -> list[DropMark]:
    cluster = next((mark.cluster for mark in marks if mark.drop == drop), "")
    return [mark for mark in in_time(marks) if mark.cluster == cluster]


def _mark(
    settings: Settings,
    drop: str,
    windows: Sequence[tuple[datetime, datetime]],
    found: tuple[int, ...] | None,
) -> DropMark:
    start = min((first for first, _ in windows), default=None)
    end = max((last for _, last in windows), default=None)
    is_judged = part_path(settings.lake, "spike_detections", drop).is_file()
    critical, warning, watch, silent = found or (0, 0, 0, 0)
    cluster = cluster_of(settings, drop) or ""
    return DropMark(drop, start, end, cluster, critical, warning, watch, silent, is_judged)


def _rows(
    connection: Any, sql: str, lake: Path, table: str, drops: Sequence[str]
) -> list[tuple[str, tuple[Any, ...]]]:
    """(drop, the row without its file) of every drop that has the table."""
    paths = {str(part_path(lake, table, drop)): drop for drop in drops}
    files = [glob_safe(path) for path in paths if Path(path).is_file()]
    if not files:
        return []
    rows = connection.execute(sql, {"files": files}).fetchall()
    return [(paths[row[0]], tuple(row[1:])) for row in rows]
