"""Evidence is quoted as it stands in the file, cut to what matters, with nothing invisible in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.model.findings import EvidenceRef, Finding
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.store.duck import session
from fabric_pipeline.workflows.inspect import Told, examine
from fabric_pipeline.workflows.inspect_quotes import quotes_of, window
from fabric_pipeline_tests.workflows.readout import READ_AT, write

ERRORS = (
    "GPU 2: Some Card (UUID: GPU-1)\n\t Link 3: Replay Errors: 90000\n\t Link 4: Replay Errors: 0\n"
)


def cause(*paths: Path) -> Told:
    seen = examine(list(paths), READ_AT)
    return next(one for one in seen.told if one.finding.accuses)


def test_a_line_is_quoted_with_its_place(tmp_path: Path) -> None:
    write(tmp_path, {"e.txt": ERRORS})
    quote = cause(tmp_path / "e.txt").quotes[0]
    assert (quote.path, quote.line) == (f"{tmp_path}/e.txt", 2)
    assert quote.text == "Link 3: Replay Errors: 90000"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_lines_of_other_encodings(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "e.txt").write_bytes(ERRORS.replace("\n", "\r\n").encode(encoding))
    assert cause(tmp_path / "e.txt").quotes[0].text == "Link 3: Replay Errors: 90000"


def test_a_hostile_line_is_shown_as_data(tmp_path: Path) -> None:
    line = "Link 3: Replay Errors: 90000 \x1b[2J\u202e\x07"
    write(tmp_path, {"e.txt": ERRORS.replace("Link 3: Replay Errors: 90000", line)})
    seen = examine([tmp_path / "e.txt"], READ_AT)
    for quote in (quote for told in seen.told for quote in told.quotes):
        assert quote.text.isprintable()


def test_a_column_of_a_table_is_named(tmp_path: Path) -> None:
    head = "ts,node,gpu,link_type,link,lane,crc_single_bit,crc_multi_bit,replay,recovery,tx_bytes\n"
    rows = [
        f"2026-11-20T07:{minute:02}:00Z,n1,2,nvlink,gpu2/nvlink-3,1,0,{minute * 4321},{minute * 9000},0,777\n"
        for minute in range(40)
    ]
    write(tmp_path, {"c.csv": head + "".join(rows)})
    quote = cause(tmp_path / "c.csv").quotes[0]
    assert quote.means.split(" ")[0] in ("replay", "crc_multi_bit")
    assert quote.text[quote.focus :].startswith(quote.means.split(" ")[1])


def test_a_line_of_an_archive_is_quoted_after_the_archive_is_gone(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        archive.writestr("gpu-n07/e.txt", ERRORS)
    quote = cause(tmp_path / "c.zip").quotes[0]
    assert quote.path.endswith("c.zip!gpu-n07/e.txt")
    assert quote.text == "Link 3: Replay Errors: 90000"


def test_a_brace_is_no_quotation(tmp_path: Path) -> None:
    capture = {"/sys/class/infiniband/mlx5_0/ports/1/state": "1: DOWN"}
    ref = EvidenceRef(str(tmp_path / "c.json"), 1, excerpt="state: 1: DOWN")
    finding = Finding("n1:mlx5_0/1", "link_down", "critical", "cause", "Down.", [ref])
    write(tmp_path, {"c.json": json.dumps(capture, indent=1)})
    connection = session()
    try:
        for table in ("fabric_events", "raw_telemetry"):
            connection.execute(f"create temp table {table} as {TABLES[table].empty_sql()}")
        ((quote,),) = quotes_of(connection, [finding], {ref.file: Path(ref.file)}, 3)
    finally:
        connection.close()
    assert (quote.line, quote.text) == (1, "state: 1: DOWN")


@given(st.text(max_size=200), st.integers(0, 199), st.integers(5, 60))
def test_a_window_keeps_what_matters_and_fits(line: str, place: int, room: int) -> None:
    focus = min(place, max(0, len(line) - 1))
    shown, now = window(line, focus, room)
    assert len(shown) <= room
    if len(line) <= room:
        assert (shown, now) == (line, focus)
    elif 0 < now < room - 1:
        assert shown[now] == line[focus]
    assert 0 <= now <= max(0, len(shown) - 1)
