"""Damaged files, random files and storms of one character: no reader raises, hangs or makes readings up."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from fabric_pipeline.sources.registry import BUILT_IN, readers, recognise
from fabric_pipeline_tests.sources.damage import (
    damaged,
    faults,
    junk,
    parquet_specimens,
    specimens,
    storm,
)
from fabric_pipeline_tests.sources.held_files import held
from fabric_pipeline_tests.sources.traced import inventions
from fabric_pipeline_tests.workflows.readout import read_files

INPUTS, JUNKS, STORMS = 800, 100, 50
SLOW_S = 5.0  # of the processor, for one reader and one file; a thousand times what it takes when nothing is wrong
_ARABIC = dict(zip("0123456789", "٠١٢٣٤٥٦٧٨٩", strict=True))


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return specimens() | parquet_specimens(tmp_path_factory.mktemp("made"))


def test_there_is_a_specimen_of_every_format(tmp_path: Path, known: dict[str, bytes]) -> None:
    formats = {name.partition(".")[0] for name in known}
    assert set(BUILT_IN) - formats == WITHOUT_SPECIMEN
    for name, data in known.items():
        assert recognise(held(data, tmp_path / "table")).format_id == name.partition(".")[0]


# Read from gzip alone, which survives no damage.
WITHOUT_SPECIMEN = {"straggler_timeline_json"}


def _read_by_all(path: Path, data: bytes, label: str) -> tuple[list[str], int]:
    """Every reader that takes the file reads it; what is wrong, and how many counters were found."""
    file, wrong, found = held(data, path), [], 0
    for reader in readers():
        start = time.process_time()
        if reader.score(file) > 0:
            result = reader.read(file)
            found += sum(bool(reading.counter) for reading in result.readings)
            told = [*faults(file, result), *inventions(file, result)]
            wrong += [f"{label}, {reader.format_id}: {fault}" for fault in told]
        if time.process_time() - start > SLOW_S:
            wrong.append(f"{label}, {reader.format_id}: too slow")
    return wrong, found


def test_damaged_files(tmp_path: Path, known: dict[str, bytes]) -> None:
    wrong: list[str] = []
    for seed in range(INPUTS):
        name, data = damaged(seed, known)
        wrong += _read_by_all(tmp_path / "file", data, f"seed {seed} from {name}")[0]
    assert wrong == []


def test_random_files_give_no_reading(tmp_path: Path) -> None:
    for seed in range(JUNKS):
        wrong, found = _read_by_all(tmp_path / "file", junk(seed), f"junk {seed}")
        assert (wrong, found) == ([], 0)


def test_storms_of_one_character_take_no_longer(tmp_path: Path, known: dict[str, bytes]) -> None:
    """A pattern that tries every split of a run of blanks would take minutes here."""
    wrong: list[str] = []
    for seed in range(STORMS):
        name, data = storm(seed, known)
        wrong += _read_by_all(tmp_path / "file", data, f"storm {seed} in {name}")[0]
    assert wrong == []


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_digits_of_other_scripts_are_no_numbers(
    tmp_path: Path, known: dict[str, bytes], share: float
) -> None:
    """No tool writes them, but `int` and `float` read them: a damaged number would become another one."""
    rng, wrong = random.Random(7), []  # noqa: S311 - repeatable damage, no secret
    for name, data in known.items():
        try:
            text = data.decode()
        except UnicodeDecodeError:
            continue
        other = "".join(_ARABIC.get(c, c) if rng.random() < share else c for c in text)
        wrong += _read_by_all(tmp_path / "file", other.encode(), name)[0]
    assert wrong == []


def test_damaged_files_as_one_drop(tmp_path: Path, known: dict[str, bytes]) -> None:
    """What readers made of them fits the tables, and nothing is lost between them."""
    files = {f"{seed:03}.txt": damaged(seed, known)[1] for seed in range(5000, 5080)}
    readout = read_files(tmp_path, files, is_checked=True)
    assert readout.violations == []
    assert readout.balances
    assert [r.problem for r in readout.read.files if "report this fault" in r.problem] == []
    assert readout.read.problems == []
