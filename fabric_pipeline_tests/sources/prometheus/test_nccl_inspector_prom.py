"""What the reader makes of the NCCL Inspector's Prometheus files."""

from __future__ import annotations

from pathlib import Path

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.prometheus.nccl_inspector_prom import NcclInspectorPromReader
from fabric_pipeline_tests.sources.prometheus.files import source

COMMON = 'version="v5.1",slurm_job_id="77",node="r1-n4",gpu="GPU2",comm_name="dp",nranks="32"'
REDUCE = f'{COMMON},collective="ReduceScatter",message_size="134-135MB",algo_proto="RING_SIMPLE"'
SEND = f'{COMMON},p2p_operation="Send",message_size="1-2MB",peer="5"'


def read(folder: Path, *lines: str) -> ReadResult:
    return NcclInspectorPromReader().read(source(folder, "\n".join(lines) + "\n"))


def test_bandwidth_and_time_make_one_timing(tmp_path: Path) -> None:
    result = read(
        tmp_path,
        f"nccl_bus_bandwidth_gbs{{{REDUCE}}} 44.5",
        f"nccl_collective_exec_time_microseconds{{{REDUCE}}} 104164",
        f"nccl_p2p_exec_time_microseconds{{{SEND}}} 92.5",
        f"nccl_p2p_bus_bandwidth_gbs{{{SEND}}} 19.25",
    )
    first, second = result.timings
    assert (first.op, first.duration_us, first.busbw_gbs, first.line) == (
        "ReduceScatter",
        104164.0,
        44.5,
        1,
    )
    assert (first.run, first.communicator, first.node, first.gpu) == ("77", "dp", "r1-n4", 2)
    assert (first.ranks, first.bytes, first.variant) == (32, None, "134-135MB RING_SIMPLE")
    assert (second.op, second.busbw_gbs, second.variant) == ("Send", 19.25, "1-2MB peer 5")
    assert result.understood == 2


def test_mean_of_sum_and_count_or_the_median(tmp_path: Path) -> None:
    result = read(
        tmp_path,
        f'nccl_collective_count{{{REDUCE},percentile_samples="4"}} 4',
        f"nccl_collective_exec_time_sum_microseconds{{{REDUCE}}} 400",
        f"nccl_collective_exec_time_p50_microseconds{{{REDUCE}}} 90",
        f"nccl_p2p_exec_time_p50_microseconds{{{SEND}}} 7",
    )
    assert [t.duration_us for t in result.timings] == [100.0, 7.0]


def test_dumps_one_after_the_other_are_numbered(tmp_path: Path) -> None:
    line = f"nccl_collective_exec_time_microseconds{{{REDUCE}}}"
    result = read(tmp_path, f"{line} 10", f"{line} 20")
    assert [(t.seq, t.duration_us) for t in result.timings] == [(0, 10.0), (1, 20.0)]


def test_slow_event_keeps_its_number_and_start(tmp_path: Path) -> None:
    event = f'{REDUCE},sequence="42",start_timestamp_us="1700000000000000"'
    result = read(tmp_path, f"nccl_collective_slow_event_exec_time_microseconds{{{event}}} 900")
    (timing,) = result.timings
    assert timing.seq == 42
    assert timing.start is not None
    assert timing.start.timestamp() == 1_700_000_000
    assert timing.variant.endswith("slow_event")


def test_older_labels(tmp_path: Path) -> None:
    labels = (
        'comm_id="0xd1",collective="AllReduce",hostname="p0",rank="4",slurm_job_id="unknown",'
        'n_ranks="8",coll_sn="228",gpu_device_id="GPU4",message_size="2.00GB"'
    )
    result = read(tmp_path, f"nccl_collective_exec_time_microseconds{{{labels}}} 55")
    (timing,) = result.timings
    assert (timing.run, timing.communicator, timing.rank, timing.ranks) == ("", "0xd1", 4, 8)
    assert (timing.seq, timing.node, timing.gpu, timing.variant) == (228, "p0", 4, "2.00GB")


def test_what_is_missing_is_stated(tmp_path: Path) -> None:
    result = read(
        tmp_path,
        f"nccl_bus_bandwidth_gbs{{{REDUCE}}} 44.5",
        f"nccl_collectives_dropped_total{{{COMMON}}} 3",
        f"nccl_p2p_exec_time_microseconds{{{SEND}}} NaN",
        f"nccl_p2p_exec_time_microseconds{{{SEND}}} -4",
        f"nccl_p2p_exec_time_microseconds{{{SEND}",
    )
    assert result.timings == []
    assert sorted(r.line or 0 for r in result.rejected) == [4, 5]
    whats = " | ".join(fact.what for fact in result.unknown)
    assert "duration of ReduceScatter" in whats
    assert "3 operations" in whats


def test_score_and_junk(tmp_path: Path) -> None:
    reader = NcclInspectorPromReader()
    assert reader.score(source(tmp_path, f"nccl_bus_bandwidth_gbs{{{REDUCE}}} 4\n")) > 90
    assert reader.score(source(tmp_path, "# nccl_tests output\n#  size count\n")) == 0
    for content in (b"", b"\0" * 100, b"\xfe" * 100):
        assert reader.score(source(tmp_path, content)) == 0
        assert reader.read(source(tmp_path, content)).timings == []
