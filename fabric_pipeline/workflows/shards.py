"""How a drop is cut into shards: contiguous ranges of nodes in the order of their names, by number of readings.

A series lies in one node, so no shard needs another to count it, and the tables of the shards, laid behind
each other, are the table of the drop. What is done in a shard is said in `shard_counting`; here is also
which shards a drop has and which of them failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import NamedTuple

from fabric_pipeline.settings import Settings
from fabric_pipeline.sources.drop import sha256_of
from fabric_pipeline.store import lake

WORKPLACE = "work-"  # what folders begin with in which a worker makes the files of a shard


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

    One range for all when there are no more; several are about equal, so that no worker waits for the
    last. The same nodes and readings give the same ranges, whatever works on them.
    """
    ranges: list[NodeRange] = []
    held, total = 0, sum(count for _, count in readings)
    even = ceil(total / ceil(total / most)) + max(count for _, count in readings) if total else most
    most = min(most, even)
    for node, count in readings:
        if ranges and held + count <= most:
            ranges[-1] = NodeRange(ranges[-1].first, node)
            held += count
        else:
            ranges.append(NodeRange(node, node))
            held = count
    return ranges or [NodeRange("", "")]


@dataclass(frozen=True, slots=True)
class RawPart:
    """The readings of one shard: the file, the hash it was written with, its rows, those refused, its nodes.

    `nodes` is None where the readings of a drop are one part; its rows are then not told either.
    """

    number: int
    path: Path
    sha256: str
    rows: int
    refused: int
    nodes: NodeRange | None


@dataclass(frozen=True, slots=True)
class FailedShard:
    """A shard that could not be counted: the number of its part of raw_telemetry, its nodes, and why."""

    part: int
    nodes: NodeRange | None
    problem: str

    def __str__(self) -> str:
        """As it is told to people, with what follows from it."""
        return f"{self.whose} could not be counted ({self.problem}): their links are unknown"

    @property
    def whose(self) -> str:
        """The nodes in words."""
        return f"nodes {self.nodes}" if self.nodes else "all nodes"


def raw_parts(settings: Settings, drop_id: str) -> list[RawPart]:
    """The shards of a drop that was read, in the order of their nodes."""
    head = lake.head_path(settings.lake, "raw_telemetry", drop_id)
    paths = lake.parts_of(settings.lake, "raw_telemetry", drop_id)
    if head.name != lake.PARTS_FILE:
        return [RawPart(0, path, sha256_of(path), 0, 0, None) for path in paths]
    said = lake.listing(head)["said"]
    told = ("sha256_of_parts", "rows_of_parts", "refused_of_parts", "nodes")
    facts = zip(*(said[name] for name in told), strict=True)
    return [
        RawPart(number, path, one, rows, refused, NodeRange(*nodes))
        for number, (path, (one, rows, refused, nodes)) in enumerate(zip(paths, facts, strict=True))
    ]


def failed_shards(settings: Settings, drop_id: str) -> list[FailedShard]:
    """Shards of a drop that could not be counted when it was counted last."""
    head = lake.head_path(settings.lake, "link_counters", drop_id)
    if head.name != lake.PARTS_FILE:
        return []
    return [
        FailedShard(one["part"], one["nodes"] and NodeRange(*one["nodes"]), one["problem"])
        for one in lake.listing(head)["said"]["failed"]
    ]
