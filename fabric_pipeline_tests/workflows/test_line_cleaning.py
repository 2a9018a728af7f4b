"""The clean copy of a text file: as many lines as before, marks in place of what no row can hold."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.normalized.counters_sql import (
    BAD_BYTES,
    CONTROL,
    OVERLONG,
    lines_sql,
)
from fabric_pipeline.store.duck import glob_safe, session
from fabric_pipeline.workflows import line_cleaning
from fabric_pipeline.workflows.line_cleaning import clean_copy

CONNECTION = session()
PIECES = [
    b"a,b",
    b"\n",
    b"\r\n",
    b"\r",
    b"\0",
    b"\x1f",
    b"\xff",
    b"\xef\xbb\xbf",
    b'"',
    b" ",
    "é\u2028".encode(),
    b"xxxx",
]


def scanned(path: Path) -> list[str]:
    """Lines as DuckDB hands them out, blank ones as ""."""
    with clean_copy(path) as clean:
        sql = f"select line, line_text from ({lines_sql()}) order by line"
        rows = CONNECTION.execute(sql, [glob_safe(str(clean))]).fetchall()
    assert [line for line, _ in rows] == list(range(1, len(rows) + 1))
    return [text or "" for _, text in rows]


@given(st.lists(st.sampled_from(PIECES), max_size=14).map(b"".join))
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_lines_are_those_that_readers_see(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "file.csv"
    path.write_bytes(data)
    marks = str.maketrans({"\0": CONTROL, "\r": CONTROL, "\x1f": CONTROL})
    wanted = [line.rstrip("\r").translate(marks) for line in SourceFile(path, "f").lines]
    wanted[:1] = [line.lstrip("\ufeff") for line in wanted[:1]]
    while wanted and not wanted[-1]:  # whether blank lines follow the last line changes no number
        wanted.pop()
    found = scanned(path)
    assert found[: len(wanted)] == wanted
    assert not any(found[len(wanted) :])


def test_a_clean_file_is_taken_as_it_is(tmp_path: Path) -> None:
    for number, data in enumerate((b"a\nb\n", b"a\r\nb\r\n", "é\n".encode(), b"", b"\n")):
        path = tmp_path / f"{number}[1]*.csv"
        path.write_bytes(data)
        with clean_copy(path) as clean:
            assert clean == path
        assert scanned(path) == data.decode().splitlines()


@pytest.mark.parametrize("chunk", [7, 64, 1 << 22])
def test_line_ends_across_the_pieces_that_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(line_cleaning, "_CHUNK", chunk)
    path = tmp_path / "file.csv"
    path.write_bytes(b"ab,cde\r\n" * 40)
    with clean_copy(path) as clean:
        assert clean == path
    path.write_bytes(b"ab,cde\r\n" * 40 + b"x\ry\r\n")
    assert scanned(path) == ["ab,cde"] * 40 + [f"x{CONTROL}y"]
    path.write_bytes("aé\n".encode() * 40)
    assert scanned(path) == ["aé"] * 40


def test_overlong_lines_are_cut_and_told(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_bytes(
        b"a\n" + b"x" * 1_000_001 + b"\nb\n" + b"y" * 999_999 + b"\n" + b"z" * 3_000_000
    )
    lines = scanned(path)
    assert [len(line) for line in lines] == [1, 2001, 1, 999_999, 2001]
    assert [line[-1] for line in lines] == ["a", OVERLONG, "b", "y", OVERLONG]


def test_long_lines_are_found_in_time(tmp_path: Path) -> None:
    """Lines just below the limit: looking for longer ones is linear."""
    path = tmp_path / "file.csv"
    path.write_bytes((b"x" * 999_999 + b"\n") * 12)
    start = time.monotonic()
    with clean_copy(path) as clean:
        assert clean == path
    assert time.monotonic() - start < 30


def test_utf_16_and_foreign_bytes(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_bytes("a\r\n\r\nü\U0001f525\r\n".encode("utf-16"))
    assert scanned(path) == ["a", "", "ü\U0001f525"]
    path.write_bytes(b"a\nfa\xe7ade\nb")
    assert scanned(path) == ["a", f"fa{BAD_BYTES}ade", "b"]


def test_the_copy_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_bytes(b"\xef\xbb\xbfa\n")
    with clean_copy(path) as clean:
        assert clean.read_bytes() == b"a\n"
    assert not clean.parent.exists()
    with closing(session()) as con:
        assert con.execute("select 1").fetchall() == [(1,)]
