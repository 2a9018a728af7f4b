"""The tables of the spike stage from those that were made with each part of link_counters."""

from __future__ import annotations

from typing import Any

from fabric_pipeline.detect.spikes.series import combine
from fabric_pipeline.settings import Settings
from fabric_pipeline.store import lake


def attach_series(connection: Any, settings: Settings, drop_id: str) -> bool:
    """Make error_series and error_increments of a drop that was counted in shards; False for others."""
    head = lake.head_path(settings.lake, "link_counters", drop_id)
    if head.name != lake.PARTS_FILE:
        return False
    series, increments = (
        lake.parts_of(settings.lake, "link_counters", drop_id, kind)
        for kind in ("series", "increments")
    )
    shards = []
    counts = lake.listing(head)["said"]["series_of_parts"]
    for number, (of_series, of_increments) in enumerate(zip(series, increments, strict=True)):
        names = f"series_{number}", f"increments_{number}"
        lake.attach_file(connection, of_series, names[0])
        lake.attach_file(connection, of_increments, names[1])
        shards.append((*names, int(counts[number])))
    combine(connection, shards)
    return True
