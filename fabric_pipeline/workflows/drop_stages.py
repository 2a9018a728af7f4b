"""The stages of one drop over the lake: each reads its upstream tables, writes its own, validates it.

These are what the assets call; running them in order without Dagster gives the same tables. A table
that breaks its schema is reported with the rule and is not handed on. What reads and judges is imported
by the stage that does, because most who import this module only ask what an earlier run left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache as cached
from pathlib import Path
from typing import Any

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.model.captures import in_capture_order
from fabric_pipeline.model.progress import Tell, silent
from fabric_pipeline.model.sql import sql_text
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.schemas.validation import Violation, validate
from fabric_pipeline.settings import Settings
from fabric_pipeline.store import lake
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.store.duck import scalar, session
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.expired import refuse_expired
from fabric_pipeline.workflows.ingest_report import (
    IngestReport,
    cluster_of,
    load_report,
    save_report,
)
from fabric_pipeline.workflows.shards import NodeRange, failed_shards, node_ranges
from fabric_pipeline.workflows.topology_rows import topology_from_rows

INGEST_TABLES = (
    "raw_telemetry",
    "quarantined_telemetry",
    "collective_timings",
    "fabric_events",
    "fabric_topology",
)


@dataclass(slots=True)
class StageResult:
    """One written table: rows, hash of the file, broken rules, and figures worth showing."""

    table: str
    rows: int
    sha256: str
    violations: list[Violation] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)


def ingest_stage(
    settings: Settings,
    drop_id: str,
    path: Path,
    read_at: datetime,
    tell: Tell = silent,
) -> tuple[list[StageResult], IngestReport]:
    """Drop folder -> the five ingest tables."""
    from fabric_pipeline.engine.choose import open_engine
    from fabric_pipeline.sources.drop import list_drop
    from fabric_pipeline.workflows.ingest import ingest
    from fabric_pipeline.workflows.staged_shards import aside_of
    from fabric_pipeline.workflows.unpacked import with_archives

    if not path.exists():
        raise NotFoundError(f"{path}: the drop is no longer there", "put it back or drop it again")
    drop = with_archives(list_drop(path, tell), settings.unpacked, tell=tell)
    connection = session()
    try:
        with open_engine(settings) as engine:
            aside = aside_of(settings, engine)
            read = ingest(connection, drop, drop_id, read_at, tell, aside)
        results = [_ingested(connection, settings, name, drop_id) for name in INGEST_TABLES]
    finally:
        connection.close()
    report = IngestReport(
        files=read.files,
        problems=read.problems,
        unknown=read.unknown,
        content_sha256=drop.content_sha256,
        cluster=drop.meta.cluster or drop.meta.site,
        runs=list(read.runs.values()),
        conflicts=read.topology.conflicts,
    )
    save_report(settings, drop_id, report)
    return results, report


def link_counters_stage(settings: Settings, drop_id: str, tell: Tell = silent) -> StageResult:
    """raw_telemetry -> link_counters: in one piece, or shard by shard where the readings are many.

    On another engine than the local one a small drop is a shard too.
    """
    if len(lake.parts_of(settings.lake, "raw_telemetry", drop_id)) > 1 or settings.engine == "dask":
        return _counted_in_shards(settings, drop_id, tell)
    from fabric_pipeline.detect.counting.count import count_links
    from fabric_pipeline.workflows.ingest import machines_apart

    with drop_tables(settings, drop_id, ["raw_telemetry"]) as connection:

        def write(rows: str) -> StageResult:
            return _write_streamed(connection, settings, "link_counters", drop_id, rows)

        result = count_links(connection, write, machines_apart(connection))
        if result.violations:
            return result
        read, refused = (
            int(
                scalar(
                    connection,
                    f"select count(*) from raw_telemetry where refused_by is {word} null",
                )
                or 0
            )
            for word in ("", "not")
        )
        result.figures = {
            "read": read + refused,
            "accepted": result.rows,
            "quarantined": refused,
            "resets": scalar(
                connection, "select count(*) from link_counters where quality = 'reset'"
            ),
        }
        return result


def _counted_in_shards(settings: Settings, drop_id: str, tell: Tell) -> StageResult:
    from fabric_pipeline.workflows.sharded_counters import count_in_shards

    done = count_in_shards(settings, drop_id, tell)
    if done.written is None:
        lake.remove(settings.lake, "link_counters", drop_id)
        return StageResult("link_counters", 0, "", done.violations)
    result = StageResult("link_counters", done.written.rows, done.written.sha256)
    result.figures = {**done.figures, "shards_failed": len(done.failed)}
    return result


def spike_stage(settings: Settings, drop_id: str) -> StageResult:
    """link_counters -> spike_detections."""
    from fabric_pipeline.workflows import diagnose as stages
    from fabric_pipeline.workflows.shard_series import attach_series

    with drop_tables(settings, drop_id, ["link_counters"]) as connection:
        is_summed_up = attach_series(connection, settings, drop_id)
        spikes = stages.spike_stage(connection, drop_id, is_summed_up=is_summed_up)
        result = write_checked(connection, settings, "spike_detections", drop_id)
        result.figures = {
            "flagged": sum(spike.severity != "info" for spike in spikes),
            "link_ends": len({(spike.node, spike.interface) for spike in spikes}),
        }
        return result


def straggler_stage(settings: Settings, drop_id: str) -> StageResult:
    """collective_timings -> stragglers."""
    from fabric_pipeline.workflows import diagnose as stages

    with drop_tables(settings, drop_id, ["collective_timings"]) as connection:
        found = stages.straggler_stage(connection, drop_id)
        result = write_checked(connection, settings, "stragglers", drop_id)
        result.figures = {
            "runs": sorted({one.run for one in found}),
            "worst_deviation_pct": max((one.deviation_pct for one in found), default=0.0),
        }
        return result


def correlation_stage(settings: Settings, drop_id: str) -> StageResult:
    """Spikes and stragglers -> straggler_correlations."""
    from fabric_pipeline.workflows import diagnose as stages
    from fabric_pipeline.workflows.shard_series import attach_series

    needed = [
        "link_counters", "collective_timings", "fabric_topology", "stragglers", "spike_detections", "fabric_events",
    ]  # fmt: skip
    with drop_tables(settings, drop_id, needed) as connection:
        is_summed_up = attach_series(connection, settings, drop_id)
        topology = topology_of(connection)
        stages.correlation_stage(connection, drop_id, topology, is_summed_up=is_summed_up)
        return write_checked(connection, settings, "straggler_correlations", drop_id)


def incident_stage(
    settings: Settings, drop_id: str, at: datetime
) -> tuple[StageResult, list[IncidentRecord]]:
    """All evidence of a drop -> incident_records, in the lake and in the ledger's history."""
    from fabric_pipeline.diagnose.diagnose import diagnose
    from fabric_pipeline.incidents.build import Context, build_incidents
    from fabric_pipeline.workflows import diagnose as stages
    from fabric_pipeline.workflows.link_checks import record_link_checks
    from fabric_pipeline.workflows.ticket_history import with_repeats

    needed = [
        "link_counters", "collective_timings", "fabric_events", "fabric_topology", "spike_detections", "stragglers", "straggler_correlations",
    ]  # fmt: skip
    report = load_report(settings, drop_id)
    ledger = Ledger(settings.ledger)
    uncounted = [one.nodes for one in failed_shards(settings, drop_id) if one.nodes]
    with drop_tables(settings, drop_id, needed) as connection:
        topology = topology_of(connection)
        answer = diagnose(stages.gather_evidence(connection, topology, report.runs, uncounted))
        context = Context(
            drop=drop_id,
            cluster=report.cluster,
            topology=topology,
            file_sha256={one.name: one.sha256 for one in report.files},
        )
        records = with_repeats(ledger, build_incidents(answer.findings, context))
        _store_incidents(connection, records)
        result = write_checked(connection, settings, "incident_records", drop_id)
    ledger.record_incidents(drop_id, records, at)
    checks = record_link_checks(
        settings, drop_id, at, cached(lambda one: cluster_of(settings, one))
    )
    result.figures = {
        "verdict": answer.verdict,
        "accusing": sum(record.needs_ticket for record in records),
        "links_checked": dict(Counter(check.verdict for check in checks)),
    }
    return result, records


def load_incidents(settings: Settings, drop_id: str) -> list[IncidentRecord]:
    """The records of a drop as validated models, heaviest first."""
    connection = session()
    try:
        if not lake.attach(connection, settings.lake, "incident_records", drop_id):
            raise NotFoundError(
                f"drop {drop_id} has no incident records", "run it first: fabric-pipeline run"
            )
        rows = connection.execute("select record from incident_records").fetchall()
    finally:
        connection.close()
    return [IncidentRecord.model_validate_json(row[0]) for row in rows]


@contextmanager
def drop_tables(settings: Settings, drop_id: str, names: Sequence[str]) -> Iterator[Any]:
    """A connection with these tables of one drop as views, and `drop_files` in the drop's order.

    Raises NotFoundError naming the table that has to be made first.
    """
    connection = session()
    try:
        for name in names:
            if not lake.attach(connection, settings.lake, name, drop_id):
                refuse_expired(settings, drop_id, name)
                raise NotFoundError(
                    f"drop {drop_id} has no table {name}", f"materialise {name} first"
                )
        report = load_report(settings, drop_id)
        connection.execute(
            "create temp table drop_files "
            "(file varchar, file_no integer, file_sha256 varchar, format varchar)"
        )
        columns = (
            ("file", "VARCHAR"), ("file_no", "INTEGER"), ("file_sha256", "VARCHAR"), ("format", "VARCHAR"),
        )  # fmt: skip
        known = {one.name: one for one in report.files}
        names = in_capture_order(list(known))
        files = [(n, at, known[n].sha256, known[n].format) for at, n in enumerate(names)]
        insert_columns(connection, "drop_files", columns, files)
        yield connection
    finally:
        connection.close()


def topology_of(connection: Any) -> Topology:
    """The graph of the drop from its table."""
    rows = connection.execute(
        "select kind, attributes from fabric_topology where kind in ('site', 'node', 'switch', 'link') order by all"
    ).fetchall()
    return topology_from_rows(rows)


def write_checked(connection: Any, settings: Settings, name: str, drop_id: str) -> StageResult:
    """Validate a table of the connection and write it to the lake.

    A table that breaks its schema is not written (an earlier one of the drop is removed, so that
    nothing stale is read) and comes back with its violations.
    """
    violations = validate(connection, TABLES[name], name)
    if violations:
        lake.remove(settings.lake, name, drop_id)
        return StageResult(name, 0, "", violations)
    written = lake.write_table(connection, name, settings.lake, name, drop_id)
    return StageResult(name, written.rows, written.sha256)


def _ingested(connection: Any, settings: Settings, name: str, drop_id: str) -> StageResult:
    """As `write_checked`; readings that are many lie in the parts that are counted apart from each other."""
    ranges = _ranges(connection, settings) if name == "raw_telemetry" else []
    if len(ranges) < 2:
        return write_checked(connection, settings, name, drop_id)
    violations = validate(connection, TABLES[name], name)
    if violations:
        lake.remove(settings.lake, name, drop_id)
        return StageResult(name, 0, "", violations)
    rows = [
        f"select * from {name} where node >= {sql_text(one.first)} and node <= {sql_text(one.last)}"
        for one in ranges
    ]
    refused = [
        scalar(connection, f"select count(*) from ({one}) where refused_by is not null")
        for one in rows
    ]
    said = {"nodes": ranges, "refused_of_parts": refused}
    written = lake.write_parts(connection, rows, settings.lake, name, drop_id, said)
    return StageResult(name, written.rows, written.sha256)


def _ranges(connection: Any, settings: Settings) -> list[NodeRange]:
    counted = "select node, count(*) from raw_telemetry group by node order by node"
    return node_ranges(connection.execute(counted).fetchall(), settings.shard_readings)


def _write_streamed(
    connection: Any, settings: Settings, name: str, drop_id: str, rows: str
) -> StageResult:
    """As `write_checked`, for a SELECT whose rows need not fit into memory: they go to a file at once.

    The file is judged before it takes its place; the connection then has it as a view of that name.
    """
    coded = TABLES[name].coded_sql(f"({rows})")
    with lake.pending_table(connection, coded, settings.lake, name, drop_id) as pending:
        lake.attach_file(connection, pending.path, name)
        violations = validate(connection, TABLES[name], name)
        if not violations:
            written = pending.keep()
            lake.attach(connection, settings.lake, name, drop_id)
            return StageResult(name, written.rows, written.sha256)
    lake.remove(settings.lake, name, drop_id)
    return StageResult(name, 0, "", violations)


def _store_incidents(connection: Any, records: Sequence[IncidentRecord]) -> None:
    table = TABLES["incident_records"]
    connection.execute(f"create or replace temp table {table.name} as {table.empty_sql()}")
    rows = [
        (
            r.drop, r.incident_id, r.isolated_component, r.far_end, r.link_type, r.fault_type, r.error_class, r.class_basis, r.severity,
            r.ticket_priority, r.role, r.status, r.action_code, r.summary, r.first_seen, r.last_seen, r.degradation_pct, r.confidence,
            r.gpu_hours_lost, r.evidence_sha256, r.model_dump_json(),
        )
        for r in records
    ]  # fmt: skip
    insert_columns(connection, table.name, [(c.name, c.type) for c in table.columns], rows)
