"""Holding a drop while a run works on it: only a living process holds, and runs take turns."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fabric_pipeline.errors import UsageError
from fabric_pipeline.store.run_mark import (
    Begun,
    at_work,
    begin,
    finish,
    hold_to_the_end,
    is_at_work,
    unfinished,
)

AT = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
HOLD = """
import sys
from pathlib import Path
from fabric_pipeline.store.run_mark import at_work
with at_work(Path(sys.argv[1]), "d1", lambda by: print("waits", flush=True)):
    print("has it", flush=True)
    sys.stdin.readline()
"""


def holder(home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_a_drop_is_held_by_a_living_process_alone(tmp_path: Path) -> None:
    assert not is_at_work(tmp_path, "d1")
    with holder(tmp_path) as first:
        assert said(first) == "has it"
        assert is_at_work(tmp_path, "d1")
        assert not is_at_work(tmp_path, "d2")
        first.kill()
        first.wait()
        assert not is_at_work(tmp_path, "d1")


def test_a_second_run_says_that_it_waits_and_gets_its_turn(tmp_path: Path) -> None:
    with at_work(tmp_path, "d1"):
        second = holder(tmp_path)
        assert said(second) == "waits"
    with second:
        assert said(second) == "has it"
        second.communicate("\n")
        assert second.returncode == 0


def test_what_was_begun_is_known_until_it_is_finished(tmp_path: Path) -> None:
    assert unfinished(tmp_path, "d1") is None
    begin(tmp_path, "d1", AT)
    begun = unfinished(tmp_path, "d1")
    assert begun is not None
    assert begun.at == AT
    assert str(begun) == f"process {begun.pid} on {begun.host}"
    finish(tmp_path, "d1")
    finish(tmp_path, "d1")
    assert unfinished(tmp_path, "d1") is None


def test_a_damaged_note_still_says_that_something_was_begun(tmp_path: Path) -> None:
    begin(tmp_path, "d1", AT)
    (tmp_path / ".runs" / "d1.json").write_bytes(b"\xff{")
    assert isinstance(unfinished(tmp_path, "d1"), Begun)
    with pytest.raises(UsageError):
        unfinished(tmp_path, "../d1")


def test_a_process_that_holds_the_drop_does_not_wait_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with at_work(tmp_path, "d1"):
        hold_to_the_end(Path(), "d1")  # the same home, spelt in another way
        assert is_at_work(tmp_path, "d1")
    assert not is_at_work(tmp_path, "d1")
    hold_to_the_end(tmp_path, "d1")
    hold_to_the_end(tmp_path, "d1")
    assert is_at_work(tmp_path, "d1")
