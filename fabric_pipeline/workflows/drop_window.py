"""When the readings of a drop ended, asked of its counters alone: cheap enough for a list of drops."""

from __future__ import annotations

from datetime import datetime

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.duck import scalar, session
from fabric_pipeline.store.lake import attach

_TABLES = ("link_counters", "collective_timings")


def window_end(settings: Settings, drop: str) -> datetime | None:
    """Time of the last reading or collective of a drop, None when nothing in it carries a time."""
    connection = session()
    try:
        there = [table for table in _TABLES if attach(connection, settings.lake, table, drop)]
        ends = [scalar(connection, f"select max(ts) from {table}") for table in there]
    finally:
        connection.close()
    return max((end for end in ends if end is not None), default=None)
