"""The files of a dossier that explain the others: versions and limits, lineage, and the README.

Everything here is the same again when nothing has changed: no clock is read and no path of the
machine is written.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from fabric_pipeline import __version__
from fabric_pipeline.detect.spikes.thresholds import SpikeLimits
from fabric_pipeline.detect.stragglers.thresholds import StragglerLimits
from fabric_pipeline.diagnose.thresholds import IsolationLimits
from fabric_pipeline.incidents.record import SCHEMA_VERSION, IncidentRecord
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.drop import sha256_of
from fabric_pipeline.sources.registry import recognise
from fabric_pipeline.store.lake import part_path
from fabric_pipeline.workflows.dossier_bag import shown
from fabric_pipeline.workflows.dossier_excerpts import Source, source_path
from fabric_pipeline.workflows.dossier_rows import RowSet, picked
from fabric_pipeline.workflows.dossier_scope import Scope

PACKAGES = ("duckdb", "numpy", "pandas", "pydantic", "pydantic-ai-slim", "anthropic", "dagster")

README = """\
Evidence dossier {incident_id}
Drop: {drop}
Component: {component}
Verdict: {fault_type}, {severity}

WHAT THIS IS
The evidence behind one incident of a diagnosis pipeline for GPU interconnects, as a BagIt folder
(RFC 8493). Nothing in it acts on a machine. It can be checked with standard tools alone.

HOW TO CHECK IT WITHOUT OUR SOFTWARE
1. In the folder that holds manifest-sha256.txt:
     sha256sum -c manifest-sha256.txt
     sha256sum -c tagmanifest-sha256.txt
   Every line must end in OK, and `find data -type f | wc -l` must give as many files as
   manifest-sha256.txt has lines.
2. The hash of manifest-sha256.txt itself (`sha256sum manifest-sha256.txt`) stands in the pipeline's
   table evidence_dossiers. A dossier that was replaced as a whole no longer has it.
3. data/incident.json states a hash over its own content in evidence_sha256:
     python3 -c "import json,hashlib;r=json.load(open('data/incident.json'));h=r.pop('evidence_sha256');[r.pop(k) for k in ('status','repeat_count')];print(h==hashlib.sha256(json.dumps(r,sort_keys=True,ensure_ascii=False,separators=(',',':')).encode()).hexdigest())"
   must print True.
4. Each file in data/excerpts/ names a source file and the SHA-256 of the whole of it. Where the
   source is still kept, `sha256sum FILE` must give that hash and `sed -n 'Np' FILE` the line shown
   beside the number N. An excerpt whose state is not "unchanged" says what is missing.
5. data/rows/*.parquet and *.csv hold the same rows. Each row has file, file_sha256 and line where
   its table has them, so that it leads back to a line of an excerpt. data/queries.sql holds the
   queries that found them; they run on the pipeline's audit.duckdb as they stand.
6. data/ledger.json holds the head of the chain of reviews when this dossier was built. The chain
   of the ledger must still contain it.

WHAT IS IN data/
incident.json      the incident record; its evidence list has the ids that tickets cite
{ticket_lines}excerpts/          lines of the source files, numbered, each with the hash of the whole file
rows/              the rows the incident rests on: those of the link's two ends, of the affected
                   runs, and of the lines that the evidence names
queries.sql        the queries behind rows/, parameters included
lineage.json       run, tables with their file hashes, and how many rows match and were written
versions.json      versions of software and readers, and the limits of the rules as used
ledger.json        head of the ledger's hash chain
figure.svg         errors of the link over time under the slow intervals of the runs

BOUNDS
At most {bound} rows of one table and {lines} lines of one source file (besides the first and the
last line of each reference). {cut}

HOW TEXT FROM TELEMETRY IS WRITTEN
Host names and log lines come from the machines and are data, whatever they say. In a CSV file a text
cell that begins with = + - @ a tab, a line break or a single quote has one single quote put in front,
so that a spreadsheet does not run it; take one away to get the text back. An empty cell means "not
stated". The Parquet files hold the text as it is. In excerpts, unprintable characters are written
as \\uXXXX. The picture escapes all text.
"""


def versions(
    connection: Any, sources: Sequence[Source], drop: Path | None, rows: Sequence[RowSet]
) -> dict[str, Any]:
    """Content of `versions.json`: software, readers of the cited files, limits as used."""
    return {
        "fabric_pipeline": __version__,
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "incident_schema": SCHEMA_VERSION,
        "readers": _readers(connection, sources, drop),
        "limits": {
            limits.__class__.__name__: asdict(limits)
            for limits in (SpikeLimits(), StragglerLimits(), IsolationLimits())
        },
        "row_bound": max(one.bound for one in rows),
    }


def lineage(
    record: IncidentRecord, scope: Scope, rows: Sequence[RowSet], lake: Path, run_id: str
) -> dict[str, Any]:
    """Content of `lineage.json`. `tables` are the lake files that were read, `rows` what was taken."""
    parts = {name: part_path(lake, name, record.drop) for name in _read_tables(rows)}
    return {
        "run_id": run_id,
        "run_id_means": "the first run that built this content; bag-info.txt names the latest",
        "drop": record.drop,
        "incident_id": record.incident_id,
        "tables": {
            name: {
                "file": path.relative_to(lake).as_posix(),
                "sha256": sha256_of(path),
                "made_from": list(TABLES[name].upstream),
            }
            for name, path in parts.items()
            if path.is_file()
        },
        "scope": asdict(scope),
        "rows": {one.table: one.facts() for one in rows},
    }


def readme(record: IncidentRecord, rows: Sequence[RowSet], lines: int, *, has_ticket: bool) -> str:
    """The text of `README.txt`."""
    cut = [f"{one.table} ({one.written} of {one.matched} rows)" for one in rows if not one.is_complete and one.in_lake]  # fmt: skip
    absent = [one.table for one in rows if not one.in_lake]
    said = f"Cut here: {', '.join(cut)}." if cut else "No table was cut."
    if absent:
        said += f" The drop has no table {', '.join(absent)}."
    ticket = "ticket.json        the current draft of the repair ticket\nreviews.json       what people decided about it\n"  # fmt: skip
    return README.format(
        incident_id=shown(record.incident_id),
        drop=shown(record.drop),
        component=shown(record.isolated_component),
        fault_type=record.fault_type,
        severity=record.severity,
        ticket_lines=ticket if has_ticket else "",
        bound=max(one.bound for one in rows),
        lines=lines,
        cut=said,
    )


def _read_tables(rows: Iterable[RowSet]) -> list[str]:
    return [*(one.table for one in rows), "fabric_topology"]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _readers(
    connection: Any, sources: Sequence[Source], drop: Path | None
) -> dict[str, dict[str, str]]:
    """Format and reader version per cited file: as recorded with its readings, else recognised anew."""
    sql = (
        f"select distinct file, format, parser_version from {picked('raw_telemetry')} "
        "where format <> 'unknown' order by all"
    )
    found = {row[0]: (row[1], row[2]) for row in connection.execute(sql).fetchall()}
    named = {}
    for source in sources:
        reader = found.get(source.file) or _recognised(source, drop)
        named[source.file] = {"format": reader[0], "version": reader[1]}
    return named


def _recognised(source: Source, drop: Path | None) -> tuple[str, str]:
    path = source_path(drop, source.file) if drop is not None else None
    if path is None or source.state in ("gone", "outside", "changed"):
        return "unknown", ""
    match = recognise(SourceFile(path, source.file))
    return match.format_id, match.reader.version if match.reader else ""
