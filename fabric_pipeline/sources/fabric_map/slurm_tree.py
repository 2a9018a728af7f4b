"""What Slurm's topology files state, whichever of the two spellings: switches, blocks, their nodes.

Filled by `slurm_topology`. A switch of Slurm need not be a machine: sites also write racks and rooms
there, so nothing here becomes a link.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fabric_pipeline.model.records import MAX_TEXT, ReadResult, RejectedLine, TopologyPart
from fabric_pipeline.sources.fabric_map.hostlist import MAX_NAMES, BadHostListError, expand

_TIERS = ("leaf", "spine", "core")


@dataclass(slots=True)
class SlurmTree:
    """Switches with their children and speed, blocks with their nodes, sizes of blocks."""

    result: ReadResult
    children: dict[str, list[str]] = field(default_factory=dict)
    nodes: dict[str, list[str]] = field(default_factory=dict)
    speeds: dict[str, str] = field(default_factory=dict)
    blocks: dict[str, list[str]] = field(default_factory=dict)
    sizes: list[str] = field(default_factory=list)
    names: int = 0

    def refuse(self, line: int | None, text: str, rule: str) -> None:
        """Keep a statement that cannot be used."""
        self.result.rejected.append(RejectedLine(line, text[:MAX_TEXT], rule))

    def expanded(self, line: int | None, text: str) -> list[str] | None:
        """The names of a host list; None when it is refused. All lists of a file share one limit."""
        if text.strip() == "ALL":
            self.refuse(
                line, text, "ALL stands for nodes that only the configuration of Slurm names"
            )
            return None
        try:
            names = expand(text, MAX_NAMES - self.names)
        except BadHostListError as problem:
            self.refuse(line, text, str(problem))
            return None
        self.names += len(names)
        return names

    def switch(
        self, line: int | None, names: str, *, switches: str = "", nodes: str = "", speed: str = ""
    ) -> None:
        """A switch, or several that share one line, with what hangs below it."""
        own = self.expanded(line, names)
        below = self.expanded(line, switches) if switches else []
        hosts = self.expanded(line, nodes) if nodes else []
        if not own or below is None or hosts is None:
            return
        for name in own:
            self.children.setdefault(name, []).extend(below)
            self.nodes.setdefault(name, []).extend(hosts)
            if speed:
                self.speeds[name] = speed[:100]

    def block(self, line: int | None, name: str, nodes: str) -> None:
        """A block and the nodes in it."""
        hosts = self.expanded(line, nodes)
        if name and hosts is not None:
            self.blocks.setdefault(name, []).extend(hosts)

    def topology(self) -> TopologyPart | None:
        """Switches with tier and parent, nodes with the switches and the block they hang on."""
        hosts: dict[str, dict[str, Any]] = {}
        for switch, names in self.nodes.items():
            for name in names:
                host = hosts.setdefault(name, {"node": name, "inventory": True})
                above = host.setdefault("leaf_switches", [])
                if switch not in above:
                    above.append(switch)
        for block, names in self.blocks.items():
            for name in names:
                hosts.setdefault(name, {"node": name, "inventory": True}).setdefault("block", block)
        switches = [self._switch(name) for name in dict.fromkeys([*self.children, *self.nodes])]
        if not hosts and not switches:
            return None
        return TopologyPart(nodes=list(hosts.values()), switches=switches)

    def facts(self) -> dict[str, Any]:
        """Numbers for people."""
        told = {
            "switches": len(self.children),
            "blocks": len(self.blocks),
            "block_sizes": self.sizes,
            "nodes": len({name for names in (*self.nodes.values(), *self.blocks.values()) for name in names}),
        }  # fmt: skip
        return {key: value for key, value in told.items() if value}

    def _switch(self, name: str) -> dict[str, Any]:
        entry: dict[str, Any] = {"name": name}
        level = self._level(name)
        if level < len(_TIERS):
            entry["tier"] = _TIERS[level]
        if speed := self.speeds.get(name):
            entry["slurm_link_speed"] = speed
        if below := self.children.get(name):
            entry["switches_below"] = list(dict.fromkeys(below))
        return entry

    def _level(self, name: str) -> int:
        """0 for a switch with nodes, 1 for one above such, and so on; rings end the climb."""
        level, seen = 0, {name}
        below = self.children.get(name, [])
        while below and level < len(_TIERS):
            level += 1
            fresh = [child for child in below if child not in seen]
            seen.update(fresh)
            below = [grandchild for child in fresh for grandchild in self.children.get(child, [])]
        return level
