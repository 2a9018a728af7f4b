"""A suspected port fault before links are merged: what was seen, by which rule, on what evidence.

`merge_links` reports each link once, naming one end and the other as its far end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fabric_pipeline.detect.port_state.link_ends import is_switch_port
from fabric_pipeline.detect.port_state.views import evidence
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import Reading

# strongest first: a link that is down is not also reported as slow
DOWNGRADE = "width_or_speed_downgrade"
KIND_ORDER = ("link_down", "port_not_active", DOWNGRADE)


@dataclass(slots=True)
class Candidate:
    """One suspected fault of a port. `since` is the reading in which its present state was seen first."""

    component: str
    far_end: str
    kind: str
    severity: str
    rule: str
    reason: str
    seen: list[Reading | None]
    numbers: dict[str, Any] = field(default_factory=dict)
    alternatives: list[str] = field(default_factory=list)
    error_class: str = ""
    since: Reading | None = None

    def finding(self) -> Finding:
        """The finding it becomes."""
        readings = [reading for reading in self.seen if reading is not None]
        times = [reading.time for reading in readings if reading.time is not None]
        began = self.since.time if self.since is not None else None
        return Finding(
            self.component,
            self.kind,
            self.severity,
            "cause",
            self.reason,
            evidence=evidence(readings),
            far_end=self.far_end,
            error_class=self.error_class,
            class_basis="reported" if self.error_class else "",
            first_seen=began or min(times, default=None),
            last_seen=max(times, default=None),
            numbers=self.numbers,
            rules=[self.rule],
            alternatives=self.alternatives,
        )


def merge_links(candidates: Iterable[Candidate], far: Mapping[str, str]) -> list[Candidate]:
    """One candidate a link: the strongest kind wins, evidence and rules of both ends stay."""
    by_link: dict[frozenset[str], Candidate] = {}
    for candidate in sorted(candidates, key=_strength):
        candidate.far_end = candidate.far_end or far.get(candidate.component, "")
        key = frozenset({candidate.component, candidate.far_end} - {""})
        kept = by_link.get(key)
        if kept is None:
            by_link[key] = candidate
        else:
            kept.seen += candidate.seen
    return list(by_link.values())


def _strength(candidate: Candidate) -> tuple[int, bool, str]:
    # host ends first: they name the machine a technician goes to
    return (
        KIND_ORDER.index(candidate.kind),
        is_switch_port(candidate.component),
        candidate.component,
    )
