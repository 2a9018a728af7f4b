"""Invented drops for the scenarios and a view of what `inspect` answers to them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fabric_pipeline.workflows.inspect import inspect

START = datetime(2024, 2, 3, 4, tzinfo=UTC)
READ_AT = datetime(2026, 12, 1, tzinfo=UTC)
COUNTERS = ("ts", "node", "gpu", "link_type", "link", "counter", "value")
COLLECTIVES = (
    "run", "comm", "seq", "op", "bytes", "ts", "node", "gpu", "rank", "duration_us", "arrival_us", "baseline_us",
)  # fmt: skip
Row = Sequence[object]
Found = dict[str, Any]


def at(**after: float) -> str:
    """A moment after the start of all scenarios, as files write it."""
    return (START + timedelta(**after)).isoformat().replace("+00:00", "Z")


def table(header: Sequence[str], rows: Iterable[Row]) -> str:
    """A CSV file."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def lines(rows: Iterable[Mapping[str, object]]) -> str:
    """A JSON-lines file."""
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """The files in the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


@dataclass(frozen=True, slots=True)
class Answer:
    """What `inspect` said, with the questions that the scenarios ask of it."""

    verdict: str
    findings: list[Found]
    unknown: list[dict[str, str]]
    facts: dict[str, Any]
    inputs: list[dict[str, Any]]

    @property
    def accused(self) -> list[Found]:
        """Findings that name a component as the cause of real trouble."""
        return [
            f
            for f in self.findings
            if f["role"] == "cause" and f["severity"] in ("warning", "critical")
        ]

    @property
    def text(self) -> str:
        """Everything that is said, in one string."""
        return json.dumps([self.findings, self.unknown, self.facts], ensure_ascii=False)

    def about(self, component: str) -> list[Found]:
        """Findings of one component."""
        return [f for f in self.findings if f["component"] == component]

    def symptoms_of(self, component: str) -> list[Found]:
        """Findings that are explained by another component's fault."""
        return [f for f in self.findings if f.get("cause") == component and f["role"] == "symptom"]


def judged(folder: Path, files: Mapping[str, str | bytes]) -> Answer:
    """The files written into the folder, read as one drop and judged."""
    return Answer(**inspect([write(folder, files)], READ_AT))
