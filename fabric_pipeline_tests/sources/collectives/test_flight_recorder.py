"""The flight-recorder reader: durations where they are real, unknown where a watchdog looked."""

from __future__ import annotations

import json

from fabric_pipeline.sources.collectives.flight_recorder import FlightRecorderReader

from .conftest import MakeFile

READER = FlightRecorderReader()


def entry(**more: object) -> dict[str, object]:
    return {
        "collective_seq_id": 4, "profiling_name": "nccl:_allgather_base", "state": "completed",
        "process_group": ["1", "dp"], "input_sizes": [[8, 2]], "input_dtypes": ["BFloat16"],
        "time_discovered_started_ns": None, "time_discovered_completed_ns": 5, **more,
    }  # fmt: skip


def dump(*entries: dict[str, object], **status: int) -> str:
    value = {
        "version": "2.9",
        "pg_config": {"1": {"desc": "dp", "ranks": "[0, 1, 2]"}},
        "pg_status": {"1": {f"last_{key}_collective": number for key, number in status.items()}},
        "entries": list(entries),
    }
    return json.dumps(value, indent=1)


def test_measured_duration(make_file: MakeFile) -> None:
    file = make_file(dump(entry(duration_ms=1.25)))
    assert READER.score(file) == 95
    timing = READER.read(file).timings[0]
    assert (timing.op, timing.duration_us, timing.bytes) == ("all_gather", 1250.0, 32)
    assert (timing.ranks, timing.communicator, timing.seq) == (3, "1", 4)


def test_null_start_is_unknown_and_no_latency(make_file: MakeFile) -> None:
    out = READER.read(make_file(dump(entry(), enqueued=4, started=-1, completed=4)))
    assert not out.timings
    assert "start is null" in out.unknown[0].reason
    assert [e.kind for e in out.events] == ["flight_recorder_status"]


def test_a_collective_under_way(make_file: MakeFile) -> None:
    text = dump(
        entry(), entry(state="started", time_discovered_started_ns=3), enqueued=5, completed=4
    )
    out = READER.read(make_file(text))
    assert [(e.kind, e.severity, e.role) for e in out.events] == [
        ("collective_incomplete", "watch", "context")
    ]
    assert {u.reason.split(",")[0] for u in out.unknown} >= {"the state is started"}


def test_damage_and_others(make_file: MakeFile) -> None:
    cut = make_file(dump(entry())[:-30])
    assert READER.read(cut).rejected
    for content in ("", "{}", b"\0\0", '{"traceEvents": []}', "{" * 100_000):
        file = make_file(content)
        assert READER.score(file) == 0
        assert READER.read(file).understood == 0
