"""A generated fleet drop in the lake: readings as Parquet, and nodes, cabling, runs and collectives.

Readings are made by SQL in the order in which a monitor would have scraped them, so that a hundred
million of them need no memory. Everything else goes through the real reading of a drop. All values are
invented; the same parameters give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings, load_settings
from fabric_pipeline.store import lake
from fabric_pipeline.store.duck import session
from fabric_pipeline.workflows.drop_stages import ingest_stage
from fabric_pipeline.workflows.shards import node_ranges

DROP = "fleet"
FILE = "counters.csv"
START = datetime(2031, 5, 6, 7, tzinfo=UTC)
READ_AT = datetime(2031, 6, 1, tzinfo=UTC)
COUNTERS = ("crc_flit", "replay", "recovery", "crc_data", "rx_bytes", "tx_bytes", "ecc")
_GPUS_PER_NODE = 8
_NODES_PER_RUN = 16
_TIMING_STEP_S = 30
_BASE_US = 700.0
_SLOW_RUN = 3  # every third run is slow for ten minutes from its twentieth on


@dataclass(frozen=True, slots=True)
class Fleet:
    """What is generated. `noisy` is the share of link ends whose error counters move at all."""

    gpus: int = 192
    links: int = 18
    counters: int = 5
    interval_s: int = 60
    hours: float = 1.0
    noisy: float = 0.02

    @property
    def nodes(self) -> int:
        """Hosts of eight GPUs, at least one."""
        return max(-(-self.gpus // _GPUS_PER_NODE), 1)

    @property
    def steps(self) -> int:
        """Scrapes."""
        return max(int(self.hours * 3600 / self.interval_s), 1)

    @property
    def series(self) -> int:
        """Link ends times counters."""
        return self.gpus * self.links * self.counters

    @property
    def readings(self) -> int:
        """All readings of the drop."""
        return self.series * self.steps


def fleet_of(readings: int, **fixed: float) -> Fleet:
    """The fleet with about so many readings; more readings are more GPUs, not more hours."""
    per_gpu = Fleet(gpus=1, **fixed).readings  # type: ignore[arg-type]
    gpus = max(round(readings / per_gpu / _GPUS_PER_NODE), 1) * _GPUS_PER_NODE
    return Fleet(gpus=gpus, **fixed)  # type: ignore[arg-type]


def settings_of(home: Path) -> Settings:
    """Settings of a home that is not this machine's own."""
    return load_settings({"FABRIC_HOME": str(home)})


def generate(fleet: Fleet, home: Path) -> Path:
    """Make the drop in the lake of `home`, its readings in shards; returns what stands for them."""
    settings = settings_of(home)
    folder = home / "source"
    folder.mkdir(parents=True)
    (folder / "drop.yaml").write_text('cluster: "fleet"\nsite: "hall-1"\n', encoding="utf-8")
    (folder / "topology.json").write_text(json.dumps(_topology(fleet)), encoding="utf-8")
    runs = [json.dumps(run) for run in _runs(fleet)]
    (folder / "runs.jsonl").write_text("\n".join(runs) + "\n", encoding="utf-8")
    with (folder / "collectives.csv").open("w", encoding="utf-8") as out:
        out.writelines(_collectives(fleet))
    (folder / FILE).write_text(
        f"ts,node,link_type,link,counter,value\n{START.isoformat()},node00000,nvlink,gpu0/nvlink-0,crc_flit,0\n",
        encoding="utf-8",
    )
    ingest_stage(settings, DROP, folder, READ_AT)
    per_node = fleet.series // fleet.nodes * fleet.steps
    ranges = node_ranges(
        [(_node(n), per_node) for n in range(fleet.nodes)], settings.shard_readings
    )
    rows = [readings_sql(fleet, int(one.first[4:]), int(one.last[4:]) + 1) for one in ranges]
    with closing(session()) as connection:
        if len(rows) == 1:
            lake.write_table(connection, rows[0], settings.lake, "raw_telemetry", DROP)
        else:
            said = {"nodes": ranges, "refused_of_parts": [0] * len(rows)}
            lake.write_parts(connection, rows, settings.lake, "raw_telemetry", DROP, said)
    return lake.head_path(settings.lake, "raw_telemetry", DROP)


def readings_sql(fleet: Fleet, first: int = 0, end: int | None = None) -> str:
    """The rows of raw_telemetry of the nodes from number `first` to before `end`, scrape by scrape.

    Most counters stand still from first to last. A noisy one drizzles, bursts for a quarter of an hour,
    or was reset in between; those of bytes move all the time.
    """
    names = ", ".join(f"'{name}'" for name in COUNTERS[: fleet.counters])
    per_node = fleet.links * fleet.counters * _GPUS_PER_NODE
    begin = first * per_node
    held = (fleet.series if end is None else min(end * per_node, fleet.series)) - begin
    made = f"""
    with series as (
        select s, printf('node%05d', s // {per_node}) as node, [{names}][s % {fleet.counters} + 1] as counter,
            'gpu' || (s // {fleet.links * fleet.counters}) % {_GPUS_PER_NODE} || '/nvlink-' || (s // {fleet.counters}) % {fleet.links} as interface,
            hash(s // {fleet.counters}, 1) % 1000000 < {fleet.noisy * 1e6} as is_noisy, counter in ('rx_bytes', 'tx_bytes') as is_traffic,
            (hash(s, 2) % 3)::int as form, (hash(s, 3) % 1000) / 1000 as chance, (hash(s, 4) % {fleet.steps})::bigint as turn,
            if(hash(s, 5) % 10 = 0, (hash(s, 6) % 100000)::bigint, 0) as base
        from range({begin}, {begin + held}) r(s)
    ), readings as (
        select step * {fleet.series} + s + 1 as entry, step, series.*
        from (select i // {held} as step, {begin} + i % {held} as s from range({held * fleet.steps}) r(i)) join series using (s)
    ), valued as (
        select *, to_timestamp({int(START.timestamp())} + step * {fleet.interval_s}) as ts, base + case
            when is_traffic then step * 1000000007 + hash(s, step) % 1000000000
            when not is_noisy then 0
            when form = 0 then floor(step * chance + chance)
            when form = 1 then floor(step * 0.02 + chance) + floor(200 * chance) * least(greatest(step - turn, 0), 15)
            when step < turn then floor(step * chance) else floor((step - turn) * chance) - base end as value
        from readings
    )
    select '{DROP}' as "drop", entry, '{FILE}' as file, '{"c" * 64}' as file_sha256, entry + 1 as line, 'counters_long' as format, '1' as parser_version,
        strftime(ts, '%Y-%m-%dT%H:%M:%SZ') as time_text, interface as entity_text, counter as counter_text, value::bigint::varchar as value_text,
        node, interface, 'nvlink' as link_type, null as lane, counter, 'cumulative' as kind, 'link' as scope, ts, value, 'ok' as quality,
        '' as gpu_uuid, null as socket, '' as state, null as refused_by
    from valued
    """
    return TABLES["raw_telemetry"].cast_sql(f"({made})")


def _node(number: int) -> str:
    return f"node{number:05d}"


def _topology(fleet: Fleet) -> dict[str, object]:
    nodes, links = [], []
    for number in range(fleet.nodes):
        gpus = [{"gpu": gpu, "socket": gpu // 4} for gpu in range(_GPUS_PER_NODE)]
        nodes.append({"node": _node(number), "platform": "HGX H100 8-GPU", "gpus": gpus})
        for rail in range(_GPUS_PER_NODE):
            leaf = f"leaf-{number // 32 * _GPUS_PER_NODE + rail}"
            near = {"node": _node(number), "port": f"mlx5_{rail}/port-1"}
            far = {"switch": leaf, "port": f"{leaf}/port-{number % 32 + 1}"}
            name = f"{_node(number)}:mlx5_{rail}/port-1"
            links.append({"id": name, "type": "infiniband", "a": near, "b": far})
    leaves = sorted({str(link["b"]["switch"]) for link in links})  # type: ignore[index]
    switches = [{"name": leaf, "tier": "leaf", "ports": 64} for leaf in leaves]
    return {"site": "hall-1", "nodes": nodes, "switches": switches, "links": links}


def _run_nodes(fleet: Fleet) -> Iterator[list[str]]:
    for first in range(0, fleet.nodes, _NODES_PER_RUN):
        yield [_node(one) for one in range(first, min(first + _NODES_PER_RUN, fleet.nodes))]


def _runs(fleet: Fleet) -> Iterator[dict[str, object]]:
    end = START + timedelta(hours=fleet.hours)
    for number, nodes in enumerate(_run_nodes(fleet)):
        yield {
            "run": f"run-{number:04d}", "model": "dense-70b", "nodes": nodes, "start": START.isoformat(), "end": end.isoformat(),
        }  # fmt: skip


def _collectives(fleet: Fleet) -> Iterator[str]:
    yield "run,model,comm,seq,op,bytes,ts,rank,node,gpu,duration_us,arrival_us,baseline_us\n"
    times = int(fleet.hours * 3600 / _TIMING_STEP_S)
    for number, _ in enumerate(_run_nodes(fleet)):
        for seq in range(times):
            at = START + timedelta(seconds=(seq + 0.5) * _TIMING_STEP_S)
            is_slow = number % _SLOW_RUN == 0 and 40 <= seq < 60
            took = _BASE_US * (1.4 if is_slow else 1.0) + (seq * 7919 + number * 104729) % 100 / 10
            yield f"run-{number:04d},dense-70b,dp-0,{seq},all_reduce,134217728,{at.isoformat()},,,,{took:.1f},,{_BASE_US}\n"
