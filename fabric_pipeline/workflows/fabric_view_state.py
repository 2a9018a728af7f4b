"""The state of each link end and device of one drop, from its spikes and incidents.

An incident colours both ends of its link. A rule that fired without an incident is a watch at most,
because the diagnosis has seen it and accused nothing. Ends without a row here are quiet or not measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from fabric_pipeline.detect.spikes.thresholds import SpikeLimits
from fabric_pipeline.model.components import component_id, parse_component
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.workflows.fabric_view_model import QUIET, EndReading, IncidentView, worst
from fabric_pipeline.workflows.fabric_view_sql import worst_counters_sql

Key = tuple[str, str]
_SEVERITIES = ("", "info", "watch", "warning", "critical")  # as ranked from 1 by the SQL


@dataclass(slots=True)
class FabricState:
    """`readings` by (node, interface) of ends and devices that stand out; `far_ends` of incidents."""

    readings: dict[Key, EndReading] = field(default_factory=dict)
    incidents: list[IncidentView] = field(default_factory=list)
    far_ends: dict[Key, Key] = field(default_factory=dict)
    places: dict[str, dict[str, str]] = field(default_factory=dict)


def fabric_state(
    connection: Any, topology: Topology, has_spikes: bool, has_incidents: bool
) -> FabricState:
    """Read `spike_detections` and `incident_records` where they are there."""
    state = FabricState()
    if has_spikes:
        rows = connection.execute(worst_counters_sql(SpikeLimits())).fetchall()
        for row in rows:
            key = _resolved(row[0], row[1], topology)
            reading = _counted(row[2:], has_incidents)
            known = state.readings.get(key)
            if known is None or (known.share or 0) < (reading.share or 0):
                state.readings[key] = reading
    if has_incidents:
        _add_incidents(connection, topology, state)
    return state


def _counted(row: tuple[Any, ...], is_diagnosed: bool) -> EndReading:
    counter, lane, events, value, limit, unit, is_bound, severity_rank, rules = row
    severity = _SEVERITIES[severity_rank]
    state = "healthy" if severity == "info" else "watch" if is_diagnosed else severity
    return EndReading(
        state, counter, lane, events, value, limit, unit, is_bound, _rule(rules, severity)
    )


def _rule(rules: str, severity: str) -> str:
    """The first rule of that severity with its figures, "" when none fired."""
    hits = [hit for hit in json.loads(rules) if hit.get("severity") == severity]
    if not hits:
        return ""
    hit = hits[0]
    return f"{hit['rule_id']}: {hit['value']}, limit {hit['limit']}"


_INCIDENTS_SQL = """
select incident_id, severity, role, fault_type, isolated_component, far_end, confidence, summary, record from incident_records
order by list_position(['CRITICAL', 'WARNING', 'WATCH', 'INFO'], severity), confidence desc, incident_id
"""


def _add_incidents(connection: Any, topology: Topology, state: FabricState) -> None:
    for row in connection.execute(_INCIDENTS_SQL).fetchall():
        incident_id, severity, role, fault_type, component, far_end, confidence, summary, record = (
            row
        )
        whole = json.loads(record)
        symptoms = [(str(s["component"]), str(s["kind"])) for s in whole.get("symptoms") or []]
        incident = IncidentView(
            incident_id, severity, role, fault_type, component, far_end, confidence, summary,
            _colour(severity, role), tuple(symptoms),
        )  # fmt: skip
        state.incidents.append(incident)
        _note_places(whole, state)
        near, far = (_key(end, topology) for end in (incident.component, incident.far_end))
        if near != far and all(interface for _, interface in (near, far)):
            state.far_ends[near] = far
        if incident.state:
            touched = _touched((near, far), incident, topology)
            for key, colour in touched.items():
                _mark(state.readings, key, colour, incident_id)


def _touched(ends: Iterable[Key], incident: IncidentView, topology: Topology) -> dict[Key, str]:
    """The components an incident colours; what only follows from it is a watch."""
    found = {_key(component, topology): "watch" for component, _ in incident.symptoms}
    found |= dict.fromkeys(ends, incident.state)
    found.pop(("", ""), None)
    return found


def _mark(readings: dict[Key, EndReading], key: Key, colour: str, incident_id: str) -> None:
    known = readings.get(key, QUIET)
    ids = tuple(dict.fromkeys((*known.incidents, incident_id)))
    readings[key] = replace(known, state=worst((known.state, colour)), incidents=ids)


def _colour(severity: str, role: str) -> str:
    if severity in ("WARNING", "CRITICAL"):
        return severity.lower() if role == "cause" else "watch"
    return "watch" if severity == "WATCH" else ""


def _note_places(record: dict[str, Any], state: FabricState) -> None:
    """Where the nodes of a record stand, for nodes that only an incident names."""
    for place in (record.get("place") or {}, record.get("far_place") or {}):
        if place.get("node"):
            keys = ("row", "rack", "unit")
            state.places.setdefault(place["node"], {k: str(place.get(k) or "") for k in keys})


def _key(component: str, topology: Topology) -> Key:
    """Node and interface of a component without its lane; ("", "") for `none` and the unknown."""
    if component in ("", "none"):
        return ("", "")
    parsed = parse_component(component)
    return _resolved(parsed.node, parsed.interface, topology)


def _resolved(node: str, interface: str, topology: Topology) -> Key:
    """A GPU named by its PCI address gets its index, as far as the topology states it."""
    if not interface.startswith("pci-"):
        return (node, interface)
    parsed = parse_component(topology.resolve(component_id(node, interface)))
    return (parsed.node, parsed.interface)
