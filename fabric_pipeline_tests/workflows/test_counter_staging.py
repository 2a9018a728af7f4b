"""Large counters files are staged in pieces and by columns: the same rows as line by line and at once."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fabric_pipeline.workflows import counter_staging
from fabric_pipeline_tests.workflows.readout import Row, read_files

LONG = "ts,node,link_type,link,gpu,counter,value,remark"
WIDE = "node,link_type,link,gpu,crc_flit,replay"
GOOD = "2026-11-20T08:00:00Z,n1,nvlink,nvlink-3,1,crc_flit,7,"
SHORT_OF_ONE = GOOD[:-1]
ONE_TOO_MANY = GOOD + ","
CSV_LINES = (
    GOOD,
    GOOD.replace("7", "8"),
    SHORT_OF_ONE,
    ONE_TOO_MANY,
    "",
    "   ",
    '2026-11-20T08:00:00Z,"n1",nvlink,nvlink-3,1,crc_flit,9,"a,b"',
    'broken "quote,n1,nvlink,nvlink-3,1,crc_flit,7,',
    ",,,,,,,",
    "2026-11-20T08:00:00Z,n2,nvlink,nvlink-4,2,replay,N/A,ü",
    "bar\r,n1,nvlink,nvlink-3,1,crc_flit,7,",
    "n3,nvlink,nvlink-1,0,5,",
    "n3,nvlink,nvlink-1,0,,6",
)
JSON_LINES = (
    '{"ts":"2026-11-20T08:00:00Z","node":"n1","link_type":"nvlink","link":"nvlink-3","gpu":1,"counter":"replay","value":4}',
    '{"node":"n1","link_type":"nvlink","link":"nvlink-3","gpu":1,"crc_flit":5,"replay":null}',
    '{"node":"n1","link_type":"nvlink","link":"nvlink-3","gpu":1,"counter":null,"value":3}',
    '{"node":"n1","node":"n2","link_type":"nvlink","link":"nvlink-3","crc_flit":5}',
    "{cut",
    "",
)


def rows_of(text: str, piece: int, *, by_columns: bool = True) -> list[str]:
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(counter_staging, "_PIECE", piece)
        if not by_columns:
            patch.setattr(counter_staging._Pieces, "_is_even", lambda *_: False)
        readout = read_files(Path(folder), {"counters": text})
    assert readout.balances
    assert not readout.violations
    return sorted(map(plain, readout.rows("raw_telemetry")))


def plain(row: Row) -> str:
    return str({key: row[key] for key in row if key not in ("drop", "entry", "file_sha256")})


@settings(max_examples=8, deadline=None)
@given(
    header=st.sampled_from([LONG, WIDE]),
    lines=st.lists(st.sampled_from(CSV_LINES[:2]) | st.sampled_from(CSV_LINES), max_size=12),
    piece=st.sampled_from([1, 90, 1 << 20]),
    end=st.sampled_from(["\n", "\r\n"]),
)
@example(header=LONG, lines=[GOOD, SHORT_OF_ONE, ONE_TOO_MANY], piece=1 << 20, end="\n")
@example(header=LONG, lines=[SHORT_OF_ONE, ONE_TOO_MANY, GOOD], piece=1 << 20, end="\n")
def test_csv_in_pieces_equals_csv_at_once(
    header: str, lines: list[str], piece: int, end: str
) -> None:
    text = end.join([header, GOOD, *lines]) + end
    assert rows_of(text, piece) == rows_of(text, 1 << 20, by_columns=False)


@settings(max_examples=5, deadline=None)
@given(st.lists(st.sampled_from(JSON_LINES), max_size=8), st.sampled_from([1, 200]))
def test_jsonl_in_pieces_equals_jsonl_at_once(lines: list[str], piece: int) -> None:
    text = "\n".join([JSON_LINES[0], *lines])
    assert rows_of(text, piece) == rows_of(text, 1 << 20)


def test_line_numbers_run_through_all_pieces() -> None:
    text = "\n".join([LONG, *[GOOD] * 5, "", SHORT_OF_ONE, GOOD])
    told = [row.partition("'line': ")[2].partition(",")[0] for row in rows_of(text, 60)]
    assert sorted(told) == ["2", "3", "4", "5", "6", "8", "9"]
