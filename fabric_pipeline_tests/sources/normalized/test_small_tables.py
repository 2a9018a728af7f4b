"""Collectives and runs of the normalized drop: rows, refused rows and the forms they come in."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import Reader, SourceFile
from fabric_pipeline.sources.normalized.collectives import CollectivesReader
from fabric_pipeline.sources.normalized.runs import RunsReader
from fabric_pipeline.store.duck import literal, session
from fabric_pipeline.store.parquet_rows import ParquetFile

COLLECTIVES, RUNS = CollectivesReader(), RunsReader()
HEAD = "run,op,duration_us,ts,rank"


def read(path: Path, data: str | bytes, reader: Reader = COLLECTIVES) -> ReadResult:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    file = SourceFile(path, path.name, open_table=ParquetFile)
    assert reader.score(file) >= 95
    return reader.read(file)


def refused(result: ReadResult) -> list[tuple[int | None, str]]:
    return [(one.line, one.rule) for one in result.rejected]


optional = {
    "model": st.none()
    | st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=9),
    "bytes": st.none() | st.integers(0, 2**40),
    "rank": st.none() | st.integers(0, 100_000),
    "arrival_us": st.none() | st.floats(-1e6, 1e9),
    "baseline_us": st.none() | st.floats(0, 1e9),
}
timings = st.fixed_dictionaries(
    {
        "run": st.just("r1"),
        "op": st.just("all_reduce"),
        "duration_us": st.floats(0, 1e12),
        **optional,
    }
)


@given(st.lists(timings, min_size=1, max_size=6))
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_csv_jsonl_and_parquet_read_back_equal(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    columns = list(rows[0])
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([["" if row[c] is None else row[c] for c in columns] for row in rows])
    results = [
        read(tmp_path / "c.csv", text.getvalue()),
        read(tmp_path / "c.jsonl", "".join(json.dumps(row) + "\n" for row in rows)),
        read(tmp_path / "c.parquet", _parquet(tmp_path, columns, rows)),
    ]
    seen = [
        [(t.duration_us, t.model, t.bytes, t.rank, t.arrival_us, t.baseline_us) for t in r.timings]
        for r in results
    ]
    wanted = [
        (
            r["duration_us"],
            (r["model"] or ""),
            r["bytes"],
            r["rank"],
            r["arrival_us"],
            r["baseline_us"],
        )
        for r in rows
    ]
    assert seen == [wanted] * 3
    assert [t.line for t in results[0].timings] == list(range(2, len(rows) + 2))
    assert [t.line for t in results[2].timings] == list(range(1, len(rows) + 1))
    assert not any(result.rejected for result in results)


def _parquet(folder: Path, columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> bytes:
    path = folder / "made.parquet"
    con = session()
    kinds = dict.fromkeys(("run", "op", "model"), "varchar")
    kinds |= dict.fromkeys(("bytes", "rank"), "bigint")
    ddl = ", ".join(f"{name} {kinds.get(name, 'double')}" for name in columns)
    con.execute(f"create temp table made ({ddl})")
    marks = ", ".join("?" for _ in columns)
    con.executemany(f"insert into made values ({marks})", [[r[c] for c in columns] for r in rows])
    con.execute(f"copy made to {literal(str(path))} (format parquet)")
    con.close()
    return path.read_bytes()


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("r1,all_reduce,800,2026-11-20T08:00:00Z", "row has 4 fields, the header has 5"),
        ("r1,all_reduce,800,2026-11-20T08:00:00Z,1,2", "row has 6 fields, the header has 5"),
        ('r1,"all_reduce,800,,', "quotes in this line do not pair up"),
        ("r1,all_reduce,,,", "row has no duration_us"),
        ("r1,all_reduce,-5,,", "duration_us -5 is negative"),
        ("r1,all_reduce,1e999,,", "duration_us '1e999' is not a finite number"),
        ("r1,all_reduce,1e300,,", "duration_us '1e300' is larger than a 64-bit counter can be"),
        ("r1,all_reduce,800,,-1", "rank '-1' is negative or too large"),
        ("r1,all_reduce,800,1763625600,", "time '1763625600' is not ISO 8601 (such as 2026-11-20T08:00:00Z)"),
        ("r1,all_\0reduce,800,,", "line has control characters (NUL or a lone carriage return)"),
        ("r1,all_\rreduce,800,,", "line has control characters (NUL or a lone carriage return)"),
        ("x" * 1_000_001, "line has 1000001 characters, more than the 100000 a row may have"),
    ],
)  # fmt: skip
def test_a_bad_row_is_refused_on_its_line(tmp_path: Path, line: str, rule: str) -> None:
    good = "r1,all_reduce,800,2026-11-20T08:00:00Z,1"
    result = read(tmp_path / "c.csv", f"{HEAD}\n{good}\n\n{line}\n{good}\n")
    assert refused(result) == [(4, rule)]
    assert [timing.line for timing in result.timings] == [2, 5]


def test_bytes_of_another_encoding_cost_their_line_only(tmp_path: Path) -> None:
    rows = [HEAD, "r1,all_reduce,800,,1", "jürgen,all_reduce,800,,1", "r1,all_reduce,800,,1"]
    result = read(tmp_path / "c.csv", "\n".join(rows).encode("latin-1"))
    assert refused(result) == [(3, "line has bytes that are not UTF-8; save the file as UTF-8")]
    assert len(result.timings) == 2
    utf16 = read(tmp_path / "d.csv", "\r\n".join(rows).encode("utf-16"))
    assert [timing.run for timing in utf16.timings] == ["r1", "jürgen", "r1"]


def test_a_header_that_cannot_be_used(tmp_path: Path) -> None:
    """The first row is never taken for a header in place of a bad one."""
    row = "r1,all_reduce,800,,1,2"
    result = read(tmp_path / "c.csv", f"{HEAD},rank\n{row}\n{row}\n")
    assert refused(result) == [
        (1, "the header names the column 'rank' twice; rename one"),
        (2, "the header of this file cannot be used"),
        (3, "the header of this file cannot be used"),
    ]
    odd = read(tmp_path / "d.csv", f"{HEAD},caf\xe9\n{row}\n".encode("latin-1"))
    assert [timing.line for timing in odd.timings] == [2]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ('{"run": "r1", "op": "x", "duration_us": 5', "line is not one JSON object"),
        ("[1, 2]", "line is not one JSON object"),
        ("[" * 90_000, "line is not one JSON object"),
        ('{"run": "r1", "op": "x", "duration_us": 5, "run": "r2"}', "key 'run' stands twice"),
        (
            '{"run": "r1", "op": "x", "duration_us": NaN}',
            "duration_us 'nan' is not a finite number",
        ),
        ('{"run": "r1", "op": "x", "duration_us": [1]}', "duration_us '[1]' is not a number"),
        (f'{{"run": "r1", "op": "x", "duration_us": {"9" * 5000}}}', "line is not one JSON object"),
    ],
)
def test_a_bad_json_line_is_refused(tmp_path: Path, line: str, rule: str) -> None:
    good = '{"run": "r1", "op": "x", "duration_us": 5}'
    result = read(tmp_path / "c.jsonl", f"{good}\n{line}\n{good}")
    assert refused(result) == [(2, rule)]
    assert [timing.line for timing in result.timings] == [1, 3]


def test_a_rotated_file_begins_in_the_middle_of_a_line(tmp_path: Path) -> None:
    good = '{"run": "r1", "op": "x", "duration_us": 5}'
    for first in ('duration_us": 5}', '{"run": "r1", "op"'):
        result = read(tmp_path / "c.jsonl", f"{first}\n{good}\n")
        assert refused(result) == [(1, "line is not one JSON object")]
        assert [timing.line for timing in result.timings] == [2]


def test_a_cut_parquet_file_is_one_refusal(tmp_path: Path) -> None:
    rows = [{"run": "r1", "op": "x", "duration_us": 5.0}] * 3
    whole = _parquet(tmp_path, list(rows[0]), rows)
    path = tmp_path / "cut.parquet"
    path.write_bytes(whole[:-4])
    for file, words in (
        (SourceFile(path, "cut", open_table=ParquetFile), "not readable as Parquet"),
        (SourceFile(path, "cut"), "nothing that opens Parquet"),
    ):
        result = COLLECTIVES.read(file)
        assert result.timings == []
        assert [words in one.rule for one in result.rejected] == [True]


def test_runs_with_their_nodes_and_steps(tmp_path: Path) -> None:
    text = """run,nodes,start,end,step_time_ms,baseline_step_time_ms
r1,"n1; n2 n3",2026-11-20T08:00:00Z,2026-11-20T09:00:00Z,340.5,180
r2,"['n4', ""n5""]",,,,
,n6,,,,
r3,n7,2026-11-20T09:00:00Z,2026-11-20T08:00:00Z,,
r4,n8,,,-3,
"""
    result = read(tmp_path / "runs.csv", text, RUNS)
    assert [(run.run, run.nodes) for run in result.runs] == [
        ("r1", ["n1", "n2", "n3"]), ("r2", ["n4", "n5"])
    ]  # fmt: skip
    assert [(t.duration_us, t.baseline_us, t.unit_kind) for t in result.timings] == [
        (340_500, 180_000, "step")
    ]
    assert refused(result) == [
        (4, "row has no run"),
        (5, "the run ends before it starts"),
        (6, "step_time_ms -3 is negative"),
    ]
    lines = '{"run": "r1", "nodes": ["n1", "n2"], "model": "olm"}\n{"run": "r2", "nodes": null}\n'
    other = read(tmp_path / "runs.jsonl", lines, RUNS)
    assert [(run.nodes, run.model) for run in other.runs] == [(["n1", "n2"], "olm"), ([], "")]


@pytest.mark.parametrize("data", [b"", b"\n\n", b"run,op\nr1,x\n", b"\0\1\2", b"[]", b'"run"\n'])
def test_what_is_no_table_of_ours(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    assert [reader.score(SourceFile(path, "file")) for reader in (COLLECTIVES, RUNS)] == [0, 0]
