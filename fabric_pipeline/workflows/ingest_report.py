"""What reading a drop said of its files, kept as JSON beside raw_telemetry for summaries and the diagnosis.

The rows that were read are tables; nothing of them is here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.model.records import Run, UnknownFact
from fabric_pipeline.settings import Settings
from fabric_pipeline.store import lake

_REPORTS_FILE = "ingest_report.json"
ARCHIVE = "archive_"  # what formats of archives begin with


@dataclass(slots=True)
class FileReport:
    """What became of one file: counts, and in words what a person has to know or do."""

    name: str
    sha256: str
    size: int
    format: str = "unknown"
    readings: int = 0
    rejected: int = 0
    problem: str = ""

    @property
    def is_archive(self) -> bool:
        """True for an archive that was read through the files in it."""
        return self.format.startswith(ARCHIVE)


@dataclass(slots=True)
class IngestReport:
    """What reading the drop said of its files, kept beside the tables for summaries."""

    files: list[FileReport]
    problems: list[str]
    unknown: list[UnknownFact]
    content_sha256: str
    cluster: str
    runs: list[Run]
    conflicts: list[str]


def save_report(settings: Settings, drop_id: str, report: IngestReport) -> None:
    """Keep it, whole or not at all."""
    path = _report_path(settings, drop_id)
    body = {
        "files": [_fields(one) for one in report.files],
        "problems": report.problems,
        "unknown": [_fields(one) for one in report.unknown],
        "content_sha256": report.content_sha256,
        "cluster": report.cluster,
        "runs": [_fields(one) for one in report.runs],
        "conflicts": report.conflicts,
    }
    path.parent.mkdir(parents=True, exist_ok=True)  # gone when the table broke a rule
    temporary = path.with_suffix(".tmp")
    temporary.write_text(
        json.dumps(body, indent=1, ensure_ascii=False, default=str), encoding="utf-8"
    )
    temporary.replace(path)


def load_report(settings: Settings, drop_id: str) -> IngestReport:
    """What reading the drop said, as `ingest_stage` kept it."""
    path = _report_path(settings, drop_id)
    if not path.is_file():
        raise NotFoundError(f"drop {drop_id} was never read", "run it first: fabric-pipeline run")
    try:
        return _report(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError):
        raise NotFoundError(
            f"drop {drop_id} was read by another version of the pipeline",
            "read it again: fabric-pipeline run --force",
        ) from None


def cluster_of(settings: Settings, drop_id: str) -> str | None:
    """The cluster that a drop names, None when what was read of it is no longer kept."""
    try:
        return load_report(settings, drop_id).cluster
    except NotFoundError:
        return None


def _report_path(settings: Settings, drop_id: str) -> Path:
    return lake.part_path(settings.lake, "raw_telemetry", drop_id).with_name(_REPORTS_FILE)


def _report(raw: dict[str, Any]) -> IngestReport:
    raw["files"] = [FileReport(**one) for one in raw["files"]]
    raw["unknown"] = [UnknownFact(**one) for one in raw["unknown"]]
    raw["runs"] = [
        Run(**{**one, "start": _time(one["start"]), "end": _time(one["end"])})
        for one in raw["runs"]
    ]
    return IngestReport(**raw)


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}
