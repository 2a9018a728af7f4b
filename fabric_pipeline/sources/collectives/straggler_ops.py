"""Reader of operator traces of a training job in Parquet: every operation of every rank with its duration.

The same records as a training timeline, so they become the same timings and are judged by the same
rules in `detect.sweeps`. A start is relative to the trace and gives no date.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar

from fabric_pipeline.errors import UnreadableTableError
from fabric_pipeline.model.records import CollectiveTiming, ReadResult, RejectedLine, UnknownFact
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.collectives.json_records import as_float, as_int, as_text
from fabric_pipeline.sources.collectives.line_tags import clipped
from fabric_pipeline.sources.collectives.run_names import run_name

PARQUET_MAGIC = b"PAR1"
# A job of 64 ranks and 44 steps has about 10^5 rows; each becomes one record in memory.
MAX_ROWS = 2_000_000
_MAX_REFUSED = 1000  # refused rows listed one by one; the rest is counted
_NEEDED = ("optype", "duration")
_RANKS = ("rank", "dp_rank")
_OPTIONAL = ("stage", "step", "mc")
_SIGNATURE = (b"optype", b"duration", b"start_ts", b"dp_rank")
# Names of operations in which a rank exchanges data or waits for others.
_EXCHANGE = re.compile(
    r"send|recv|reduce|gather|scatter|all-?to-?all|broadcast|barrier|comm|sync|clip|wait|idle|bubble"
)


class StragglerOpsReader:
    """Reads `straggler_ops_parquet` files; yields compute and communication timings."""

    format_id: ClassVar[str] = "straggler_ops_parquet"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"timings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="operator trace of a training job",
        versions="not stated",
        recognised_by="Parquet whose footer names optype, duration, start_ts and dp_rank",
        gives="duration of every operation by rank, step and stage, compute apart from communication",
        traps=(
            "A start is relative to the trace and gives no date.",
            "Clipping gradients waits for all ranks and is no compute.",
            "A slow worker is a device and no link; an uneven stage is no slow worker.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """95 for Parquet whose footer names the columns of an operator trace."""
        if not file.starts_with(PARQUET_MAGIC):
            return 0
        return 95 if all(file.tail_has(name) for name in _SIGNATURE) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """All operations; `seq` is the step, `variant` the stage, `line` the row from 1."""
        out = ReadResult()
        trace = _Trace(run_name(file, "ops"), out)
        problem = _stream(file, trace)
        if problem:
            out.unknown.append(UnknownFact(file.hints.node, "", "rest of the trace", problem))
        trace.finish()
        return out


@dataclass(slots=True)
class _Trace:
    """Timings made so far and what is counted beside them."""

    run: str
    out: ReadResult
    rows: int = 0
    refused: int = 0
    without_duration: int = 0
    operations: Counter[str] = field(default_factory=Counter)

    def take(self, row: dict[str, Any]) -> None:
        """One row of the file."""
        self.rows += 1
        op, duration_s = as_text(row["optype"], 60), as_float(row["duration"])
        rank = next((r for key in _RANKS if (r := as_int(row.get(key))) is not None), None)
        if not op or rank is None or rank < 0 or duration_s is None or duration_s < 0:
            self._refuse(row)
        elif duration_s == 0:
            self.without_duration += 1
        else:
            self.operations[op] += 1
            self.out.timings.append(self._timing(row, op, duration_s * 1e6, rank))

    def _timing(
        self, row: dict[str, Any], op: str, duration_us: float, rank: int
    ) -> CollectiveTiming:
        stage = _stage(row)
        return CollectiveTiming(
            self.rows,
            op,
            duration_us,
            run=self.run,
            communicator=stage,
            seq=as_int(row.get("step")) or 0,
            rank=rank,
            variant=stage,
            unit_kind="compute" if _is_compute(op) else "collective",
        )

    def _refuse(self, row: dict[str, Any]) -> None:
        self.refused += 1
        if self.refused <= _MAX_REFUSED:
            rule = "a row needs an operation, a rank and a duration of zero seconds or more"
            self.out.rejected.append(RejectedLine(self.rows, clipped(str(row)), rule))

    def finish(self) -> None:
        """Number of ranks, and what people want to know."""
        ranks = {timing.rank for timing in self.out.timings}
        for timing in self.out.timings:
            timing.ranks = len(ranks)
        self.out.facts = {
            "rows": self.rows,
            "ranks": len(ranks),
            "stages": sorted({timing.variant for timing in self.out.timings})[:64],
            "operations": dict(self.operations.most_common(40)),
            "operations_without_duration": self.without_duration,
        }
        if self.refused > _MAX_REFUSED:
            self.out.facts["refused_rows"] = self.refused


def _stage(row: dict[str, Any]) -> str:
    """`stage 2`, with the part of the model where a stage holds several, which are unlike."""
    stage, chunk = as_int(row.get("stage")), as_int(row.get("mc"))
    text = "" if stage is None or stage < 0 else f"stage {stage}"
    return f"{text}, chunk {chunk}".lstrip(", ") if chunk and chunk > 0 else text


def _is_compute(op: str) -> bool:
    """Work of one rank alone; clipping gradients is none, it waits for the norm over all ranks."""
    return not _EXCHANGE.search(op.lower())


def _stream(file: SourceFile, trace: _Trace) -> str:
    """Feed the rows one by one; returns why not all were read, "" when they were."""
    if file.open_table is None:
        return "nothing that opens Parquet was handed to the reader"
    try:
        table = file.open_table(file.path)
        missing = [name for name in _NEEDED if name not in table.columns]
        if missing or not set(_RANKS) & set(table.columns):
            return f"the columns {', '.join(missing) or 'rank'} are missing"
        wanted = [name for name in (*_NEEDED, *_RANKS, *_OPTIONAL) if name in table.columns]
        for row in table.rows(wanted):
            if trace.rows >= MAX_ROWS:
                return f"the trace has more than the {MAX_ROWS} rows that are read"
            trace.take(row)
    except (UnreadableTableError, OSError) as problem:
        return (
            f"the file cannot be read as Parquet behind row {trace.rows}: {clipped(str(problem))}"
        )
    return ""
