"""Reads a report written from an ibdiagnet2 log: Markdown with the log's statements as bullets.

Totals and stage tables of the report become facts and fabric-wide readings. When a stage counted
more errors than the report lists, the rest is named as unknown.
"""

from __future__ import annotations

import re
from typing import ClassVar

from fabric_pipeline.model.records import ReadResult, UnknownFact
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.ibdiagnet2_log import finish, stage_reading
from fabric_pipeline.sources.infiniband.ibdiagnet_statements import Statements
from fabric_pipeline.sources.infiniband.lines import body_lines, count_hits, head_lines, stamped

_BULLET = re.compile(r"^\s{0,6}[*-]\s+(?:-[EWI]-\s+)?(?P<text>\S.*)$")
_MINE = re.compile(
    r"^\s{0,6}[*-]\s+(?:-[EWI]-\s+)?(?:Link:\s*\S+<-->|S[0-9a-fA-F]{12,16}/N[0-9a-fA-F]{12,16}/P\d|[\w.-]{1,80}/U1/P\d)"
)
_HEADING = re.compile(r"^#{1,6}\s+\S")
_SOURCE = re.compile(r"^.{0,80}ibdiagnet2?(?:\.log)?\b", re.IGNORECASE)
_TOTAL = re.compile(r"^\s*[*-]\s+\*\*(?P<name>[\w /-]{2,60})\*\*:\s*(?P<value>[0-9]{1,12})\s*$")
_LINKS_AT = re.compile(r"^\s*[*-]\s+Links at (?P<rate>\d{1,2}x[\d.]{1,8}):\s*(?P<count>[0-9]{1,9})")
_STAGE = re.compile(
    r"^\s*\|\s*(?P<stage>[A-Za-z][\w /()-]{2,60}?)\s*\|\s*(?P<warnings>[0-9]{1,9})\s*\|\s*(?P<errors>[0-9]{1,9})\s*\|"
)
_COUNTER_STAGE = "Port Counters"


class Ibdiagnet2ReportReader:
    """Reader of Markdown reports made from ibdiagnet2 logs."""

    format_id: ClassVar[str] = "ibdiagnet2_report"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events", "topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="a Markdown report written from an ibdiagnet2 log",
        versions="a run of March 2025",
        recognised_by=(
            "Markdown headings with ibdiagnet2 statements in bullet points, or a named source "
            "with a table of stages"
        ),
        gives="growth of counters, unexpected widths and speeds, errors by stage, totals as facts",
        traps=(
            "A report lists less than the log counted: ports behind the difference are unknown.",
            "A remark alone is context and names no bad link.",
            "Port numbers are decimal.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure when Markdown headings and ibdiagnet statements in bullets meet."""
        if not count_hits(file, _HEADING, 1):
            return 0
        if count_hits(file, _MINE, 1):
            return 92
        named = any(_SOURCE.match(line) for line in head_lines(file))
        return 75 if named and count_hits(file, _STAGE, 2) >= 2 else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Port statements, errors by stage, totals as facts."""
        result, statements = ReadResult(), Statements()
        stages: dict[str, int] = {}
        for number, line in body_lines(file, result):
            if found := _STAGE.match(line):
                stages[found.group("stage")] = int(found.group("errors"))
                result.readings.append(
                    stage_reading(number, found.group("stage"), found.group("errors"))
                )
            elif found := _TOTAL.match(line):
                result.facts[found.group("name")] = int(found.group("value"))
            elif found := _LINKS_AT.match(line):
                rates = result.facts.setdefault("links_at", {})
                rates[found.group("rate")] = int(found.group("count"))
            elif found := _BULLET.match(line):
                statements.take(number, found.group("text"), "E")
        finish(result, statements)
        _name_gap(stages, statements, result)
        return stamped(result, file)


def _name_gap(stages: dict[str, int], statements: Statements, result: ReadResult) -> None:
    counted = stages.get(_COUNTER_STAGE, 0)
    listed = sum(reading.kind == "delta" for reading in statements.readings)
    if counted > listed:
        result.unknown.append(
            UnknownFact(
                "",
                "",
                "ports with counter errors",
                f"the stage {_COUNTER_STAGE} counted {counted} errors "
                f"and the report lists {listed}",
            )
        )
