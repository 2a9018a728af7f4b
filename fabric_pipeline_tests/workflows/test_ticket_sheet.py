"""The sheet of a ticket in a real ledger: barred, approved, edited after approval, changed from outside."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from fabric_pipeline.errors import GateError, NotFoundError
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.review_ticket import review
from fabric_pipeline.workflows.ticket_sheet import sheet_of
from fabric_pipeline_tests.store.fakes import START, TICKET, draft, later, settings

BAR = "<b>NOT APPROVED</b>"


@pytest.fixture
def where(tmp_path: Path) -> Settings:
    return settings(tmp_path)


@pytest.fixture
def ledger(where: Settings) -> Ledger:
    ledger = Ledger(where.ledger)
    ledger.record_draft(draft(), START)
    return ledger


def approve(ledger: Ledger, second: float = 1) -> None:
    review(ledger, TICKET, None, "approved", "reviewer-1", "fits", later(second))


def test_the_bar_goes_with_an_approval_and_comes_back_with_an_edit(
    where: Settings, ledger: Ledger
) -> None:
    waiting = sheet_of(where, ledger, TICKET)
    assert waiting.count(BAR) == 2
    assert "No person has reviewed this draft yet." in waiting
    approve(ledger)
    approved = sheet_of(where, ledger, TICKET)
    assert BAR not in approved
    assert draft().sha256 in approved
    ledger.record_draft(draft(title="Replace the cable"), later(2))
    edited = sheet_of(where, ledger, TICKET)
    assert edited.count(BAR) == 2
    assert "Replace the cable" in edited
    assert "changed after reviewer-1 approved revision 1" in edited
    approve(ledger, 3)
    assert BAR not in sheet_of(where, ledger, TICKET)


def test_rejected_and_retired_drafts_say_why(where: Settings, ledger: Ledger) -> None:
    review(ledger, TICKET, None, "rejected", "reviewer-2", "wrong port", later(1))
    assert "Rejected by reviewer-2: wrong port." in sheet_of(where, ledger, TICKET)
    approve(ledger, 2)
    ledger.retire_drafts("d1", [], later(3))
    retired = sheet_of(where, ledger, TICKET)
    assert retired.count(BAR) == 2
    assert "no longer found" in retired


def test_a_forged_approval_does_not_take_the_bar_away(where: Settings, ledger: Ledger) -> None:
    review(ledger, TICKET, None, "rejected", "reviewer-2", "wrong port", later(1))
    _tamper(ledger, "reviews_no_update", "UPDATE reviews SET decision = 'approved'")
    forged = sheet_of(where, ledger, TICKET)
    assert forged.count(BAR) == 2
    assert "changed from outside" in forged


def test_a_changed_text_or_an_unknown_ticket_gives_no_sheet(
    where: Settings, ledger: Ledger
) -> None:
    with pytest.raises(NotFoundError):
        sheet_of(where, ledger, "T-none")
    _tamper(
        ledger, "drafts_no_update", "UPDATE drafts SET json = replace(json, 'Reseat', 'Remove')"
    )
    with pytest.raises(GateError, match="no longer matches"):
        sheet_of(where, ledger, TICKET)


def test_the_portal_address_is_printed_when_there_is_a_portal(
    where: Settings, ledger: Ledger
) -> None:
    portal = replace(where, portal_url="https://portal.example")
    assert sheet_of(portal, ledger, TICKET) != sheet_of(where, ledger, TICKET)


def _tamper(ledger: Ledger, trigger: str, change: str) -> None:
    with closing(sqlite3.connect(ledger.path)) as con:
        con.execute(f"DROP TRIGGER {trigger}")
        con.execute(change)
        con.commit()
