"""What an incident rests on: the link ends, runs, nodes and lines that its dossier shows.

Made from the record, the spikes of the drop and the topology; the SQL conditions that pick the rows
stand here too, with their values written out so that a query can be run again as it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fabric_pipeline.incidents.record import Evidence, IncidentRecord
from fabric_pipeline.model.components import component_id, parse_component
from fabric_pipeline.model.sql import sql_text
from fabric_pipeline.model.topology import Topology

# Up to so many lines an evidence range is shown whole; of a longer one (a sampled file interleaves
# all links of the cluster) the first and last line, and the lines that concern the incident.
SHORT_RANGE = 40
# Ranges that a query may name; further evidence is reached through its link ends and runs.
MAX_RANGES = 400
# The end that only repeats what its partner could not read is folded into the same incident.
_FOLDED_END = "far_end_replays"

End = tuple[str, str]  # node, interface


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines `first` to `last` of a source file, both included."""

    file: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to look: `ends` of the blamed link under all their names, `nodes` that the ends sit in,
    `runs` that were slowed, `ranges` of lines that the evidence names.
    """

    drop: str
    ends: tuple[End, ...]
    nodes: tuple[str, ...]
    runs: tuple[str, ...]
    ranges: tuple[LineRange, ...]


def scope_of(record: IncidentRecord, spikes: Iterable[End], topology: Topology) -> Scope:
    """The scope of an incident. `spikes` are the (node, interface) pairs of the drop's spikes."""
    named = [record.isolated_component, record.far_end]
    named += [s.component for s in record.symptoms if s.kind == _FOLDED_END]
    ends = [end for text in named if (end := _end(text))]
    key = topology.link_key(topology.resolve(_plain(record.isolated_component)))
    ends += [
        end for end in spikes if topology.link_key(topology.resolve(component_id(*end))) == key
    ]
    ranges = [part for ref in record.evidence for part in ranges_of(ref)]
    owners = (parse_component(text).node for text in named[:2] if text)
    return Scope(
        drop=record.drop,
        ends=tuple(dict.fromkeys(ends)),
        nodes=tuple(sorted({node for node in owners if node})),
        runs=tuple(record.affected_runs),
        ranges=tuple(dict.fromkeys(ranges))[:MAX_RANGES],
    )


def scope_in(facts: Mapping[str, Any]) -> Scope:
    """The scope as `lineage.json` states it; raises KeyError, TypeError or ValueError otherwise."""
    return Scope(
        drop=str(facts["drop"]),
        ends=tuple((str(node), str(interface)) for node, interface in facts["ends"]),
        nodes=tuple(str(node) for node in facts["nodes"]),
        runs=tuple(str(run) for run in facts["runs"]),
        ranges=tuple(
            LineRange(str(one["file"]), int(one["first"]), int(one["last"]))
            for one in facts["ranges"]
        ),
    )


def ranges_of(ref: Evidence) -> list[LineRange]:
    """The lines of one reference: all of a short range, first and last of a long one."""
    if ref.line is None:
        return []
    last = max(ref.last_line or ref.line, ref.line)
    if last - ref.line < SHORT_RANGE:
        return [LineRange(ref.file, ref.line, last)]
    return [LineRange(ref.file, ref.line, ref.line), LineRange(ref.file, last, last)]


def by_ends(scope: Scope) -> list[str]:
    """Conditions for rows of the link ends; [] when there are none."""
    pairs = ", ".join(f"({sql_text(node)}, {sql_text(port)})" for node, port in scope.ends)
    return [f"(node, interface) in ({pairs})"] if pairs else []


def by_nodes(scope: Scope) -> list[str]:
    """Conditions for rows of the nodes that the link ends sit in."""
    names = ", ".join(sql_text(node) for node in scope.nodes)
    return [f"node in ({names})"] if names else []


def by_runs(scope: Scope) -> list[str]:
    """Conditions for rows of the affected runs."""
    names = ", ".join(sql_text(run) for run in scope.runs)
    return [f"run in ({names})"] if names else []


def by_lines(scope: Scope) -> list[str]:
    """Conditions for rows that stand on the lines of the evidence."""
    return [
        f"(file = {sql_text(part.file)} and line between {part.first} and {part.last})"
        for part in scope.ranges
    ]


def _end(component: str) -> End | None:
    parsed = parse_component(component)
    return (parsed.node, parsed.interface) if parsed.interface else None


def _plain(component: str) -> str:
    parsed = parse_component(component)
    return component_id(parsed.node, parsed.interface)
