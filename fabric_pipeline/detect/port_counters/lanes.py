"""Which lane of a port holds nearly all raw errors.

Raw errors are repaired by FEC and come in billions, so a lane is named only when errors also got
past the correction, or looked at when one lane is far off without any.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fabric_pipeline.detect.port_counters import thresholds as t
from fabric_pipeline.detect.port_counters.counts import Count


@dataclass(frozen=True, slots=True)
class WorstLane:
    """A lane that stands out: its number, its count and the count of all lanes."""

    lane: int
    count: Count
    total: float

    @property
    def share(self) -> float:
        """Its part of all raw errors, 0..1."""
        return self.count.amount / self.total


def worst_lane(lanes: Mapping[int, Count], limits: t.SnapshotLimits = t.LIMITS) -> WorstLane | None:
    """The one lane far above the others, None when they are alike or the numbers are small."""
    if len(lanes) < 2:
        return None
    ranked = sorted(lanes.items(), key=lambda item: -item[1].amount)
    (lane, count), (_, second) = ranked[0], ranked[1]
    total = sum(other.amount for other in lanes.values())
    if count.amount < limits.lane_floor or count.amount < limits.lane_share * total:
        return None
    if count.amount < limits.lane_factor * second.amount:
        return None
    return WorstLane(lane, count, total)
