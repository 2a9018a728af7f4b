"""Order and distance of events, and the working sheet on which event rules note their findings.

Events carry absolute times, a clock of their file, or no clock at all; this module is the one place
that knows what may be compared. It accuses nobody; the rules in the sibling modules do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fabric_pipeline.model.components import component_id
from fabric_pipeline.model.findings import EvidenceRef, Finding
from fabric_pipeline.model.records import FabricEvent

FOLLOW_S = 60.0  # far ends complain within a minute of a lost GPU (samples trap 17)
BEFORE_S = 5.0  # log lines of one moment may be written in any order
UNCLOCKED_LINES = 40  # stands in for a minute when a log has no time stamps at all
BOOT_S = 600.0  # field-guide rule R9: the first ten minutes after boot are left out
MAX_EVIDENCE = 6
_RECENT_CLUSTERS = 8  # groups come in order of time, so older clusters are out of reach


def host_of(event: FabricEvent) -> str:
    """Key of the machine; events of one file without host names are taken to be of one machine."""
    return event.node or f"file {event.file}"


def component_of(event: FabricEvent) -> str:
    """Component id of the event's place."""
    return component_id(event.node, event.interface, event.lane)


def device_id(event: FabricEvent) -> str:
    """Component id of the device the event's interface belongs to."""
    return component_id(event.node, event.interface.partition("/")[0])


def gap_s(earlier: FabricEvent, later: FabricEvent) -> float | None:
    """Seconds from one event to another (may be negative), None without a common clock."""
    if earlier.time is not None and later.time is not None:
        return (later.time - earlier.time).total_seconds()
    if earlier.seconds is None or later.seconds is None or earlier.file != later.file:
        return None
    if earlier.details.get("clock") != later.details.get("clock"):
        return None
    return later.seconds - earlier.seconds


def follows(cause: FabricEvent, event: FabricEvent, within_s: float = FOLLOW_S) -> bool:
    """True when the event comes at most `within_s` after the cause, or in the same moment.

    Two events of one file that both lack a clock are set in order by their lines.
    """
    gap = gap_s(cause, event)
    if gap is not None:
        return -BEFORE_S <= gap <= within_s
    if cause.file != event.file or _has_clock(cause) or _has_clock(event):
        return False
    return abs(event.line - cause.line) <= UNCLOCKED_LINES


def _has_clock(event: FabricEvent) -> bool:
    return event.time is not None or event.seconds is not None


def in_order(events: Iterable[FabricEvent]) -> list[FabricEvent]:
    """Events by time; within a file those without absolute time keep the order of the lines."""
    files: dict[str, list[FabricEvent]] = {}
    for event in events:
        files.setdefault(event.file, []).append(event)
    placed: list[tuple[float, FabricEvent]] = []
    for group in files.values():
        moment = 0.0
        for event in sorted(group, key=lambda e: e.line):
            moment = event.time.timestamp() if event.time else moment
            placed.append((moment, event))
    return [event for _, event in sorted(placed, key=lambda pair: pair[0])]


def group_by(
    events: Iterable[FabricEvent], key: Callable[[FabricEvent], tuple[Any, ...]]
) -> list[list[FabricEvent]]:
    """Groups in the order of their first event."""
    groups: dict[tuple[Any, ...], list[FabricEvent]] = {}
    for event in events:
        groups.setdefault(key(event), []).append(event)
    return list(groups.values())


def one_moment(
    groups: Sequence[list[FabricEvent]], within_s: float
) -> list[list[list[FabricEvent]]]:
    """Clusters of groups of one host whose first events lie within `within_s` of each other."""
    clusters: list[list[list[FabricEvent]]] = []
    recent: dict[str, list[list[list[FabricEvent]]]] = {}
    for group in groups:
        host = recent.setdefault(host_of(group[0]), [])
        for cluster in host[-_RECENT_CLUSTERS:]:
            gap = gap_s(cluster[0][0], group[0])
            if gap is not None and abs(gap) <= within_s:
                cluster.append(group)
                break
        else:
            host.append([group])
            clusters.append(host[-1])
    return clusters


def count_of(events: Iterable[FabricEvent]) -> int:
    """Number of events, where one record may stand for several."""
    return sum(event.count for event in events)


def times_text(events: Sequence[FabricEvent]) -> str:
    """`once (line 4)` or `3 times (lines 4 to 19)`, counting events and not lines."""
    count = count_of(events)
    first, last = events[0], events[-1]
    if first.file != last.file:
        return f"{count} times in several files"
    end = max(event.last_line or event.line for event in events)
    if count == 1:
        lines = f"lines {first.line} to {end}" if end > first.line else f"line {first.line}"
        return f"once ({lines})"
    return f"{count} times (lines {min(e.line for e in events)} to {end})"


def evidence_of(events: Sequence[FabricEvent]) -> list[EvidenceRef]:
    """Pointers to the first events and to the last one."""
    chosen = list(events[: MAX_EVIDENCE - 1])
    if len(events) >= MAX_EVIDENCE:
        chosen.append(events[-1])
    return [EvidenceRef(e.file, e.line, e.last_line, e.text) for e in chosen]


def finding_of(
    events: Sequence[FabricEvent],
    kind: str,
    severity: str,
    role: str,
    reason: str,
    component: str = "",
    **fields: Any,
) -> Finding:
    """A finding about a group of events, with evidence, first and last time and the count."""
    times = [event.time for event in events if event.time is not None]
    numbers: dict[str, Any] = {"events": count_of(events)}
    codes = sorted({event.code for event in events if event.code is not None})
    if codes:
        numbers["codes"] = codes
    numbers.update(fields.pop("numbers", {}))
    return Finding(
        component=component or component_of(events[0]),
        kind=kind,
        severity=severity,
        role=role,
        reason=reason,
        evidence=evidence_of(events),
        first_seen=min(times) if times else None,
        last_seen=max(times) if times else None,
        numbers=numbers,
        **fields,
    )


@dataclass(slots=True)
class Lead:
    """A cause that was found, with the event that shows when and where it began."""

    component: str
    event: FabricEvent
    is_link: bool = True


@dataclass(slots=True)
class EventSheet:
    """All events in order, which of them are explained already, and what was found."""

    events: list[FabricEvent]
    findings: list[Finding] = field(default_factory=list)
    leads: list[Lead] = field(default_factory=list)
    _taken: set[int] = field(default_factory=set)
    _positions: dict[int, int] = field(default_factory=dict)

    def position(self, event: FabricEvent) -> int:
        """Place of the event in the order of all events."""
        if not self._positions:
            self._positions = {id(e): number for number, e in enumerate(self.events)}
        return self._positions[id(event)]

    def open_events(self, wanted: Callable[[FabricEvent], bool]) -> list[FabricEvent]:
        """Events no rule has explained yet and that the caller wants."""
        return [e for e in self.events if id(e) not in self._taken and wanted(e)]

    def add(self, events: Iterable[FabricEvent], finding: Finding) -> None:
        """File a finding; an accusing one becomes a lead that may explain later events."""
        events = list(events)
        self._taken.update(id(event) for event in events)
        self.findings.append(finding)
        if finding.accuses and events:
            self.leads.append(Lead(finding.component, events[0], finding.is_link))

    def add_symptom(
        self, events: Sequence[FabricEvent], cause: str, kind: str, why: str, component: str = ""
    ) -> None:
        """File events as consequence of the component `cause`, which the sentence then names."""
        why = f"{why.removesuffix('.')}. Cause: {cause}."
        finding = finding_of(events, kind, "info", "symptom", why, component, cause=cause)
        finding.is_link = bool(events[0].details.get("is_link", True))
        self.add(events, finding)

    def lead_for(
        self, event: FabricEvent, wanted: Callable[[Lead], bool], within_s: float = FOLLOW_S
    ) -> Lead | None:
        """The lead on the same host that explains an event; one at the same device comes first."""
        fitting = [
            lead
            for lead in self.leads
            if wanted(lead)
            and host_of(lead.event) == host_of(event)
            and follows(lead.event, event, within_s)
        ]
        same = [lead for lead in fitting if device_id(lead.event) == device_id(event)]
        chosen = same or fitting
        return chosen[0] if chosen else None
