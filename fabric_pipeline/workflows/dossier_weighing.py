"""The inputs of the weighing inside the dossier of a drop that is too large to be taken whole.

A link is weighed beside all links that err, wait or lose width, and beside all timings. Their rows are
taken along as far as they are bounded; readings of quiet links are not, so what rests on those is not
run again.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fabric_pipeline.diagnose.diagnose import diagnose
from fabric_pipeline.diagnose.localise.side_sql import side_evidence, states_in_time
from fabric_pipeline.incidents.build import Context, build_incidents
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.model.components import parse_component
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.store.duck import glob_safe, literal, scalar
from fabric_pipeline.workflows.diagnose import (
    correlation_stage,
    gather_evidence,
    straggler_stage,
)
from fabric_pipeline.workflows.dossier_compare import Kept, Rerun, differing_rows
from fabric_pipeline.workflows.dossier_rejudge import differing_fields
from fabric_pipeline.workflows.dossier_scope import End
from fabric_pipeline.workflows.dossier_whole import DROP_FILE, WholeDrop, load_files
from fabric_pipeline.workflows.drop_stages import topology_of

WEIGHING_FOLDER = "weighing"
WEIGHING_TABLES = (
    "link_counters", "spike_detections", "collective_timings", "fabric_events", "fabric_topology",
)  # fmt: skip
# Rows over these tables; the same bound as for a whole drop, for the same reason.
MAX_WEIGHING_ROWS = 400_000
# What a verdict is; the other fields word it, and may name what quiet links show.
_JUDGED = {"isolated_component", "fault_type", "severity", "ticket_priority", "confidence", "role"}
_COLUMNS = (("node", "VARCHAR"), ("interface", "VARCHAR"))


def pick_weighing(connection: Any, topology: Topology, spiking: Iterable[End]) -> str:
    """Make a view `weighing_<table>` of every table in the connection; why not, "" when they are made.

    The tables themselves are relations of the drop.
    """
    parts = [one.component for one in states_in_time(connection, topology)]
    for near, far in side_evidence(connection, topology).congested:
        parts += [near, far]
    parsed = [parse_component(text) for text in parts if text]
    ends = sorted({*spiking, *((one.node, one.interface) for one in parsed if one.interface)})
    connection.execute(
        "create or replace temp table weighed_ends (node varchar, interface varchar)"
    )
    insert_columns(connection, "weighed_ends", _COLUMNS, ends)
    rows = 0
    for name in WEIGHING_TABLES:
        narrowed = (
            "semi join weighed_ends using (node, interface)" if name == "link_counters" else ""
        )
        connection.execute(f"create or replace temp view weighing_{name} as from {name} {narrowed}")
        rows += int(scalar(connection, f"select count(*) from weighing_{name}"))
    if rows > MAX_WEIGHING_ROWS:
        return f"what it is weighed beside has {rows} rows, up to {MAX_WEIGHING_ROWS} are taken"
    return ""


def write_weighing(connection: Any, surroundings: WholeDrop, folder: Path) -> None:
    """Write the views of `pick_weighing` as Parquet, and the list of files and runs."""
    folder.mkdir()
    for name in WEIGHING_TABLES:
        path = literal(str(folder / f"{name}.parquet"))
        connection.execute(
            f"copy (from weighing_{name}) to {path} (format parquet, compression zstd)"
        ).fetchall()
    text = surroundings.text()
    (folder / DROP_FILE).write_text(text, encoding="utf-8", newline="\n")


def weigh_again(
    connection: Any, folder: Path, record: IncidentRecord, kept: Kept, done: Rerun
) -> bool:
    """Weigh the link once more, its record field by field; True when the verdict came out the same.

    Another outcome is no proof of tampering, because quiet links are missing: it is named as not run
    again. Rows of the link itself must be those in `rows/`.
    """
    for name in WEIGHING_TABLES:
        path = literal(glob_safe(str(folder / f"{name}.parquet")))
        connection.execute(f"create or replace temp table {name} as from read_parquet({path})")
    whole = load_files(connection, folder)
    connection.execute("create or replace temp table kept_ends (node varchar, interface varchar)")
    insert_columns(connection, "kept_ends", _COLUMNS, kept.scope.ends)
    done.compare("rows that the link is weighed with", _own_rows(connection, kept))
    topology = topology_of(connection)
    straggler_stage(connection, record.drop)
    correlation_stage(connection, record.drop, topology)
    answer = diagnose(gather_evidence(connection, topology, whole.runs))
    context = Context(record.drop, whole.cluster, topology, dict(whole.files))
    differing = list(differing_fields(record, build_incidents(answer.findings, context)))
    number = int(scalar(connection, "select count(distinct (node, interface)) from link_counters"))
    fields = [text.partition(" ")[0] for text in differing]
    beside = f"beside {number} erring link ends"
    if record.incident_id in fields or _JUDGED & set(fields):
        done.not_rerun.append(f"confidence of the link: {beside} alone, {differing[0]}")
        return False
    done.same.append(f"component, fault, severity and confidence, weighed again {beside}")
    done.not_rerun.append("error intervals of the other links: they are taken as recorded")
    if fields:
        named = ", ".join(fields)
        done.not_rerun.append(f"fields {named}: they rest on the comparison with all links")
    return True


def _own_rows(connection: Any, kept: Kept) -> Iterable[str]:
    for name in sorted({"link_counters", "spike_detections"} & kept.complete):
        own = "semi join kept_ends using (node, interface)"
        both = (f"(from recorded_{name} {own})", f"(from {name} {own})")
        if scalar(connection, f"select count(*) from {both[1]}") and differing_rows(
            connection, *both
        ):
            yield f"rows/{name} and {WEIGHING_FOLDER}/{name} do not hold the same rows of the link"
