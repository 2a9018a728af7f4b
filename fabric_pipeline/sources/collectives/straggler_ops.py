"""Reader of operator traces of a training job in Parquet: every operation of every rank with its duration.

The same records as a training timeline, so they become the same timings and are judged by the same
rules in `detect.sweeps`. A start is relative to the trace and gives no date.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, BinaryIO, ClassVar

from fabric_pipeline.model.records import CollectiveTiming, ReadResult, RejectedLine, UnknownFact
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.collectives.json_records import as_float, as_int, as_text
from fabric_pipeline.sources.collectives.line_tags import clipped
from fabric_pipeline.sources.collectives.run_names import run_name

PARQUET_MAGIC = b"PAR1"
# A job of 64 ranks and 44 steps has about 10^5 rows; each becomes one record in memory.
MAX_ROWS = 2_000_000
MAX_GROUP_BYTES = 1 << 30  # unpacked size of the columns of one row group
_BATCH_ROWS = 65_536
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

    def score(self, file: SourceFile) -> int:
        """95 for Parquet whose footer names the columns of an operator trace."""
        if not file.starts_with(PARQUET_MAGIC):
            return 0
        return 95 if all(file.tail_has(name) for name in _SIGNATURE) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """All operations; `seq` is the step, `variant` the stage, `line` the row from 1."""
        out = ReadResult()
        trace = _Trace(run_name(file, "ops"), out)
        with file.path.open("rb") as handle:
            problem = _stream(handle, trace)
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


def _stream(handle: BinaryIO, trace: _Trace) -> str:
    """Feed the rows batch by batch; returns why not all were read, "" when they were."""
    arrow: Any = import_module("pyarrow")  # heavy, and needed for this format alone
    try:
        for row in _rows(handle):
            if trace.rows >= MAX_ROWS:
                return f"the trace has more than the {MAX_ROWS} rows that are read"
            trace.take(row)
    except _NotATraceError as problem:
        return str(problem)
    except (arrow.ArrowException, OSError, ValueError, OverflowError, MemoryError) as problem:
        told = (str(problem).splitlines() or ["no reason given"])[0]
        return f"the file cannot be read as Parquet behind row {trace.rows}: {clipped(told)}"
    return ""


class _NotATraceError(Exception):
    """The file is Parquet but lacks what an operator trace has; the text says what."""


def _rows(handle: BinaryIO) -> Iterator[dict[str, Any]]:
    parquet: Any = import_module("pyarrow.parquet")
    table = parquet.ParquetFile(handle)
    names = set(table.schema_arrow.names)
    missing = [name for name in _NEEDED if name not in names]
    if missing or not names.intersection(_RANKS):
        raise _NotATraceError(f"the columns {', '.join(missing) or 'rank'} are missing")
    wanted = [name for name in (*_NEEDED, *_RANKS, *_OPTIONAL) if name in names]
    for group in range(table.num_row_groups):
        _check_size(table.metadata.row_group(group), wanted)
        for batch in table.iter_batches(_BATCH_ROWS, row_groups=[group], columns=wanted):
            yield from batch.to_pylist()


def _check_size(group: Any, wanted: list[str]) -> None:
    """Refuse a row group that would unpack to more than memory can be expected to hold."""
    columns = (group.column(number) for number in range(group.num_columns))
    size = sum(
        column.total_uncompressed_size
        for column in columns
        if column.path_in_schema.partition(".")[0] in wanted
    )
    if size > MAX_GROUP_BYTES:
        raise _NotATraceError(f"a row group unpacks to {size} bytes, more than is read at once")
