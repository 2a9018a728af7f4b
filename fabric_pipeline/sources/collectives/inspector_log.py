"""Reader of the log that the Inspector's summary script writes.

It names files and categories that were summarised and holds no timing at all, so that everything it
yields is a list of facts for people.
"""

from __future__ import annotations

import re
from typing import ClassVar

from fabric_pipeline.model.records import ReadResult, UnknownFact
from fabric_pipeline.sources.base import FormatNote, SourceFile

_PARQUET = re.compile(r"Created parquet file \S{1,400} with (\d{1,12}) records")
_SUMMARY = re.compile(r"(?:Generating summary for|Summarizing data per comm/coll type for) ")
_LEVEL = re.compile(r" - (WARNING|ERROR|CRITICAL) - (.{0,300})")


class InspectorLogReader:
    """Reads `nccl_inspector_exporter_log` files; yields facts only."""

    format_id: ClassVar[str] = "nccl_inspector_exporter_log"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset()
    note: ClassVar[FormatNote] = FormatNote(
        tool="the Inspector's summary script",
        versions="not stated",
        recognised_by="`Created parquet file ...` and summary lines",
        gives="facts only: files, records and complaints",
        traps=("The log names the files that hold the timings, not the timings.",),
    )

    def score(self, file: SourceFile) -> int:
        """90 when the head names summaries or Parquet files in the script's words."""
        if file.is_binary:
            return 0
        hits = len(_PARQUET.findall(file.head)) + len(_SUMMARY.findall(file.head))
        return 90 if hits >= 2 else 55 if hits else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Counts of files, records and complaints."""
        text = file.text
        counts = [int(count) for count in _PARQUET.findall(text)]
        complaints = [f"{level}: {said}" for level, said in _LEVEL.findall(text)]
        out = ReadResult()
        out.facts = {
            "parquet_files": len(counts),
            "records_in_them": sum(counts),
            "summaries": len(_SUMMARY.findall(text)),
            "complaints": complaints[:20],
        }
        reason = "the log names the files that hold the timings, not the timings"
        out.unknown.append(UnknownFact("", "", "collective timing", reason))
        return out
