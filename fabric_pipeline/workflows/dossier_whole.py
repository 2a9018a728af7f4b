"""The whole drop inside a dossier, when it is small enough: what a diagnosis reads, to run it again.

The tables are copies of the lake's own files, so their hashes are those of `lineage.json`. Running the
diagnosis over them is done in `dossier_rejudge`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.model.captures import in_capture_order
from fabric_pipeline.model.records import Run
from fabric_pipeline.settings import Settings
from fabric_pipeline.sources.drop_meta import DROP_YAML
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.store.duck import glob_safe, literal, scalar
from fabric_pipeline.store.lake import attach, part_path
from fabric_pipeline.workflows.ingest_report import load_report

DROP_FOLDER, DROP_FILE = "drop", "drop.json"
# All that a diagnosis starts from; every other table is computed from these. Refused readings stand
# in raw_telemetry with their reason, so quarantined_telemetry would only repeat them.
DROP_TABLES = ("raw_telemetry", "collective_timings", "fabric_events", "fabric_topology")
# A drop goes into its dossiers whole up to these sums over the four tables. 400,000 rows are some 2 to
# 4 MB and are diagnosed again in seconds; a dossier stays small enough to be mailed.
MAX_DROP_ROWS = 400_000
MAX_DROP_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class WholeDrop:
    """What surrounds the four tables: names and hashes of the files in their order, runs, cluster."""

    cluster: str
    files: Sequence[tuple[str, str]]  # name, SHA-256; in the order of reading
    runs: Sequence[Run]

    def text(self) -> str:
        """Content of `drop.json`."""
        facts = {
            "cluster": self.cluster,
            "files": [{"file": name, "sha256": sha256} for name, sha256 in self.files],
            "runs": [asdict(run) for run in self.runs],
        }
        return json.dumps(facts, indent=1, ensure_ascii=False, default=datetime.isoformat) + "\n"


def surroundings(settings: Settings, drop: str) -> WholeDrop | None:
    """Files, runs and cluster of a drop in the lake; None when the report of reading it is gone."""
    try:
        report = load_report(settings, drop)
    except NotFoundError:
        return None
    return WholeDrop(report.cluster, [(one.name, one.sha256) for one in report.files], report.runs)


def why_not_whole(connection: Any, settings: Settings, drop: str) -> str:
    """Why a drop in the lake is not taken whole, "" when it may be; attaches its tables."""
    parts = [part_path(settings.lake, name, drop) for name in DROP_TABLES]
    absent = [name for name, part in zip(DROP_TABLES, parts, strict=True) if not part.is_file()]
    if absent:
        return f"the drop has no table {', '.join(absent)}"
    size = sum(part.stat().st_size for part in parts)
    rows = 0
    for name in DROP_TABLES:
        attach(connection, settings.lake, name, drop)
        rows += int(scalar(connection, f"select count(*) from {name}"))
    if rows > MAX_DROP_ROWS or size > MAX_DROP_BYTES:
        return (
            f"the drop has {rows} rows in {size} bytes; up to {MAX_DROP_ROWS} rows and "
            f"{MAX_DROP_BYTES} bytes are taken whole"
        )
    return ""


def write_whole(whole: WholeDrop, settings: Settings, drop: str, folder: Path) -> None:
    """Copy the four tables of the lake and write `drop.json` beside them."""
    folder.mkdir()
    for name in DROP_TABLES:
        shutil.copyfile(part_path(settings.lake, name, drop), folder / f"{name}.parquet")
    (folder / DROP_FILE).write_text(whole.text(), encoding="utf-8", newline="\n")


def load_whole(connection: Any, folder: Path) -> WholeDrop:
    """Make the four tables and `drop_files` in the connection; raises for what is no whole drop.

    KeyError, TypeError, ValueError, OSError or a database error, as for any file of a dossier.
    """
    for name in DROP_TABLES:
        path = literal(glob_safe(str(folder / f"{name}.parquet")))
        connection.execute(f"create or replace temp table {name} as from read_parquet({path})")
    return load_files(connection, folder)


def load_files(connection: Any, folder: Path) -> WholeDrop:
    """Read `drop.json` and make `drop_files` in the connection; raises as `load_whole` does."""
    facts = json.loads((folder / DROP_FILE).read_bytes())
    files = [(str(one["file"]), str(one["sha256"])) for one in facts["files"]]
    connection.execute(
        "create or replace temp table drop_files "
        "(file varchar, file_no integer, file_sha256 varchar)"
    )
    columns = (("file", "VARCHAR"), ("file_no", "INTEGER"), ("file_sha256", "VARCHAR"))
    known = dict(files)
    names = in_capture_order(list(known))
    rows = [(file, number, known[file]) for number, file in enumerate(names)]
    insert_columns(connection, "drop_files", columns, rows)
    runs = [_run(one) for one in facts["runs"]]
    return WholeDrop(str(facts["cluster"]), files, runs)


def whole_problems(connection: Any, folder: Path, whole: WholeDrop) -> Iterator[str]:
    """Where `drop.json` and the rows of the tables in the connection contradict each other."""
    if (folder / DROP_FILE).read_bytes() != whole.text().encode():
        yield f"drop/{DROP_FILE}: is not written as a dossier writes it"
    for name in DROP_TABLES:
        sql = (
            f"select count(*) from {name} t left join drop_files f using (file) "
            "where (f.file is null and t.file <> $own) or "
            "(t.file_sha256 <> '' and t.file_sha256 <> f.file_sha256)"
        )
        foreign = int(scalar(connection, sql, {"own": DROP_YAML}))
        if foreign:
            yield f"drop/{name}: {foreign} rows are of no file of the drop"
    stated = {run.run: run.nodes for run in whole.runs}
    sql = "select distinct run, run_nodes from collective_timings order by all"
    for run, nodes in connection.execute(sql).fetchall():
        if json.loads(nodes) != stated.get(run, []):
            yield f"drop/{DROP_FILE}: the nodes of run {run[:80]!r} are not those of its collectives"


def _run(facts: Mapping[str, Any]) -> Run:
    times = {
        key: datetime.fromisoformat(facts[key]) if facts[key] else None for key in ("start", "end")
    }
    return Run(**{**facts, **times})
