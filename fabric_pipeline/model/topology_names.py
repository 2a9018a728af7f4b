"""Which names mean one machine or one adapter: GUIDs, node descriptions, host names, devices of NetBox.

Read before anything is merged. An alias is made only where the sources themselves state that two names
are one (one GUID, one name in two spellings); ports are told apart by `topology_ports`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fabric_pipeline.model.components import component_id, link_type_of, parse_component
from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.model.topology_adapters import Adapters
from fabric_pipeline.model.topology_conflicts import Conflicts, in_other
from fabric_pipeline.model.topology_links import as_guid, component_end, end_component, split_port

# `MF0;leaf01:MQM9700/U1`: how a managed switch describes itself. Parts of a chassis (`/L15/U1`) and
# further chips of one box (`/U2`) are switches of their own.
_DESCRIBED = re.compile(r"^MF0;(?P<name>[\w.-]{1,80}):[\w.-]{1,40}/U1$")
_NUMBERED = re.compile(r"^(?:(?:Ethernet|Eth|IB|swp|[Pp]ort)[ -]?(?:\d{1,2}/)?)?(\d{1,4})$")
_PORT_OF_SWITCH = re.compile(r"^(?:(?:Ethernet|Eth|IB)[ -]?\d|swp\d|sw\d|\d{1,3}(?:/\d|$))")
_MAX_NAME = 300


class Names:
    """Canonical names of nodes, switches and adapters; a name that nobody states is its own."""

    def __init__(self, parts: Sequence[TopologyPart], conflicts: Conflicts) -> None:
        """Learn from all parts; of several names the first stated is kept, and any before a GUID."""
        self._conflicts = conflicts
        self._switches: dict[str, str] = {}
        self._nodes: dict[str, str] = {}
        self._learn_switches(parts)
        self._nodes.update((name, name) for name in _node_names(parts))
        self._learn_devices(parts)
        for names in (self._switches, self._nodes):
            _join_spellings(names)
            _settle(names)
        self._adapters = Adapters(conflicts)
        for part in parts:
            self._learn_adapters(part)
        self._adapters.settle()
        named = (*self._switches.items(), *self._nodes.items())
        self.has_aliases = bool(self._adapters) or any(name != kept for name, kept in named)

    def node(self, name: str) -> str:
        """The name under which a node is kept."""
        return self._nodes.get(name, name)

    def switch(self, name: str) -> str:
        """The name under which a switch is kept."""
        return self._switches.get(name, name)

    @property
    def switches(self) -> frozenset[str]:
        """All names of switches that a source states."""
        return frozenset(self._switches)

    def component(self, text: str) -> str:
        """A component under the names of the graph."""
        if not self.has_aliases:
            return text
        parsed = parse_component(text)
        device, slash, rest = split_port(parsed.interface)
        node = self._nodes.get(parsed.node, parsed.node)
        if not node and device in self._switches:
            kept = self._switches[device]
            return text if kept == device else component_id("", f"{kept}{slash}{rest}", parsed.lane)
        known = self._adapters.port(node, parsed.interface)
        if known is not None:
            return component_id(*known, parsed.lane)
        return text if node == parsed.node else component_id(node, parsed.interface, parsed.lane)

    def end(self, end: dict[str, Any]) -> dict[str, Any]:
        """A link end under the names of the graph; what NetBox calls a device is a node or a switch."""
        if not self.has_aliases and "device" not in end:
            return end
        return component_end(self.component(end_component(self._settled(end))), end)

    def entries(self, part: TopologyPart) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Nodes and switches of a part under their names."""
        nodes, switches = [], []
        for entry in part.nodes:
            name = str(entry["node"])
            if entry.get("is_device") and name in self._switches:
                switches.append(_as_switch(entry, self._switches[name]))
            else:
                nodes.append(self._renamed(entry, self.node(name)))
        for entry in part.switches:
            name = str(entry["name"])
            switches.append({**entry, "name": self._switches.get(name, name)})
        return nodes, switches

    def _renamed(self, node: dict[str, Any], name: str) -> dict[str, Any]:
        kept = {key: value for key, value in node.items() if key != "is_device"} | {"node": name}
        if isinstance(node.get("nics"), list):
            kept["nics"] = [self._adapters.nic(name, nic) for nic in node["nics"]]
        return kept

    def _learn_switches(self, parts: Sequence[TopologyPart]) -> None:
        by_guid: dict[str, str] = {}
        self._switches.update((name, name) for part in parts for name in _switches_at_ends(part))
        listed = list(_listed_switches(parts))
        for name, guid, source in listed:
            self._switches.setdefault(name, name)
            known = by_guid.get(guid, "")
            if not guid or name == known:
                continue
            if not known or _telling(name) > _telling(known):
                by_guid[guid] = name
            elif _telling(name) == _telling(known) and _plain(name) != _plain(known):
                self._conflicts.note(f"the switch {guid} is {known!r} in one source and {name!r} {in_other(source)}")  # fmt: skip
                continue
        in_source: dict[tuple[str, str], set[str]] = defaultdict(set)
        for name, guid, source in listed:
            in_source[source, guid] |= set() if as_guid(name) else {_plain(name)}
        for guid, name in by_guid.items():
            self._switches[guid] = name
        for name, guid, source in listed:
            # A source that gives one GUID to several switches has mistaken it for something else.
            if guid and len(in_source[source, guid]) < 2:
                self._switches[name] = by_guid[guid]
        self._join_descriptions()

    def _join_descriptions(self) -> None:
        """A switch describes itself under the name that another source gives it."""
        described: dict[str, list[str]] = defaultdict(list)
        for name in self._switches:
            if found := _DESCRIBED.match(name):
                described[found["name"]].append(name)
        for short, names in described.items():
            if len(names) == 1 and short in self._switches:
                self._switches[names[0]] = short

    def _learn_devices(self, parts: Sequence[TopologyPart]) -> None:
        """Devices of NetBox are what other sources call them, else what their ports look like."""
        ports: dict[str, list[str]] = {}
        for part in parts:
            for entry in part.nodes:
                if entry.get("is_device"):
                    ports.setdefault(str(entry["node"]), [])
            for end in _ends(part):
                if end.get("device"):
                    ports.setdefault(str(end["device"]), []).append(str(end.get("port") or ""))
        switches = {_short(name) for name in self._switches}
        nodes = {_short(name) for name in self._nodes}
        for name, named in ports.items():
            looks_like_one = bool(named) and all(_PORT_OF_SWITCH.match(port) for port in named)
            is_known = name in self._switches or _short(name) in switches
            if is_known or (looks_like_one and _short(name) not in nodes):
                self._switches.setdefault(name, name)
            else:
                self._nodes.setdefault(name, name)

    def _settled(self, end: dict[str, Any]) -> dict[str, Any]:
        """An end of NetBox, which calls every machine a device, as node or switch with its port."""
        if not end.get("device"):
            return end
        name, port = str(end["device"]), " ".join(str(end.get("port") or "").split())[:_MAX_NAME]
        if name in self._switches:
            found = _NUMBERED.match(port)
            return {"switch": name, "port": found[1] if found else port}
        if "/" not in port and link_type_of(f"{port}/1") == "infiniband":
            port = f"{port}/1"  # such a device has one port
        return {"node": name, "port": port}

    def _learn_adapters(self, part: TopologyPart) -> None:
        for node in part.nodes:
            for nic in node.get("nics") or []:
                if isinstance(nic, dict) and isinstance(nic.get("hca"), str):
                    self._adapters.learn_nic(self.node(str(node["node"])), nic, part.source)
        for end in _ends(part):
            guid = as_guid(str(end["guid"])) if end.get("guid") else ""
            parsed = parse_component(end_component(end)) if guid else None
            if parsed is not None and split_port(parsed.interface)[0] not in self._switches:
                self._adapters.learn(guid, self.node(parsed.node), parsed.interface, part.source)


def _ends(part: TopologyPart) -> Iterator[dict[str, Any]]:
    """Every end of every link."""
    for link in part.links:
        for end in (link.get("a"), link.get("b")):
            if isinstance(end, dict):
                yield end


def _listed_switches(parts: Iterable[TopologyPart]) -> Iterator[tuple[str, str, str]]:
    """Name, GUID and file of every entry of a list of switches."""
    for part in parts:
        for switch in part.switches:
            yield str(switch["name"]), as_guid(str(switch.get("guid") or "")), part.source


def _switches_at_ends(part: TopologyPart) -> dict[str, None]:
    """Switches that links end at. An adapter without a host is written the same way under its GUID, so
    a GUID counts only where a list of switches has it.
    """
    names = dict.fromkeys(str(end["switch"]) for end in _ends(part) if end.get("switch"))
    return {name: None for name in names if not as_guid(name) and not name.startswith("lid-")}


def _node_names(parts: Iterable[TopologyPart]) -> Iterator[str]:
    for part in parts:
        yield from (str(node["node"]) for node in part.nodes if not node.get("is_device"))
        yield from dict.fromkeys(
            str(end["node"]) for end in _ends(part) if end.get("node") and not end.get("switch")
        )


def _join_spellings(names: dict[str, str]) -> None:
    """`Node07` and `node07.site.example` are `node07`, where nothing else is called like that."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name, kept in names.items():
        if name == kept and name:
            alike[_short(name)].append(name)
    for group in alike.values():
        domains = {name.partition(".")[2].casefold() for name in group} - {""}
        if len(group) > 1 and len(domains) < 2:
            names.update(dict.fromkeys(group[1:], group[0]))


def _settle(names: dict[str, str]) -> None:
    """Every name points at the one that is kept, over however many steps."""
    for name in names:
        kept, seen = name, {name}
        while (further := names.get(kept, kept)) not in seen:
            kept = further
            seen.add(kept)
        names[name] = kept


def _telling(name: str) -> int:
    """A name says more than a description of itself, and that more than a GUID."""
    return 0 if as_guid(name) else 1 if _DESCRIBED.match(name) else 2


def _plain(name: str) -> str:
    found = _DESCRIBED.match(name)
    return _short(found["name"] if found else name)


def _short(name: str) -> str:
    return name.partition(".")[0].casefold()


def _as_switch(entry: dict[str, Any], name: str) -> dict[str, Any]:
    """A device of NetBox as a switch; its ports by their numbers."""
    unsaid = ("node", "is_device", "nics", "inventory")
    rest = {key: value for key, value in entry.items() if key not in unsaid}
    labels = rest.get("port_labels")
    if isinstance(labels, dict):
        rest["port_labels"] = {
            (found[1] if (found := _NUMBERED.match(port)) else port): label
            for port, label in labels.items()
        }
    return {"name": name, **rest}
