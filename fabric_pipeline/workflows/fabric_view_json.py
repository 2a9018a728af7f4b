"""A fabric picture as plain values for `--json`: every link once, devices refer to links by number.

The names of the keys are an interface to other programs; drawing and judging are done elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from fabric_pipeline.workflows.fabric_view_model import (
    LINK_KINDS,
    Device,
    End,
    EndReading,
    FabricView,
    IncidentView,
    Link,
    NodeView,
    Port,
    RackView,
    SwitchView,
)


def view_as_json(
    view: FabricView, *, node: str | None = None, kind: str | None = None
) -> dict[str, Any]:
    """The view as JSON-able values; only one node, or one kind of `LINK_KINDS`, where asked.

    `links[n]["n"]` is n; devices and switches list the numbers of their links. An end carries only
    what is known: `state` always, `counter`, `value`, `limit`, `unit`, `share` when errors were counted.
    """
    links = [link for link in view.links if _is_wanted(link, node, kind)]
    numbers = {id(link): number for number, link in enumerate(links)}
    named = {i for link in links for i in link.incidents}
    incidents = [
        one
        for one in view.incidents
        if node is None or one.incident_id in named or one.component.startswith(f"{node}:")
    ]
    racks = [_rack(rack, numbers, node) for rack in view.racks]
    switches = [_switch(switch, numbers) for switch in view.switches]
    return {
        "drop": view.drop,
        "site": view.site,
        "window": {"start": _time(view.window_start), "end": _time(view.window_end)},
        "has_topology": view.has_topology,
        "is_judged": view.is_judged,
        "notes": view.notes,
        "counts": _counts(links),
        "racks": [rack for rack in racks if rack["nodes"]],
        "switches": [switch for switch in switches if node is None or switch["links"]],
        "links": [{"n": number, **_link(link)} for number, link in enumerate(links)],
        "incidents": [_incident(incident) for incident in incidents],
    }


def _is_wanted(link: Link, node: str | None, kind: str | None) -> bool:
    if kind is not None and link.link_type not in LINK_KINDS[kind]:
        return False
    return node is None or any(end.node == node for end in link.ends)


def _counts(links: Sequence[Link]) -> dict[str, dict[str, int]]:
    """Links by kind and state."""
    found: dict[str, Counter[str]] = {}
    for link in links:
        found.setdefault(link.link_type or "unknown", Counter())[link.state] += 1
    return {kind: dict(found[kind]) for kind in sorted(found)}


def _rack(rack: RackView, numbers: dict[int, int], node: str | None) -> dict[str, Any]:
    nodes = [one for one in rack.nodes if node is None or one.name == node]
    return {"rack": rack.name, "row": rack.row, "nodes": [_node(one, numbers) for one in nodes]}


def _node(node: NodeView, numbers: dict[int, int]) -> dict[str, Any]:
    return {
        "node": node.name,
        "rack": node.rack,
        "unit": node.unit,
        "serial": node.serial,
        "is_stated": node.is_stated,
        "state": node.state,
        "incidents": list(node.reading.incidents) if node.reading else [],
        "devices": [_device(device, numbers) for device in node.devices.values()],
    }


def _device(device: Device, numbers: dict[int, int]) -> dict[str, Any]:
    shown = {"kind": device.kind, "name": device.name, "state": device.state, "facts": device.facts}
    if device.reading is not None:
        shown["reading"] = _reading(device.reading)
    return {**shown, "links": _numbers(device.ports, numbers)}


def _switch(switch: SwitchView, numbers: dict[int, int]) -> dict[str, Any]:
    shown = {
        key: getattr(switch, key)
        for key in ("name", "tier", "row", "rack", "unit", "serial", "state")
    }
    if switch.reading is not None:
        shown["reading"] = _reading(switch.reading)
    return {**shown, "links": _numbers(switch.ports, numbers)}


def _numbers(ports: Iterable[Port], numbers: dict[int, int]) -> list[int]:
    return [numbers[id(port.link)] for port in ports if id(port.link) in numbers]


def _link(link: Link) -> dict[str, Any]:
    stated = {
        "lanes": link.lanes,
        "speed_gbps": link.speed_gbps,
        "cable_id": link.cable_id,
        "part": link.part,
    }
    return {
        "id": link.link_id,
        "type": link.link_type,
        "state": link.state,
        "a": _end(link.a),
        "b": _end(link.b) if link.b else None,
        **{key: value for key, value in stated.items() if value not in (None, "")},
    }


def _end(end: End) -> dict[str, Any]:
    return {"component": end.component, **_reading(end.reading)}


def _reading(reading: EndReading) -> dict[str, Any]:
    """Only what is known; a share is left out where there is no limit."""
    shown: dict[str, Any] = {
        "counter": reading.counter,
        "lane": reading.lane,
        "events": reading.events,
        "value": reading.value,
        "limit": reading.limit,
        "unit": reading.unit,
        "share": reading.share,
        "rule": reading.rule,
        "incidents": list(reading.incidents),
    }
    kept = {key: value for key, value in shown.items() if value not in (None, "", [])}
    bound = {"is_lower_bound": True} if reading.is_lower_bound else {}
    return {"state": reading.state, **kept, **bound}


def _incident(incident: IncidentView) -> dict[str, Any]:
    return {**asdict(incident), "symptoms": [list(pair) for pair in incident.symptoms]}


def _time(time: Any) -> str | None:
    return None if time is None else time.isoformat()
