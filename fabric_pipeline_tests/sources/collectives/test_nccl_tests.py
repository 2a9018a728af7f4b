"""The nccl-tests reader: layouts of all releases, launcher tags, several runs, damage."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.collectives.nccl_tests import NcclTestsReader

from .conftest import MakeFile

READER = NcclTestsReader()
HEADER = (
    "#       size         count      type   redop    root     time   algbw   busbw #wrong"
    "     time   algbw   busbw #wrong\n"
)
FOOTER = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 41.5\n"
SETTINGS = "# nThread 1 nGpus 1 minBytes 8 maxBytes 4194304 step: 2(factor) warmup iters: 5\n"


def row(size: int, time_us: float, wrong: str = "0") -> str:
    bandwidth = size / time_us / 1000
    half = f"  {time_us:7.2f}  {bandwidth:6.2f}  {bandwidth * 1.75:6.2f}  {wrong:>5}"
    return f"{size:12d}  {size // 4:12d}  {'float':>8}  {'sum':>6}  {-1:6d}{half}{half}\n"


def device(rank: int, node: str, bus: str = "0000:5d:00") -> str:
    return f"#  Rank {rank:2d} Group  0 Pid {900 + rank:6d} on {node:>10} device  0 [{bus}] GPU model X\n"


def test_whole_run_gives_timings_nodes_and_facts(make_file: MakeFile) -> None:
    text = (
        "# Collective test starting: all_gather_perf\n" + SETTINGS + "# Using devices\n"
        + device(0, "alpha1") + device(1, "alpha2") + HEADER
        + row(2097152, 100.0) + row(4194304, 150.0) + FOOTER
    )  # fmt: skip
    file = make_file(text)
    out = READER.read(file)
    assert READER.score(file) == 95
    assert [t.variant for t in out.timings] == ["out_of_place", "in_place"] * 2
    last = out.timings[-1]
    assert (last.op, last.bytes, last.ranks, last.seq, last.line) == (
        "all_gather",
        4194304,
        2,
        1,
        8,
    )
    assert last.duration_us == 150.0
    assert last.busbw_gbs == pytest.approx(48.93, abs=0.01)
    assert out.runs[0].nodes == ["alpha1", "alpha2"]
    assert out.runs[0].run == last.run
    facts = out.facts["runs"][0]
    assert facts["collective"] == "all_gather"
    assert facts["avg_busbw_gbs"] == 41.5
    assert facts["busbw_gbs_at_largest"] == {"out_of_place": 48.93, "in_place": 48.93}
    assert not out.rejected
    assert not out.unknown


@pytest.mark.parametrize(
    "prefix",
    [
        "[1,0]<stdout>:",
        " 0: ",
        "[7] ",
        "worker-0: ",
        "\x1b[32mhost1\x1b[0m | ",
        "2031-02-03T04:05:06.7Z ",
    ],
)
def test_launcher_prefixes(make_file: MakeFile, prefix: str) -> None:
    text = "".join(prefix + line + "\r\n" for line in (HEADER + row(8192, 12.0)).splitlines())
    out = READER.read(make_file(text))
    assert [t.bytes for t in out.timings] == [8192, 8192]
    assert not out.rejected


def test_rank_tags_inside_rows(make_file: MakeFile) -> None:
    line = row(67108864, 24000.0).replace("-1", "-1[0]").replace("67108864", "671[0]08864")
    out = READER.read(make_file("[0]" + line + "[0]" + row(134217728, 48000.0)))
    assert [t.bytes for t in out.timings] == [67108864] * 2 + [134217728] * 2


def test_older_columns_and_one_variant(make_file: MakeFile) -> None:
    text = (
        "#       size         count      type   redop     time   algbw   busbw  error\n"
        "     1048576        262144     float     sum   104.86   10.00   18.00  1e-06\n"
    )
    out = READER.read(make_file(text))
    assert [(t.variant, t.busbw_gbs) for t in out.timings] == [("out_of_place", 18.0)]
    assert not out.events


def test_first_release_prints_milliseconds(make_file: MakeFile) -> None:
    text = (
        "#      bytes             N    type      op     time  algbw  busbw      res\n"
        "     1048576        262144   float     sum    0.105  10.00  18.00    1e-06\n"
    )
    out = READER.read(make_file(text))
    assert out.timings[0].duration_us == pytest.approx(105.0)


def test_per_iteration_columns(make_file: MakeFile) -> None:
    header = "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw busbw #wrong i_min i_max i_p99 i_cv%\n"
    line = "1048576 262144 float sum -1 100.0 10.49 18.35 0 90 130 120 2.1 110.0 9.53 16.68 0 91 131 121 2.2\n"
    out = READER.read(make_file(header + line))
    assert [t.duration_us for t in out.timings] == [100.0, 110.0]


def test_rows_without_header_and_reduction(make_file: MakeFile) -> None:
    text = "1048576 262144 float none -1 100.0 10.49 18.35 N/A 110.0 9.53 16.68 N/A\n" * 2
    file = make_file(text)
    assert READER.score(file) == 80
    assert len(READER.read(file).timings) == 4


def test_several_runs_in_one_file(make_file: MakeFile) -> None:
    out = READER.read(make_file((HEADER + row(4096, 9.0) + FOOTER) * 2))
    assert len({t.run for t in out.timings}) == 2
    repeated = READER.read(make_file(HEADER + row(8192, 9.0) + row(4096, 9.0)))
    assert len(repeated.runs) == 2


def test_wrong_values_and_failed_bounds(make_file: MakeFile) -> None:
    text = HEADER + row(4096, 9.0, wrong="3") + "# Out of bounds values : 6 FAILED\n"
    events = READER.read(make_file(text)).events
    assert [(e.kind, e.severity, e.details["wrong_values"]) for e in events] == [
        ("nccl_wrong_results", "warning", 6)
    ]


def test_warnings_become_watch_events(make_file: MakeFile) -> None:
    text = HEADER + (
        "h1:10:20 [0] transport.cc:33 NCCL WARN Got completion with error 12\n"
        "0: MPICH Slingshot Network Summary: 4 network timeouts\n"
        "0: MPICH Slingshot Network Summary: 0 network timeouts\n"
        "h1: Test NCCL failure common.cu:958 'unhandled system error'\n"
    )
    events = READER.read(make_file(text)).events
    assert [e.kind for e in events] == ["nccl_warning", "nccl_warning", "nccl_test_failed"]
    assert events[1].details["timeouts"] == 4
    assert {e.severity for e in events} == {"watch"}


def test_cut_and_left_out_rows_are_told(make_file: MakeFile) -> None:
    whole = SETTINGS + HEADER + row(8192, 9.0) + "...\n" + row(1048576, 60.0)
    out = READER.read(make_file(whole[:-25] + "\n 12.5 3.2 4.4 0 12.6 3.3 4.5 0\n"))
    assert len(out.timings) == 3
    assert [r.rule for r in out.rejected] == [
        "the row ends before its last column",
        "a result row needs size, count and type before the times",
    ]
    assert {u.what for u in out.unknown} == {"rows of the table", "larger message sizes"}


def test_incomplete_device_list_leaves_ranks_unknown(make_file: MakeFile) -> None:
    out = READER.read(make_file(device(4, "n1") + device(5, "n2") + HEADER + row(8192, 9.0)))
    assert out.timings[0].ranks is None
    assert "ranks of the run" in {u.what for u in out.unknown}


def report(**extra: object) -> dict[str, object]:
    body = {"time": 100.0, "alg_bw": 10.49, "bus_bw": 18.3, "nwrong": "nan"}
    return {"size": 1048576, "count": 262144, "type": "float", "redop": "sum", "out_of_place": body, "in_place": None, **extra}  # fmt: skip


def test_json_report_whole_and_unclosed(make_file: MakeFile) -> None:
    times = {"out_of_place_per_iter": {"per_process_max_times_us": [[90.0, 91.0], [80.0, 82.0]]}}
    value = {
        "args": "./broadcast_perf -J out",
        "config": {"maximum_bytes": 2097152},
        "devices": [
            {"rank": i, "hostname": f"m{i}", "device": 0, "device_info": "G"} for i in (0, 1)
        ],
        "results": [report(**times), report(size=2097152)],
        "out_of_bounds": {"count": 0, "okay": "true"},
        "average_bus_bandwidth": {"bandwidth": 18.3},
    }
    text = json.dumps(value, indent=1)
    file = make_file(text)
    assert READER.score(file) == 95
    out = READER.read(file)
    assert [(t.rank, t.duration_us) for t in out.timings] == [
        (0, 90.5), (1, 81.0), (None, 100.0), (None, 100.0),
    ]  # fmt: skip
    assert out.runs[0].nodes == ["m0", "m1"]
    cut = READER.read(make_file(text[: text.index('"size": 2097152') + 40]))
    assert len(cut.timings) == 3
    assert len(cut.rejected) == 1


def test_others_are_not_taken(make_file: MakeFile) -> None:
    for content in (
        "",
        "\n\n",
        "size count type\n",
        b"\0\1\2" * 500,
        "[" * 200_000,
        "a 1 2 b\n" * 50,
    ):
        file = make_file(content)
        assert READER.score(file) == 0
        assert READER.read(file).understood == 0


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(3, 33).map(lambda power: 2**power),
            st.floats(1.0, 9999.0).map(lambda value: round(value, 2)),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_a_rendered_table_reads_back(rows: list[tuple[int, float]]) -> None:
    text = HEADER + "".join(row(size, time) for size, time in rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_text(text)
        out = READER.read(SourceFile(path, "x"))
    read = [(t.bytes, t.duration_us) for t in out.timings if t.variant == "in_place"]
    assert read == rows
    assert not out.rejected


def test_rows_without_the_reduction_that_their_header_names(make_file: MakeFile) -> None:
    head = "#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error\n"
    text = head + " 1048576 262144 float 50.00 20.97 18.35 N/A 40.00 26.21 22.94 N/A\n"
    result = NcclTestsReader().read(make_file(text))
    assert not result.rejected
    assert [(t.variant, t.duration_us, t.busbw_gbs) for t in result.timings] == [
        ("out_of_place", 50.0, 18.35),
        ("in_place", 40.0, 22.94),
    ]
