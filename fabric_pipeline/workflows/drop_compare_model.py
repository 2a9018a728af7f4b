"""What changed between two drops of one cluster, as plain values for a page or a file.

`a` is the earlier drop, `b` the later one. "Not measured in b" is its own outcome and never counts as quiet.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from fabric_pipeline.workflows.drop_compare_rates import CounterChange
from fabric_pipeline.workflows.fabric_view_model import IncidentView, Link

IncidentChange = Literal[
    "new", "reopened", "worse", "ongoing", "better", "repaired", "quiet", "not_measured"
]
# In the order in which a reader wants them, with what each says.
INCIDENT_CHANGES: dict[str, str] = {
    "new": "first found in the later drop",
    "reopened": "was quiet or repaired before, and is back",
    "worse": "graver, slower, or more errors an hour than in the earlier drop",
    "ongoing": "found in both drops",
    "better": "milder than in the earlier drop, and still there",
    "repaired": "a repair was reported in between, and the later drop measured it clean",
    "quiet": "measured in the later drop, and no longer found",
    "not_measured": "the later drop did not measure what erred, so nothing is known",
}
LinkChange = Literal[
    "recabled", "cable", "serial", "gone", "added", "gained_data", "lost_data", "speed"
]
LINK_CHANGES: dict[str, str] = {
    "recabled": "ends at another port",
    "cable": "another cable or part",
    "serial": "a device with another serial number",
    "gone": "no longer stated or measured",
    "added": "stated or measured only in the later drop",
    "lost_data": "measured before, not any more",
    "gained_data": "not measured before, measured now",
    "speed": "runs at another width or speed",
}


@dataclass(frozen=True, slots=True)
class ChangedIncident:
    """One incident over both drops. `life` and `why` are its present state, "" for what was never accused."""

    change: IncidentChange
    incident_id: str
    component: str
    a: IncidentView | None
    b: IncidentView | None
    says: str
    life: str = ""
    why: str = ""

    @property
    def is_accused(self) -> bool:
        """True when either drop accuses the component, at WARNING or worse."""
        return any(
            one is not None and one.role == "cause" and one.severity in ("WARNING", "CRITICAL")
            for one in (self.a, self.b)
        )


@dataclass(frozen=True, slots=True)
class ChangedLink:
    """One difference of a link, a port or a device: what it was and what it is, "" for not stated.

    `links` is more than one where many links of a node are said in one line.
    """

    change: LinkChange
    component: str
    before: str
    after: str
    what: str = ""
    links: int = 1


@dataclass(slots=True)
class DropComparison:
    """Two drops side by side. `notes` say what could not be compared, and why."""

    a: str
    b: str
    a_end: datetime | None
    b_end: datetime | None
    incidents: list[ChangedIncident] = field(default_factory=list)
    links: list[ChangedLink] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def incidents_of(self, change: str) -> list[ChangedIncident]:
        """Incidents with one kind of change."""
        return [one for one in self.incidents if one.change == change]

    def links_of(self, change: str) -> list[ChangedLink]:
        """Differences of one kind."""
        return [one for one in self.links if one.change == change]

    @property
    def counts(self) -> dict[str, int]:
        """How many of each kind there are, kinds without any left out; watched incidents too."""
        counts: dict[str, int] = {}
        for incident in self.incidents:
            counts[incident.change] = counts.get(incident.change, 0) + 1
        for link in self.links:
            counts[link.change] = counts.get(link.change, 0) + link.links
        return counts

    def accused(self, change: str) -> int:
        """How many incidents with one kind of change either drop accuses."""
        return sum(one.change == change and one.is_accused for one in self.incidents)


@dataclass(frozen=True, slots=True)
class LinkComparison:
    """One link in both drops, None in the drop that does not know it; what changed of it, and its counters."""

    component: str
    a: Link | None
    b: Link | None
    counters: list[CounterChange]
    changes: list[ChangedLink]
    incidents: list[ChangedIncident]
