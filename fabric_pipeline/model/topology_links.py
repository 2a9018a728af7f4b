"""Links as sources write them: the component at each end, and one link of the graph.

Which names mean one port is settled in `topology_names` and `topology_ports` before; merging is
`topology`'s.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from fabric_pipeline.model.components import Component, link_type_of, parse_component

_PORT_NUMBER = re.compile(r"^\d+$")
_GUID = re.compile(r"^(?:0x(?P<short>[0-9a-f]{1,16})|(?P<long>[0-9a-f]{16}))$", re.I)


@dataclass(frozen=True, slots=True)
class Link:
    """One link with both ends. `lanes` and `speed_gbps` are nominal, None when not stated."""

    link_id: str
    link_type: str
    a: str
    b: str
    lanes: int | None = None
    speed_gbps: float | None = None
    cable_id: str = ""
    part: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def is_bundle(self) -> bool:
        """True for `gpu0 and gpu1 share 4 NVLinks`, which names none of them."""
        return self.attributes.get("count") is not None and "/" not in self.a + self.b


def end_component(end: dict[str, Any]) -> str:
    """Component id of one link end as `topology.json` writes it (`node` or `switch`, and `port`)."""
    port = str(end.get("port") if end.get("port") is not None else "")
    if end.get("switch"):
        name = str(end["switch"])
        if port.startswith(f"{name}/"):
            return Component("", port).id
        return Component(
            "", f"{name}/port-{port}" if _PORT_NUMBER.match(port) else f"{name}/{port}"
        ).id
    return Component(str(end.get("node") or ""), port).id


def as_guid(text: str) -> str:
    """A GUID as all readers write it (`0x` and 16 digits), "" for other text and for zero."""
    found = _GUID.match(text.strip())
    number = int(found["short"] or found["long"], 16) if found else 0
    return f"0x{number:016x}" if number else ""


def split_port(interface: str) -> tuple[str, str, str]:
    """Device, slash and port: `MF0;leaf01:QM/U1`, `/` and `port-3`; a description may hold slashes itself."""
    device, slash, number = interface.rpartition("/port-")
    if slash and number.isdecimal():
        return device, "/", f"port-{number}"
    return interface.partition("/")


def component_end(component: str, end: dict[str, Any]) -> dict[str, Any]:
    """The end again, under another name; what else it states (GUID, LID) stays."""
    parsed = parse_component(component)
    rest = {key: value for key, value in end.items() if key not in ("node", "switch", "device")}
    if parsed.node:
        return {"node": parsed.node, **rest, "port": parsed.interface}
    return {"switch": split_port(parsed.interface)[0], **rest, "port": parsed.interface}


def renamed_link(link: Link, kept: Callable[[str], str]) -> Link:
    """The link with both ends under other names; the same one when none changes."""
    a, b = kept(link.a), kept(link.b)
    if (a, b) == (link.a, link.b):
        return link
    ends = {
        "a": component_end(a, link.attributes["a"]),
        "b": component_end(b, link.attributes["b"]),
    }
    moved = replace(link, a=a, b=b, attributes={**link.attributes, **ends})
    return under_its_ends(moved, link.a, link.b)


def under_its_ends(link: Link, near: str, far: str) -> Link:
    """The link with an id that names its ends as they are now, where the id names them at all."""
    name = link.link_id.replace(near, link.a) if near else link.link_id
    name = name.replace(far, link.b) if far else name
    return link if name == link.link_id else replace(link, link_id=name)


def link_from(raw: dict[str, Any]) -> Link | None:
    """The link of an entry of `links`; None when an end is missing."""
    a, b = raw.get("a"), raw.get("b")
    if not (isinstance(a, dict) and isinstance(b, dict)):
        return None
    near, far = end_component(a), end_component(b)
    lanes, speed = raw.get("lanes"), raw.get("speed_gbps")
    kind = (
        raw["type"]
        if raw.get("type") is not None
        else link_type_of(parse_component(near).interface)
    )
    return Link(
        link_id=str(raw.get("id") or f"{near}<->{far}"),
        link_type=str(kind),
        a=near,
        b=far,
        lanes=int(lanes) if isinstance(lanes, int | float) else None,
        speed_gbps=float(speed) if isinstance(speed, int | float) else None,
        cable_id=str(raw.get("cable") or ""),
        part=str(raw.get("part") or ""),
        attributes=raw,
    )
