"""The readers of DL_COMM logs and of injection tests: tables, tabs, damaged rows."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.collectives.dlcomm import DlcommReader
from fabric_pipeline.sources.collectives.injection import InjectionReader

from .conftest import MakeFile

DLCOMM = DlcommReader()
INJECTION = InjectionReader()
FRAME = "2031-01-02 03:04:05.678 - DL_COMM - OUTPUT - "


def table(*rows: str, frame: str = FRAME) -> str:
    body = [
        "[TASK 1/2] ==================== REDUCE-RUN ====================",
        "[CONFIG] Buffer Size          : 4KB (4096 bytes)",
        "[COMM][GROUP CREATION][Across Group-0] Ranks: [0, 4, 8], Device ID: 2, Logging: rank 0",
        "[TIMERS] ITERATION TABLE FOR REDUCE (seconds):",
        "Iteration     (Across-Group-0)    (Across-Group-1)  ",
        "              LOGGING RANK - 0    LOGGING RANK - 1  ",
        "-" * 40,
        *rows,
        "-" * 40,
        "[BANDWIDTH] BANDWIDTH TABLE FOR REDUCE (bytes/seconds):",
        "Iteration     (Across-Group-0)    (Across-Group-1)  ",
        "0                 4096000            2048000      ",
        "-" * 40,
    ]
    return "".join(frame + line + "\n" for line in body)


@pytest.mark.parametrize("frame", [FRAME, ""])
def test_iteration_table(make_file: MakeFile, frame: str) -> None:
    file = make_file(table("0     0.001   0.002 ", "1    0.003    0.004", frame=frame))
    assert DLCOMM.score(file) == (95 if frame else 85)
    out = DLCOMM.read(file)
    assert [(t.seq, t.communicator, t.duration_us, t.rank) for t in out.timings] == [
        (0, "Across-Group-0", 1000.0, 0),
        (0, "Across-Group-1", 2000.0, 1),
        (1, "Across-Group-0", 3000.0, 0),
        (1, "Across-Group-1", 4000.0, 1),
    ]
    first = out.timings[0]
    assert (first.op, first.bytes, first.ranks, first.gpu, first.line) == ("reduce", 4096, 3, 2, 8)
    assert [t["kind"] for t in out.facts["tables"]] == ["times", "bandwidth"]


def test_damaged_and_missing_rows(make_file: MakeFile) -> None:
    out = DLCOMM.read(make_file(table("0     0.001   0.002 ", "1    0.003")))
    assert len(out.timings) == 2
    assert [r.line for r in out.rejected] == [9]
    empty = DLCOMM.read(make_file(table()[:600]))
    assert [u.what for u in empty.unknown] == ["times of reduce"]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 10**7), min_size=1, max_size=12))
def test_a_rendered_table_reads_back(micros: list[int]) -> None:
    rows = [f"{n}       {value / 1e6:.6f}      0.000500" for n, value in enumerate(micros)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_text(table(*rows))
        out = DLCOMM.read(SourceFile(path, "x"))
    read = [t.duration_us for t in out.timings if t.communicator == "Across-Group-0"]
    assert read == pytest.approx(micros)


def test_injection_and_bisection(make_file: MakeFile) -> None:
    text = (
        "GLOBAL injection (one-way)       = 40.5 GB/s\n"
        "Rank\t0\tinjection\t(one-way\tsend\tonly)\t=\t5\t    GB/s\t\n"
        "Rank\t1\tinjection\t(one-way\tsend\tonly)\t=\t5.25\tGB/s\n"
        "Rank\t1\tbisection\t(two-way\twith\tpartner\t3)\t=\t900\tMB/s\n"
        "Rank\t2\tinjection\t(one-way\tsend\tonly)\t=\n"
        "msg_size=4096 bytes, niters=3\n"
        "[Node aggregate injection] = 20.5 GB/s\n"
    )
    file = make_file(text)
    assert INJECTION.score(file) == 90
    out = INJECTION.read(file)
    assert [(t.rank, t.busbw_gbs, t.communicator, t.bytes) for t in out.timings] == [
        (0, 5.0, "world", 4096),
        (1, 5.25, "world", 4096),
        (1, 0.9, "1,3", 4096),
    ]
    assert math.isnan(out.timings[0].duration_us)
    assert [r.line for r in out.rejected] == [5]
    assert out.facts["sums"]["Node aggregate injection"] == ["20.5 GB/s"]


def test_others_are_not_taken(make_file: MakeFile) -> None:
    for content in ("", "Rank 0 is up\n", b"\0\0", "Rank 1 injection " * 50_000):
        file = make_file(content)
        assert DLCOMM.score(file) == INJECTION.score(file) == 0
        assert DLCOMM.read(file).understood == INJECTION.read(file).understood == 0
