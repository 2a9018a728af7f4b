"""Reader of NCCL Inspector records: JSON lines or one pretty record, one file a process.

Every record is the duration of one collective or point-to-point call as one rank saw it. Ranks of a
communicator lie in several files; joining and comparing them belongs to `detect.sweeps`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from fabric_pipeline.model.records import (
    CollectiveTiming,
    ReadResult,
    RejectedLine,
    Run,
    UnknownFact,
)
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.collectives.json_records import (
    Found,
    as_dict,
    as_float,
    as_int,
    as_text,
    records,
)
from fabric_pipeline.sources.collectives.op_names import op_name

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_GPU_TIMING = "kernel_gpu"  # the Inspector's own default; host timing is kept apart


@dataclass(slots=True)
class _Communicator:
    """What one process says about one communicator."""

    run: str
    node: str
    rank: int | None
    ranks: int | None
    name: str
    first_us: int | None = None
    last_us: int | None = None
    seen: dict[str, list[int]] = field(default_factory=dict)


class InspectorJsonReader:
    """Reads `nccl_inspector_json` files; yields per-rank timings and one run per communicator."""

    format_id: ClassVar[str] = "nccl_inspector_json"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"timings", "runs"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="NCCL Inspector",
        versions="v4.0",
        recognised_by="JSON records with header and coll_perf or p2p_perf",
        gives=(
            "duration, size and bus bandwidth of every collective as one rank saw it, one run a "
            "communicator"
        ),
        traps=(
            "One file is one process; ranks are joined by communicator and sequence number.",
            "A late rank shows the shortest collective, because the others wait for it.",
            "Gaps in the sequence numbers are operations without a record: unknown.",
            "Start times are of each host's own clock.",
            "Host timing is kept apart from GPU timing, and the record names no GPU index.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """95 when the keys of a record stand in the head."""
        if file.is_binary or '"header"' not in file.head:
            return 0
        keys = ('"coll_perf"', '"p2p_perf"', '"inspector_output_format_version"')
        return 95 if any(key in file.head for key in keys) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """All records of the file, in order."""
        out = ReadResult()
        communicators: dict[str, _Communicator] = {}
        for found in records(file.text):
            rule = "the record is no complete JSON object"
            if found.value is not None:
                rule = _add(out, communicators, found)
            if rule:
                out.rejected.append(RejectedLine(found.line, found.text, rule))
        for identity, communicator in communicators.items():
            _close(out, identity, communicator)
        return out


def _add(out: ReadResult, communicators: dict[str, _Communicator], found: Found) -> str:
    """Add one record; returns the rule it breaks, or ""."""
    value = as_dict(found.value)
    perf, prefix = as_dict(value.get("coll_perf")), "coll"
    if not perf:
        perf, prefix = as_dict(value.get("p2p_perf")) or as_dict(value.get("p2p")), "p2p"
    header, metadata = as_dict(value.get("header")), as_dict(value.get("metadata"))
    identity = as_text(header.get("id"))
    if not perf or not identity:
        return "a record needs a header with an id and a coll_perf or p2p_perf object"
    duration = as_float(perf.get(f"{prefix}_exec_time_us"))
    sequence = as_int(perf.get(f"{prefix}_sn"))
    if duration is None or duration <= 0 or sequence is None:
        return "a record needs a sequence number and an execution time above zero"
    communicator = _communicator(communicators, identity, header, metadata)
    timing = _timing(found.line, perf, prefix, identity, communicator)
    timing.seq, timing.duration_us = sequence, duration
    out.timings.append(timing)
    communicator.seen.setdefault(timing.op, []).append(sequence)
    return ""


def _communicator(
    communicators: dict[str, _Communicator],
    identity: str,
    header: dict[str, Any],
    metadata: dict[str, Any],
) -> _Communicator:
    known = communicators.get(identity)
    if known is None:
        known = communicators[identity] = _Communicator(
            f"inspector-{identity}",
            as_text(metadata.get("hostname")),
            as_int(header.get("rank")),
            as_int(header.get("n_ranks")),
            as_text(header.get("comm_name")),
        )
    stamp = as_int(metadata.get("dump_timestamp_us"))
    if stamp is not None and 0 < stamp < 4_000_000_000_000_000:
        known.first_us = stamp if known.first_us is None else min(known.first_us, stamp)
        known.last_us = stamp if known.last_us is None else max(known.last_us, stamp)
    return known


def _timing(
    line: int, perf: dict[str, Any], prefix: str, identity: str, communicator: _Communicator
) -> CollectiveTiming:
    source = as_text(perf.get(f"{prefix}_timing_source"), 40)
    variant = "" if source in ("", _GPU_TIMING) else source
    peer = as_int(perf.get("p2p_peer"))
    if peer is not None:
        variant = f"{variant} peer {peer}".strip()
    trace = as_dict(perf.get("event_trace_ts"))
    return CollectiveTiming(
        line,
        op_name(as_text(perf.get(prefix))),
        0.0,
        run=communicator.run,
        communicator=identity,
        bytes=as_int(perf.get(f"{prefix}_msg_size_bytes")),
        rank=communicator.rank,
        ranks=communicator.ranks,
        node=communicator.node,
        start=_time(as_int(trace.get(f"{prefix}_start_ts"))),
        busbw_gbs=as_float(perf.get(f"{prefix}_busbw_gbs")),
        variant=variant,
    )


def _close(out: ReadResult, identity: str, communicator: _Communicator) -> None:
    """Run, facts and gaps of one communicator."""
    nodes = [communicator.node] if communicator.node else []
    start, end = _time(communicator.first_us), _time(communicator.last_us)
    out.runs.append(Run(communicator.run, nodes, start, end))
    missing = sum(_gaps(numbers) for numbers in communicator.seen.values())
    if missing:
        reason = f"{missing} sequence numbers of communicator {identity} have no record"
        out.unknown.append(UnknownFact(communicator.node, "", "collectives not recorded", reason))
    out.facts[identity] = {
        "name": communicator.name,
        "rank": communicator.rank,
        "ranks": communicator.ranks,
        "host": communicator.node,
        "records": {op: len(numbers) for op, numbers in communicator.seen.items()},
    }


def _gaps(numbers: list[int]) -> int:
    distinct = set(numbers)
    return max(distinct) - min(distinct) + 1 - len(distinct)


def _time(microseconds: int | None) -> datetime | None:
    if microseconds is None or not 10**15 < microseconds < 4 * 10**15:
        return None
    return _EPOCH + timedelta(microseconds=microseconds)
