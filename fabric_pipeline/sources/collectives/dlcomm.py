"""Reader of DL_COMM benchmark logs: one table of iteration times per collective, one column a rank group.

Each cell is one collective of one group as its logging rank saw it. Which iterations are warm-up and
which rails stand out is judged in `detect.sweeps`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

from fabric_pipeline.model.records import CollectiveTiming, ReadResult, RejectedLine, UnknownFact
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.collectives.line_tags import clipped, number, plain, whole
from fabric_pipeline.sources.collectives.op_names import op_name
from fabric_pipeline.sources.collectives.run_names import run_name

_FRAME = re.compile(r"^.{0,80}?\bDL_COMM - [A-Z]{4,8} - ?")
_TASK = re.compile(r"\[TASK (\d{1,6})/\d{1,6}\]\s{0,9}=*\s{0,9}([\w.-]{1,80})")
_TIMES = re.compile(r"\[TIMERS\] ITERATION TABLE FOR (\S{1,60}) \((seconds|milliseconds|ms|s)\)")
_BANDWIDTH = re.compile(r"\[BANDWIDTH\] BANDWIDTH TABLE FOR (\S{1,60})")
_COLUMNS = re.compile(r"\(([A-Za-z][\w .-]{1,60})\)")
_LOGGING = re.compile(r"LOGGING RANK - (\d{1,8})")
_GROUP = re.compile(
    r"\[(\w{1,20}) Group-(\d{1,6})\] Ranks: \[([\d, ]{1,100000})\](?:, Device ID: (\d{1,4}))?"
)
_SIZE = re.compile(r"Buffer Size\s{0,20}: .{0,60}?\((\d{1,18}) bytes\)")
_UNIT_US = {"seconds": 1e6, "s": 1e6, "milliseconds": 1e3, "ms": 1e3}


@dataclass(slots=True)
class _Group:
    ranks: int
    device: int | None


@dataclass(slots=True)
class _Table:
    """The table that is being read; `kind` is `times` or `bandwidth`."""

    kind: str
    op: str
    unit_us: float
    columns: list[str] = field(default_factory=list)
    logging: list[int] = field(default_factory=list)
    rows: int = 0


class DlcommReader:
    """Reads `dlcomm_log` files; yields one timing per iteration and rank group."""

    format_id: ClassVar[str] = "dlcomm_log"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"timings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="the DL_COMM benchmark",
        versions="August 2025; NCCL 2.20.5, RCCL and xccl",
        recognised_by="the tool's log frame, or an iteration table",
        gives="time of each iteration and rank group",
        traps=(
            "A cell is one group as its logging rank saw it; no single rank is told.",
            "The bandwidth table follows from the times and is not counted again.",
            "The first iterations are warm-up and are not left out here.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """95 for the tool's own log frame, 85 for an excerpt with a table."""
        if file.is_binary:
            return 0
        if "DL_COMM - " in file.head:
            return 95
        return 85 if _TIMES.search(file.head) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """All iteration tables of the log."""
        reading = _Reading(file)
        for line_number, line in enumerate(file.lines, 1):
            reading.line(line_number, _FRAME.sub("", plain(line)))
        reading.close()
        return reading.out


class _Reading:
    """State of one log: the task, its groups and the open table."""

    def __init__(self, file: SourceFile) -> None:
        self.run = run_name(file, "dlcomm")
        self.out = ReadResult()
        self.task = ""
        self.bytes: int | None = None
        self.groups: dict[str, _Group] = {}
        self.table: _Table | None = None
        self.tables: list[dict[str, Any]] = []
        self.out.facts["tables"] = self.tables

    def line(self, line_number: int, text: str) -> None:
        if self._opens(text) or self._describes(text):
            return
        table = self.table
        if table is None:
            return
        words = text.split()
        columns = _COLUMNS.findall(text)
        if columns and not table.rows:
            table.columns = columns
        elif _LOGGING.search(text):
            table.logging = [int(rank) for rank in _LOGGING.findall(text)]
        elif words and set(words[0]) == {"-"}:
            if table.rows:
                self.close()
        elif words and whole(words[0]) is not None:
            self._row(line_number, table, words, text)
        elif words and not table.rows and words[0] != "Iteration":
            self.close()

    def _opens(self, text: str) -> bool:
        times, bandwidth = _TIMES.search(text), _BANDWIDTH.search(text)
        if not times and not bandwidth:
            return False
        self.close()
        if times:
            self.table = _Table("times", op_name(times.group(1)), _UNIT_US[times.group(2)])
        elif bandwidth:
            self.table = _Table("bandwidth", op_name(bandwidth.group(1)), 0.0)
        return True

    def _describes(self, text: str) -> bool:
        """Lines that say what the next table measures."""
        task, size, group = _TASK.search(text), _SIZE.search(text), _GROUP.search(text)
        if task:
            self.close()
            self.task, self.bytes, self.groups = f"{task.group(1)}:{task.group(2)}", None, {}
        elif size:
            self.bytes = int(size.group(1))
        elif group:
            mode, number_text, ranks, device = group.groups()
            name = f"{mode}-Group-{number_text}"
            self.groups[name] = _Group(ranks.count(",") + 1, int(device) if device else None)
        return bool(task or size or group)

    def _row(self, line_number: int, table: _Table, words: list[str], text: str) -> None:
        values = [number(word) for word in words[1:]]
        if len(values) != len(table.columns) or None in values:
            rule = f"a row needs an iteration and {len(table.columns)} numbers"
            self.out.rejected.append(RejectedLine(line_number, clipped(text.strip()), rule))
            return
        table.rows += 1
        if table.kind != "times":
            return
        for column, value in enumerate(values):
            if value is not None and value > 0:
                self._timing(line_number, table, int(words[0]), column, value * table.unit_us)

    def _timing(
        self, line_number: int, table: _Table, row: int, column: int, duration_us: float
    ) -> None:
        name = table.columns[column]
        group = self.groups.get(name)
        self.out.timings.append(
            CollectiveTiming(
                line_number,
                table.op,
                duration_us,
                run=f"{self.run}#{self.task}",
                communicator=name,
                seq=row,
                bytes=self.bytes,
                rank=table.logging[column] if column < len(table.logging) else None,
                ranks=group.ranks if group else None,
                gpu=group.device if group else None,
            )
        )

    def close(self) -> None:
        """End of a table: note what it held."""
        table, self.table = self.table, None
        if table is None:
            return
        if not table.rows:
            reason = f"the {table.kind} table for {table.op} has no rows"
            self.out.unknown.append(UnknownFact("", "", f"{table.kind} of {table.op}", reason))
        self.tables.append(
            {
                "task": self.task,
                "kind": table.kind,
                "collective": table.op,
                "groups": len(table.columns),
                "iterations": table.rows,
            }
        )
