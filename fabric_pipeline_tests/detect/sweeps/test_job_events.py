"""Job events to findings: who is accused, who is only watched, and never a link."""

from __future__ import annotations

import pytest

from fabric_pipeline.detect.sweeps.job_events import judge_job_events
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import FabricEvent

from .rows import event


def judge(*events: FabricEvent) -> list[Finding]:
    findings = judge_job_events(events)
    assert not any(finding.is_link for finding in findings)
    assert all(finding.evidence for finding in findings)
    return findings


def accused(*events: FabricEvent) -> list[str]:
    return [finding.component for finding in judge(*events) if finding.accuses]


def test_one_process_is_one_finding_with_the_gravest_kind() -> None:
    who = {"host": "h", "pid": 7, "rank": 1, "node": "h", "interface": "gpu1"}
    findings = judge(
        event("ras_rank_missing", **who),
        event("ras_peer_dead", **who),
        event("ras_peer_dead", host="k", pid=7, node="k"),
    )
    assert [(f.kind, f.component) for f in findings] == [
        ("ras_peer_dead", "h:gpu1"),
        ("ras_peer_dead", "k:unknown"),
    ]
    assert len(findings[0].evidence) == 2


@pytest.mark.parametrize(
    ("lag", "behind", "ranks", "accuses"), [(4, 1, 8, True), (1, 1, 8, False), (9, 7, 8, False)]
)
def test_a_lag_accuses_only_a_minority_beyond_the_usual(
    lag: int, behind: int, ranks: int, accuses: bool
) -> None:
    found = event(
        "ras_rank_behind", node="h", interface="gpu3", lag=lag, behind=behind, ranks=ranks, top=60
    )
    assert accused(found) == (["h:gpu3"] if accuses else [])
    assert judge(found)[0].severity == ("warning" if accuses else "watch")


def test_errors_passed_on_are_symptoms() -> None:
    assert accused(event("ras_rank_error", "symptom", node="h")) == []
    assert accused(event("ras_rank_error", "cause", node="h")) == ["h:unknown"]


def test_status_rows() -> None:
    ok = event("ras_status", "context", "info", errors="OK")
    assert judge(ok) == []
    assert accused(event("ras_status", "context", "watch", errors="INCOMPLETE")) == [
        "unknown:unknown"
    ]
    mismatch = judge(event("ras_status", "context", "watch", errors="MISMATCH"))
    assert [(f.severity, f.role) for f in mismatch] == [("watch", "context")]
    named = event("ras_peer_dead", node="h", host="h", pid=1)
    assert accused(event("ras_status", errors="INCOMPLETE"), named) == ["h:unknown"]


def test_reporters_of_time_outs_are_not_named() -> None:
    reports = [event("collective_timeout", "symptom", rank=r, op="all_reduce") for r in (3, 5)]
    findings = judge(*reports)
    assert [(f.component, f.numbers["ranks"], f.accuses) for f in findings] == [
        ("unknown:unknown", [3, 5], True)
    ]


def test_flight_recorders_side_by_side() -> None:
    full = {"group": "0", "enqueued": 9, "completed": 5}
    stuck = [
        event("collective_incomplete", "context", "watch", file=f"f{n}", **full) for n in range(3)
    ]
    assert [(f.severity, f.role) for f in judge(*stuck)] == [("watch", "symptom")] * 3
    late = event(
        "flight_recorder_status", "context", "info", file="late", group="0", enqueued=5, completed=5
    )
    findings = judge(*stuck, late)
    assert [f.evidence[0].file for f in findings if f.accuses] == ["late"]


def test_benchmark_and_fleet_events() -> None:
    assert accused(event("nccl_wrong_results", node="n", wrong_values=3)) == ["n:unknown"]
    assert accused(event("nccl_test_failed")) == ["unknown:unknown"]
    assert accused(event("superbench_defect", node="n")) == ["n:unknown"]
    warnings = judge(*[event("nccl_warning", "context", "watch") for _ in range(4)])
    assert [(f.severity, f.numbers["lines"]) for f in warnings] == [("watch", 4)]
    lifecycle = judge(event("ras_peer_lifecycle", "context", "watch", node="n"))
    assert [f.severity for f in lifecycle] == ["watch"]
    assert judge(event("xid"), event("superbench_accepted", "context", "info")) == []
