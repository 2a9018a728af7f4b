"""How a drop is cut into shards: contiguous ranges of nodes in the order of their names, by number of readings.

A series lies in one node, so no shard needs another to count it, and the tables of the shards, laid behind
each other, are the table of the drop. What is done in a shard is said in `shard_counting`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class NodeRange(NamedTuple):
    """Nodes of one shard, both ends included; the empty name stands for readings that state none."""

    first: str
    last: str

    def __str__(self) -> str:
        """As it is told to people."""
        names = [name or "no node stated" for name in self]
        return names[0] if self.first == self.last else f"{names[0]} to {names[1]}"


def node_ranges(readings: Sequence[tuple[str, int]], most: int) -> list[NodeRange]:
    """Ranges over (node, readings) in the order of nodes, each of at most `most` readings or of one node.

    One range for all when there are no more. The same nodes and readings give the same ranges, whatever
    works on them.
    """
    ranges: list[NodeRange] = []
    held = 0
    for node, count in readings:
        if ranges and held + count <= most:
            ranges[-1] = NodeRange(ranges[-1].first, node)
            held += count
        else:
            ranges.append(NodeRange(node, node))
            held = count
    return ranges or [NodeRange("", "")]
