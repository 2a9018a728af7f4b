"""Size sweeps: cliffs, stretches, lone rows, runs of one shape, nodes named by exclusion."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.detect.sweeps.evaluate import judge_sweeps
from fabric_pipeline.model.records import Run

from .rows import event, sweep

RISE = [2.0, 5.0, 10.0, 20.0, 40.0, 80.0, 120.0, 150.0]
FALLS = [2.0, 5.0, 10.0, 20.0, 40.0, 9.0, 8.0, 8.5]


def kinds(*timings: list, runs: list[Run] | None = None) -> list[tuple[str, str, bool]]:  # type: ignore[type-arg]
    judged = judge_sweeps([row for rows in timings for row in rows], runs=runs or [])
    return [(f.kind, f.component, f.is_link) for f in judged.findings if f.accuses]


def test_a_rising_sweep_is_fine() -> None:
    assert judge_sweeps(sweep(RISE)).findings == []


def test_a_lasting_fall_names_no_link() -> None:
    findings = judge_sweeps(sweep(FALLS)).findings
    assert [(f.kind, f.component, f.is_link, f.severity) for f in findings] == [
        ("slow_collective", "unknown:unknown", False, "warning")
    ]
    assert "40 GB/s at 16 MiB" in findings[0].reason
    assert "9 GB/s at 32 MiB" in findings[0].reason
    assert [(e.file, e.line) for e in findings[0].evidence] == [("f1", 6), ("f1", 5)]
    assert findings[0].numbers["busbw_after_gbs"] == 9.0


def test_lone_rows_steps_and_small_sizes_are_no_fault() -> None:
    assert kinds(sweep([*RISE[:5], 12.0, 120.0, 150.0])) == []
    assert kinds(sweep([*RISE[:7], 20.0])) == []
    assert kinds(sweep([24.0, 15.0, 24.0, 48.0, 90.0])) == []
    assert kinds(sweep([9.0, 1.0, 1.0, 1.0], first=1024)) == []


def test_a_stretch_that_recovers_is_watched() -> None:
    findings = judge_sweeps(sweep([*RISE[:5], 5.0, 6.0, 150.0])).findings
    assert [(f.kind, f.severity, f.role) for f in findings] == [
        ("slow_stretch", "watch", "context")
    ]


def test_the_slower_of_two_equal_runs() -> None:
    slow = sweep([v * 0.5 for v in RISE], run="r2", file="f2")
    judged = judge_sweeps(
        [*sweep(RISE), *slow], [event("nccl_warning", "context", "watch", file="f2", run="r2")]
    )
    assert [(f.kind, f.component, f.is_link) for f in judged.findings] == [
        ("slow_run", "unknown:unknown", False)
    ]
    finding = judged.findings[0]
    assert (finding.evidence[0].file, finding.evidence[0].line) == ("f2", 8)
    assert "75 GB/s" in finding.reason
    assert "150 GB/s" in finding.reason
    assert "reason of nccl_warning" in finding.reason


def test_runs_that_are_not_alike_are_not_compared() -> None:
    slow = [v * 0.4 for v in RISE]
    assert kinds(sweep(RISE), sweep(slow, run="r2", file="f2", ranks=32)) == []
    assert kinds(sweep(RISE), sweep(slow, run="r2", file="f2", op="alltoall")) == []
    assert kinds(sweep(RISE), sweep(slow, run="r2", file="f2", factor=0.94)) == []
    assert kinds(sweep(RISE), sweep([v * 0.9 for v in RISE], run="r2", file="f2")) == []
    assert kinds(sweep(RISE), sweep([*RISE[:7], 100.0], run="r2", file="f2")) == []


def test_unknown_shapes_are_only_watched_across_files() -> None:
    first = sweep(RISE, ranks=None)
    slow = [v * 0.4 for v in RISE]
    other = judge_sweeps([*first, *sweep(slow, run="r2", file="f2", ranks=None)]).findings
    assert [(f.kind, f.severity) for f in other] == [("slow_run", "watch")]
    assert kinds(first, sweep(slow, run="r2", ranks=None)) == [
        ("slow_run", "unknown:unknown", False)
    ]


def test_nodes_are_named_by_exclusion() -> None:
    slow = [v * 0.5 for v in RISE]
    first, second = sweep(RISE), sweep(slow, run="r2", file="f2")
    alone = [Run("r1", ["n1"]), Run("r2", ["n2"])]
    assert kinds(first, second, runs=alone) == [("slow_run", "n2:unknown", True)]
    third = sweep(slow, run="r3", file="f3")
    several = [Run("r1", ["n1", "n2"]), Run("r2", ["n1", "n3"]), Run("r3", ["n2", "n3"])]
    assert set(kinds(first, second, third, runs=several)) == {("slow_run", "n3:unknown", True)}
    one = [Run("r1", ["n1", "n2"]), Run("r2", ["n1", "n3"])]
    assert kinds(first, second, runs=one) == [("slow_run", "unknown:unknown", False)]


@settings(max_examples=50)
@given(st.lists(st.floats(0.1, 500.0), min_size=1, max_size=25).map(sorted))
def test_sweeps_that_only_rise_are_never_findings(bandwidths: list[float]) -> None:
    assert judge_sweeps(sweep(bandwidths)).findings == []
