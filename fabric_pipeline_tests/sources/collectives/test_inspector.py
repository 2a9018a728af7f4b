"""The readers of NCCL Inspector: JSON lines, a pretty record, point-to-point calls, the script's log."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.collectives.inspector_json import InspectorJsonReader
from fabric_pipeline.sources.collectives.inspector_log import InspectorLogReader

from .conftest import MakeFile

READER = InspectorJsonReader()
STAMP = 1_700_000_000_000_000


def record(number: int = 0, micros: object = 50, **perf: object) -> dict[str, object]:
    return {
        "header": {"id": "0xc0", "rank": 1, "n_ranks": 4, "nnodes": 2, "comm_name": "DP"},
        "metadata": {
            "inspector_output_format_version": "v4.0",
            "dump_timestamp_us": STAMP + number,
            "hostname": "h7",
            "pid": 3,
        },
        "coll_perf": {
            "coll": "ReduceScatter",
            "coll_sn": number,
            "coll_msg_size_bytes": 65536,
            "coll_exec_time_us": micros,
            "coll_timing_source": "kernel_gpu",
            "coll_busbw_gbs": 1.5,
            **perf,
        },
    }


def lines(*records: dict[str, object]) -> str:
    return "".join(json.dumps(each) + "\n" for each in records)


def test_lines_give_timings_run_and_gaps(make_file: MakeFile) -> None:
    file = make_file(lines(record(3), record(4, 60), record(9)))
    assert READER.score(file) == 95
    out = READER.read(file)
    first = out.timings[0]
    assert (first.op, first.seq, first.rank, first.ranks, first.bytes) == (
        "reduce_scatter",
        3,
        1,
        4,
        65536,
    )
    assert (first.duration_us, first.node, first.communicator, first.line) == (
        50.0,
        "h7",
        "0xc0",
        1,
    )
    assert out.runs[0].nodes == ["h7"]
    assert out.runs[0].start is not None
    assert out.runs[0].end is not None
    assert (out.runs[0].end - out.runs[0].start).microseconds == 6
    assert "4 sequence numbers" in out.unknown[0].reason
    assert out.facts["0xc0"]["name"] == "DP"


def test_pretty_record_and_host_timing(make_file: MakeFile) -> None:
    text = "$ cat x\n" + json.dumps(record(2, coll_timing_source="kernel_cpu"), indent=4) + "\n"
    out = READER.read(make_file(text))
    assert [(t.line, t.variant) for t in out.timings] == [(2, "kernel_cpu")]


def test_point_to_point_and_trace_times(make_file: MakeFile) -> None:
    value = record()
    del value["coll_perf"]
    value["p2p_perf"] = {
        "p2p": "Send", "p2p_sn": 5, "p2p_peer": 3, "p2p_msg_size_bytes": 8192,
        "p2p_exec_time_us": 7, "event_trace_ts": {"p2p_start_ts": STAMP},
    }  # fmt: skip
    out = READER.read(make_file(lines(value)))
    timing = out.timings[0]
    assert (timing.op, timing.variant, timing.seq) == ("send", "peer 3", 5)
    assert timing.start is not None


def test_cut_and_empty_records_are_told(make_file: MakeFile) -> None:
    text = lines(record(0), record(1, 0), {"header": {"id": "0x1"}})
    out = READER.read(make_file(text + lines(record(2))[:-30] + "\n" + lines(record(3))))
    assert [t.seq for t in out.timings] == [0, 3]
    assert [r.line for r in out.rejected] == [2, 3, 4]


def test_others_are_not_taken(make_file: MakeFile) -> None:
    for content in ("", "{}", b"\0" * 100, '{"header":' * 50_000, "[" * 100_000):
        file = make_file(content)
        assert READER.score(file) == 0
        assert READER.read(file).understood == 0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=30))
def test_rendered_records_read_back(durations: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_text(lines(*(record(n, micros) for n, micros in enumerate(durations))))
        out = READER.read(SourceFile(path, "x"))
    assert [t.duration_us for t in out.timings] == durations
    assert not out.unknown


def test_log_of_the_summary_script(make_file: MakeFile) -> None:
    text = (
        "2030-01-02 03:04:05,678 - INFO - Created parquet file /x/a.parquet with 12 records\n"
        "2030-01-02 03:04:05,679 - INFO - Generating summary for /x, hca-only and AllReduce\n"
        "2030-01-02 03:04:05,680 - WARNING - nothing to do\n"
    )
    reader = InspectorLogReader()
    file = make_file(text)
    assert reader.score(file) == 90
    out = reader.read(file)
    assert out.understood == 0
    assert out.facts == {
        "parquet_files": 1,
        "records_in_them": 12,
        "summaries": 1,
        "complaints": ["WARNING: nothing to do"],
    }
    assert reader.score(make_file("")) == reader.score(make_file(b"\0")) == 0
