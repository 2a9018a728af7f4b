"""Names ports of a whole fabric and gathers its links, for the tools that print both ends.

Tools print an end with some of kind, name, GUID and LID. A first pass over all ends settles which
names stand for one machine; the second turns each end into a port. Nothing here reads lines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fabric_pipeline.model.records import Reading, TopologyPart
from fabric_pipeline.sources.infiniband.guids import is_product_name, split_description
from fabric_pipeline.sources.infiniband.ports import PortRef, adapter_port, switch_port

_MAX_ADAPTER_PORTS = 2  # no channel adapter has more; a higher port number shows a switch


@dataclass(frozen=True, slots=True)
class RawEnd:
    """One end of a link as printed. `kind`: `switch`, `adapter` or "" when not stated."""

    kind: str
    name: str
    port: int
    guid: str = ""
    lid: int | None = None


@dataclass(slots=True)
class Levels:
    """Width and lane rate of a link, and the most its tool or devices allow, as far as printed.

    `max_source` says who claims the maximum; whoever judges decides how far to believe it.
    """

    line: int
    width: int | None = None
    lane_gbps: float | None = None
    lane_text: str = ""
    width_max: int | None = None
    lane_max_gbps: float | None = None
    max_source: str = ""


@dataclass(slots=True)
class FabricRow:
    """One port row: its own end, its peer if linked, its state and its levels."""

    own: RawEnd
    levels: Levels
    peer: RawEnd | None = None
    logical: str = ""
    physical: str = ""


@dataclass(slots=True)
class Names:
    """What the ends of one file say about names: which are shared, which LID is which device."""

    guids_of: dict[tuple[str, int | None], set[str]] = field(
        default_factory=lambda: defaultdict(set)
    )
    by_lid: dict[int, RawEnd] = field(default_factory=dict)
    many_ports: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, rows: Iterable[FabricRow]) -> Names:
        """Learn names from all ends."""
        names = cls()
        for row in rows:
            for end in (row.own, row.peer):
                if end is not None:
                    names.learn(end)
        return names

    def learn(self, end: RawEnd) -> None:
        """Take one end into account."""
        name = " ".join(end.name.split())
        if end.guid:
            self.guids_of[(name, _port_of_name(end))].add(end.guid)
        if end.lid and end.kind:
            self.by_lid.setdefault(end.lid, end)
        if end.kind == "switch" or end.port > _MAX_ADAPTER_PORTS:
            self.many_ports.add(end.guid or name)
            self.many_ports.add(name)

    def port(self, end: RawEnd) -> PortRef:
        """The port an end stands for."""
        known = self.by_lid.get(end.lid) if end.lid else None
        kind = end.kind or (known.kind if known else "") or self._guess_kind(end)
        # an adapter's ports have GUIDs of their own: take over only a switch's GUID
        guid = end.guid or (known.guid if known and kind == "switch" else "")
        name = " ".join(end.name.split())
        is_shared = len(self.guids_of.get((name, _port_of_name(end, kind)), ())) > 1
        if kind == "switch":
            usable = "" if is_product_name(name) or is_shared else name
            return switch_port(usable or guid or name, end.port, guid, end.lid)
        host, adapter = ("", "") if is_shared else split_description(name)
        return adapter_port(host, adapter, end.port, guid, end.lid)

    def _guess_kind(self, end: RawEnd) -> str:
        """Kind of an end whose tool names none: an adapter word, or how many ports it has."""
        name = " ".join(end.name.split())
        if split_description(name)[1] or "aggregation node" in name.lower():
            return "adapter"
        return "switch" if (end.guid or name) in self.many_ports else "adapter"


@dataclass(slots=True)
class Fabric:
    """Readings, links and switches of one file, each link once."""

    readings: list[Reading] = field(default_factory=list)
    links: dict[frozenset[str], dict[str, Any]] = field(default_factory=dict)
    switches: dict[str, dict[str, Any]] = field(default_factory=dict)

    def topology(self) -> TopologyPart:
        """Links and switches in the shape of `topology.json`."""
        return TopologyPart(switches=list(self.switches.values()), links=list(self.links.values()))

    def add(self, row: FabricRow, names: Names, tool: str) -> PortRef:
        """Turn a row into readings and, when it has a peer, a link."""
        port = names.port(row.own)
        self.note_switch(port)
        self.readings += port.presence(row.levels.line, row.logical, row.physical, tool)
        self.readings += level_readings(port, row.levels)
        if row.peer is not None:
            peer = names.port(row.peer)
            self.note_switch(peer)
            self.link(port, peer, row.levels)
        return port

    def link(self, a: PortRef, b: PortRef, levels: Levels | None = None) -> None:
        """Keep a link once, whichever end came first; a later row may know more GUIDs and LIDs."""
        key = frozenset((a.id, b.id))
        if a.id == b.id:
            return
        known = self.links.get(key)
        if known is not None:
            for end in (a.end(), b.end()):
                side = "a" if known["a"]["port"] == end["port"] else "b"
                known[side] = end | known[side]
            return
        first, second = sorted((a, b), key=lambda port: port.id)
        entry: dict[str, Any] = {
            "id": f"{first.id} - {second.id}",
            "type": "infiniband",
            "a": first.end(),
            "b": second.end(),
        }
        if levels is not None and levels.width:
            entry["width"] = levels.width
            if levels.lane_gbps:
                entry["speed_gbps"] = levels.lane_gbps * levels.width
        self.links[key] = entry

    def describe(self, a: PortRef, b: PortRef, facts: dict[str, Any]) -> None:
        """Add what is known of a link that was kept before, such as its cable."""
        entry = self.links.get(frozenset((a.id, b.id)))
        if entry is not None:
            entry |= facts

    def note_switch(self, port: PortRef) -> None:
        """Keep a switch by name, with GUID and LID where the port tells them."""
        if port.is_switch:
            name = port.interface.rpartition("/")[0]
            entry = self.switches.setdefault(name, {"name": name})
            if port.guid:
                entry["guid"] = port.guid
            if port.lid:
                entry["lid"] = port.lid


def level_readings(port: PortRef, levels: Levels) -> list[Reading]:
    """Width and speed readings of a port, with the maximum its tool or devices allow.

    A lane rate without a width stays a lane rate (`scope` lane); otherwise speeds are totals.
    """
    lanes = levels.width or 1
    scope = "link" if levels.width else "lane"
    line, source = levels.line, levels.max_source
    made = []
    if levels.width:
        made.append(port.level(line, "width", f"{levels.width}X", levels.width))
    if levels.width_max:
        made.append(port.level(line, "width_max", f"{levels.width_max}X", levels.width_max, source))
    if levels.lane_gbps:
        text = levels.lane_text or f"{levels.lane_gbps:g}"
        made.append(port.level(line, "speed_gbps", text, levels.lane_gbps * lanes, text, scope))
    if levels.lane_max_gbps:
        most, text = levels.lane_max_gbps * lanes, f"{levels.lane_max_gbps:g}"
        made.append(port.level(line, "speed_max_gbps", text, most, source, scope))
    return made


def _port_of_name(end: RawEnd, kind: str = "") -> int | None:
    """Adapters share a description over their ports, so their names are compared per port."""
    return None if (end.kind or kind) == "switch" else end.port
