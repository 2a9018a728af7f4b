"""The judging once more, from the rows of a dossier alone, compared with what its incident says.

What depends on the other links of the drop (peers, the common time step) is not in a dossier: such
parts are named as not rerun, never guessed. The comparisons stand in `dossier_compare`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from fabric_pipeline.diagnose.diagnose import diagnose
from fabric_pipeline.incidents.build import Context, build_incidents
from fabric_pipeline.incidents.record import IncidentRecord, Place
from fabric_pipeline.model.captures import in_capture_order
from fabric_pipeline.model.components import device_of, parse_component
from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.store.duck import scalar
from fabric_pipeline.workflows.diagnose import (
    correlation_stage,
    gather_evidence,
    spike_stage,
    straggler_stage,
)
from fabric_pipeline.workflows.dossier_compare import (
    Kept,
    Rerun,
    compare_spikes,
    compare_stragglers,
    differing_rows,
    is_recorded,
    recount,
)
from fabric_pipeline.workflows.dossier_rows import ROW_TABLES

# Columns of straggler_correlations that the weighing fills in.
_WEIGHED = (
    "verdict", "confidence", "log_odds", "share_slow", "slow_anyway", "edges_fitting", "edges_visible", "dose", "because", "behind",
)  # fmt: skip


def rerun(
    connection: Any, record: IncidentRecord, kept: Kept, done: Rerun, *, is_weighed: bool = False
) -> None:
    """Run counting, spikes, stragglers and verdict on the relations `recorded_<table>`.

    `is_weighed` says that the link was weighed again beside the others (`dossier_weighing`). Notes the
    outcome in `done`. Raises ValueError, KeyError or a database error for rows that no
    pipeline has written.
    """
    topology = _topology(record)
    _prepare(connection, kept)
    recount(connection, kept, done)
    _take_recorded(connection)
    spikes = spike_stage(connection, record.drop, keep=is_recorded(connection))
    stragglers = straggler_stage(connection, record.drop)
    correlation_stage(connection, record.drop, topology)
    _take_recorded_verdicts(connection)
    if not is_weighed and scalar(
        connection, "select count(*) from recorded_straggler_correlations"
    ):
        done.not_rerun.append(
            "confidence of the link: it is weighed beside all links and runs of the drop"
        )
    compare_spikes(connection, spikes, record, kept, done)
    compare_stragglers(connection, record, kept, done)
    answer = diagnose(gather_evidence(connection, topology))
    again = build_incidents(answer.findings, Context(record.drop, topology=topology))
    reasons = _reasons_for_difference(connection, record, kept, bool(stragglers))
    _compare_verdict(record, again, reasons, done)


def _prepare(connection: Any, kept: Kept) -> None:
    columns = (("node", "VARCHAR"), ("interface", "VARCHAR"))
    connection.execute("create or replace temp table kept_ends (node varchar, interface varchar)")
    insert_columns(connection, "kept_ends", columns, kept.scope.ends)
    sql = " union ".join(
        f"select file from recorded_{name}" for name in ROW_TABLES if _has_file(name)
    )
    files = sorted((row[0] for row in connection.execute(sql).fetchall()), key=PurePosixPath)
    connection.execute("create or replace temp table drop_files (file varchar, file_no integer)")
    insert_columns(
        connection,
        "drop_files",
        (("file", "VARCHAR"), ("file_no", "INTEGER")),
        [(file, number) for number, file in enumerate(in_capture_order(files))],
    )


def _has_file(table: str) -> bool:
    return "file" in TABLES[table].column_names


def _take_recorded(connection: Any) -> None:
    """The detectors read these names; counters are those of the link ends alone."""
    connection.execute(
        "create or replace temp table link_counters as "
        "from recorded_link_counters semi join kept_ends using (node, interface)"
    )
    for name in ("collective_timings", "fabric_events"):
        connection.execute(f"create or replace temp table {name} as from recorded_{name}")


def _take_recorded_verdicts(connection: Any) -> None:
    """The weighing of a link looks at all links and runs of the drop, so its verdict stands as recorded."""
    taken = ", ".join(f"{name} = r.{name}" for name in _WEIGHED)
    connection.execute(
        f"update straggler_correlations c set {taken} from recorded_straggler_correlations r "
        "where c.run = r.run and c.node = r.node and c.interface = r.interface"
    )
    connection.execute(
        "insert into straggler_correlations by name from recorded_straggler_correlations "
        "anti join straggler_correlations using (run, node, interface)"
    )


def _reasons_for_difference(
    connection: Any, record: IncidentRecord, kept: Kept, has_stragglers: bool
) -> list[str]:
    """Why the verdict on the link may depend on more than this dossier holds; [] when it does not."""
    uncut = {"link_counters", "collective_timings", "fabric_events"} <= kept.complete
    columns = "run, node, interface, bins, slow_bins, error_bins, overlap_bins"
    coincidence = differing_rows(
        connection,
        f"(select {columns} from recorded_straggler_correlations semi join kept_ends using (node, interface))",
        f"(select {columns} from straggler_correlations)",
    )
    checks = (
        (not uncut, "rows were cut or missing"),
        (not record.needs_ticket, "what is not an accusation rests on the comparison with all links"),
        (not record.numbers.get("counts"), "it does not rest on counted errors"),
        (bool(record.numbers.get("is_snapshot")), "totals without a time span are judged beside their siblings"),
        (not record.affected_runs, "the timings of runs that are not affected are not kept"),
        (bool(record.affected_runs) and not has_stragglers, "the baseline needs other runs"),
        (bool(coincidence), "the time step of the comparison comes from all links"),
    )  # fmt: skip
    return [reason for holds, reason in checks if holds]


def _compare_verdict(
    record: IncidentRecord, again: Sequence[IncidentRecord], reasons: Sequence[str], done: Rerun
) -> None:
    what = f"verdict {record.fault_type}, {record.severity} on the named link end"
    same = [one for one in again if one.isolated_component == record.isolated_component]
    if any((o.fault_type, o.severity) == (record.fault_type, record.severity) for o in same):
        done.same.append(what)
    elif reasons:
        done.not_rerun.append(f"{what}: {'; '.join(reasons)}")
    else:
        found = ", ".join(f"{one.fault_type} {one.severity}" for one in same) or "no incident"
        done.problems.append(f"{what}: the rows alone give {found}")


def _topology(record: IncidentRecord) -> Topology:
    """The two ends of the link as the record states them."""
    ends = (record.isolated_component, record.far_end)
    part = TopologyPart(nodes=_gpus(record.place) + _gpus(record.far_place))
    if record.far_end:
        near, far = (_topology_end(component) for component in ends)
        part.links.append({"type": record.link_type, "a": near, "b": far})
    return Topology([part])


def _topology_end(component: str) -> dict[str, str]:
    parsed = parse_component(component)
    owner = {"node": parsed.node} if parsed.node else {"switch": device_of(parsed.interface)}
    return {**owner, "port": parsed.interface}


def _gpus(place: Place) -> list[dict[str, Any]]:
    """A GPU by index and PCI address, so that both names of it mean one device."""
    if not place.node or place.gpu is None or not place.pci or not place.gpu_uuid:
        return []
    return [{"node": place.node, "gpus": [{"gpu": place.gpu, "pci": place.pci}]}]
