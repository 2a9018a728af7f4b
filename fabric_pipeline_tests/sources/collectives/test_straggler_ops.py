"""Operator traces in Parquet: shape, limits, damaged files, and what the sweep rules make of them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.detect.sweeps.evaluate import judge_sweeps
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.collectives import straggler_ops
from fabric_pipeline.sources.collectives.straggler_ops import StragglerOpsReader
from fabric_pipeline.sources.normalized.counters import CountersReader
from fabric_pipeline.store.duck import session
from fabric_pipeline.store.parquet_rows import ParquetFile

from .conftest import MakeFile

OPS = StragglerOpsReader()
Row = dict[str, Any]
SECONDS = {"forward-compute": 0.2, "backward-compute": 0.4, "optimizer": 0.02, "forward-send": 0.001, "grads-reduce-scatter": 0.05}  # fmt: skip


def op(rank: int, name: str, seconds: float | None, step: int = 1, **more: Any) -> Row:
    row = {"dp_rank": rank % 4, "stage": rank // 4, "rank": rank, "step": step, "optype": name}
    return {**row, "start_ts": 2.5 * step, "duration": seconds, "mc": 0, **more}


def job(factor: Callable[[int, str], float], ranks: int = 8, steps: int = 12) -> list[Row]:
    return [
        op(rank, name, seconds * factor(rank, name), step)
        for step in range(steps)
        for rank in range(ranks)
        for name, seconds in SECONDS.items()
    ]


def parquet(rows: list[Row]) -> bytes:
    """The rows as a Parquet file, written by DuckDB."""
    with tempfile.TemporaryDirectory() as folder, closing(session()) as con:
        source, target = Path(folder) / "rows.json", Path(folder) / "rows.parquet"
        source.write_text(json.dumps(rows), encoding="utf-8")
        types = ", ".join(f"'{name}': '{_TYPES[name]}'" for name in rows[0])
        con.execute(
            f"copy (select * from read_json('{source}', format='array', columns={{{types}}})) to '{target}' (format parquet)"
        )
        return target.read_bytes()


_TYPES = {
    "dp_rank": "bigint", "stage": "bigint", "rank": "bigint", "step": "bigint", "optype": "varchar", "start_ts": "double",
    "duration": "double", "mc": "bigint", "node": "varchar", "link_type": "varchar", "crc": "bigint",
}  # fmt: skip


@pytest.fixture
def make_file(make_file: MakeFile) -> MakeFile:
    """Files with DuckDB at hand, as the ingest step provides it."""

    def make(content: str | bytes) -> SourceFile:
        return replace(make_file(content), open_table=ParquetFile)

    return make


def test_rows_become_timings(make_file: MakeFile) -> None:
    rows = [
        op(0, "forward-compute", 0.25, step=3),
        op(5, "grads-reduce-scatter", 0.5, step=4),
        op(5, "forward-compute", 0.125, step=4, mc=1),
        op(1, "gc", 0.0),
        op(1, "optimizer-clip-main-grad", 0.75, mc=-1),
    ]
    file = make_file(parquet(rows))
    assert OPS.score(file) >= 90
    out = OPS.read(file)
    shown = [(t.line, t.op, t.duration_us, t.rank, t.seq, t.variant, t.unit_kind) for t in out.timings]  # fmt: skip
    assert shown == [
        (1, "forward-compute", 250_000.0, 0, 3, "stage 0", "compute"),
        (2, "grads-reduce-scatter", 500_000.0, 5, 4, "stage 1", "collective"),
        (3, "forward-compute", 125_000.0, 5, 4, "stage 1, chunk 1", "compute"),
        (5, "optimizer-clip-main-grad", 750_000.0, 1, 1, "stage 0", "collective"),
    ]
    assert {t.ranks for t in out.timings} == {3}
    assert len({t.run for t in out.timings}) == 1
    assert all(t.start is None for t in out.timings)
    assert out.facts["operations_without_duration"] == 1
    assert not out.rejected


def test_rank_of_the_data_group_where_no_other_is_stated(make_file: MakeFile) -> None:
    rows = [{k: v for k, v in op(6, "optimizer", 0.1).items() if k != "rank"}]
    (timing,) = OPS.read(make_file(parquet(rows))).timings
    assert timing.rank == 2


def test_a_slow_worker_is_a_device_and_no_link(make_file: MakeFile) -> None:
    slow = parquet(job(lambda rank, name: 2.5 if rank == 0 and "comp" in name else 1.0))
    findings = judge_sweeps(OPS.read(make_file(slow)).timings).findings
    (finding,) = [f for f in findings if f.accuses]
    assert (finding.kind, finding.is_link, finding.numbers["rank"]) == ("slow_compute", False, 0)
    assert "1.000 s for backward-compute where its equals need 0.400 s" in finding.reason
    even = parquet(job(lambda rank, _name: 1.0 + rank / 1000))
    assert not judge_sweeps(OPS.read(make_file(even)).timings).findings


def test_an_uneven_stage_is_no_slow_worker(make_file: MakeFile) -> None:
    rows = parquet(job(lambda rank, name: 2.0 if rank >= 8 and "comp" in name else 1.0, ranks=12))
    (finding,) = judge_sweeps(OPS.read(make_file(rows)).timings).findings
    assert (finding.kind, finding.is_link) == ("uneven_stage", False)
    assert "stage 2" in finding.reason


def test_rows_that_cannot_be_read(make_file: MakeFile) -> None:
    bad = [op(0, "gc", None), op(0, "gc", -1.0), op(0, "gc", -2.0), op(0, "", 1.0)]
    out = OPS.read(make_file(parquet([op(0, "gc", 1.0), *bad, op(1, "gc", 1.0)])))
    assert [t.line for t in out.timings] == [1, 6]
    assert [r.line for r in out.rejected] == [2, 3, 4, 5]
    assert "'duration': None" in out.rejected[0].text


def test_limits(make_file: MakeFile, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [op(0, "gc", 1.0)] * 10 + [op(0, "gc", -1.0)] * 10
    file = make_file(parquet(rows))
    monkeypatch.setattr(straggler_ops, "_MAX_REFUSED", 3)
    out = OPS.read(file)
    assert (len(out.timings), len(out.rejected), out.facts["refused_rows"]) == (10, 3, 10)
    monkeypatch.setattr(straggler_ops, "MAX_ROWS", 7)
    out = OPS.read(file)
    assert len(out.timings) == 7
    assert "more than the 7 rows" in out.unknown[0].reason


def test_a_cut_file_says_so(make_file: MakeFile) -> None:
    whole = parquet(job(lambda *_: 1.0))
    cut = make_file(whole[: len(whole) // 2])
    assert OPS.score(cut) == 0
    assert "cannot be read as Parquet" in OPS.read(cut).unknown[0].reason


def test_without_an_engine_the_reader_says_so(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(parquet([op(0, "gc", 1.0)]))
    assert "nothing that opens Parquet" in OPS.read(SourceFile(path, path.name)).unknown[0].reason


@pytest.mark.parametrize("missing", ["optype", "duration"])
def test_missing_columns(make_file: MakeFile, missing: str) -> None:
    row = {k: v for k, v in op(0, "gc", 1.0).items() if k != missing}
    file = make_file(parquet([row]))
    assert OPS.score(file) == 0
    assert missing in OPS.read(file).unknown[0].reason


@pytest.mark.parametrize("content", [b"", b"PAR1", b"\x00" * 500, b"PAR1" * 1000, b"optype,duration\n" * 9])  # fmt: skip
def test_other_content(make_file: MakeFile, content: bytes) -> None:
    file = make_file(content)
    assert OPS.score(file) == 0
    out = OPS.read(file)
    assert not out.timings
    assert out.unknown


def test_other_parquet_is_left_to_its_reader(make_file: MakeFile) -> None:
    counters = make_file(parquet([{"node": "n1", "link_type": "nvlink", "crc": 1}]))
    assert OPS.score(counters) == 0
    assert CountersReader().score(counters) > 0
    assert CountersReader().score(make_file(parquet([op(0, "gc", 1.0)]))) == 0


@given(st.lists(st.tuples(st.integers(0, 7), st.floats(1e-6, 1e4), st.integers(0, 999)), min_size=1, max_size=20))  # fmt: skip
@settings(max_examples=40)
def test_written_durations_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, float, int]]
) -> None:
    path = tmp_path_factory.mktemp("ops") / "capture"
    path.write_bytes(parquet([op(rank, "gemm", seconds, step) for rank, seconds, step in rows]))
    timings = OPS.read(SourceFile(path, path.name, open_table=ParquetFile)).timings
    assert [(t.rank, t.duration_us, t.seq) for t in timings] == [
        (rank, seconds * 1e6, step) for rank, seconds, step in rows
    ]
