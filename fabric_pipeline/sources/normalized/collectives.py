"""Reader of `collectives.{csv,jsonl,parquet}`: one row per collective and rank, or per whole collective."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from fabric_pipeline.errors import UnreadableTableError
from fabric_pipeline.model.records import MAX_TEXT, CollectiveTiming, ReadResult, RejectedLine
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.normalized.fields import (
    optional_count,
    optional_number,
    optional_span,
    optional_time,
)
from fabric_pipeline.sources.normalized.tables import Row, header_of, rows

REQUIRED = frozenset({"run", "op", "duration_us"})
PARQUET_MAGIC = b"PAR1"
_FOOTER_NAMES = (b"duration_us", b"run", b"op")


class CollectivesReader:
    """Reads the normalized collective timings."""

    format_id: ClassVar[str] = "fabric_collectives"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"timings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="the normalized form of a site",
        versions="the first version",
        recognised_by=(
            "columns or keys run, op and duration_us in the header, the first object or the "
            "Parquet footer"
        ),
        gives=(
            "one timing a row: operation, duration, communicator, sequence, size, rank, node, "
            "GPU, arrival and baseline as far as given"
        ),
        traps=(
            "A row without a duration, or with a negative one, is refused.",
            "A time without an offset is local time of the drop's zone.",
            "A cut Parquet file costs the rows behind the cut and is named once.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure when the header, the first object or the Parquet footer has the required columns."""
        if file.starts_with(PARQUET_MAGIC):
            return 96 if all(file.tail_has(name) for name in _FOOTER_NAMES) else 0
        return 98 if set(header_of(file)) >= REQUIRED else 0

    def read(self, file: SourceFile) -> ReadResult:
        """One timing per row."""
        result = ReadResult()
        is_parquet = file.starts_with(PARQUET_MAGIC)
        found = _parquet_rows(file, result) if is_parquet else rows(file, result.rejected)
        for row in found:
            try:
                result.timings.append(_timing(row, file))
            except ValueError as problem:
                result.rejected.append(RejectedLine(row.line, row.text, str(problem)))
        return result


def _parquet_rows(file: SourceFile, result: ReadResult) -> Iterator[Row]:
    """Rows of a Parquet file, numbered from 1; what cannot be opened becomes one refusal."""
    number = 0
    try:
        if file.open_table is None:
            raise UnreadableTableError("nothing that opens Parquet was handed to the reader")
        table = file.open_table(file.path)
        names = {column: column.strip().lower() for column in table.columns}
        for number, cells in enumerate(table.rows(list(names)), 1):
            fields = {names[column]: cell for column, cell in cells.items()}
            yield Row(number, fields, str(fields)[:MAX_TEXT])
    except UnreadableTableError as problem:
        rule = f"not readable as Parquet behind row {number}: {problem}; copy the file again"
        result.rejected.append(RejectedLine(None, "", rule[:MAX_TEXT]))


def _timing(row: Row, file: SourceFile) -> CollectiveTiming:
    f = row.fields
    duration_us = optional_span(f.get("duration_us"), "duration_us")
    if duration_us is None:
        raise ValueError("row has no duration_us")
    return CollectiveTiming(
        line=row.line,
        op=str(f.get("op") or ""),
        duration_us=duration_us,
        run=str(f.get("run") or ""),
        communicator=str(f.get("comm") or ""),
        seq=optional_count(f.get("seq"), "seq") or 0,
        bytes=optional_count(f.get("bytes"), "bytes"),
        rank=optional_count(f.get("rank"), "rank"),
        ranks=optional_count(f.get("ranks"), "ranks"),
        node=str(f.get("node") or ""),
        gpu=optional_count(f.get("gpu"), "gpu"),
        start=optional_time(str(f.get("ts") or ""), file.hints.timezone),
        arrival_us=optional_number(f.get("arrival_us"), "arrival_us"),
        baseline_us=optional_span(f.get("baseline_us"), "baseline_us"),
        model=str(f.get("model") or ""),
    )
