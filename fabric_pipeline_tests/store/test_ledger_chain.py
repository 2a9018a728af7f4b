"""The hash chain shows rows that were edited, removed or slipped in behind the ledger's back."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.store.ledger_chain import GENESIS
from fabric_pipeline_tests.store.fakes import START, TICKET, draft, later


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """A ledger with two drafts, one review of each, one publication."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    for name in (TICKET, "t-two"):
        ledger.record_draft(draft(name), START)
        review = ledger.add_review(name, draft(name).sha256, "approved", "Mara", "", later(1))
    ledger.record_publication("t-two", draft("t-two").sha256, review.seq, "Mara", later(2), "f")
    return ledger


def tamper(ledger: Ledger, *statements: str) -> None:
    """What somebody with the file and a database shell can do: drop the triggers, then edit."""
    with closing(sqlite3.connect(ledger.path)) as con:
        for (name,) in con.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            con.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            con.execute(statement)
        con.commit()


def test_an_untouched_ledger_verifies(ledger: Ledger) -> None:
    assert ledger.verify_chain() == []
    assert ledger.verify_chain([GENESIS, ledger.chain_head()]) == []
    assert len(ledger.chain_head()) == 64


def test_an_empty_ledger_verifies(tmp_path: Path) -> None:
    empty = Ledger(tmp_path / "l.sqlite")
    assert (empty.verify_chain(), empty.chain_head()) == ([], GENESIS)


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        (
            "UPDATE drafts SET json = replace(json, 'Reseat', 'Remove')",
            "drafts: row 1 .* was edited",
        ),
        ("UPDATE reviews SET reviewer = 'Olu' WHERE seq = 1", "reviews: row 1 .* was edited"),
        ("DELETE FROM reviews WHERE seq = 1", "reviews: row 1 was removed"),
        ("DELETE FROM published", "published: row 1 was removed"),
        ("DELETE FROM chain WHERE seq = 2", "chain: link 2 is missing"),
        ("UPDATE chain SET payload_sha256 = 'x' WHERE seq = 2", "chain: link 2 does not follow"),
        ("DELETE FROM chain WHERE seq = 5", "published: row 1 .* did not come by this program"),
    ],
)
def test_changes_are_found(ledger: Ledger, statement: str, problem: str) -> None:
    tamper(ledger, statement)
    assert any(re.search(problem, found) for found in ledger.verify_chain())


def test_a_cut_end_is_found_by_the_numbers_given_out(ledger: Ledger) -> None:
    tamper(ledger, "DELETE FROM published", "DELETE FROM chain WHERE seq = 5")
    assert ledger.verify_chain() == [
        "chain: rows 5 to 5 were removed from its end",
        "published: rows 1 to 1 were removed from its end",
    ]


def test_a_thoroughly_cut_end_is_found_by_a_head_kept_outside(ledger: Ledger) -> None:
    head = ledger.chain_head()
    tamper(
        ledger,
        "DELETE FROM published",
        "DELETE FROM chain WHERE seq = 5",
        "UPDATE sqlite_sequence SET seq = 0 WHERE name = 'published'",
        "UPDATE sqlite_sequence SET seq = 4 WHERE name = 'chain'",
    )
    assert ledger.verify_chain() == []
    assert ledger.verify_chain([head]) == [f"the chain no longer contains the known head {head}"]


def test_an_edited_draft_is_not_given_out_as_intact(ledger: Ledger) -> None:
    tamper(ledger, "UPDATE drafts SET json = replace(json, 'Reseat', 'Remove')")
    stored = ledger.current_draft(TICKET)
    assert not stored.intact
    assert ledger.review_state(TICKET, draft().sha256).standing == "altered"
    tamper(ledger, "UPDATE drafts SET json = 'not json'")
    assert ledger.current_draft(TICKET).draft is None
    assert ledger.draft_for_evidence(TICKET, draft().evidence_sha256) is None
    assert ledger.tickets()[0].title == ""
