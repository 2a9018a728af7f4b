"""The inbox: what counts as a drop, when it has settled, and what keeps it from being claimed."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fabric_pipeline.errors import BadInputError
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.inbox import SETTLE_S, claim, scan, unread

WRITTEN = 1_700_000_000.0


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(WRITTEN + seconds, UTC)


def put(path: Path, text: str = "x", when: float = WRITTEN) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (when, when))
    return path


def test_an_inbox_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert scan(tmp_path / "nowhere") == []


def test_folders_and_files_by_name_without_hidden_ones(tmp_path: Path) -> None:
    put(tmp_path / "b" / "deep" / "x.log")
    put(tmp_path / "a.log")
    put(tmp_path / ".rsync-partial" / "x.log")
    assert [entry.path.name for entry in scan(tmp_path)] == ["a.log", "b"]


def test_the_signature_follows_names_sizes_and_times(tmp_path: Path) -> None:
    file = put(tmp_path / "d" / "x.log", "12")
    seen = {scan(tmp_path)[0].signature}
    assert scan(tmp_path)[0].signature in seen
    os.utime(file, (WRITTEN + 1, WRITTEN + 1))
    seen.add(scan(tmp_path)[0].signature)
    put(file, "123", WRITTEN + 1)
    seen.add(scan(tmp_path)[0].signature)
    file.rename(file.with_name("y.log"))
    seen.add(scan(tmp_path)[0].signature)
    assert len(seen) == 4


@pytest.mark.parametrize(
    ("age_s", "settled"),
    [(0.0, False), (SETTLE_S - 0.1, False), (SETTLE_S, True), (-1.0, False), (-3600.0, True)],
)
def test_a_drop_settles_with_its_newest_file(tmp_path: Path, age_s: float, settled: bool) -> None:
    put(tmp_path / "d" / "old.log", when=WRITTEN - 3600)
    put(tmp_path / "d" / "new.log")
    (entry,) = scan(tmp_path)
    assert entry.is_settled(at(age_s)) is settled


def test_a_single_file_is_called_by_its_name_without_the_ending(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    assert claim(ledger, put(tmp_path / "Night 7.log"), at(0)).drop_id == "night-7"
    assert claim(ledger, put(tmp_path / "v1.2" / "x.log", "y").parent, at(0)).drop_id == "v1.2"


@pytest.mark.parametrize("broken", ["nothing there", "empty", "yaml"])
def test_what_cannot_be_claimed_says_why_and_what_to_do(tmp_path: Path, broken: str) -> None:
    drop = tmp_path / "drop"
    if broken != "nothing there":
        drop.mkdir()
    if broken == "yaml":
        put(drop / "drop.yaml", "files: {")
    ledger = Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(BadInputError) as error:
        claim(ledger, drop, at(0))
    assert "drop" in error.value.message
    assert error.value.remedy
    assert ledger.drops() == []


def test_unread_lists_settled_drops_and_says_what_is_wrong_with_others(tmp_path: Path) -> None:
    settings = Settings(root=tmp_path, home=tmp_path / "home")
    inbox = settings.inbox
    put(inbox / "bad" / "drop.yaml", "files: {")
    put(inbox / "fresh" / "x.log", when=WRITTEN + 10)
    put(inbox / "good" / "x.log")
    found = list(unread(Ledger(tmp_path / "ledger.sqlite"), settings, at(12)))
    assert [(entry.path.name, bool(got), bool(why)) for entry, got, why in found] == [
        ("bad", False, True),
        ("good", True, False),
    ]
