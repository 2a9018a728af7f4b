"""Scalable units of a fabric: nodes whose network cables end at the same leaf switches.

No source states them; they are read off the cabling. A fabric whose nodes all share their leaves, or that
names no far ends, has none.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from fabric_pipeline.model.components import device_of, natural_key
from fabric_pipeline.workflows.fabric_view_model import LINK_KINDS, FabricView

_LEAST_NODES = 2  # on average; a unit of one node is that node


@dataclass(frozen=True, slots=True)
class Unit:
    """One scalable unit; numbers are from 1 in the order of the first node."""

    number: int
    nodes: frozenset[str]
    leaves: frozenset[str]

    @property
    def name(self) -> str:
        """What people call it."""
        return f"SU {self.number}"


def units_of(view: FabricView) -> list[Unit]:
    """All units, none where there is but one or where nodes stand alone."""
    leaves = _leaves_of_nodes(view)
    parts: list[tuple[set[str], set[str]]] = []
    for node, beside in leaves.items():
        joined = ({node}, set(beside))
        apart = []
        for part in parts:
            if part[1] & joined[1]:
                joined = (part[0] | joined[0], part[1] | joined[1])
            else:
                apart.append(part)
        parts = [*apart, joined]
    if len(parts) < 2 or len(leaves) < _LEAST_NODES * len(parts):
        return []
    parts.sort(key=lambda part: min(natural_key(node) for node in part[0]))
    return [
        Unit(number, frozenset(nodes), frozenset(beside))
        for number, (nodes, beside) in enumerate(parts, 1)
    ]


def _leaves_of_nodes(view: FabricView) -> dict[str, set[str]]:
    """By node the switches that its network cables lead to."""
    columns = view.links.columns
    outside = columns.nodes.index("") if "" in columns.nodes else -1
    is_network = np.array([name in LINK_KINDS["nic"] for name in columns.types], bool)
    found: dict[str, set[str]] = defaultdict(set)
    for near, far in ((0, 1), (1, 0)):
        rows = np.flatnonzero(
            is_network[columns.type] & (columns.node[near] >= 0) & (columns.node[near] != outside)
            & (columns.node[far] == outside) & (columns.interface[far] >= 0)
        )  # fmt: skip
        for row in rows.tolist():
            interface = columns.interfaces[columns.interface[far][row]]
            found[columns.nodes[columns.node[near][row]]].add(device_of(interface))
    return found
