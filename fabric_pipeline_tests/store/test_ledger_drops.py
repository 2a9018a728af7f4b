"""Claiming drops: ids, repeats, changes and duplicates."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.store.lake import DROP_ID
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.store.ledger_drops import slug
from fabric_pipeline_tests.store.fakes import START, later, sha


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


def test_new_then_unchanged_then_processed(ledger: Ledger) -> None:
    first = ledger.claim_drop("Night Run", "/in/Night Run", sha("a"), START)
    assert (first.drop_id, first.state, first.processed) == ("night-run", "new", False)
    again = ledger.claim_drop("Night Run", "/in/Night Run", sha("a"), later(5))
    assert (again.drop_id, again.state, again.processed) == ("night-run", "unchanged", False)
    ledger.mark_processed("night-run", sha("a"), later(6))
    assert ledger.claim_drop("Night Run", "/in/Night Run", sha("a"), later(7)).processed
    row = ledger.drop("night-run")
    assert (row.first_seen, row.last_read) == (START, later(7))


def test_content_that_goes_there_and_back_is_changed_each_time(ledger: Ledger) -> None:
    states = [
        ledger.claim_drop("d", "/in/d", sha(content), later(second)).state
        for second, content in enumerate("ABAB")
    ]
    assert states == ["new", "changed", "changed", "changed"]
    assert not ledger.claim_drop("d", "/in/d", sha("B"), later(9)).processed


def test_the_same_bytes_elsewhere_are_a_duplicate_of_their_owner(ledger: Ledger) -> None:
    ledger.claim_drop("one", "/in/one", sha("a"), START)
    copy = ledger.claim_drop("two", "/in/two", sha("a"), later(1))
    assert (copy.state, copy.owner, copy.drop_id) == ("duplicate_of", "one", "one")
    assert [row.drop_id for row in ledger.drops()] == ["one"]


def test_a_known_drop_that_becomes_a_copy_keeps_its_id_and_comes_back(ledger: Ledger) -> None:
    ledger.claim_drop("one", "/in/one", sha("a"), START)
    ledger.claim_drop("two", "/in/two", sha("b"), START)
    copy = ledger.claim_drop("two", "/in/two", sha("a"), later(1))
    assert (copy.state, copy.owner, copy.drop_id) == ("duplicate_of", "one", "two")
    assert ledger.claim_drop("two", "/in/two", sha("b"), later(2)).state == "unchanged"


def test_content_that_its_owner_gave_up_is_free_again(ledger: Ledger) -> None:
    ledger.claim_drop("one", "/in/one", sha("a"), START)
    ledger.claim_drop("one", "/in/one", sha("b"), later(1))
    assert ledger.claim_drop("two", "/in/two", sha("a"), later(2)).state == "new"


def test_the_same_name_from_another_folder_gets_its_own_id(ledger: Ledger) -> None:
    ledger.claim_drop("run", "/a/run", sha("a"), START)
    other = ledger.claim_drop("run", "/b/run", sha("b"), START)
    assert other.drop_id.startswith("run-")
    assert len(other.drop_id) == len("run-") + 8
    assert ledger.claim_drop("run", "/b/run", sha("b"), later(1)).drop_id == other.drop_id


def test_a_watched_duplicate_is_noted_once(ledger: Ledger) -> None:
    ledger.claim_drop("one", "/in/one", sha("a"), START)
    for second in range(5):
        ledger.claim_drop("two", "/in/two", sha("a"), later(second))
    with ledger.reading() as con:
        assert con.execute("SELECT count(*) FROM drop_reads").fetchone()[0] == 2


def test_paths_that_are_not_utf8_can_be_kept(ledger: Ledger) -> None:
    claim = ledger.claim_drop("n\udcff", "/in/n\udcff", sha("a"), START)
    assert ledger.claim_drop("n\udcff", "/in/n\udcff", sha("a"), START).drop_id == claim.drop_id


def test_unknown_drops_are_said_to_be_unknown(ledger: Ledger) -> None:
    with pytest.raises(NotFoundError, match="nope"):
        ledger.drop("nope")
    with pytest.raises(NotFoundError):
        ledger.mark_processed("nope", sha("a"), START)


def test_times_without_a_zone_are_refused(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="time zone"):
        ledger.claim_drop("d", "/in/d", sha("a"), START.replace(tzinfo=None))
    assert ledger.drops() == []


@given(st.text(max_size=150))
def test_every_name_has_a_valid_id(name: str) -> None:
    assert DROP_ID.fullmatch(slug(name))
    assert slug(slug(name)) == slug(name)


@settings(max_examples=15)
@given(st.lists(st.text(max_size=8), min_size=2, max_size=6, unique=True))
def test_different_paths_never_share_an_id(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "l.sqlite")
        paths = [f"/in/{number}" for number in range(len(names))]
        ids = [
            ledger.claim_drop(name, path, sha(path), START).drop_id
            for name, path in zip(names, paths, strict=True)
        ]
    assert len(set(ids)) == len(ids)
    assert all(DROP_ID.fullmatch(drop_id) for drop_id in ids)
