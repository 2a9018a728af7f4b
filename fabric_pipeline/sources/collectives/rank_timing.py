"""Reader of per-rank step timing records: forward times by rank and `straggler/...` figures.

One JSON object describes one run. Which rank is slow, and whether its collectives are, is judged in
`detect.sweeps`; what the record itself alleges is kept as a fact.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from fabric_pipeline.model.records import CollectiveTiming, ReadResult, RejectedLine, UnknownFact
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.collectives.json_records import (
    as_dict,
    as_float,
    as_int,
    as_list,
    as_text,
    records,
)
from fabric_pipeline.sources.collectives.run_names import run_name

_BY_RANK = re.compile(r"^(\w{1,40})_(ms|us|s|sec)_by_rank$")
_FIGURE = re.compile(r"^straggler/([\w.-]{1,60})/(median|max|min)_(ms|us|s)$")
_UNIT_US = {"ms": 1e3, "us": 1.0, "s": 1e6, "sec": 1e6}
_COMPUTE = re.compile(r"fwd|bwd|forward|backward|self|compute|optim", re.IGNORECASE)
_NAMES = {"fwd": "forward", "bwd": "backward"}


class RankTimingReader:
    """Reads `rank_timing_json` files; yields compute and collective timings per rank."""

    format_id: ClassVar[str] = "rank_timing_json"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"timings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="per-rank step timing records",
        versions="not stated",
        recognised_by="a list such as `fwd_ms_by_rank`, or `straggler/...` figures",
        gives="compute and collective time of each rank",
        traps=(
            "What the record itself alleges is kept as a fact and not believed.",
            "A rank without a number is unknown.",
            "A slow forward pass is compute and accuses no link.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """92 for a list by rank, 80 for straggler figures alone."""
        if file.is_binary or "{" not in file.head[:4000]:
            return 0
        if re.search(r'"\w{1,40}_(?:ms|us|s|sec)_by_rank"', file.head):
            return 92
        return 80 if '"straggler/' in file.head else 0

    def read(self, file: SourceFile) -> ReadResult:
        """All records of the file."""
        out = ReadResult()
        for index, found in enumerate(records(file.text)):
            if found.value is None:
                rule = "a timing record is one JSON object"
                out.rejected.append(RejectedLine(found.line, found.text, rule))
                continue
            _record(out, run_name(file, "rank_timing", index + 1), found.value, found.line)
        return out


def _record(out: ReadResult, run: str, value: dict[str, Any], line: int) -> None:
    ranks = as_int(value.get("world_size"))
    for key, item in value.items():
        by_rank = _BY_RANK.match(key)
        if by_rank:
            _by_rank(out, run, line, by_rank, as_list(item))
    measured = {timing.op for timing in out.timings}
    metrics = as_dict(value.get("metrics")) or value
    for key, item in metrics.items():
        figure = _FIGURE.match(key)
        number = as_float(item)
        if figure and number is not None and _named(figure.group(1)) not in measured:
            _figure(out, run, line, figure, number, metrics)
    for timing in out.timings:
        timing.ranks = ranks
    out.facts = {
        "world_size": ranks,
        "gpus": [as_text(gpu) for gpu in as_list(value.get("gpus"))[:64]],
        "alleged_by_the_record": as_list(value.get("alerts"))[:20],
        "injected": as_text(value.get("inject")),
    }


def _by_rank(out: ReadResult, run: str, line: int, found: re.Match[str], values: list[Any]) -> None:
    op = _named(found.group(1))
    for rank, item in enumerate(values):
        number = as_float(item)
        if number is None or number <= 0:
            reason = f"{found.group(0)} gives no time for rank {rank}"
            out.unknown.append(UnknownFact("", "", f"{op} time of rank {rank}", reason))
            continue
        timing = CollectiveTiming(line, op, number * _UNIT_US[found.group(2)], run=run, rank=rank)
        timing.communicator, timing.unit_kind = "world", _kind(found.group(1))
        out.timings.append(timing)


def _figure(
    out: ReadResult,
    run: str,
    line: int,
    found: re.Match[str],
    number: float,
    metrics: dict[str, Any],
) -> None:
    name, which, unit = found.groups()
    rank = as_int(metrics.get(f"straggler/{name}/{which}_rank"))
    timing = CollectiveTiming(line, _named(name), number * _UNIT_US[unit], run=run, rank=rank)
    timing.communicator, timing.variant, timing.unit_kind = "world", which, _kind(name)
    out.timings.append(timing)


def _kind(name: str) -> str:
    return "compute" if _COMPUTE.search(name) else "collective"


def _named(name: str) -> str:
    return _NAMES.get(name, name)
