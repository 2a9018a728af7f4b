"""Choosing a reader by content, and readers that other packages bring."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import ClassVar

import pytest

from fabric_pipeline.errors import UsageError
from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources import registry
from fabric_pipeline.sources.base import SourceFile


class Sure:
    """Takes every file with a score of 70."""

    format_id: ClassVar[str] = "house_log"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings"})

    def score(self, _: SourceFile) -> int:
        return 70

    def read(self, _: SourceFile) -> ReadResult:
        return ReadResult()


class Broken(Sure):
    """Breaks on looking at a file."""

    def score(self, _: SourceFile) -> int:
        raise RuntimeError("no")


@pytest.fixture(autouse=True)
def fresh_table() -> Iterator[None]:
    registry.readers.cache_clear()
    yield
    registry.readers.cache_clear()


@pytest.fixture
def file(tmp_path: Path) -> SourceFile:
    path = tmp_path / "notes.txt"
    path.write_text("nothing that a reader of ours would know\n")
    return SourceFile(path, path.name)


def bring(monkeypatch: pytest.MonkeyPatch, name: str, attribute: str) -> None:
    """Another package's entry point for the group of readers."""
    point = EntryPoint(name, f"{__name__}:{attribute}", registry.ENTRY_POINT_GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda **_: [point])


def test_a_file_that_nobody_knows_has_no_reader(file: SourceFile) -> None:
    match = registry.recognise(file)
    assert (match.reader, match.format_id, match.failures) == (None, registry.UNKNOWN_FORMAT, ())


def test_a_reader_of_another_package_is_asked_too(
    file: SourceFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(monkeypatch, "house_log", "Sure")
    match = registry.recognise(file)
    assert (match.format_id, match.score) == ("house_log", 70)
    assert isinstance(registry.reader_for("house_log"), Sure)


def test_a_reader_that_breaks_is_named_and_keeps_no_file_from_the_others(
    file: SourceFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(monkeypatch, "house_log", "Broken")
    match = registry.recognise(file)
    assert match.reader is None
    assert match.failures == ("the reader house_log failed (RuntimeError)",)


def test_a_file_of_our_own_contract_loads_no_other_reader(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text('{"run": "r1", "nodes": ["node-1"]}\n')
    code = (
        "import sys; from pathlib import Path; from fabric_pipeline.sources import base, registry; "
        f"path = Path({str(tmp_path / 'runs.jsonl')!r}); "
        "print(registry.recognise(base.SourceFile(path, path.name)).format_id, len(registry.readers()), *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found, count, *modules = done.stdout.split()
    assert (found, int(count)) == ("fabric_runs", len(registry.BUILT_IN))
    assert "fabric_pipeline.sources.normalized.runs" in modules
    assert "fabric_pipeline.sources.kernel_log.reader" not in modules


def test_the_shelf_of_readers_is_a_sequence_in_the_order_of_the_table() -> None:
    shelf = registry.readers()
    assert [reader.format_id for reader in shelf] == [*registry.BUILT_IN]
    assert shelf[0] is registry.reader_for("fabric_collectives")
    assert [reader.format_id for reader in shelf[1:3]] == [*registry.BUILT_IN][1:3]


def test_a_format_id_exists_once(monkeypatch: pytest.MonkeyPatch) -> None:
    bring(monkeypatch, "ibstat", "Sure")
    with pytest.raises(UsageError, match="ibstat"):
        registry.reader_targets()


def test_a_reader_has_to_call_itself_as_it_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    bring(monkeypatch, "other_log", "Sure")
    with pytest.raises(UsageError, match="calls itself 'house_log'"):
        registry.readers()


def test_an_unknown_format_id_lists_those_that_exist() -> None:
    with pytest.raises(UsageError, match=r"ibstat.*lspci_list") as error:
        registry.reader_for("tea_leaves")
    assert error.value.exit_code == 2


def test_a_file_that_went_away_is_not_called_unknown(file: SourceFile) -> None:
    file.path.unlink()
    with pytest.raises(FileNotFoundError):
        registry.recognise(file)


class Unfinished:
    """Breaks when it is made."""

    def __init__(self) -> None:
        raise OSError("its table is missing")


@pytest.mark.parametrize(
    ("attribute", "said"),
    [("Unfinished", "OSError: its table is missing"), ("Nowhere", "AttributeError"), ("no", "")],
)
def test_a_reader_that_cannot_be_loaded_is_named_with_its_package(
    monkeypatch: pytest.MonkeyPatch, attribute: str, said: str
) -> None:
    bring(monkeypatch, "house_log", attribute)
    with pytest.raises(
        UsageError, match=f"'house_log' cannot be loaded from {__name__}:"
    ) as caught:
        registry.readers()
    assert said in str(caught.value)


class Half:
    """Lacks what a reader must have."""

    format_id: ClassVar[str] = "house_log"
    version: ClassVar[str] = "1"

    def score(self, _: SourceFile) -> int:
        return 0


def test_a_reader_that_lacks_a_member_is_told_which(monkeypatch: pytest.MonkeyPatch) -> None:
    bring(monkeypatch, "house_log", "Half")
    with pytest.raises(UsageError, match="has no yields and no read"):
        registry.readers()
