"""The fabric of one drop as the look-ups need it: topology, errors of every link, parts, accused links.

Read once from a connection that holds the drop's tables. Which questions are answered with it is in
`fabric_lookup`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fabric_pipeline.model.components import (
    Component,
    component_id,
    device_of,
    natural_key,
    parse_component,
)
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.workflows.drop_stages import topology_of
from fabric_pipeline.workflows.fabric_lookup_sql import ACCUSED_SQL, ENDS_SQL
from fabric_pipeline.workflows.shared_parts import SharedParts

# Between node and interface where both are one text: it stands in no name.
SEPARATOR = "\0"


@dataclass(slots=True)
class CountedEnd:
    """One link end with counters: spellings of its interface, link type, errors (None: not countable)."""

    interfaces: list[str]
    link_type: str
    errors: float | None


class Fabric:
    """Links and link ends of one drop. A link is named by the key that `Topology.link_key` gives."""

    def __init__(self, connection: Any) -> None:
        """Read it all; about a quarter of a second for eight nodes."""
        self.topology = topology_of(connection)
        self.ends = _counted_ends(connection.execute(ENDS_SQL).fetchall(), self.topology)
        self.parts = SharedParts(self.topology, self.ends)
        accused = connection.execute(ACCUSED_SQL).fetchall()
        self.accused = frozenset(self.parts.key_of(str(row[0])) for row in accused) - {""}
        self._by_device: dict[tuple[str, str], list[str]] = {}
        stated = {end for link in self.topology.links for end in (link.a, link.b)}
        for end in sorted({*stated, *self.ends}, key=natural_key):
            mine = parse_component(end)
            self._by_device.setdefault((mine.node, device_of(mine.interface)), []).append(end)

    def resolved(self, component: str) -> Component:
        """The component with its GPU by index, as the links of the drop are named."""
        return parse_component(self.topology.resolve(component))

    def knows(self, component: Component) -> bool:
        """True for a link end, or a lane of one, that the drop states or counts."""
        return Component(component.node, component.interface).id in self.beside(component)

    def beside(self, component: Component) -> Sequence[str]:
        """All link ends of the device that this component belongs to, in natural order."""
        return self._by_device.get((component.node, device_of(component.interface)), ())

    def siblings(self, component: Component, end: CountedEnd) -> list[CountedEnd]:
        """Like ends, itself among them: NVLinks of the GPU, ports of the switch, else of the node."""
        if end.link_type == "nvlink" or not component.node:
            near = list(self.beside(component))
        else:
            on_node = (names for key, names in self._by_device.items() if key[0] == component.node)
            near = [name for names in on_node for name in names]
        known = [self.ends[name] for name in near if name in self.ends]
        return [one for one in known if one.link_type == end.link_type]

    def errors(self, key: str) -> float | None:
        """Errors over both ends of a link, None when neither has a readable error counter."""
        known = [self.ends.get(end) for end in (key, self.topology.far_end(key))]
        counts = [end.errors for end in known if end is not None and end.errors is not None]
        return sum(counts) if counts else None

    def spelled(self, key: str) -> tuple[list[str], list[str]]:
        """Nodes of both ends of a link, and every spelling of both as the tables have them."""
        nodes: list[str] = []
        names: list[str] = []
        for end in filter(None, (key, self.topology.far_end(key))):
            mine = parse_component(end)
            interfaces = {
                mine.interface,
                *(self.ends[end].interfaces if end in self.ends else ()),
            }
            nodes.append(mine.node)
            names += [f"{mine.node}{SEPARATOR}{interface}" for interface in sorted(interfaces)]
        return nodes, names


def _counted_ends(rows: Iterable[Sequence[Any]], topology: Topology) -> dict[str, CountedEnd]:
    ends: dict[str, CountedEnd] = {}
    for node, interface, link_type, errors in rows:
        name = topology.resolve(component_id(node, interface))
        known = ends.get(name)
        if known is None:
            ends[name] = CountedEnd([interface], link_type, errors)
            continue
        known.interfaces.append(interface)
        if errors is not None:
            known.errors = (known.errors or 0.0) + errors
    return ends
