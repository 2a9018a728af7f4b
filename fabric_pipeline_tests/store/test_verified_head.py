"""The kept head spares reading old links, and says which links were read when."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.store.verified_head import head_path, verify
from fabric_pipeline_tests.store.fakes import START, draft, later


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    for name in ("t-one", "t-two"):
        ledger.record_draft(draft(name), START)
    return ledger


def edit(ledger: Ledger, statement: str) -> None:
    with closing(sqlite3.connect(ledger.path)) as con:
        for (name,) in con.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            con.execute(f"DROP TRIGGER {name}")
        con.execute(statement)
        con.commit()


def test_the_first_time_reads_everything_and_the_next_what_is_new(ledger: Ledger) -> None:
    first = verify(ledger, later(1))
    assert (first.check.problems, first.check.trusted_links) == ((), 0)
    assert first.words == "all 2 links and their rows"
    ledger.record_draft(draft("t-three"), later(2))
    second = verify(ledger, later(3))
    assert (second.check.trusted_links, second.check.state.seq) == (2, 3)
    assert second.words == (
        "the 1 links after link 2 and their rows; all links up to 2 on 2031-03-04T05:06:08+00:00, "
        "those between when they were new"
    )
    assert verify(ledger, later(4), whole=True).check.trusted_links == 0


def test_an_edit_of_a_new_row_is_found_at_once_and_an_old_one_by_the_whole(ledger: Ledger) -> None:
    verify(ledger, later(1))
    ledger.record_draft(draft("t-three"), later(2))
    edit(ledger, "UPDATE drafts SET drafter = 'x' WHERE seq = 3")
    assert verify(ledger, later(3)).check.problems == (
        "drafts: row 3 (ticket t-three) was edited",
    )  # fmt: skip
    edit(ledger, "UPDATE drafts SET drafter = 'rules' WHERE seq = 3")
    assert verify(ledger, later(4)).check.problems == ()
    edit(ledger, "UPDATE drafts SET drafter = 'x' WHERE seq = 1")
    assert verify(ledger, later(5)).check.problems == ()
    assert verify(ledger, later(6), whole=True).check.problems == (
        "drafts: row 1 (ticket t-one) was edited",
    )  # fmt: skip
    assert verify(ledger, later(7)).check.trusted_links == 0
    assert ledger.verify_chain() == ["drafts: row 1 (ticket t-one) was edited"]


def test_an_older_or_other_ledger_and_a_broken_file_are_read_whole(
    ledger: Ledger, tmp_path: Path
) -> None:
    verify(ledger, later(1))
    other = Ledger(tmp_path / "other" / "ledger.sqlite")
    other.record_draft(draft("t-one"), later(2))
    head_path(other.path).write_bytes(head_path(ledger.path).read_bytes())
    found = verify(other, later(3))
    assert (found.check.trusted_links, found.check.problems) == (0, ())
    for text in ("", "{}", '{"seq": "x"}', "[]"):
        head_path(ledger.path).write_text(text)
        assert verify(ledger, later(4)).check.trusted_links == 0


def test_a_row_slipped_in_before_the_head_is_found_by_the_whole(ledger: Ledger) -> None:
    verify(ledger, later(1))
    edit(ledger, "DELETE FROM drafts WHERE seq = 2")
    found = verify(ledger, later(2)).check.problems
    assert found == ("drafts: rows 2 to 2 were removed from its end",)
