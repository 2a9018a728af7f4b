"""Planning a run: what is read, what is skipped with which reason, what stops nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline.errors import BadInputError, UsageError
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.run_drops import PlannedDrop, plan
from fabric_pipeline_tests.pipeline_runs import NOW


@pytest.fixture
def where(tmp_path: Path) -> Settings:
    return Settings(root=tmp_path, home=tmp_path / "warehouse")


def put(where: Settings, name: str, text: str) -> Path:
    folder = where.inbox / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.log").write_text(text)
    return folder


def finish(where: Settings, drop: str) -> None:
    ledger = Ledger(where.ledger)
    ledger.mark_processed(drop, ledger.drop(drop).content_sha256, NOW)


def one(where: Settings, path: Path, *, force: bool = False) -> tuple[str, bool, str]:
    (planned,) = plan(where, [path], NOW, force=force)
    return planned.drop_id, planned.must_run, planned.note


def test_without_a_path_the_whole_inbox_is_meant(where: Settings) -> None:
    put(where, "b", "2")
    put(where, "a", "1")
    assert [(p.drop_id, p.must_run) for p in plan(where, [], NOW)] == [("a", True), ("b", True)]


def test_an_empty_inbox_says_what_to_do(where: Settings) -> None:
    with pytest.raises(UsageError, match="no drop") as error:
        plan(where, [], NOW)
    assert "run PATH" in error.value.remedy


def test_a_drop_is_run_until_it_was_finished_and_again_when_it_changed(where: Settings) -> None:
    path = put(where, "d", "1")
    assert one(where, path) == ("d", True, "new")
    assert one(where, path) == ("d", True, "not finished before")
    finish(where, "d")
    assert one(where, path) == ("d", False, "unchanged since it was read")
    assert one(where, path, force=True)[1]
    put(where, "d", "2")
    assert one(where, path) == ("d", True, "changed")


def test_content_that_came_back_is_read_again(where: Settings) -> None:
    path = put(where, "d", "A")
    one(where, path)
    finish(where, "d")
    put(where, "d", "B")
    one(where, path)  # its run is cut short: tables of A and B may lie side by side now
    put(where, "d", "A")
    assert one(where, path) == ("d", True, "changed")
    assert one(where, path) == ("d", True, "not finished before")


def test_a_copy_is_skipped_with_the_name_of_its_owner(where: Settings) -> None:
    one(where, put(where, "first", "x"))
    finish(where, "first")
    copy = put(where, "second", "x")
    assert one(where, copy) == ("first", False, "same content as drop first: not read again")
    assert one(where, copy, force=True)[:2] == ("first", True)


def test_a_copy_of_what_was_never_finished_is_read_as_its_owner(where: Settings) -> None:
    one(where, put(where, "first", "x"))
    drop, must_run, note = one(where, put(where, "second", "x"))
    assert (drop, must_run) == ("first", True)
    assert "first" in note


def test_a_bad_drop_stops_no_other_and_is_an_error_alone(where: Settings) -> None:
    bad = put(where, "bad", "x")
    (bad / "drop.yaml").write_text("site: [")
    good = put(where, "good", "y")
    planned = plan(where, [bad, good], NOW)
    assert planned[0] == PlannedDrop(bad, "", must_run=False, note=planned[0].note)
    assert "drop.yaml" in planned[0].note
    assert planned[1].must_run
    with pytest.raises(BadInputError):
        plan(where, [bad], NOW)
