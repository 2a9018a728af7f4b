"""The trace readers: kernels of a rank, training timelines, gzip, cut files and limits."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime

import pytest

from fabric_pipeline.sources.collectives import trace_stream
from fabric_pipeline.sources.collectives.kineto import KinetoReader
from fabric_pipeline.sources.collectives.timeline import TimelineReader

from .conftest import MakeFile

KINETO = KinetoReader()
TIMELINE = TimelineReader()


def kernel(start: float, duration: float, name: str = "ncclDevKernel_AllGather_RING_LL(x)", **args: object) -> dict[str, object]:  # fmt: skip
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": start, "dur": duration, "args": args}  # fmt: skip


def trace(*events: dict[str, object], **more: object) -> str:
    value = {
        "schemaVersion": 1,
        "distributedInfo": {"rank": 2, "world_size": 4, "nccl_version": "2.99"},
        "traceEvents": list(events),
        **more,
    }
    return json.dumps(value)


STATED = {
    "Collective name": "allreduce", "In msg nelems": 10, "dtype": "BFloat16",
    "Group size": 4, "Process Group Name": "tp",
}  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
def test_kernels_of_one_rank(make_file: MakeFile, packed: bool) -> None:
    host = {"ph": "X", "cat": "user_annotation", "name": "nccl:all_reduce", "ts": 1, "dur": 2}
    matmul = kernel(5, 5, name="sm90_gemm")
    text = trace(kernel(30.0, 4.0), kernel(10.0, 2.5, **STATED), host, matmul, baseTimeNanoseconds=1_700_000_000_000_000_000)  # fmt: skip
    file = make_file(gzip.compress(text.encode()) if packed else text)
    assert KINETO.score(file) == 92
    out = KINETO.read(file)
    first, second = out.timings
    assert (first.op, first.duration_us, first.bytes, first.communicator) == (
        "all_reduce",
        2.5,
        20,
        "tp",
    )
    assert (second.op, second.seq, second.rank, second.ranks) == ("all_gather", 1, 2, 4)
    assert first.start == datetime.fromtimestamp(1_700_000_000.00001, UTC)
    assert out.facts["collective_annotations"] == 1


def test_annotations_alone_are_no_latency(make_file: MakeFile) -> None:
    host = {"ph": "X", "cat": "user_annotation", "name": "nccl:all_reduce", "ts": 1, "dur": 2}
    out = KINETO.read(make_file(trace(host)))
    assert out.understood == 0
    assert "no collective kernel" in out.unknown[0].reason


def test_cut_and_damaged_traces(make_file: MakeFile) -> None:
    text = trace(kernel(10.0, 2.0), kernel(20.0, 2.0), kernel(30.0, 0.0))
    cut = KINETO.read(make_file(text[:-120]))
    assert len(cut.timings) == 2
    assert cut.unknown[0].what == "rest of the trace"
    packed = gzip.compress((text * 1).encode())
    assert "too early" in KINETO.read(make_file(packed[:-20])).unknown[0].reason
    assert "damaged" in KINETO.read(make_file(packed[:10] + b"\xff" * 50)).unknown[0].reason
    assert len(KINETO.read(make_file(text)).rejected) == 1


def test_decompression_is_limited(make_file: MakeFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_stream, "MAX_TRACE_BYTES", 1000)
    out = KINETO.read(
        make_file(gzip.compress(trace(*[kernel(i, 1.0) for i in range(500)]).encode()))
    )
    assert "larger than 1000 bytes" in out.unknown[0].reason
    assert "larger than" in KINETO.read(make_file(trace() + " " * 2000)).unknown[0].reason


def operation(
    name: str, process: int, thread: int, duration: float, **args: int
) -> dict[str, object]:
    return {"name": name, "cat": name, "ph": "X", "pid": process, "tid": thread, "ts": 1.0, "dur": duration, "args": {"step": 4, **args}}  # fmt: skip


def test_timeline(make_file: MakeFile) -> None:
    events = [
        operation("forward-compute", 1, 20, 900.0),
        operation("forward-compute", 1, 20, 800.0, model_chunk=1),
        operation("grads-reduce-scatter", 1, 23, 300.0),
        operation("gc", 1, 20, 0.0),
        {
            "name": "thread_name",
            "ph": "M",
            "pid": 1,
            "tid": 20,
            "args": {"name": "PP rank 3, compute"},
        },
    ]
    file = make_file(gzip.compress(json.dumps(events).encode()))
    assert TIMELINE.score(file) == 94
    assert KINETO.score(file) == 50
    out = TIMELINE.read(file)
    assert [(t.op, t.rank, t.seq, t.variant, t.unit_kind) for t in out.timings] == [
        ("forward-compute", 1, 4, "PP rank 3", "compute"),
        ("forward-compute", 1, 4, "PP rank 3, chunk 1", "compute"),
        ("grads-reduce-scatter", 1, 4, "", "collective"),
    ]
    assert out.facts["events_without_duration"] == 1


def test_others_are_not_taken(make_file: MakeFile) -> None:
    for content in (
        "",
        "{}",
        "words",
        b"\0\0",
        gzip.compress(b"words"),
        "[" * 100_000,
        b"\x1f\x8bjunk",
    ):
        file = make_file(content)
        assert KINETO.score(file) == TIMELINE.score(file) == 0
        assert KINETO.read(file).understood == TIMELINE.read(file).understood == 0
