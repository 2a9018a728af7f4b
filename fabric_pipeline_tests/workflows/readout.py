"""Reading a drop in a test and looking at what came of it, file by file, without any judging."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.schemas.validation import Violation, validate
from fabric_pipeline.sources.drop import Drop, list_drop
from fabric_pipeline.store.duck import session
from fabric_pipeline.workflows.ingest import Ingested, count_links, ingest
from fabric_pipeline.workflows.ingest_report import FileReport
from fabric_pipeline.workflows.unpacked import with_archives

READ_AT = datetime(2026, 12, 1, tzinfo=UTC)
_TABLES = (
    "raw_telemetry",
    "quarantined_telemetry",
    "link_counters",
    "collective_timings",
    "fabric_events",
    "fabric_topology",
)
Row = dict[str, Any]


@dataclass
class Readout:
    """The reports by file name, the rows of each ingest table, and (checked) rules they break."""

    read: Ingested
    tables: dict[str, list[Row]] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)

    def report(self, name: str) -> FileReport:
        (found,) = [report for report in self.read.files if report.name == name]
        return found

    def rows(self, table: str, file: str = "") -> list[Row]:
        return [row for row in self.tables[table] if file in ("", row["file"])]

    def accepted(self, file: str) -> list[Row]:
        """Readings that were accepted, by line."""
        return sorted(
            self.rows("link_counters", file), key=lambda row: (row["line"], row["counter"])
        )

    def refused(self, file: str) -> list[tuple[int | None, str]]:
        """Lines that were refused, with their rules."""
        return [(row["line"], row["rule"]) for row in self.rows("quarantined_telemetry", file)]

    @property
    def balances(self) -> bool:
        """Accepted + quarantined = read, for each file and so for all."""
        count = {
            table: {report.name: len(self.rows(table, report.name)) for report in self.read.files}
            for table in ("raw_telemetry", "link_counters", "quarantined_telemetry")
        }
        raw, good, bad = count.values()
        return all(raw[name] == good[name] + bad[name] for name in raw)


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Put files into a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def read_drop(
    drop: Drop | Path, read_at: datetime = READ_AT, *, is_checked: bool = False
) -> Readout:
    """Ingest a drop and count its links; checking the tables takes most of the time."""
    with closing(session()) as con, TemporaryDirectory() as unpacked:
        listed = list_drop(drop) if isinstance(drop, Path) else drop
        if isinstance(drop, Path):
            listed = with_archives(listed, Path(unpacked))
        readout = Readout(ingest(con, listed, "test", read_at))
        count_links(con)
        for name in _TABLES:
            cursor = con.execute(f"select * from {name}")
            columns = [column[0] for column in cursor.description or []]
            rows = cursor.fetchall()
            readout.tables[name] = [dict(zip(columns, row, strict=True)) for row in rows]
            if is_checked:
                readout.violations += validate(con, TABLES[name], name)
    return readout


def read_files(
    folder: Path, files: Mapping[str, str | bytes], *, is_checked: bool = False
) -> Readout:
    """Write the files into the folder and read it as a drop."""
    return read_drop(write(folder, files), is_checked=is_checked)
