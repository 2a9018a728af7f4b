"""The pair-table reader: separators, units, remarks, rows without a number."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.collectives.pair_table import PairTableReader

from .conftest import MakeFile

READER = PairTableReader()


def test_pairs_remarks_and_unmeasured(make_file: MakeFile) -> None:
    file = make_file("# a note\nx1,y2   48.5  # other rack\nx1,z-3   90\n\ny2,z-3  N/A\nx1 y2\n")
    assert READER.score(file) == 80
    out = READER.read(file)
    assert [(t.communicator, t.busbw_gbs, t.variant, t.line) for t in out.timings] == [
        ("x1,y2", 48.5, "other rack", 2),
        ("x1,z-3", 90.0, "", 3),
    ]
    assert all(math.isnan(t.duration_us) and t.unit_kind == "bandwidth" for t in out.timings)
    assert out.runs[0].nodes == ["x1", "y2", "z-3"]
    assert [u.what for u in out.unknown] == ["bandwidth between y2 and z-3"]
    assert [r.line for r in out.rejected] == [6]


@pytest.mark.parametrize(
    "text",
    [
        "a1 <-> b1: 25.0 GB/s\na1 <-> c1: 25.0 GB/s\n",
        "a1 -> b1 200 Gbps\na1 -> c1 200 Gbps\n",
        "a1;b1;25\na1;c1;25\n",
    ],
)
def test_separators_and_units(make_file: MakeFile, text: str) -> None:
    file = make_file(text)
    assert READER.score(file) == 80
    assert [t.busbw_gbs for t in READER.read(file).timings] == [25.0, 25.0]


def test_others_are_not_taken(make_file: MakeFile) -> None:
    for content in ("", "a,b 1\n", "alpha beta 3\ngamma delta 4\n", b"\0" * 100, "a,b," * 300_000):
        assert READER.score(make_file(content)) == 0


NAMES = st.from_regex(r"[a-z]{1,6}[0-9]{1,4}", fullmatch=True)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(NAMES, NAMES, st.integers(1, 99999)), min_size=2, max_size=20))
def test_a_rendered_table_reads_back(pairs: list[tuple[str, str, int]]) -> None:
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_text("".join(f"{a},{b}  {value / 100}\n" for a, b, value in pairs))
        out = READER.read(SourceFile(path, "x"))
    assert [(t.communicator, t.busbw_gbs) for t in out.timings] == [
        (f"{a},{b}", value / 100) for a, b, value in pairs
    ]
