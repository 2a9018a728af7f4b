"""The files of a dossier that explain the others: versions with limits, and lineage.

Everything here is the same again when nothing has changed: no clock is read and no path of the
machine is written.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from fabric_pipeline import __version__
from fabric_pipeline.detect.spikes.thresholds import SpikeLimits
from fabric_pipeline.detect.stragglers.thresholds import StragglerLimits
from fabric_pipeline.diagnose.localise.judge import ACCUSE_FROM, EXPLAIN_FROM
from fabric_pipeline.diagnose.localise.scorecard import as_json, shipped_card
from fabric_pipeline.diagnose.thresholds import IsolationLimits
from fabric_pipeline.incidents.record import SCHEMA_VERSION, IncidentRecord
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.drop import sha256_of
from fabric_pipeline.sources.registry import recognise
from fabric_pipeline.store.lake import head_path
from fabric_pipeline.workflows.dossier_rows import ROW_TABLES, RowSet, picked
from fabric_pipeline.workflows.dossier_scope import Scope
from fabric_pipeline.workflows.dossier_sources import Source

PACKAGES = ("duckdb", "numpy", "pandas", "pydantic", "pydantic-ai-slim", "anthropic", "dagster")


def versions(connection: Any, sources: Sequence[Source], rows: Sequence[RowSet]) -> dict[str, Any]:
    """Content of `versions.json`: software, readers of the cited files, limits as used."""
    return {
        "fabric_pipeline": __version__,
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "incident_schema": SCHEMA_VERSION,
        "readers": _readers(connection, sources),
        **limits_used(),
        "row_bound": max(one.bound for one in rows),
    }


def lineage(
    record: IncidentRecord,
    scope: Scope,
    rows: Sequence[RowSet],
    tables: Mapping[str, tuple[str, str]],
    run_id: str,
) -> dict[str, Any]:
    """Content of `lineage.json`.

    `tables` are the lake files that were read (name -> path in the lake, SHA-256), `rows` what was
    taken of them. Assets are called as their tables.
    """
    return {
        "run_id": run_id,
        "run_id_means": "the pipeline run that first built a dossier of this incident as it is here",
        "drop": record.drop,
        "incident_id": record.incident_id,
        "tables": {
            name: {"file": file, "sha256": sha256, "made_from": list(TABLES[name].upstream)}
            for name, (file, sha256) in tables.items()
        },
        "scope": asdict(scope),
        "rows": {one.table: one.facts() for one in rows},
    }


def table_files(lake: Path, drop: str) -> dict[str, tuple[str, str]]:
    """The files of the lake that dossiers of a drop rest on, and their SHA-256."""
    parts = {name: head_path(lake, name, drop) for name in (*ROW_TABLES, "fabric_topology")}
    return {
        name: (path.relative_to(lake).as_posix(), sha256_of(path))
        for name, path in parts.items()
        if path.is_file()
    }


def limits_used() -> dict[str, Any]:
    """The limits of the rules and of the weighing, as this software uses them."""
    return {
        "limits": {
            limits.__class__.__name__: asdict(limits)
            for limits in (SpikeLimits(), StragglerLimits(), IsolationLimits())
        },
        "weighing": {
            "accuse_from": ACCUSE_FROM,
            "suspect_from": EXPLAIN_FROM,
            "score_card": json.loads(as_json(shipped_card(), {})),
        },
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _readers(connection: Any, sources: Sequence[Source]) -> dict[str, dict[str, str]]:
    """Format and reader version per cited file: as recorded with its readings, else recognised anew."""
    sql = (
        f"select distinct file, format, parser_version from {picked('raw_telemetry')} "
        "where format <> 'unknown' order by all"
    )
    found = {row[0]: (row[1], row[2]) for row in connection.execute(sql).fetchall()}
    named = {}
    for source in sources:
        reader = found.get(source.file) or _recognised(source)
        named[source.file] = {"format": reader[0], "version": reader[1]}
    return named


def _recognised(source: Source) -> tuple[str, str]:
    if source.path is None or source.state == "changed":
        return "unknown", ""
    return _reader_of(source.path, source.file, source.sha256_now)


@lru_cache(maxsize=256)
def _reader_of(path: Path, file: str, _sha256: str) -> tuple[str, str]:
    """Format and reader version; the incidents of a drop cite the same few files again and again."""
    match = recognise(SourceFile(path, file))
    return match.format_id, match.reader.version if match.reader else ""
