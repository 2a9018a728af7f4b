"""Ends of topology links as component ids: who is at the far end, and which names mean one port.

A link end is `{"node": n, "port": interface}` or `{"switch": s, "port": interface}`; readers may
add `guid` and `lid`, by which tools that know no names call the same port.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fabric_pipeline.model.components import UNKNOWN, Component, port_index


def end_component(end: Mapping[str, Any]) -> Component:
    """The component of a link end; switch ports given as bare numbers get their full name."""
    node, switch, port = (str(end.get(key, "")) for key in ("node", "switch", "port"))
    if node or not switch:
        return Component(node, port)
    if port.isdigit():
        return Component("", f"{switch}/port-{port}")
    return Component("", port if port.startswith(f"{switch}/") else f"{switch}/{port}")


def far_ends(links: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Component id of each end -> component id of the other end, both ways."""
    far: dict[str, str] = {}
    for link in links:
        a, b = link.get("a"), link.get("b")
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            first, second = end_component(a).id, end_component(b).id
            if first != second:
                far[first] = second
                far[second] = first
    return far


def aliases(links: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Component ids made of a GUID or LID -> the id that names the same port."""
    names: dict[str, str] = {}
    for link in links:
        for end in (link.get("a"), link.get("b")):
            if not isinstance(end, Mapping) or not (end.get("guid") or end.get("lid")):
                continue
            component = end_component(end)
            number = port_index(component.interface) or component.interface.rpartition("/")[2]
            for device in (end.get("guid"), f"lid-{end['lid']}" if end.get("lid") else None):
                alias = Component("", f"{device}/port-{number}").id if device else component.id
                if alias != component.id:
                    names[alias] = component.id
    return names


def device_id(component_id: str) -> str:
    """The host or switch a port belongs to: the node name, or `unknown:leaf-1` for a switch.

    Adapter ports without a known host all belong to the one host that was captured: `unknown`.
    """
    node, _, interface = component_id.partition(":")
    if node == UNKNOWN and "/port-" in interface:
        return f"{UNKNOWN}:{interface.rpartition('/port-')[0]}"
    return node


def is_switch_port(component_id: str) -> bool:
    """True for a port without a host whose name counts ports (`unknown:leaf-1/port-3`)."""
    node, _, interface = component_id.partition(":")
    return node == UNKNOWN and "/port-" in interface


def device_component(device: str) -> str:
    """Component id of a whole host or switch as `device_id` names it."""
    return device if ":" in device else f"{device}:{UNKNOWN}"


def device_words(device: str) -> str:
    """A device as a sentence names it."""
    return "this host" if device == UNKNOWN else device.removeprefix(f"{UNKNOWN}:")
