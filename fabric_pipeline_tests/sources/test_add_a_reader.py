"""The page on adding a reader: its example is taken from the page, registered as it says, and reads."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.model.records import Reading
from fabric_pipeline.sources import registry
from fabric_pipeline.sources.base import Hints, SourceFile, note_of
from fabric_pipeline_tests.pipeline_runs import ROOT
from fabric_pipeline_tests.sources.damage import faults, junk
from fabric_pipeline_tests.sources.held_files import held

PAGE = (ROOT / "docs" / "how_to" / "add_a_reader.md").read_text("utf-8")


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found.group(1)


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package of the page, as its pyproject.toml registers it."""
    folder = tmp_path / "rdma_reader"
    folder.mkdir()
    (folder / "__init__.py").write_text(block("python"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "rdma_reader", raising=False)
    points = tomllib.loads(block("toml"))["project"]["entry-points"]
    found = [
        EntryPoint(*item, registry.ENTRY_POINT_GROUP)
        for item in points[registry.ENTRY_POINT_GROUP].items()
    ]
    monkeypatch.setattr(registry, "entry_points", lambda **_: found)
    registry.readers.cache_clear()
    yield
    registry.readers.cache_clear()


def sample(folder: Path, text: str) -> SourceFile:
    path = folder / "capture"
    path.write_text(text)
    return SourceFile(path, path.name, hints=Hints(node="gpu-r01-n03"))


def test_the_example_reads_its_sample(tmp_path: Path) -> None:
    file = sample(tmp_path, block("text"))
    match = registry.recognise(file)
    assert match.reader is not None
    assert match.format_id == "rdma_statistic"
    result = match.reader.read(file)

    def key(reading: Reading) -> tuple[str, str, str, float | None]:
        return reading.node, reading.interface, reading.counter, reading.value

    assert key(result.readings[1]) == ("gpu-r01-n03", "mlx5_0/1", "out_of_sequence", 41.0)
    assert {reading.counter for reading in result.readings} <= {*COUNTERS, ""}
    assert [(line.line, line.rule) for line in result.rejected] == [
        (2, "local_ack_timeout_err is no number")
    ]
    assert list(faults(file, result)) == []


def test_the_example_has_a_note_and_takes_no_file_of_others(tmp_path: Path) -> None:
    reader = registry.reader_for("rdma_statistic")
    note = note_of(reader)
    assert note is not None
    assert note.traps
    for seed in range(50):
        file = held(junk(seed), tmp_path / "table")
        assert registry.recognise(file).format_id != reader.format_id
    assert registry.recognise(sample(tmp_path, "")).reader is None
