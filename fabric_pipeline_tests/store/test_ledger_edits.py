"""Edits are kept whole or not at all, and who edited does not approve, whatever program asks."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fabric_pipeline.errors import BadInputError, GateError, NotFoundError
from fabric_pipeline.incidents.review import verdict
from fabric_pipeline.incidents.ticket import CableFacts, TicketDraft
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline_tests.store.fakes import START, TICKET, draft, later, sha

EDITOR, REVIEWER = "technician-2", "reviewer-1"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.record_draft(draft(), START)
    return ledger


def edited(title: str = "Swap the cable", editor: str = EDITOR, **changes: object) -> TicketDraft:
    return draft(title=title, edited_by=editor, **changes)


def record(ledger: Ledger, base: TicketDraft, new: TicketDraft, seconds: float = 1) -> int:
    return ledger.record_edit(
        TICKET, base.sha256, new, new.edited_by, "because", "-a\n+b", later(seconds)
    )


def test_an_edit_is_a_revision_with_its_author_and_two_links(ledger: Ledger) -> None:
    links = ledger.chain_length()
    assert record(ledger, draft(), edited()) == 2
    assert ledger.chain_length() == links + 2
    stored = ledger.current_draft(TICKET)
    assert (stored.revision, stored.draft, stored.intact) == (2, edited(), True)
    (row,) = ledger.edits_of(TICKET)
    assert (row.base_revision, row.base_sha256, row.revision) == (1, draft().sha256, 2)
    assert (row.draft_sha256, row.editor, row.reason) == (edited().sha256, EDITOR, "because")
    assert (row.diff, row.at) == ("-a\n+b", later(1))
    assert [one.revision for one in ledger.drafts_of_ticket(TICKET)] == [1, 2]
    assert ledger.verify_chain() == []


def test_of_two_editors_the_second_is_told_to_read_again(ledger: Ledger) -> None:
    record(ledger, draft(), edited())
    with pytest.raises(GateError, match="no longer the current one"):
        record(ledger, draft(), edited("Replace the port", "technician-3"))
    assert ledger.current_draft(TICKET).draft == edited()
    assert len(ledger.edits_of(TICKET)) == 1


@pytest.mark.parametrize(
    ("new", "problem"),
    [
        (edited("Reseat the cable"), "nothing is changed"),
        (edited(evidence_sha256=sha("other")), "keeps the ticket"),
        (edited(incident_id="INC-other"), "keeps the ticket"),
        (edited(drop="d2"), "keeps the ticket"),
    ],
)
def test_an_edit_that_changes_nothing_or_too_much_is_refused(
    ledger: Ledger, new: TicketDraft, problem: str
) -> None:
    with pytest.raises(GateError, match=problem):
        record(ledger, draft(), new)
    assert ledger.edits_of(TICKET) == []
    assert ledger.current_draft(TICKET).revision == 1


def test_an_edit_names_its_editor_its_ticket_and_a_living_incident(ledger: Ledger) -> None:
    with pytest.raises(GateError, match="does not name its editor"):
        ledger.record_edit(TICKET, draft().sha256, edited(), "other", "why", "", later(1))
    with pytest.raises(NotFoundError):
        ledger.record_edit("T-none", draft().sha256, edited(), EDITOR, "why", "", later(1))
    ledger.retire_drafts("d1", [], later(1))
    with pytest.raises(GateError, match="no longer found"):
        record(ledger, draft(), edited())
    assert ledger.verify_chain() == []
    assert ledger.current_draft(TICKET).retired


def test_a_value_that_json_cannot_hold_is_refused(ledger: Ledger) -> None:
    with pytest.raises(BadInputError, match="read back"):
        record(ledger, draft(), edited(cable=CableFacts(length_m=float("nan"))))
    assert ledger.current_draft(TICKET).revision == 1


def test_an_edit_makes_an_approval_void_and_says_why(ledger: Ledger) -> None:
    approval = ledger.add_review(TICKET, draft().sha256, "approved", REVIEWER, "", later(1))
    record(ledger, draft(), edited(), 2)
    old = ledger.review_state(TICKET, draft().sha256)
    assert (old.decision, old.standing, old.standing_why) == (
        "approved", "outdated", f"edited by {EDITOR}",
    )  # fmt: skip
    assert f"edited by {EDITOR}" in verdict(old).why
    assert ledger.review_state(TICKET, edited().sha256).decision == "awaiting"
    (row,) = ledger.tickets()
    assert (row.state, row.edited_by) == ("awaiting", EDITOR)
    assert row.expired == (
        f"the approval of revision 1 by {REVIEWER} is not of this draft: edited by {EDITOR}"
    )
    with pytest.raises(GateError, match="not approved"):
        ledger.record_publication(TICKET, draft().sha256, approval.seq, REVIEWER, later(3), "f")
    ledger.add_review(TICKET, edited().sha256, "approved", REVIEWER, "", later(4))
    assert ledger.tickets()[0].expired == ""


def test_new_evidence_and_new_words_are_told_apart(ledger: Ledger) -> None:
    ledger.add_review(TICKET, draft().sha256, "approved", REVIEWER, "", later(1))
    new = draft(drop="d2", evidence_sha256=sha("more"))
    ledger.record_draft(new, later(2))
    assert "new evidence in drop d2" in ledger.tickets()[0].expired
    ledger.record_draft(draft(title="Words", drop="d2", evidence_sha256=sha("more")), later(3))
    why = ledger.review_state(TICKET, draft().sha256).standing_why
    assert why == "new evidence in drop d2, drafted again by rules"
    assert ledger.review_state(TICKET, new.sha256).standing_why == "drafted again by rules"


def test_a_repair_in_between_is_named(ledger: Ledger) -> None:
    ledger.add_review(TICKET, draft().sha256, "approved", REVIEWER, "", later(1))
    repair = {"action": "reseat_cable", "repaired_at": later(2), "outcome": "waiting"}
    ledger.record_draft(draft(earlier_repairs=[repair], begin_at_step=2), later(3))
    assert ledger.review_state(TICKET, draft().sha256).standing_why == "repaired since"


def test_an_incident_that_comes_back_is_reviewed_again(ledger: Ledger) -> None:
    ledger.add_review(TICKET, draft().sha256, "approved", REVIEWER, "", later(1))
    ledger.retire_drafts("d1", [], later(2), "nothing is found any more")
    assert ledger.retirements_of(TICKET) == [(1, "nothing is found any more", later(2))]
    assert ledger.record_draft(draft(), later(3)) == 2
    (row,) = ledger.tickets()
    assert row.state == "awaiting"
    assert row.expired.endswith("its incident was gone and is found again")


def test_a_published_revision_stays_on_record_when_a_newer_one_waits(ledger: Ledger) -> None:
    approval = ledger.add_review(TICKET, draft().sha256, "approved", REVIEWER, "", later(1))
    ledger.record_publication(TICKET, draft().sha256, approval.seq, REVIEWER, later(2), "f")
    record(ledger, draft(), edited(), 3)
    assert [row.revision for row in ledger.publications()] == [1]
    assert "the publication of revision 1" in ledger.tickets()[0].expired


def insert_review(ledger: Ledger, content: str, revision: int, reviewer: str) -> None:
    """What another program would do."""
    with closing(sqlite3.connect(ledger.path)) as con:
        con.execute(
            "INSERT INTO reviews (ticket_id, revision, draft_sha256, decision, reviewer, reason, at)"
            " VALUES (?, ?, ?, 'approved', ?, '', '2031-01-01T00:00:00+00:00')",
            [TICKET, revision, content, reviewer],
        )
        con.commit()


@pytest.mark.parametrize("reviewer", [EDITOR, EDITOR.upper(), f" {EDITOR} "])
def test_the_file_itself_refuses_an_approval_by_the_editor(ledger: Ledger, reviewer: str) -> None:
    record(ledger, draft(), edited())
    with pytest.raises(GateError, match="who edited a draft cannot approve it"):
        ledger.add_review(TICKET, edited().sha256, "approved", reviewer, "", later(2))
    with pytest.raises(sqlite3.IntegrityError, match="who edited"):
        insert_review(ledger, edited().sha256, 2, reviewer)
    ledger.add_review(TICKET, edited().sha256, "rejected", EDITOR, "worse", later(3))
    assert ledger.add_review(TICKET, edited().sha256, "approved", REVIEWER, "", later(4)).seq == 2


def test_every_editor_since_the_drafters_words_counts(ledger: Ledger) -> None:
    first, second = edited(), edited("Swap both ends", "technician-3")
    record(ledger, draft(), first)
    record(ledger, first, second, 2)
    assert ledger.editors_of(TICKET, 3) == [EDITOR, "technician-3"]
    ledger.record_draft(draft(evidence_sha256=sha("more")), later(3))
    assert ledger.editors_of(TICKET, 4) == []


def test_a_run_over_the_same_evidence_keeps_the_edit(ledger: Ledger) -> None:
    record(ledger, draft(), edited())
    assert ledger.draft_for_evidence(TICKET, draft().evidence_sha256) == edited()
    for again in (edited(), draft(), draft(cost_usd=0.5)):
        assert ledger.record_draft(again, later(2)) == 2
    assert ledger.current_draft(TICKET).draft == edited()


def test_a_persons_words_never_come_back_as_a_drafters(ledger: Ledger) -> None:
    record(ledger, draft(), edited())
    ledger.record_draft(draft(evidence_sha256=sha("more")), later(2))
    assert ledger.draft_for_evidence(TICKET, draft().evidence_sha256) == draft()
    with pytest.raises(GateError, match="words of a person"):
        ledger.record_draft(edited(), later(3))
    record(ledger, draft(evidence_sha256=sha("more")), edited(evidence_sha256=sha("more")), 4)
    ledger.retire_drafts("d1", [], later(5))
    assert ledger.draft_for_evidence(TICKET, sha("more")) == draft(evidence_sha256=sha("more"))
    assert ledger.verify_chain() == []


def test_a_draft_is_used_again_only_over_the_same_basis(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.sqlite")
    ledger.record_draft(draft(basis_sha256=sha("basis")), START)
    found = ledger.draft_for_evidence(TICKET, sha("evidence"), sha("basis"))
    assert found == draft(basis_sha256=sha("basis"))
    assert ledger.draft_for_evidence(TICKET, sha("evidence"), sha("repaired")) is None


def test_edits_cannot_be_changed_and_a_changed_one_is_named(ledger: Ledger) -> None:
    record(ledger, draft(), edited())
    for sql in ("UPDATE edits SET editor = 'x'", "DELETE FROM edits"):
        with closing(sqlite3.connect(ledger.path)) as con:
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                con.execute(sql)
            con.execute("DROP TRIGGER edits_no_update")
            con.execute("DROP TRIGGER edits_no_delete")
            con.rollback()
    with closing(sqlite3.connect(ledger.path)) as con:
        con.execute("DROP TRIGGER edits_no_update")
        con.execute("UPDATE edits SET editor = 'somebody else'")
        con.commit()
    assert ledger.verify_chain() == [f"edits: row 1 (ticket {TICKET}) was edited"]
    assert ledger.missing_rules() == ["edits_no_update"]
