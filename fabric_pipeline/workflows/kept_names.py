"""Rows of a drop under the names of its fabric graph, so that every source of a port is counted as one.

A tool that knows a switch by its GUID alone, or an adapter by a description, wrote those names; the
graph says which port they mean. What stood in the file stays in `entity_text`. Rows of our own normalized
files keep their names: whoever wrote them named the ports.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from fabric_pipeline.model.components import component_id, parse_component
from fabric_pipeline.model.records import Run, UnknownFact
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.store.columns import insert_columns

NORMALIZED = (
    "fabric_collectives",
    "fabric_counters",
    "fabric_events",
    "fabric_runs",
    "reference_case",
)
_TABLES = ("staged_readings", "staged_events")
_RENAMED = ("file", "node", "interface", "kept_node", "kept_interface")


def rename_staged(connection: Any, topology: Topology, normalized: Iterable[str]) -> None:
    """Give staged readings, events and timings the names that the graph keeps.

    `normalized` are the files whose rows keep their own names.
    """
    if not topology.has_aliases:
        return
    connection.execute("create or replace temp table named_by_us (file varchar)")
    insert_columns(connection, "named_by_us", [("file", "VARCHAR")], [(one,) for one in normalized])
    ends = " union ".join(
        f"select distinct node, interface from {table} where file not in (select file from named_by_us)"
        for table in _TABLES
    )
    nodes = "select distinct node, '' from staged_timings where file not in (select file from named_by_us)"
    rows = connection.execute(f"{ends} union {nodes}").fetchall()
    kept = [(node, interface, *_kept(topology, node, interface)) for node, interface in rows]
    changed = [row for row in kept if row[:2] != row[2:]]
    if not changed:
        return
    columns = [(name, "VARCHAR") for name in _RENAMED[1:]]
    ddl = ", ".join(f"{name} varchar" for name, _ in columns)
    connection.execute(f"create or replace temp table renamed ({ddl})")
    insert_columns(connection, "renamed", columns, changed)
    for table in _TABLES:
        connection.execute(
            f"update {table} set node = r.kept_node, interface = r.kept_interface from renamed r "
            f"where {table}.node = r.node and {table}.interface = r.interface and file not in (select file from named_by_us)"
        )
    connection.execute(
        "update staged_timings set node = r.kept_node from renamed r where staged_timings.node = r.node "
        "and r.interface = '' and file not in (select file from named_by_us)"
    )


def renamed_unknown(topology: Topology, facts: Iterable[UnknownFact]) -> list[UnknownFact]:
    """What was not measured, under the same names."""
    found = []
    for fact in facts:
        node, interface = _kept(topology, fact.node, fact.interface)
        is_same = (node, interface) == (fact.node, fact.interface)
        found.append(fact if is_same else replace(fact, node=node, interface=interface))
    return found


def rename_runs(topology: Topology, runs: Iterable[Run]) -> None:
    """Nodes of runs under the names that the graph keeps."""
    for run in runs:
        run.nodes = list(dict.fromkeys(topology.kept_node(node) for node in run.nodes))


def _kept(topology: Topology, node: str, interface: str) -> tuple[str, str]:
    if not interface:
        return topology.kept_node(node), ""
    parsed = parse_component(topology.kept(component_id(node, interface)))
    return parsed.node, parsed.interface
