"""Reading a drop once: every file by its reader into the five ingest tables of an open connection.

Readings that cannot be accepted stay in raw_telemetry with the rule that refused them and are copied
to quarantined_telemetry. A bad file never stops the others. Judging starts in `workflows.diagnose`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import accumulate, groupby
from typing import Any

from fabric_pipeline.detect.counting import count as counting
from fabric_pipeline.detect.counting.counters_sql import UNNAMED_SQL
from fabric_pipeline.model.captures import machines
from fabric_pipeline.model.progress import Moment, Tell, silent
from fabric_pipeline.model.records import ReadResult, Run, TopologyPart, UnknownFact
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.sources.base import Hear, SourceFile
from fabric_pipeline.sources.drop import Drop, FileStamp
from fabric_pipeline.sources.drop_meta import DROP_YAML
from fabric_pipeline.sources.normalized.topology import TopologyReader
from fabric_pipeline.sources.registry import UNKNOWN_FORMAT, Match, recognise
from fabric_pipeline.store.parquet_rows import ParquetFile
from fabric_pipeline.workflows import staging
from fabric_pipeline.workflows.file_reading import refused_whole, understood
from fabric_pipeline.workflows.ingest_report import ARCHIVE, FileReport
from fabric_pipeline.workflows.kept_names import (
    NORMALIZED,
    rename_runs,
    rename_staged,
    renamed_unknown,
)
from fabric_pipeline.workflows.staged_shards import Aside, FilesApart, files_apart
from fabric_pipeline.workflows.topology_rows import places_in_names, topology_rows

# A reading this far ahead of the moment of reading comes from a clock that runs ahead.
CLOCK_TOLERANCE = timedelta(minutes=10)
# Lists that people keep say how a site should be, and tools how it is: the graph hears tools first.
PLANS = frozenset({"netbox_csv", "slurm_topology"})


@dataclass(slots=True)
class Ingested:
    """Result of reading one drop; the tables themselves are in the connection."""

    files: list[FileReport] = field(default_factory=list)
    unknown: list[UnknownFact] = field(default_factory=list)
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    topology: Topology = field(default_factory=Topology)
    problems: list[str] = field(default_factory=list)


def ingest(
    connection: Any,
    drop: Drop,
    drop_id: str,
    read_at: datetime,
    tell: Tell = silent,
    aside: Aside | None = None,
) -> Ingested:
    """Read all files of a drop into the ingest tables of `connection`.

    Creates raw_telemetry, quarantined_telemetry, collective_timings, fabric_events and
    fabric_topology as temporary tables, and drop_files with the order of the files. With `aside` what is
    read of large files is kept there and used again; the tables are the same with and without.
    """
    done = Ingested(problems=list(drop.problems))
    staging.prepare(connection, drop.stamps(), drop.meta.timezone_name)
    parts = _read_files(connection, drop, read_at + CLOCK_TOLERANCE, tell, aside, done)
    tell(Moment("putting the readings together", "finish reading"))
    _set_apart(connection, drop, done)
    order = {stamp.name: n for n, stamp in enumerate(drop.stamps())}
    done.files.sort(key=lambda report: order[report.name])
    formats = {report.name: report.format for report in done.files}
    parts.sort(key=lambda part: formats[part.source] in PLANS)
    done.topology = Topology(parts)
    normalized = [one.name for one in done.files if one.format in NORMALIZED]
    rename_staged(connection, done.topology, normalized)
    done.unknown = renamed_unknown(done.topology, done.unknown)
    rename_runs(done.topology, done.runs.values())
    if drop.meta.node_pattern is not None:
        named = places_in_names(
            drop.meta.node_pattern, staging.nodes_seen(connection), done.topology
        )
        named.source = DROP_YAML
        done.topology = Topology([*parts, named])
    rows = [row for part in done.topology.parts() for row in topology_rows(part.source, part)]
    staging.finish(connection, drop_id, done.runs, rows)
    staging.note_formats(connection, [(report.name, report.format) for report in done.files])
    _count(connection, done)
    return done


def _read_files(
    connection: Any, drop: Drop, latest: datetime, tell: Tell, aside: Aside | None, done: Ingested
) -> list[TopologyPart]:
    """Stage every file in turn; what each says of the topology comes back, all else goes to `done`."""
    parts: list[TopologyPart] = []
    pending = [(stamp, _recognised(drop, stamp, done)) for stamp in drop.data_files()]
    pending.sort(key=lambda item: _turn(item[1]))
    turns = [list(files) for _, files in groupby(pending, lambda item: _turn(item[1]))]
    apart = files_apart(aside, drop, turns, latest, tell)
    known_nodes: frozenset[str] = frozenset()
    begins = list(accumulate((stamp.size for stamp, _ in pending), initial=0))
    for turn, files in enumerate(turns):
        if apart:
            apart.start_turn(turn, known_nodes)
        for stamp, match in files:
            number = len(done.files)
            words = f"reading {stamp.name}"
            begun = Moment(words, "read", number, len(pending), begins[number], begins[-1])
            tell(begun)
            file = drop.source(stamp, known_nodes, ParquetFile)
            file.hear = _hearing(tell, begun, stamp)
            report, result = _read_file(connection, file, stamp, match, latest, apart)
            done.files.append(report)
            _keep(done, stamp.name, result)
            if result.topology is not None:
                result.topology.source = stamp.name
                parts.append(result.topology)
                known_nodes |= {str(n["node"]) for n in result.topology.nodes}
    done.problems += apart.end() if apart else []
    return parts


def _hearing(tell: Tell, begun: Moment, stamp: FileStamp) -> Hear:
    """What a file calls while it is gone through in pieces; `begun` is the moment before it.

    Bytes of the first of two passes are not done, so they are counted apart: as soon as they were taken
    for done, the time left would lack the second pass. Of a small file in a large drop none are told.
    """

    def hear(size: int, words: str) -> None:
        if not words:
            tell(replace(begun, size=begun.size + min(size, stamp.size)))
            return
        told = replace(begun, words=f"{begun.words}, {words}")
        is_most = 2 * stamp.size >= begun.of_size
        if is_most:
            whole = stamp.size if size else 0
            told = replace(told, work=f"{words}, {stamp.name}", size=size, of_size=whole)
        tell(told)

    return hear


def _set_apart(connection: Any, drop: Drop, done: Ingested) -> None:
    """Account for archives, which are read through their files, and for entries that were refused."""
    apart = [stamp for stamp in drop.stamps() if not stamp.is_data]
    for stamp in apart:
        form = f"{ARCHIVE}{stamp.archive.replace('.', '_')}" if stamp.archive else UNKNOWN_FORMAT
        done.files.append(
            FileReport(stamp.name, stamp.sha256, stamp.size, form, problem=stamp.problem)
        )
        if stamp.archive:
            done.facts[stamp.name] = {"archive": stamp.archive, "files_in_it": stamp.inside}
    refused = [(drop.source(stamp), stamp.problem) for stamp in apart if stamp.problem]
    staging.add_refused_files(connection, refused)


def _keep(done: Ingested, name: str, result: ReadResult) -> None:
    """What a file says beside rows of tables."""
    done.unknown += result.unknown
    if result.facts:
        done.facts[name] = result.facts
    done.runs.update({run.run: run for run in result.runs})


def count_links(connection: Any) -> None:
    """Make link_counters from raw_telemetry in the connection."""

    def keep(rows: str) -> None:
        made = TABLES["link_counters"].cast_sql(f"({rows})")
        connection.execute(f"create or replace temp table link_counters as {made}")

    counting.count_links(connection, keep, machines_apart(connection))


def machines_apart(connection: Any) -> dict[str, str]:
    """Which files that name no host may be of several machines; see `model.captures.machines`."""
    unnamed = connection.execute(UNNAMED_SQL).fetchall()
    formats = {file: form for file, form, _, _ in unnamed}
    devices = [(file, uuid) for file, _, uuid, _ in unnamed]
    return machines(formats, devices, {file for file, *_, is_bare in unnamed if is_bare})


def _recognised(drop: Drop, stamp: FileStamp, done: Ingested) -> Match:
    if stamp.size == 0:
        return Match(None, 0)
    try:
        match = recognise(drop.source(stamp))
    except OSError:  # it vanished after the listing; reading it will say so
        return Match(None, 0)
    done.problems += [f"{stamp.name}: {failure}; report this fault" for failure in match.failures]
    return match


def _turn(match: Match) -> int:
    """Files that name nodes come first, because a folder may be named after a node."""
    if match.format_id == TopologyReader.format_id:
        return 0
    return 1 if match.reader and "topology" in match.reader.yields else 2


def _read_file(
    connection: Any,
    file: SourceFile,
    stamp: FileStamp,
    match: Match,
    latest: datetime,
    apart: FilesApart | None,
) -> tuple[FileReport, ReadResult]:
    """Stage one file. What a file says counts only when all of it was read and it held still."""
    report = FileReport(stamp.name, stamp.sha256, stamp.size, match.format_id)
    result = apart.take(connection, stamp, file, match) if apart else None
    if result is None:
        since = apart.begin(connection, stamp, match) if apart else None
        report.problem, result = understood(connection, file, match.reader, stamp.size, latest)
        if apart and since and not (report.problem or refused_whole(result)):
            apart.keep(connection, stamp, file, match, since, result)
    if file.path.exists() and not stamp.is_unchanged():
        report.problem = "changed while it was read; what was read of it is set aside, drop it again when it is complete"
    if not report.problem:
        report.problem = refused_whole(result)  # its row with the rule is staged already
        return report, result
    staging.forget(connection, file.name)
    staging.add_refused_files(connection, [(file, report.problem)])
    return report, ReadResult()


def _count(connection: Any, done: Ingested) -> None:
    counts = {row[0]: row[1:] for row in connection.execute(staging.COUNTS_SQL).fetchall()}
    for report in done.files:
        report.readings, report.rejected = counts.get(report.name, (0, 0))
