"""Homes of which a run has written all or only a part, for pages that must say so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.workflows.fabric_lake import Lake, all_ends, topology

EMPTY = ("collective_timings", "fabric_events", "stragglers", "straggler_correlations")


def whole_home(home: Path, drop: str = "d1") -> Settings:
    """Everything measured and judged, nothing found."""
    part = topology()
    return _whole(Lake(home, drop).topology(part).counters(all_ends(part)).judged())


def topology_alone(home: Path) -> Settings:
    """The topology has been read, nothing else."""
    return Lake(home).topology(topology()).settings


def readings_alone(home: Path) -> Settings:
    """Read, and not judged."""
    part = topology()
    return Lake(home).topology(part).counters(all_ends(part)).settings


def without_topology(home: Path) -> Settings:
    """All stages ran on a drop that states no topology."""
    lake = Lake(home).topology(TopologyPart()).counters(all_ends(topology())).judged()
    return _whole(lake)


def without_counters(home: Path) -> Settings:
    """All stages ran on a drop in which no link end was measured."""
    return _whole(Lake(home).topology(topology()).counters([]).judged())


def empty(home: Path) -> Settings:
    """All stages ran on a drop with nothing in it."""
    return _whole(Lake(home).topology(TopologyPart()).counters([]).judged())


def _whole(lake: Lake) -> Settings:
    for name in EMPTY:
        lake.write(name, [])
    return lake.settings


HALF_DONE: dict[str, tuple[Callable[[Path], Settings], str]] = {
    "topology alone": (topology_alone, "no link counters"),
    "readings alone": (readings_alone, "has not run on this drop"),
    "without topology": (without_topology, "states no topology"),
    "without counters": (without_counters, "no link end was measured"),
    "empty": (empty, "states no topology"),
}
