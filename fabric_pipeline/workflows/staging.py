"""The staging area of one drop in an open connection: from reader records to the ingest tables.

Bulk counters go through SQL alone; records of small files are inserted column by column. Which reader
reads which file is decided in `workflows.ingest`.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from math import isnan
from pathlib import Path
from typing import Any, TextIO

from fabric_pipeline.detect.counting.counters_sql import catalogue_sql
from fabric_pipeline.model.counters import BLANK_VALUES, COUNTERS
from fabric_pipeline.model.records import MAX_TEXT, Reading, ReadResult, Run
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.schemas.table import Column
from fabric_pipeline.sources.base import Reader, SourceFile
from fabric_pipeline.sources.drop import FileStamp
from fabric_pipeline.sources.normalized import counters_sql
from fabric_pipeline.sources.normalized.counters import CounterLayout, CountersReader
from fabric_pipeline.sources.normalized.tables import repeated_name, split_csv_line
from fabric_pipeline.store.columns import DatabaseError, insert_columns
from fabric_pipeline.store.duck import glob_safe

_LONG_LINE = 1_000_000  # bytes; a longer line is cut in the clean copy and then refused
_CHUNK = 4 * 1024 * 1024

_ADDED = ("drop", "entry", "file_sha256")  # known only when the whole drop has been read
_RAW = tuple(c for c in TABLES["raw_telemetry"].columns if c.name not in _ADDED)
_TIMINGS = tuple(
    c for c in TABLES["collective_timings"].columns if c.name not in (*_ADDED, "run_nodes")
)
_EVENTS = tuple(c for c in TABLES["fabric_events"].columns if c.name not in _ADDED)
_TOPOLOGY = tuple(c for c in TABLES["fabric_topology"].columns if c.name not in _ADDED)

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
    connection.execute(f"set TimeZone = '{_safe_zone(timezone_name)}'")
    connection.execute("create or replace temp table counter_catalogue as " + catalogue_sql())
    connection.execute("create or replace temp table blank_values (value double)")
    connection.execute(
        "insert into blank_values select unnest(?::double[])", [sorted(BLANK_VALUES)]
    )
    connection.execute(
        "create or replace temp table drop_files (file varchar, file_no integer, file_sha256 varchar)"
    )
    files = [(stamp.name, number, stamp.sha256) for number, stamp in enumerate(stamps)]
    insert_columns(
        connection,
        "drop_files",
        (("file", "VARCHAR"), ("file_no", "INTEGER"), ("file_sha256", "VARCHAR")),
        files,
    )
    for name, columns in _staging_tables().items():
        ddl = ", ".join(f'"{column.name}" {column.type}' for column in columns)
        connection.execute(f"create or replace temp table {name} ({ddl})")


def add_bulk(connection: Any, file: SourceFile, reader: Reader, latest: datetime) -> None:
    """Stage a counters file set-wise.

    Raises UnreadableFileError when DuckDB cannot read the file at all.
    """
    if not isinstance(reader, CountersReader):
        raise TypeError(f"{reader.format_id} is registered as bulk but has no layout")
    layout = reader.layout(file)
    tail = [file.hints.node, reader.format_id, reader.version, file.name, latest]
    try:
        rows, head = _bulk_rows(connection, file, layout)
        connection.execute(
            f"insert into staged_readings {counters_sql.staged_sql(rows)}", head + tail
        )
    except DatabaseError as problem:
        first_line = str(problem).splitlines()[0][:300]
        raise UnreadableFileError(
            f"cannot be read as {layout.container}: {first_line}; check that the file is complete"
        ) from None


def _bulk_rows(connection: Any, file: SourceFile, layout: CounterLayout) -> tuple[str, list[str]]:
    """SQL of the long rows of a counters file, and its parameters."""
    if layout.container == "parquet":
        path = [glob_safe(str(file.path))]
        described = "describe select * from read_parquet(?, hive_partitioning=false)"
        columns = tuple(row[0] for row in connection.execute(described, path).fetchall())
        return counters_sql.parquet_rows_sql(columns), path
    _lines_table(connection, file)
    if layout.container == "jsonl":
        return counters_sql.jsonl_rows_sql("bulk_lines"), []
    if name := repeated_name(layout.columns):
        raise UnreadableFileError(
            f"the header names the column {name[:40]!r} twice; rename one and drop it again"
        )
    _quoted_table(connection)
    return counters_sql.csv_rows_sql(layout, "bulk_lines", "bulk_quoted"), []


def add_result(
    connection: Any, file: SourceFile, reader: Reader, result: ReadResult, latest: datetime
) -> None:
    """Stage what a reader made of a small file."""
    head = (reader.format_id, reader.version)
    rows = [_reading_row(file, head, r, latest) for r in result.readings]
    rows += [_rejected_row(file, head, r.line, r.text, r.rule) for r in result.rejected]
    insert_columns(connection, "staged_readings", _types(_RAW), rows)
    timings = [
        (
            file.name, t.line, t.run, t.communicator, t.seq, t.op, t.bytes, t.ranks, t.rank, t.node or file.hints.node, t.gpu,
            t.start, _measured(t.duration_us), t.arrival_us, t.baseline_us, t.busbw_gbs, t.model, t.variant, t.unit_kind,
        )
        for t in result.timings
    ]  # fmt: skip
    insert_columns(connection, "staged_timings", _types(_TIMINGS), timings)
    events = [
        (
            file.name, e.line, e.last_line, e.kind, e.code, e.node or file.hints.node, e.interface, e.lane, e.time, e.time_text,
            e.seconds, e.role, e.severity, e.count, e.reason, e.text[:MAX_TEXT], json.dumps(e.details, sort_keys=True, default=str),
        )
        for e in result.events
    ]  # fmt: skip
    insert_columns(connection, "staged_events", _types(_EVENTS), events)


def _measured(duration_us: float) -> float | None:
    """Readers say NaN where the source gives a bandwidth and no duration."""
    return None if isnan(duration_us) else duration_us


def add_refused_file(connection: Any, file: SourceFile, rule: str) -> None:
    """Stage a file that nothing could be read from as one refused entry."""
    row = _rejected_row(file, ("unknown", ""), None, "", rule)
    insert_columns(connection, "staged_readings", _types(_RAW), [row])


def forget(connection: Any, name: str) -> None:
    """Take back everything staged for one file."""
    for table in ("staged_readings", "staged_timings", "staged_events"):
        connection.execute(f"delete from {table} where file = ?", [name])


def finish(
    connection: Any, drop_id: str, runs: dict[str, Run], topology: Sequence[Sequence[Any]]
) -> None:
    """Make the five ingest tables from the staging tables, in a fixed order of rows."""
    insert_columns(connection, "staged_topology", _types(_TOPOLOGY), topology)
    connection.execute("create or replace temp table run_nodes (run varchar, nodes varchar)")
    pairs = [(run.run, json.dumps(run.nodes)) for run in runs.values()]
    insert_columns(connection, "run_nodes", (("run", "VARCHAR"), ("nodes", "VARCHAR")), pairs)
    source = {
        "raw_telemetry": "select s.*, f.file_sha256, f.file_no from staged_readings s join drop_files f using (file)",
        "collective_timings": "select s.*, coalesce(n.nodes, '[]') as run_nodes, f.file_sha256, f.file_no from staged_timings s "
        "join drop_files f using (file) left join run_nodes n on n.run = s.run",
        "fabric_events": "select s.*, f.file_sha256, f.file_no from staged_events s join drop_files f using (file)",
        "fabric_topology": "select s.*, f.file_sha256, f.file_no from staged_topology s join drop_files f using (file)",
    }
    for name, sql in source.items():
        order = "all" if name == "fabric_topology" else "file_no, line nulls first"
        numbered = f"""(select ?::varchar as "drop", row_number() over () as entry, * from (select * from ({sql}) order by {order}))"""
        connection.execute(
            f"create or replace temp table {name} as {TABLES[name].cast_sql(numbered)}", [drop_id]
        )
    table = TABLES["quarantined_telemetry"]
    refused = "(select *, refused_by as rule from raw_telemetry where refused_by is not null)"
    connection.execute(f"create or replace temp table {table.name} as {table.cast_sql(refused)}")


def _staging_tables() -> dict[str, tuple[Column, ...]]:
    return {
        "staged_readings": _RAW,
        "staged_timings": _TIMINGS,
        "staged_events": _EVENTS,
        "staged_topology": _TOPOLOGY,
    }


def _types(columns: Sequence[Column]) -> list[tuple[str, str]]:
    return [(column.name, column.type) for column in columns]


def _reading_row(
    file: SourceFile, head: tuple[str, str], r: Reading, latest: datetime
) -> tuple[Any, ...]:
    time = r.time or file.hints.time
    spec = COUNTERS.get(r.counter)
    quality = (
        "clock_skew" if time is not None and time > latest and r.quality == "ok" else r.quality
    )
    rule = None
    if spec is None:
        rule = f"counter {r.counter_text[:80]!r} is not in the catalogue: kept here, not judged"
    elif r.value is None and quality == "ok":
        rule = f"value {r.value_text[:40]!r} is not a number"
    elif r.value is not None and r.value < 0:
        rule = f"a counter or state cannot be negative: {r.value_text[:40]}"
    return (
        file.name, r.line, *head, r.time_text, r.entity_text[:MAX_TEXT], r.counter_text[:MAX_TEXT], r.value_text[:MAX_TEXT],
        r.node or file.hints.node, r.interface, r.link_type, r.lane, r.counter or None, r.kind, r.scope, time, r.value, quality,
        r.gpu_uuid, r.socket, r.state[:MAX_TEXT], rule,
    )  # fmt: skip


def _rejected_row(
    file: SourceFile, head: tuple[str, str], line: int | None, text: str, rule: str
) -> tuple[Any, ...]:
    return (
        file.name, line, *head, "", text[:MAX_TEXT], "", "", file.hints.node, "", "", None, None, "", "link", None, None, "ok",
        "", None, "", rule,
    )  # fmt: skip


def _lines_table(connection: Any, file: SourceFile) -> None:
    with _clean_copy(file.path) as path:
        connection.execute(
            f"create or replace temp table bulk_lines as {counters_sql.lines_sql()}",
            [glob_safe(str(path))],
        )


def _quoted_table(connection: Any) -> None:
    """Lines with quotes are split by the csv module; there are few of them in practice."""
    connection.execute("create or replace temp table bulk_quoted (line bigint, cells varchar[])")
    quoted = connection.execute(
        "select line, line_text from bulk_lines where contains(line_text, '\"')"
    ).fetchall()
    rows = [(line, split_csv_line(text)) for line, text in quoted]
    insert_columns(connection, "bulk_quoted", (("line", "BIGINT"), ("cells", "VARCHAR[]")), rows)


@contextlib.contextmanager
def _clean_copy(path: Path) -> Iterator[Path]:
    """The file itself when DuckDB's line scanner can take it as it is, else a cleaned scratch copy.

    Cleaning keeps the number of lines. What no row can hold is marked (`counters_sql.BAD_BYTES` and
    its neighbours), so that each such line is refused as itself; UTF-16 becomes UTF-8.
    """
    if _is_clean(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="fabric-") as folder:
        copy = Path(folder) / "clean.txt"
        with (
            path.open(encoding=_encoding(path), errors="replace", newline="\n") as source,
            copy.open("w", encoding="utf-8", newline="\n") as target,
        ):
            target.writelines(_bounded_lines(source))
        yield copy


def _is_clean(path: Path) -> bool:
    """True for UTF-8 without a mark in front, with one kind of line ends and no overlong line."""
    if os.fsencode(path).decode("utf-8", errors="replace") != str(path):
        return False  # DuckDB takes no such file name
    decoder = codecs.getincrementaldecoder("utf-8")()
    ends = {b"\n": 0, b"\r": 0, b"\r\n": 0}
    before = b""
    with path.open("rb") as handle:
        if handle.read(3) == codecs.BOM_UTF8:
            return False
        handle.seek(0)
        try:
            while chunk := handle.read(_CHUNK):
                decoder.decode(chunk)
                if b"\0" in chunk or b"\x1f" in chunk or _has_long_line(chunk):
                    return False
                for end in ends:
                    ends[end] += chunk.count(end)
                ends[b"\r\n"] += before == b"\r" and chunk.startswith(b"\n")
                before = chunk[-1:]
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return ends[b"\r"] == 0 or ends[b"\r"] == ends[b"\r\n"] == ends[b"\n"]


def _has_long_line(chunk: bytes) -> bool:
    """True when a part of the chunk without a line end is longer than a line may be."""
    start = 0
    while len(chunk) - start > _LONG_LINE:
        end = chunk.rfind(b"\n", start, start + _LONG_LINE)
        if end < 0:
            return True
        start = end + 1
    return False


def _encoding(path: Path) -> str:
    """UTF-16 when the file begins as such, else UTF-8."""
    with path.open("rb") as handle:
        is_utf16 = handle.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return "utf-16" if is_utf16 else "utf-8-sig"


def _bounded_lines(source: TextIO) -> Iterator[str]:
    """Lines with what no row can hold marked; only a line feed ends a line, an overlong one is cut."""
    while line := source.readline(_LONG_LINE):
        text, is_ended = line.removesuffix("\n"), line.endswith("\n")
        text = text.removesuffix("\r")
        for character in ("\0", "\r", counters_sql.LINE_SEPARATOR):
            text = text.replace(character, counters_sql.CONTROL)
        if not is_ended and len(line) == _LONG_LINE:
            text = text[:MAX_TEXT] + counters_sql.OVERLONG
            while (line := source.readline(_LONG_LINE)) and not line.endswith("\n"):
                pass
            is_ended = line.endswith("\n")
        yield text + ("\n" if is_ended else "")


def _safe_zone(name: str) -> str:
    """A zone name that `zoneinfo` has accepted; only such names reach this statement."""
    if not all(ch.isalnum() or ch in "/_+-" for ch in name):
        raise ValueError(f"not a timezone name: {name!r}")
    return name
