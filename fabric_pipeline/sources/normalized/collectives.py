"""Reader of `collectives.{csv,jsonl}`: one row per collective and rank, or per whole collective."""

from __future__ import annotations

from typing import ClassVar

from fabric_pipeline.model.records import CollectiveTiming, ReadResult, RejectedLine
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.normalized.fields import (
    optional_count,
    optional_int,
    optional_number,
    optional_span,
    optional_time,
)
from fabric_pipeline.sources.normalized.tables import Row, header_of, rows

REQUIRED = frozenset({"run", "op", "duration_us"})


class CollectivesReader:
    """Reads the normalized collective timings."""

    format_id: ClassVar[str] = "fabric_collectives"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"timings"})

    def score(self, file: SourceFile) -> int:
        """Sure when the header or the first object has the required columns."""
        return 98 if set(header_of(file)) >= REQUIRED else 0

    def read(self, file: SourceFile) -> ReadResult:
        """One timing per row."""
        result = ReadResult()
        for row in rows(file, result.rejected):
            try:
                result.timings.append(_timing(row, file))
            except ValueError as problem:
                result.rejected.append(RejectedLine(row.line, row.text, str(problem)))
        return result


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
        seq=optional_int(f.get("seq"), "seq") or 0,
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
