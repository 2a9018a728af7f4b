"""The staging area of one drop in an open connection: from reader records to the ingest tables.

Bulk counters go through SQL alone; records of small files are inserted column by column. Which reader
reads which file is decided in `workflows.ingest`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from fabric_pipeline.detect.counting.counters_sql import catalogue_sql
from fabric_pipeline.errors import BadInputError
from fabric_pipeline.model.captures import in_capture_order
from fabric_pipeline.model.counters import BLANK_VALUES
from fabric_pipeline.model.records import ReadResult, RejectedLine, Run
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.sources.base import Reader, SourceFile
from fabric_pipeline.sources.drop import FileStamp
from fabric_pipeline.sources.normalized.counters import CountersReader
from fabric_pipeline.sources.normalized.tables import repeated_name
from fabric_pipeline.store.columns import DatabaseError, insert_columns
from fabric_pipeline.workflows.counter_staging import stage_counters
from fabric_pipeline.workflows.staged_rows import event_row, reading_row, rejected_row, timing_row
from fabric_pipeline.workflows.staging_tables import (
    create_staging_tables,
    drop_staging_tables,
    stage,
    stage_rejected,
)

# Understood values and unreadable lines per file. A value of a counter outside the catalogue was read,
# though nothing judges it; a blank (not measured) is neither.
COUNTS_SQL = """
select file, sum(understood)::bigint, sum(refused)::bigint from (
    select file, count(*) filter (quality <> 'not_supported' and (refused_by is null or (counter is null and value is not null))) as understood,
        count(*) filter (refused_by is not null and not (counter is null and value is not null)) as refused
    from raw_telemetry group by file
    union all select file, count(*), 0 from collective_timings group by file
    union all select file, sum("count"), 0 from fabric_events group by file
) group by file
"""


class UnreadableFileError(Exception):
    """The whole file cannot be read; the text says why and what to do."""


def prepare(connection: Any, stamps: Sequence[FileStamp], timezone_name: str) -> None:
    """Create empty staging tables and the list of files in their order."""
    _set_zone(connection, timezone_name)
    connection.execute("create or replace temp table counter_catalogue as " + catalogue_sql())
    connection.execute("create or replace temp table blank_values (value double)")
    connection.execute(
        "insert into blank_values select unnest(?::double[])", [sorted(BLANK_VALUES)]
    )
    connection.execute(
        "create or replace temp table drop_files (file varchar, file_no integer, file_sha256 varchar)"
    )
    sha256 = {stamp.name: stamp.sha256 for stamp in stamps}
    names = in_capture_order(list(sha256))  # readings without a time follow the order of captures
    files = [(name, number, sha256[name]) for number, name in enumerate(names)]
    insert_columns(
        connection,
        "drop_files",
        (("file", "VARCHAR"), ("file_no", "INTEGER"), ("file_sha256", "VARCHAR")),
        files,
    )
    create_staging_tables(connection)


def note_formats(connection: Any, formats: Sequence[tuple[str, str]]) -> None:
    """Add to `drop_files` by which reader each file was read."""
    types = (("file", "VARCHAR"), ("format", "VARCHAR"))
    connection.execute("create or replace temp table formats (file varchar, format varchar)")
    insert_columns(connection, "formats", types, formats)
    connection.execute(
        "create or replace temp table drop_files as select * from drop_files left join formats using (file)"
    )


def add_bulk(connection: Any, file: SourceFile, reader: Reader, latest: datetime) -> None:
    """Stage a counters file set-wise.

    Raises UnreadableFileError when DuckDB cannot read the file at all.
    """
    if not isinstance(reader, CountersReader):
        raise TypeError(f"{reader.format_id} is registered as bulk but has no layout")
    layout = reader.layout(file)
    said = [file.hints.node, reader.format_id, reader.version, file.name, latest]
    if layout.container == "csv" and (name := repeated_name(layout.columns)):
        raise UnreadableFileError(
            f"the header names the column {name[:40]!r} twice; rename one and drop it again"
        )
    try:
        stage_counters(connection, file, layout, said)
    except DatabaseError as problem:
        first_line = str(problem).splitlines()[0][:300]
        raise UnreadableFileError(
            f"cannot be read as {layout.container}: {first_line}; check that the file is complete"
        ) from None


def add_result(
    connection: Any, file: SourceFile, reader: Reader, result: ReadResult, latest: datetime
) -> None:
    """Stage what a reader made of a small file."""
    head = (reader.format_id, reader.version)
    rows = [reading_row(file, head, one, latest) for one in result.readings]
    rows += [rejected_row(file, head, one) for one in result.rejected]
    stage(connection, "staged_readings", rows)
    stage(connection, "staged_timings", [timing_row(file, one) for one in result.timings])
    stage(connection, "staged_events", [event_row(file, one) for one in result.events])


def add_refused_files(connection: Any, refused: Sequence[tuple[SourceFile, str]]) -> None:
    """Stage files that nothing could be read from, each with its rule, as one refused entry each."""
    for file, rule in refused:
        stage_rejected(connection, file, ("unknown", ""), [RejectedLine(None, "", rule)])


def forget(connection: Any, name: str) -> None:
    """Take back everything staged for one file."""
    for table in ("staged_readings", "staged_timings", "staged_events"):
        connection.execute(f"delete from {table} where file = ?", [name])


def nodes_seen(connection: Any) -> list[str]:
    """Every node that any staged row names, sorted."""
    rows = connection.execute(
        "select node from staged_readings union select node from staged_timings union select node from staged_events order by node"
    ).fetchall()
    return [row[0] for row in rows if row[0]]


def finish(
    connection: Any, drop_id: str, runs: dict[str, Run], topology: Sequence[Sequence[Any]]
) -> None:
    """Make the five ingest tables from the staging tables, in a fixed order of rows."""
    stage(connection, "staged_topology", topology)
    connection.execute("create or replace temp table run_nodes (run varchar, nodes varchar)")
    pairs = [(run.run, json.dumps(run.nodes)) for run in runs.values()]
    insert_columns(connection, "run_nodes", (("run", "VARCHAR"), ("nodes", "VARCHAR")), pairs)
    source = {
        "raw_telemetry": "select s.*, s.rowid as staged_no, f.file_sha256, f.file_no from staged_readings s join drop_files f using (file)",
        "collective_timings": "select s.*, s.rowid as staged_no, coalesce(n.nodes, '[]') as run_nodes, f.file_sha256, f.file_no "
        "from staged_timings s "
        "join drop_files f using (file) left join run_nodes n on n.run = s.run",
        "fabric_events": "select s.*, s.rowid as staged_no, f.file_sha256, f.file_no from staged_events s join drop_files f using (file)",
        "fabric_topology": "select s.*, f.file_sha256, f.file_no from staged_topology s join drop_files f using (file)",
    }
    for name, sql in source.items():
        # Of one line, such as all of a JSON answer, what was read first comes first.
        order = "all" if name == "fabric_topology" else "file_no, line nulls first, staged_no"
        numbered = f"""(select ?::varchar as "drop", row_number() over () as entry, * from (select * from ({sql}) order by {order}))"""
        connection.execute(
            f"create or replace temp table {name} as {TABLES[name].cast_sql(numbered)}", [drop_id]
        )
    drop_staging_tables(connection)
    table = TABLES["quarantined_telemetry"]
    refused = "(select *, refused_by as rule from raw_telemetry where refused_by is not null)"
    connection.execute(f"create or replace temp table {table.name} as {table.cast_sql(refused)}")
    connection.execute("set TimeZone = 'UTC'")  # judging knows no local time


def _set_zone(connection: Any, name: str) -> None:
    """Read times without an offset in this zone; only a plain name reaches the statement."""
    try:
        if not all(ch.isalnum() or ch in "/_+-" for ch in name):
            raise ValueError(name)
        connection.execute(f"set TimeZone = '{name}'")
    except (DatabaseError, ValueError):
        raise BadInputError(
            f"drop.yaml: timezone {name[:40]!r} is not known", "use a name such as Europe/Berlin"
        ) from None
