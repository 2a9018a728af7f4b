"""How far the reading of one large file has come: bytes that were gone through, never more than is done."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from fabric_pipeline.engine.local import LocalEngine
from fabric_pipeline.model.pace import Pace
from fabric_pipeline.model.progress import Moment
from fabric_pipeline.sources.drop import list_drop
from fabric_pipeline.sources.prometheus import query_stream
from fabric_pipeline.store.duck import session
from fabric_pipeline.workflows import (
    counter_staging,
    line_cleaning,
    log_sifting,
    series_staging,
    staged_shards,
)
from fabric_pipeline.workflows.ingest import ingest
from fabric_pipeline_tests.workflows.readout import write
from fabric_pipeline_tests.workflows.staged_drops import AT, Reads, dcgm_text, mixed, query_text

PIECE = 500


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (log_sifting, series_staging):
        monkeypatch.setattr(module, "LARGE", 1)
    for module in (counter_staging, log_sifting):
        monkeypatch.setattr(module, "_PIECE", PIECE)
    monkeypatch.setattr(series_staging, "_PIECE_CHARACTERS", PIECE)
    monkeypatch.setattr(query_stream, "_BLOCK", PIECE)
    monkeypatch.setattr(line_cleaning.clean_pieces, "__defaults__", (PIECE, lambda _: None))


def told(folder: Path, files: Mapping[str, str | bytes]) -> list[Moment]:
    moments: list[Moment] = []
    with closing(session()) as con:
        ingest(con, list_drop(write(folder, files)), "d", AT, moments.append)
    return moments


@pytest.mark.parametrize("name", ["counters.csv", "more.jsonl", "elm-10/syslog", "dmon.txt"])
def test_bytes_of_the_drop_are_told_piece_by_piece(tmp_path: Path, name: str) -> None:
    files = {"a.txt": "no reader knows this\n", name: mixed()[name]}
    size, other = len(files[name]), len(files["a.txt"])
    before = 0 if name.endswith("syslog") else other  # a log may name hosts, so it comes first
    moments = [one for one in told(tmp_path, files) if one.words == f"reading {name}"]
    assert {one.work for one in moments} == {"read"}
    sizes = [one.size for one in moments]
    assert sizes == sorted(sizes)
    assert (sizes[0], sizes[-1]) == (before, before + size)
    assert len(sizes) >= size // PIECE
    assert {one.of_size for one in moments} == {size + other}


@pytest.mark.parametrize(("name", "text"), [("a.prom", dcgm_text()), ("a.json", query_text())])
def test_of_two_passes_each_is_told_by_itself(tmp_path: Path, name: str, text: str) -> None:
    moments = told(tmp_path, {name: text})
    first = [one for one in moments if one.words == f"reading {name}, first of two passes"]
    assert len({one.work for one in first} | {"read"}) == 2
    sizes = [one.size for one in first]
    assert sizes == sorted(sizes)
    assert 0 < sizes[-1] <= len(text)
    assert sizes[-1] >= len(text) - PIECE
    assert {one.of_size for one in first} == {len(text)}
    # Of the second nothing is known but that it goes on.
    (second,) = [one for one in moments if one.words == f"reading {name}, second of two passes"]
    assert (second.size, second.of_size) == (0, 0)
    assert second.work not in {"read", first[0].work}


def test_bytes_of_a_first_pass_are_never_taken_for_those_of_the_drop(tmp_path: Path) -> None:
    text = dcgm_text()
    files = {f"{letter}.prom": text for letter in "abc"}
    moments = [one for one in told(tmp_path, files) if one.words.startswith("reading ")]
    assert any(one.words.endswith("first of two passes") for one in moments)
    assert {one.work for one in moments} == {"read"}
    assert {one.size for one in moments} == {0, len(text), 2 * len(text)}


def test_a_file_that_is_taken_says_nothing_of_the_rate_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop = write(tmp_path / "drop", {"a.csv": mixed()["counters.csv"], "b.prom": dcgm_text()})
    reads = Reads(tmp_path, monkeypatch)
    reads("home", drop)
    moments: list[Moment] = []
    monkeypatch.setattr(staged_shards, "FROM_BYTES", 1)
    with closing(session()) as con:
        aside = staged_shards.aside_of(reads.settings("home"), LocalEngine())
        ingest(con, list_drop(drop), "d", AT, moments.append, aside)
    words = [one.words for one in moments if one.work == "take"]
    assert words == ["a.csv: taken as it was read", "b.prom: taken as it was read"]
    pace = Pace(clock=iter(range(1000)).__next__)
    shown = [_shown(pace, one) for one in moments]
    assert not any("MB/s" in line or "left" in line for line in shown)


def _shown(pace: Pace, moment: Moment) -> str:
    pace.hear(moment)
    return pace.words()


def test_utf_16_is_read_from_a_copy_whose_bytes_are_not_the_files(tmp_path: Path) -> None:
    text = str(mixed()["counters.csv"])
    moments = told(tmp_path, {"a.csv": text.encode("utf-16")})
    assert {one.size for one in moments if one.work == "read"} == {0}


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "lines"
    path.write_bytes(b"\xef\xbb\xbf" + b"0123456789\n" * 100)
    return path


def test_pieces_tell_the_bytes_up_to_their_end(lines: Path) -> None:
    heard: list[int] = []
    pieces = list(line_cleaning.whole_lines(lines, 30, heard.append))
    assert len(heard) == len(pieces)
    assert heard[-1] == lines.stat().st_size
    heard.clear()
    assert len(list(line_cleaning.clean_pieces(lines, 30, heard.append))) == len(heard)
    assert heard[-1] == lines.stat().st_size
