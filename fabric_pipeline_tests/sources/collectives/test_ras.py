"""The RAS readers: reports, excerpts, the event monitor, as text and as JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from fabric_pipeline.sources.base import Hints
from fabric_pipeline.sources.collectives.ras_json import RasJsonReader
from fabric_pipeline.sources.collectives.ras_text import RasTextReader

from .conftest import MakeFile

TEXT = RasTextReader()
JSON = RasJsonReader()
TABLE = (
    "Group     Comms     Nodes     Ranks     Ranks     Ranks   Status  Errors\n"
    "    #  in group  per comm  per node  per comm  in group\n"
)


def test_healthy_report(make_file: MakeFile) -> None:
    file = make_file(
        TABLE + "    0         2          4       1-8        32        64  RUNNING      OK\n"
    )
    assert TEXT.score(file) == 92
    events = TEXT.read(file).events
    assert [(e.kind, e.severity, e.details["status"]) for e in events] == [
        ("ras_status", "info", "RUNNING")
    ]


def test_dead_missing_and_listed_ranks(make_file: MakeFile) -> None:
    text = (
        "INCOMPLETE\n  Missing communicator data from 1 job process\n"
        "  Process 70 on node 10.0.0.7 managing GPUs 2,3\n\n"
        "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
        "  Process 71 on node 10.0.0.8 managing GPU 1 (NVML 5)\n\n"
        "#0-0 (ab12cd34ab12cd34) INCOMPLETE\n  Missing communicator data from 2 ranks\n"
        "  Rank 4 -- GPU 0 managed by process 72 on node 10.0.0.9\n"
        "  Rank 5 -- [process information not found]\n"
        "#0-1 (ab12cd34ab12cd35) INCOMPLETE\n  The missing ranks: 6, 7\n"
    )
    events = TEXT.read(make_file(text)).events
    assert [(e.kind, e.node, e.interface, e.details["rank"]) for e in events] == [
        ("ras_rank_missing", "10.0.0.7", "", None),
        ("ras_peer_dead", "10.0.0.8", "gpu5", None),
        ("ras_rank_missing", "10.0.0.9", "gpu0", 4),
        ("ras_rank_missing", "", "", 5),
        ("ras_rank_missing", "", "", 6),
        ("ras_rank_missing", "", "", 7),
    ]
    assert {e.role for e in events} == {"cause"}


@pytest.mark.parametrize("listed", [True, False])
def test_mismatch_carries_the_lag(make_file: MakeFile, listed: bool) -> None:
    head = "#1-0 (78aa) MISMATCH\n  Communicator ranks have different Broadcast operation counts\n  6 ranks have launched up to operation 90\n"
    single = "  Rank 3 has launched up to operation 82 -- GPU 3 managed by process 9 on node n1\n"
    group = (
        "  2 ranks have not launched any operations\n  Rank 3 -- GPU 3 managed by process 9 on node n1\n"
        "  Rank 4 -- GPU 4 managed by process 10 on node n1\n"
    )
    out = TEXT.read(make_file(head + (group if listed else single)))
    assert [(e.kind, e.details["lag"], e.interface) for e in out.events] == (
        [("ras_rank_behind", 90, "gpu3"), ("ras_rank_behind", 90, "gpu4")]
        if listed
        else [("ras_rank_behind", 8, "gpu3")]
    )
    assert out.events[0].details["ranks"] == (8 if listed else 7)
    assert out.events[0].details["op"] == "Broadcast"


def test_errors_and_status_differences(make_file: MakeFile) -> None:
    text = (
        "#0-0 (78aa) ERROR\n  Asynchronous errors on 3 ranks\n  2 ranks reported Remote process error\n"
        "  Rank 1 -- GPU 1 managed by process 5 on node n1\n"
        "  Rank 2 reported Unhandled CUDA error -- GPU 2 managed by process 6 on node n1\n"
        "#0-1 (78ab) MISMATCH\n  Communicator ranks have different status\n  7 ranks have status RUNNING\n"
        "  Rank 7 has status ABORT -- GPU 7 managed by process 8 on node n1\n"
    )
    events = TEXT.read(make_file(text)).events
    assert [(e.kind, e.role, e.interface) for e in events] == [
        ("ras_rank_error", "symptom", "gpu1"),
        ("ras_rank_error", "cause", "gpu2"),
        ("ras_rank_status", "context", "gpu7"),
    ]


def test_monitor_lines_and_local_time(make_file: MakeFile) -> None:
    file = make_file(
        "[2031-05-06 07:08:09] PEER_DEAD: Process 4 on node 10.2.0.1 managing GPU 6\n"
        " [2031-05-06 07:08:10] PEER_UNRESPONSIVE: Process 5 on node 10.2.0.2 managing GPU 1 no data for 5s\n"
        "[2031-05-06 07:08:11] PEER_RECOVERED: peer responding again\n"
    )
    file.hints = Hints(timezone=timezone(timedelta(hours=2)))
    assert TEXT.score(file) == 85
    events = TEXT.read(file).events
    assert [(e.kind, e.severity, e.role) for e in events] == [
        ("ras_peer_dead", "warning", "cause"),
        ("ras_peer_lifecycle", "watch", "context"),
        ("ras_peer_lifecycle", "info", "context"),
    ]
    assert events[0].time == datetime(2031, 5, 6, 5, 8, 9, tzinfo=UTC)
    assert "no data for 5s" in events[1].reason


def rank(number: int, count: int, **status: object) -> dict[str, object]:
    return {
        "rank": number, "host": "h1", "pid": 40 + number, "cuda_dev": number, "nvml_dev": number,
        "status": {"init_state": 0, "async_error": 0, "abort_flag": False, **status},
        "collective_counts": {"AllReduce": count, "Reduce": 0},
    }  # fmt: skip


def test_json_report(make_file: MakeFile) -> None:
    missing = {"rank": 4, "host": "h2", "pid": 50, "cuda_dev": 0, "nvml_dev": 3,
               "status": {"unresponsive": True, "considered_dead": True}}  # fmt: skip
    ranks = [rank(0, 9), rank(1, 9), rank(2, 3), rank(3, 9, async_error=2, abort_flag=True)]
    value = {
        "nccl_version": "2.29.9", "timestamp": "2031-05-06 07:08:09", "communicators_count": 1,
        "communicators": [{"hash": "0xaa", "size": 5, "ranks": ranks, "missing_ranks": [missing]}],
        "ras": {"timeouts_count": 2},
    }  # fmt: skip
    file = make_file("$ ncclras -f json\n" + json.dumps(value, indent=2))
    assert JSON.score(file) == 95
    out = JSON.read(file)
    assert [(e.kind, e.node, e.interface, e.line) for e in out.events] == [
        ("ras_status", "", "", 2),
        ("ras_peer_dead", "h2", "gpu3", 2),
        ("ras_rank_error", "h1", "gpu3", 2),
        ("ras_rank_behind", "h1", "gpu2", 2),
    ]
    assert out.events[3].details["lag"] == 6
    assert "2 time-outs" in out.unknown[0].reason


def test_json_monitor_events(make_file: MakeFile) -> None:
    peer = {"host": "10.3.0.1", "pid": 8, "cuda_devs": [1], "nvml_devs": [2]}
    text = "".join(
        json.dumps(
            {"timestamp": "2031-05-06 07:08:09", "event": word, "peer": peer, "details": ""},
            indent=2,
        )
        for word in ("PEER_TIMEOUT_DEAD", "PEER_NEW")
    )
    file = make_file(text)
    assert JSON.score(file) == 92
    assert [(e.kind, e.interface) for e in JSON.read(file).events] == [
        ("ras_peer_dead", "gpu2"),
        ("ras_peer_lifecycle", "gpu2"),
    ]


def test_damage_and_others(make_file: MakeFile) -> None:
    cut = make_file('{"communicators": [{"hash": "0x1", "missing_ranks": [')
    assert [r.line for r in JSON.read(cut).rejected] == [1]
    for content in ("", "Rank 1 is here\n", b"\0" * 99, "Rank 1 " * 200_000, "{" * 100_000):
        file = make_file(content)
        assert TEXT.score(file) == JSON.score(file) == 0
        assert TEXT.read(file).understood == JSON.read(file).understood == 0
