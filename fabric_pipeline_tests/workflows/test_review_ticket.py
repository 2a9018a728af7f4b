"""Reviewing through the workflow that the command line and the web share."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fabric_pipeline.errors import GateError, NotFoundError, UsageError
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.review_ticket import review
from fabric_pipeline_tests.store.fakes import START, TICKET, draft, later


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.record_draft(draft(), START)
    return ledger


def test_a_decision_is_kept_with_name_reason_and_time(ledger: Ledger) -> None:
    row = review(ledger, TICKET, draft().sha256, "approved", " Mara ", "fits", later(1))
    assert (row.reviewer, row.reason, row.at, row.drop) == ("Mara", "fits", later(1), "d1")
    state = ledger.review_state(TICKET, draft().sha256)
    assert (state.decision, state.seq, state.standing) == ("approved", row.seq, "current")


def test_without_a_hash_the_current_draft_is_meant_and_the_latest_decision_counts(
    ledger: Ledger,
) -> None:
    review(ledger, TICKET, None, "approved", "Mara", "", later(1))
    review(ledger, TICKET, None, "rejected", "Olu", "wrong port", later(2))
    assert ledger.review_state(TICKET, draft().sha256).decision == "rejected"
    assert len(ledger.reviews_after(0)) == 2


def test_a_draft_that_was_replaced_meanwhile_is_refused(ledger: Ledger) -> None:
    ledger.record_draft(draft(title="Replace the cable"), later(1))
    with pytest.raises(GateError, match="not the current one"):
        review(ledger, TICKET, draft().sha256, "approved", "Mara", "", later(2))
    assert ledger.reviews_after(0) == []
    assert ledger.current_draft(TICKET).revision == 2


@pytest.mark.parametrize(
    ("decision", "reviewer", "reason"),
    [
        ("approved", " ", ""),
        ("rejected", "Mara", ""),
        ("done", "Mara", ""),
        ("approved", "rules", ""),
    ],
)
def test_incomplete_reviews_are_refused(
    ledger: Ledger, decision: str, reviewer: str, reason: str
) -> None:
    with pytest.raises(UsageError, match=TICKET):
        review(ledger, TICKET, None, decision, reviewer, reason, later(1))
    assert ledger.reviews_after(0) == []
    assert len(ledger.drafts_of_drop("d1")) == 1


def test_unknown_and_retired_tickets_cannot_be_reviewed(ledger: Ledger) -> None:
    with pytest.raises(NotFoundError):
        review(ledger, "TKT-none", None, "approved", "Mara", "", later(1))
    ledger.retire_drafts("d1", [], later(1))
    with pytest.raises(GateError, match="no longer found"):
        review(ledger, TICKET, None, "approved", "Mara", "", later(2))


def test_an_altered_draft_cannot_be_reviewed(ledger: Ledger) -> None:
    with closing(sqlite3.connect(ledger.path)) as con:
        con.execute("DROP TRIGGER drafts_no_update")
        con.execute("UPDATE drafts SET json = replace(json, 'Reseat', 'Remove')")
        con.commit()
    with pytest.raises(GateError, match="no longer matches its hash"):
        review(ledger, TICKET, None, "approved", "Mara", "", later(1))
