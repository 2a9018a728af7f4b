"""The stages from link_counters to incident records over an open connection, one function a table.

Each stage reads relations that the caller has made available by name and leaves its table in the
connection. `inspect` runs them in memory, the assets over Parquet; the judging is the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from math import nan
from typing import Any

from fabric_pipeline.detect.absence.evaluate import silent_nodes, vanished_series
from fabric_pipeline.detect.counting.witnesses_sql import UNNAMED
from fabric_pipeline.detect.spikes.evaluate import (
    Spike,
    bursts_from_json,
    detect_from_series,
    detect_spikes,
)
from fabric_pipeline.detect.spikes.rules import RuleHit
from fabric_pipeline.detect.stragglers.evaluate import Straggler, find_stragglers, waiting_groups
from fabric_pipeline.detect.stragglers.series import latency_series
from fabric_pipeline.diagnose.correlate import (
    DEFAULT_STEP_S,
    Correlation,
    correlate,
    increments_sql,
    step_sql,
)
from fabric_pipeline.diagnose.evidence import Evidence
from fabric_pipeline.diagnose.localise.evidence import erring_links
from fabric_pipeline.diagnose.localise.judge import judge_links
from fabric_pipeline.diagnose.localise.side_sql import side_evidence, states_in_time
from fabric_pipeline.diagnose.verdict_rows import with_verdicts
from fabric_pipeline.model.captures import machines
from fabric_pipeline.model.components import component_id
from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import CollectiveTiming, FabricEvent, Run, UnknownFact
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.workflows.gathered_readings import dict_rows, has_rows, port_snapshots, states
from fabric_pipeline.workflows.witness_rows import witnesses

# What a link can do, and who a port is, are not measurements of its health.
_IDENTITY = (
    "width_max",
    "speed_max_gbps",
    "pcie_gen_max",
    "port_identity",
    "base_lid",
    "sm_lid",
    "performance_state",
)
_MEASURED = ", ".join(
    f"'{s.name}'" for s in COUNTERS.values() if s.role != "traffic" and s.name not in _IDENTITY
)

_UNNAMED_SQL = f"""
select file, gpu_uuid, bool_and(interface = '') from link_counters where {UNNAMED} group by file, gpu_uuid
union select distinct file, '', false from fabric_events where node = '' and not contains(interface, '/port-') order by all
"""
_SWEEP_SQL = """
select c.* from collective_timings c left join drop_files f using (file) where c.ts is null order by f.file_no, c.entry
"""


def spike_stage(
    connection: Any,
    drop_id: str,
    keep: Callable[[Spike], bool] | None = None,
    *,
    is_summed_up: bool = False,
) -> list[Spike]:
    """link_counters -> spike_detections: what a rule flags, or `keep` of all intervals and totals.

    `is_summed_up`: error_series and error_increments are there already.
    """
    detect = detect_from_series if is_summed_up else detect_spikes
    spikes = detect(connection, keep_all=keep is not None)
    spikes = spikes if keep is None else [spike for spike in spikes if keep(spike)]
    _store(connection, "spike_detections", [spike.row(drop_id) for spike in spikes])
    return spikes


def straggler_stage(connection: Any, drop_id: str) -> list[Straggler]:
    """collective_timings -> stragglers."""
    stragglers = find_stragglers(latency_series(connection))
    _store(connection, "stragglers", [straggler.row(drop_id) for straggler in stragglers])
    return stragglers


def correlation_stage(
    connection: Any, drop_id: str, topology: Topology, *, is_summed_up: bool = False
) -> list[Correlation]:
    """Spikes, stragglers, counters, timings and topology -> straggler_correlations.

    `is_summed_up` says that `error_increments` is there already, so that the few readings with errors need
    not be looked for among all.
    """
    counted = "error_increments" if is_summed_up else "link_counters"
    series = latency_series(connection)
    if not series:  # nothing to lay the errors beside
        _store(connection, "straggler_correlations", [])
        return []
    step_s = float(connection.execute(step_sql(counted)).fetchall()[0][0] or 0.0)
    found = correlate(
        series,
        connection.execute(increments_sql(counted)).fetchall(),
        topology,
        step_s,
        waiting_groups(_stragglers(connection)),
    )
    links = erring_links(_spikes(connection), topology) + states_in_time(connection, topology)
    side = side_evidence(connection, topology)
    verdicts = judge_links(series, links, topology, step_s or DEFAULT_STEP_S, side)
    found = with_verdicts(found, verdicts, topology)
    _store(connection, "straggler_correlations", [one.row(drop_id) for one in found])
    return found


def gather_evidence(
    connection: Any,
    topology: Topology,
    runs: Sequence[Run] = (),
    uncounted: Sequence[tuple[str, str]] = (),
) -> Evidence:
    """Everything the diagnosis needs, from the stage tables in the connection.

    `uncounted` are ranges (first and last) of nodes whose readings could not be counted.
    """
    formats = formats_of(connection)
    return Evidence(
        spikes=_spikes(connection),
        stragglers=_stragglers(connection),
        correlations=_correlations(connection),
        events=_events(connection),
        states=states(connection),
        port_snapshots=port_snapshots(connection),
        sweeps=_sweeps(connection),
        runs=runs,
        absences=_absences(
            connection, topology, {node for run in runs for node in run.nodes}, uncounted
        ),
        witnesses=witnesses(connection, formats),
        formats=formats,
        machines=_machines(connection),
        topology=topology,
        has_timing=has_rows(connection, "collective_timings where ts is not null"),
        timed_nodes=_timed_nodes(connection),
        unknown=_clocks_ahead(connection),
        has_measurements=_has_measurements(connection),
    )


def formats_of(connection: Any) -> dict[str, str]:
    """Format by file, as `drop_files` states it; {} in a dossier, which keeps no formats."""
    columns = {row[0] for row in connection.execute("describe drop_files").fetchall()}
    if "format" not in columns:
        return {}
    return dict(
        connection.execute("select file, format from drop_files order by file_no").fetchall()
    )


def _machines(connection: Any) -> dict[str, str]:
    """Files without a host by the machine they may be of; {} when they can be of one."""
    rows = connection.execute(_UNNAMED_SQL).fetchall()
    formats = formats_of(connection)
    files = {file: formats.get(file, "") for file, *_ in rows}
    devices = [(file, uuid) for file, uuid, _ in rows]
    return machines(files, devices, {file for file, _, is_bare in rows if is_bare})


def _clocks_ahead(connection: Any) -> list[UnknownFact]:
    """Nodes whose readings come from the future: they cannot be laid beside collectives."""
    rows = connection.execute(
        "select node, count(*), max(ts) from link_counters where quality = 'clock_skew' group by node order by node"
    ).fetchall()
    return [
        UnknownFact(
            node,
            "",
            "time of the counters",
            f"{count} readings carry times up to {newest:%Y-%m-%d %H:%M:%S} UTC, ahead of the moment of reading: the clock runs ahead, so "
            "they are kept but not compared with collectives",
        )
        for node, count, newest in rows
    ]


def _timed_nodes(connection: Any) -> frozenset[str]:
    """Nodes of the runs with timed collectives, as the runs or their rows name them."""
    rows = connection.execute(
        "select distinct run_nodes, node from collective_timings where ts is not null"
    ).fetchall()
    return frozenset({node for nodes, own in rows for node in (*json.loads(nodes), own) if node})


def _has_measurements(connection: Any) -> bool:
    measured = f"link_counters where value is not null and counter in ({_MEASURED})"
    return any(has_rows(connection, x) for x in (measured, "collective_timings", "fabric_events"))


def _absences(
    connection: Any,
    topology: Topology,
    expected_nodes: Iterable[str],
    uncounted: Sequence[tuple[str, str]],
) -> list[Finding]:
    if not has_rows(connection, "link_counters where ts is not null"):
        return []
    return vanished_series(connection) + silent_nodes(
        connection, {*topology.expected_nodes, *expected_nodes} - {""}, uncounted
    )


def _store(connection: Any, name: str, rows: Sequence[Sequence[Any]]) -> None:
    table = TABLES[name]
    connection.execute(f"create or replace temp table {name} as {table.empty_sql()}")
    insert_columns(connection, name, [(c.name, c.type) for c in table.columns], rows)


def _spikes(connection: Any) -> list[Spike]:
    rows = dict_rows(
        connection,
        "select * from spike_detections order by node, interface, lane, counter, gpu_uuid, scope, spike",
    )
    for row in rows:
        row["hits"] = [RuleHit(**hit) for hit in json.loads(row.pop("rules"))]
        row["bursts"] = bursts_from_json(row["bursts"])
        row["is_lower_bound"] = row["is_lower_bound"] == "yes"
        for derived in ("drop", "rate_per_hour", "severity"):
            row.pop(derived)
    return [Spike(**row) for row in rows]


def _stragglers(connection: Any) -> list[Straggler]:
    found = []
    for row in dict_rows(
        connection, "select * from stragglers order by run, communicator, op, bytes, interval"
    ):
        row["late_ranks"], row["late_places"], row["nodes"] = (
            json.loads(row.pop(n)) for n in ("late_ranks", "late_nodes", "nodes")
        )
        row.pop("drop"), row.pop("deviation_pct")
        found.append(Straggler(**row))
    return found


def _correlations(connection: Any) -> list[Correlation]:
    found = []
    for row in dict_rows(
        connection, "select * from straggler_correlations order by run, candidate_rank"
    ):
        row["component"] = component_id(row.pop("node"), row.pop("interface"))
        for name in ("covered_bins", "because", "behind"):
            row[name] = json.loads(row[name])
        row.pop("drop")
        found.append(Correlation(**row))
    return found


def _events(connection: Any) -> list[FabricEvent]:
    found = []
    sql = "select e.* from fabric_events e left join drop_files f using (file) order by f.file_no, e.entry"
    for row in dict_rows(connection, sql):
        row["time"], row["details"] = row.pop("ts"), json.loads(row["details"])
        for unused in ("drop", "entry", "file_sha256"):
            row.pop(unused)
        found.append(FabricEvent(**row))
    return found


def _sweeps(connection: Any) -> list[CollectiveTiming]:
    found = []
    for row in dict_rows(connection, _SWEEP_SQL):
        row["start"] = row.pop("ts")
        row["duration_us"] = nan if row["duration_us"] is None else row["duration_us"]
        for unused in ("drop", "entry", "file_sha256", "run_nodes"):
            row.pop(unused)
        found.append(CollectiveTiming(**row))
    return found
