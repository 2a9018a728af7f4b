"""A fabric of any size in a lake within seconds: full topology, two readings per link end, some trouble.

Made straight in the tables, since pages are tested here and not the way into the lake. Which links are
bad is drawn from a fixed seed.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.duck import connect
from fabric_pipeline.store.lake import attach, write_table
from fabric_pipeline.synth.fleet.topology_arrays import shape_of
from fabric_pipeline.synth.fleet.topology_file import topology_of
from fabric_pipeline_tests.workflows.fabric_lake import START, Lake, incident, spike

RACKS_IN_ROW = 32
# Nodes, racks, leaf switches and ports of the spine by the number of the copy; spines serve all copies.
_COPY_NAMES = {
    "gpu-r([0-9]+)": "'gpu-r' || k || '\\1'",
    "leaf-([0-9]+)": "'leaf-' || k || '0\\1'",
    "(spine-[0-9]+)/port-([0-9]+)": "'\\1/port-' || k || '0\\2'",
    '"rack": "r([0-9]+)"': "'\"rack\": \"r' || k || '\\1\"'",
    '"row": "A"': "'\"row\": \"' || chr((65 + (k - {first}) // 4)::integer) || '\"'",
    '"serial": "SER': '\'"serial": "SER\' || k',
}
FIRST_COPY = 10
EMPTY_TABLES = ("collective_timings", "fabric_events", "stragglers", "straggler_correlations")
SEVERITIES = ("CRITICAL", "WARNING", "WARNING", "WATCH")

# Silent nodes come as a list; every other end of a stated link has two readings an hour apart.
_READINGS = f"""
create or replace temp table readings as
with ends as (
    select node, interface, link_type, speed_gbps from fabric_topology where kind = 'link'
    union all select far_node, far_interface, link_type, speed_gbps from fabric_topology where kind = 'link'
), heard as (
    select * from ends where node not in (select unnest(?::varchar[]))
), counted as (
    select h.*, c.counter, s.sample from heard h, (values ('replay'), ('rx_bytes')) c(counter), (values (1), (2)) s(sample)
    where c.counter = 'replay' or (h.link_type = 'infiniband' and h.node <> '')
)
select * replace (
    ? as drop, node as node, interface as interface, link_type as link_type, counter as counter, 'cumulative' as kind,
    'link' as scope, sample as sample, ?::timestamptz + to_hours(sample) as ts, 'ok' as quality, 3600.0 as elapsed_s,
    case when counter = 'rx_bytes' then (hash(interface, node) % 90) / 100 * speed_gbps * 1e9 / 8 * 3600 else 0 end as delta,
    case when counter = 'rx_bytes' then sample * 1e12 else 0 end as value)
from (select c.node, c.interface, c.link_type, c.counter, c.sample, c.speed_gbps, e.* exclude (node, interface, link_type, counter, sample)
      from counted c left join ({TABLES["link_counters"].empty_sql()}) e on false)
"""


def large_home(
    home: Path,
    nodes: int,
    *,
    platform: str = "h100",
    bad: int = 24,
    kind: str = "",
    drop: str = "large",
    copies: int = 1,
) -> Settings:
    """A home with one drop of that many nodes; every 97th is silent.

    `bad` links have incidents, of all kinds or of one link type. With `copies` there are so many times
    the nodes, each copy under names of its own, made by the database in a tenth of the time.
    """
    made = topology_of(shape_of(platform, nodes, gpu_totals=False))
    _place_rows(made["nodes"])
    part = TopologyPart(site="harbour-9")
    part.nodes, part.switches, part.links = made["nodes"], made["switches"], made["links"]
    lake = Lake(home, drop).topology(part)
    silent = [node["node"] for node in part.nodes[40::97]]
    draw = random.Random(5)  # noqa: S311 - which links are bad, no secret
    ends = [
        _end(link["a"])
        for link in draw.sample(
            part.links if not kind else [one for one in part.links if one["type"] == kind], bad
        )
    ]
    if copies > 1:
        _copy(lake, copies)
        ends = [
            (_of_copy(node, n % copies), _of_copy(port, n % copies))
            for n, (node, port) in enumerate(ends)
        ]
        silent = [_of_copy(part.nodes[7]["node"], n) for n in range(0, copies, 3)]
    _write_readings(lake, silent)
    lake.spikes(*(spike(end, "replay", 90.0 * n + 400) for n, end in enumerate(ends)))
    lake.incidents(
        *(
            incident(n, f"{node or 'unknown'}:{port}", SEVERITIES[n % len(SEVERITIES)], drop=drop)
            for n, (node, port) in enumerate(ends)
        )
    )
    for name in EMPTY_TABLES:
        lake.write(name, [])
    return lake.settings


def _copy(lake: Lake, copies: int) -> None:
    """The topology as it was written, so many times, each time under other names."""
    connection = connect()
    attach(connection, lake.settings.lake, "fabric_topology", lake.drop)
    renamed = ", ".join(
        f"{_renamed(column)} as {column}"
        for column in ("entity_id", "node", "interface", "far_node", "far_interface", "attributes")
    )
    connection.execute(
        f"""create or replace temp table copied as
        select t.* replace ({renamed}, case when rack like 'r%' then 'r' || k || rack[2:] else rack end as rack,
            (k - {FIRST_COPY}) * 1000000 + entry as entry)
        from fabric_topology t, range({FIRST_COPY}, {FIRST_COPY + copies}) c(k)
        where k = {FIRST_COPY} or not (kind = 'site' or kind = 'switch' and node like 'spine%')"""
    )
    ready = TABLES["fabric_topology"].cast_sql("copied")
    write_table(connection, ready, lake.settings.lake, "fabric_topology", lake.drop)
    connection.close()


def _renamed(column: str) -> str:
    sql = column
    for old, new in _COPY_NAMES.items():
        sql = f"regexp_replace({sql}, '{old}', {new.format(first=FIRST_COPY)}, 'g')"
    return sql


def _of_copy(name: str, number: int) -> str:
    """A name of the first topology as it stands in a copy."""
    k = FIRST_COPY + number
    name = re.sub("gpu-r([0-9]+)", rf"gpu-r{k}\1", name)
    name = re.sub("leaf-([0-9]+)", rf"leaf-{k}0\1", name)
    return re.sub("(spine-[0-9]+)/port-([0-9]+)", rf"\1/port-{k}0\2", name)


def _place_rows(nodes: list[dict[str, Any]]) -> None:
    racks = list(dict.fromkeys(node["rack"] for node in nodes))
    rows = {rack: "ABCDEFGHIJ"[place // RACKS_IN_ROW] for place, rack in enumerate(racks)}
    for number, node in enumerate(nodes):
        node["row"], node["serial"] = rows[node["rack"]], f"SER{number:05d}"


def _write_readings(lake: Lake, silent: list[str]) -> None:
    connection = connect()
    attach(connection, lake.settings.lake, "fabric_topology", lake.drop)
    connection.execute(_READINGS, [silent, lake.drop, START])
    ready = TABLES["link_counters"].cast_sql("readings")
    write_table(connection, ready, lake.settings.lake, "link_counters", lake.drop)
    connection.close()


def _end(end: dict[str, Any]) -> tuple[str, str]:
    return str(end.get("node") or ""), str(end["port"])
