"""Reader of PyTorch profiler (Kineto) traces: the collective kernels of one rank, also gzipped.

Only kernels on the device are timings; annotations on the host say nothing about the network. One file
holds one rank, so that pairing ranks belongs to `detect.sweeps`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from fabric_pipeline.model.records import CollectiveTiming, ReadResult, RejectedLine, UnknownFact
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.collectives.json_records import as_dict, as_float, as_int, as_text
from fabric_pipeline.sources.collectives.op_names import op_name
from fabric_pipeline.sources.collectives.run_names import run_name
from fabric_pipeline.sources.collectives.trace_stream import TraceWalk, load, sniff

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KERNEL = re.compile(r"^(?:void )?(?:nccl|rccl|msccl)\w{0,20}?Kernel_?(\w{0,60})", re.IGNORECASE)
_KIND = re.compile(
    r"(AllReduce|AllGather|ReduceScatter|Broadcast|AllToAll\w{0,12}|SendRecv|Reduce|Gather|Scatter)",
    re.IGNORECASE,
)
_CHROME = re.compile(r'"ph"\s{0,4}:\s{0,4}"[XBEiMsf]"')
_BYTES = {
    "Double": 8, "Long": 8, "Float": 4, "Int": 4, "Half": 2, "BFloat16": 2, "Short": 2,
    "Byte": 1, "Char": 1, "Bool": 1, "Float8_e4m3fn": 1, "Float8_e5m2": 1,
}  # fmt: skip


@dataclass(slots=True)
class _Trace:
    """What the trace says about itself, and its collective kernels."""

    rank: int | None = None
    world: int | None = None
    base_us: float = 0.0
    nccl_version: str = ""
    events: int = 0
    annotations: int = 0
    kernels: list[dict[str, Any]] = field(default_factory=list)


class KinetoReader:
    """Reads `kineto_trace` files; yields one timing per collective kernel."""

    format_id: ClassVar[str] = "kineto_trace"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"timings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="PyTorch profiler (Kineto), also gzipped",
        versions="schemaVersion 1, in us and ns; NCCL 2.17.1 in two",
        recognised_by="traceEvents or distributedInfo, or a bare list of Chrome trace events",
        gives="duration of every collective kernel of one rank",
        traps=(
            (
                "Only kernels on the device are timings; annotations of the host say nothing "
                "about the network."
            ),
            "A kernel's time includes waiting: the slow rank has the shortest one.",
            "One file is one rank, and the ranks' clocks differ.",
            "Gzip is opened to a limit of 512 MiB; what lies behind it is unknown.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """92 for a Kineto head, 60 for another trace with `traceEvents`, 50 for a bare event list."""
        head = sniff(file)
        if '"traceEvents"' in head or '"distributedInfo"' in head:
            own = ('"schemaVersion"', '"deviceProperties"', '"distributedInfo"', '"cpu_op"')
            return 92 if any(key in head for key in own) else 60
        return 50 if head.lstrip().startswith("[") and _CHROME.search(head) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """All collective kernels, in the order of their start."""
        out = ReadResult()
        text, problem = load(file)
        walk, trace = TraceWalk(text), _Trace()
        for key, value in walk.items():
            if key:
                _describe(trace, key, value)
            else:
                _event(trace, as_dict(value))
        if problem or walk.cut:
            out.unknown.append(UnknownFact("", "", "rest of the trace", problem or walk.cut))
        _timings(out, file, trace)
        out.facts = {
            "rank": trace.rank,
            "world_size": trace.world,
            "nccl_version": trace.nccl_version,
            "events": trace.events,
            "collective_kernels": len(trace.kernels),
            "collective_annotations": trace.annotations,
        }
        return out


def _describe(trace: _Trace, key: str, value: Any) -> None:
    if key == "distributedInfo":
        trace.rank = as_int(as_dict(value).get("rank"))
        trace.world = as_int(as_dict(value).get("world_size"))
        trace.nccl_version = as_text(as_dict(value).get("nccl_version"))
    elif key == "baseTimeNanoseconds":
        trace.base_us = (as_float(value) or 0.0) / 1000.0


def _event(trace: _Trace, event: dict[str, Any]) -> None:
    trace.events += 1
    name, category = event.get("name"), event.get("cat")
    if not isinstance(name, str) or not isinstance(category, str) or event.get("ph") != "X":
        return
    if category.lower() == "kernel":
        if _KERNEL.match(name):
            trace.kernels.append(event)
    elif name.startswith("nccl:"):
        trace.annotations += 1


def _timings(out: ReadResult, file: SourceFile, trace: _Trace) -> None:
    name = f"kineto-world{trace.world}" if trace.world else run_name(file, "kineto")
    kernels = []
    for event in trace.kernels:
        start, duration = as_float(event.get("ts")), as_float(event.get("dur"))
        if start is None or duration is None or duration <= 0:
            rule = "a kernel needs a start and a duration above zero"
            out.rejected.append(RejectedLine(None, as_text(event.get("name"), 80), rule))
        else:
            kernels.append((start, duration, event))
    kernels.sort(key=lambda kernel: kernel[0])
    for sequence, (start, duration, event) in enumerate(kernels):
        timing = _timing(event, duration)
        timing.run, timing.seq, timing.rank = name, sequence, trace.rank
        timing.ranks = timing.ranks or trace.world
        timing.start = _absolute(start + trace.base_us)
        out.timings.append(timing)
    if not kernels:
        reason = (
            f"the trace has {trace.annotations} annotations of collectives on the host and no "
            "collective kernel on the device"
        )
        out.unknown.append(UnknownFact("", "", "latency of collectives", reason))


def _timing(event: dict[str, Any], duration: float) -> CollectiveTiming:
    args, name = as_dict(event.get("args")), str(event.get("name"))
    stated = as_text(args.get("Collective name"))
    kind = _KIND.search(name)
    elements, width = as_int(args.get("In msg nelems")), _BYTES.get(as_text(args.get("dtype")))
    group = as_text(args.get("Process Group Name"))
    return CollectiveTiming(
        None,
        op_name(stated or (kind.group(1) if kind else "")),
        duration,
        communicator=group or f"stream {as_int(args.get('stream'))}",
        bytes=elements * width if elements and width else None,
        ranks=as_int(args.get("Group size")),
        gpu=as_int(args.get("device")),
    )


def _absolute(microseconds: float) -> datetime | None:
    """A UTC time when the number can be one (2001 to 2096), else None."""
    if not 1e15 < microseconds < 4e15:
        return None
    return _EPOCH + timedelta(microseconds=microseconds)
