"""The whole diagnosis once more, from the drop that a dossier holds: it must give the same record.

Every stage of the pipeline runs as it did, so nothing is taken over from the rows that are checked.
Dossiers of larger drops hold an excerpt, which `dossier_rerun` judges.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fabric_pipeline.diagnose.diagnose import diagnose
from fabric_pipeline.incidents.build import Context, build_incidents
from fabric_pipeline.incidents.record import SCHEMA_VERSION, IncidentRecord
from fabric_pipeline.workflows.diagnose import (
    correlation_stage,
    gather_evidence,
    spike_stage,
    straggler_stage,
)
from fabric_pipeline.workflows.dossier_compare import Kept, Rerun, differing_rows
from fabric_pipeline.workflows.dossier_rows import RowSet, pick_rows, picked
from fabric_pipeline.workflows.dossier_scope import scope_of
from fabric_pipeline.workflows.dossier_whole import DROP_FOLDER, load_whole, whole_problems
from fabric_pipeline.workflows.drop_stages import topology_of
from fabric_pipeline.workflows.ingest import count_links

_LONGEST = 120  # characters of a value in a message


def rejudge(
    connection: Any, data: Path, record: IncidentRecord, kept: Kept, done: Rerun
) -> list[RowSet]:
    """Run all stages on `drop/`, compare rows and record, and leave the picked rows in the connection.

    Notes the outcome in `done`. Raises what rows raise that no pipeline has written.
    """
    whole = load_whole(connection, data / DROP_FOLDER)
    foreign = whole_problems(connection, data / DROP_FOLDER, whole)
    done.compare("rows of the drop against its files and runs", foreign)
    topology = topology_of(connection)
    count_links(connection)
    spikes = spike_stage(connection, record.drop)
    straggler_stage(connection, record.drop)
    correlation_stage(connection, record.drop, topology)
    answer = diagnose(gather_evidence(connection, topology, whole.runs))
    context = Context(record.drop, whole.cluster, topology, dict(whole.files))
    again = build_incidents(answer.findings, context)
    done.compare("the whole diagnosis of the drop", differing_fields(record, again))
    ends = sorted({(spike.node, spike.interface) for spike in spikes})
    scope = scope_of(record, ends, topology)
    rows = pick_rows(connection, scope, kept.in_lake, kept.bound)
    stated = (
        [] if scope == kept.scope else ["lineage.json states another scope than the incident has"]
    )
    done.compare(
        "rows that belong to the incident", [*stated, *_row_differences(connection, rows, kept)]
    )
    return rows


def differing_fields(record: IncidentRecord, again: Sequence[IncidentRecord]) -> Iterator[str]:
    """Field by field, so that a change is named where it was made."""
    same = [one for one in again if one.incident_id == record.incident_id]
    if not same:
        found = ", ".join(f"{one.incident_id} ({one.isolated_component})" for one in again[:5])
        yield f"{record.incident_id} is not found; found: {found or 'no incident'}"
        return
    stated, found_now = (one.model_dump(mode="json") for one in (record, same[0]))
    if record.schema_version != SCHEMA_VERSION:  # the hash is over the fields of its own version
        found_now |= {name: stated[name] for name in ("schema_version", "evidence_sha256")}
    for name, value in stated.items():
        if value != found_now[name]:
            yield f"{name} is {_short(value)} in the incident, {_short(found_now[name])} when run again"


def _row_differences(connection: Any, rows: Sequence[RowSet], kept: Kept) -> Iterator[str]:
    for one in rows:
        recorded = f"(from recorded_{one.table})"
        differing = differing_rows(connection, recorded, f"(from {picked(one.table)})")
        if differing:
            yield f"rows/{one.table}: {differing} rows are on one side only"
        if one.facts() != dict(kept.rows[one.table]):
            yield f"lineage.json states other counts for {one.table}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
