"""The readers of SuperBench files, of per-rank timing records and of job shapes."""

from __future__ import annotations

import json
import math

from fabric_pipeline.sources.base import Hints
from fabric_pipeline.sources.collectives.job_meta import JobMetaReader
from fabric_pipeline.sources.collectives.rank_timing import RankTimingReader
from fabric_pipeline.sources.collectives.superbench import (
    SuperbenchDiagnosisReader,
    SuperbenchMonitorReader,
    SuperbenchResultsReader,
)

from .conftest import MakeFile

RESULTS = SuperbenchResultsReader()
DIAGNOSIS = SuperbenchDiagnosisReader()
MONITOR = SuperbenchMonitorReader()
RANKS = RankTimingReader()
META = JobMetaReader()


def lines(*values: object) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def test_results_of_nodes(make_file: MakeFile) -> None:
    one = {
        "node": "a1",
        "nccl-bw/allreduce_1048576_busbw": 120.5,
        "nccl-bw/allreduce_1048576_time": 15.5,
        "nccl-bw/allreduce_1048576_algbw": 60.2,
        "ib-loopback/IB_write_8388608_Avg_3": 24000.0,
        "mem-bw/H2D_Mem_BW:2": 25.5,
        "mem-bw/return_code": 0,
        "kernel-launch/event_overhead:1": 0.006,
        "gemm-flops/FP64:0": 9000.0,
    }
    two = {"node": "a2", "nccl-bw/allreduce_1048576_busbw": 119.0, "mem-bw/return_code": 1}
    file = make_file(lines(one, two))
    assert RESULTS.score(file) == 90
    out = RESULTS.read(file)
    by_op = {(t.node, t.op): t for t in out.timings}
    collective = by_op["a1", "all_reduce"]
    assert (collective.busbw_gbs, collective.duration_us, collective.bytes) == (
        120.5,
        15.5,
        1048576,
    )
    assert by_op["a1", "ib-loopback/IB_write"].busbw_gbs == 24.0
    assert by_op["a1", "mem-bw/H2D_Mem_BW"].gpu == 2
    assert by_op["a1", "kernel-launch/event_overhead"].duration_us == 6.0
    assert math.isnan(by_op["a2", "all_reduce"].duration_us)
    unknown = {(u.node, u.what) for u in out.unknown}
    assert {("a2", "mem-bw"), ("a2", "mem-bw results"), ("a2", "ib-loopback results")} <= unknown


def test_diagnosis_summary(make_file: MakeFile) -> None:
    bad = {
        "Category": "MemBW",
        "Defective Details": "mem-bw/H2D:0_miss",
        "index": "b1",
        "mem-bw/H2D:0": "N/A",
    }
    good = {"Category": "", "Issue_Details": "", "index": "b2"}
    file = make_file(lines(bad, good) + '{"index": "b3", "Categ\n')
    assert DIAGNOSIS.score(file) == 92
    out = DIAGNOSIS.read(file)
    assert [(e.kind, e.node, e.severity) for e in out.events] == [
        ("superbench_defect", "b1", "warning"),
        ("superbench_accepted", "b2", "info"),
    ]
    assert [(u.node, u.what) for u in out.unknown] == [("b1", "mem-bw")]
    assert len(out.rejected) == 1


def test_monitor_samples(make_file: MakeFile) -> None:
    file = make_file(
        lines({"time": "2031-01-01 00:00:00", "gpu_usage:1": 5, "ib0_receive_bw": 9.5, "x": "N/A"})
    )
    file.hints = Hints(node="m1")
    assert MONITOR.score(file) == 85
    readings = MONITOR.read(file).readings
    assert [(r.interface, r.value, r.quality) for r in readings] == [
        ("gpu1", 5.0, "ok"),
        ("ib0", 9.5, "ok"),
        ("", None, "not_supported"),
    ]
    assert {r.node for r in readings} == {"m1"}


def test_rank_timing_record(make_file: MakeFile) -> None:
    value = {
        "world_size": 3,
        "fwd_ms_by_rank": [10.0, None, 15.0],
        "alerts": [{"rank": 2}],
        "metrics": {
            "straggler/fwd/median_ms": 10.0,
            "straggler/sync/median_ms": 50.0,
            "straggler/sync/max_ms": 51.0,
            "straggler/sync/max_rank": 1.0,
            "straggler/sync/spread": 0.02,
        },
    }
    file = make_file(json.dumps(value, indent=2))
    assert RANKS.score(file) == 92
    out = RANKS.read(file)
    assert [(t.op, t.rank, t.duration_us, t.unit_kind, t.variant) for t in out.timings] == [
        ("forward", 0, 10_000.0, "compute", ""),
        ("forward", 2, 15_000.0, "compute", ""),
        ("sync", None, 50_000.0, "collective", "median"),
        ("sync", 1, 51_000.0, "collective", "max"),
    ]
    assert [u.what for u in out.unknown] == ["forward time of rank 1"]


def test_job_shape(make_file: MakeFile) -> None:
    file = make_file("trial_name: T7\ndp_size: 2\npp_size: 4\ntp_size: 1\nworld_size: 8\n- stray\n")
    assert META.score(file) == 88
    out = META.read(file)
    assert out.runs[0].run == "T7"
    assert out.facts["world_size"] == 8
    assert [r.line for r in out.rejected] == [6]
    assert out.understood == 0


def test_others_are_not_taken(make_file: MakeFile) -> None:
    for content in ("", "{}\n", "a: b\n", b"\0\0", '{"a":{' * 60_000, "[" * 100_000):
        file = make_file(content)
        for reader in (RESULTS, DIAGNOSIS, MONITOR, RANKS, META):
            assert reader.score(file) == 0
            assert reader.read(file).understood == 0
