"""Intervals of a drop for pictures: which link ends had error spikes and which runs were slow, when."""

from __future__ import annotations

from datetime import datetime

from fabric_pipeline.model.components import component_id
from fabric_pipeline.settings import Settings
from fabric_pipeline.workflows.drop_stages import drop_tables

Interval = tuple[str, datetime, datetime, bool]


def spike_timeline(settings: Settings, drop_id: str) -> list[Interval]:
    """(link end, start, end, is it severe) of the flagged spikes with times, busiest link end first."""
    sql = """
    select node, interface, start_ts, end_ts, severity in ('warning', 'critical'), sum(events) over (partition by node, interface) as total
    from spike_detections where severity <> 'info' and start_ts is not null order by total desc, node, interface, start_ts
    """
    with drop_tables(settings, drop_id, ["spike_detections"]) as connection:
        rows = connection.execute(sql).fetchall()
    return [
        (component_id(node, interface), start, end, bool(grave))
        for node, interface, start, end, grave, _ in rows
    ]


def straggler_timeline(settings: Settings, drop_id: str) -> list[Interval]:
    """(run and group, start, end, slower than half as much again) of the slow intervals with times."""
    sql = """
    select run || ' ' || communicator, start_ts, end_ts, deviation_pct > 50 from stragglers
    where start_ts is not null order by run, communicator, start_ts
    """
    with drop_tables(settings, drop_id, ["stragglers"]) as connection:
        rows = connection.execute(sql).fetchall()
    return [(name, start, end, bool(grave)) for name, start, end, grave in rows]
