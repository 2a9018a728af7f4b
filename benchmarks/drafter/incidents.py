"""Incidents of the evaluation set: each scene through the real stages into a lake of its own.

What a case is lies here; how drafts of it are graded does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.drafter.scenes import Planted, Scene
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.model.components import Component, parse_component
from fabric_pipeline.settings import Settings
from fabric_pipeline.workflows import drop_stages as stages

# Read as if at this moment, after every generated reading, so that a rerun finds the same.
_READ_AT = datetime(2027, 1, 1, tzinfo=UTC)
NOT_PLANTED = "not planted"


@dataclass(frozen=True, slots=True)
class Example:
    """One incident that needs a ticket. `truth`: components that name the planted fault, empty when none."""

    name: str
    scene: str
    platform: str
    kind: str
    truth: frozenset[str]
    incident: IncidentRecord


def examples(scenes: Sequence[Scene], settings: Settings, folder: Path) -> Iterator[Example]:
    """Incidents of the scenes in order; drops are written into `folder`, tables into the lake of `settings`."""
    for scene in scenes:
        drop = folder / scene.name
        truth = scene.write(drop)
        for number, incident in enumerate(diagnosed(settings, scene.name, drop), 1):
            found = _match(incident, truth)
            yield Example(
                name=f"{scene.name}-{number}",
                scene=scene.name,
                platform=scene.platform,
                kind=found.kind if found else NOT_PLANTED,
                truth=found.ends if found else frozenset(),
                incident=incident,
            )


def diagnosed(settings: Settings, drop_id: str, drop: Path) -> list[IncidentRecord]:
    """Every stage up to the incident records; those that need a ticket, by component."""
    stages.ingest_stage(settings, drop_id, drop, _READ_AT)
    for stage in (
        stages.link_counters_stage,
        stages.spike_stage,
        stages.straggler_stage,
        stages.correlation_stage,
    ):
        stage(settings, drop_id)
    _, records = stages.incident_stage(settings, drop_id, _READ_AT)
    wanted = [record for record in records if record.needs_ticket]
    return sorted(wanted, key=lambda record: record.isolated_component)


def without_lane(component: str) -> str:
    """The link end that a lane belongs to."""
    parsed = parse_component(component)
    return Component(parsed.node, parsed.interface).id


def _match(incident: IncidentRecord, truth: Sequence[Planted]) -> Planted | None:
    ends = {without_lane(incident.isolated_component), incident.far_end} - {""}
    return next((one for one in truth if one.ends & ends), None)
