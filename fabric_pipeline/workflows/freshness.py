"""How old what is on the screen is: end of the telemetry, when it was read, which nodes say nothing.

A picture that is old is never green: past the limit every page carries a banner. An open page asks
`/api/freshness` whether there is something newer. The clock is handed in.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from fabric_pipeline.workflows.fabric_view_model import FabricView

# Drops come by the hour or more often where the pipeline is scheduled; twice that is late.
STALE_AFTER_MINUTES = 120
# Clocks of nodes and portal may differ by so much; beyond it a time says nothing.
CLOCKS_APART = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Freshness:
    """Age of one drop. `minutes_behind` is None when no reading carries a time, or one of the future."""

    drop: str
    window_end: datetime | None
    minutes_behind: int | None
    nodes: int
    nodes_without_data: int
    is_ahead: bool = False

    @property
    def is_stale(self) -> bool:
        """True past the limit, and when no time is known at all."""
        return self.minutes_behind is None or self.minutes_behind > STALE_AFTER_MINUTES

    @property
    def age(self) -> str:
        """The age in words: minutes, hours or days."""
        minutes = self.minutes_behind
        if self.is_ahead:
            return "a time of the future"
        if minutes is None:
            return "no reading carries a time"
        if minutes < 120:
            return f"{minutes} min old"
        return f"{minutes // 60} h old" if minutes < 48 * 60 else f"{minutes // 1440} days old"


def freshness(view: FabricView, now: datetime) -> Freshness:
    """Age of the drop that the view shows."""
    end = view.window_end
    behind, is_ahead = None, False
    if end is not None:
        end = end if end.tzinfo else end.replace(tzinfo=UTC)
        age = now - end
        is_ahead = age < -CLOCKS_APART
        behind = None if is_ahead else max(0, int(age.total_seconds() // 60))
    nodes = view.nodes
    silent = sum(node.state == "no_data" for node in nodes)
    return Freshness(view.drop, end, behind, len(nodes), silent, is_ahead)
