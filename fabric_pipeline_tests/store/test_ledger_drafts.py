"""Revisions, reuse by evidence, retirement and the list of tickets."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline.errors import FabricError, NotFoundError
from fabric_pipeline.incidents.ticket import FailedAttempt, TicketDraft
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline_tests.store.fakes import START, TICKET, draft, later, sha

OTHER = "TKT-00000000000b"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "deep" / "ledger.sqlite")


def test_the_same_draft_keeps_its_revision(ledger: Ledger) -> None:
    assert ledger.record_draft(draft(), START) == 1
    assert ledger.record_draft(draft(input_tokens=90, cost_usd=0.5), later(1)) == 1
    assert ledger.record_draft(draft(title="Other words"), later(2)) == 2
    current = ledger.current_draft(TICKET)
    assert (current.revision, current.intact, current.retired) == (2, True, False)
    assert current.draft == draft(title="Other words")


def test_the_hash_of_what_stands_in_the_file_is_that_of_the_draft(ledger: Ledger) -> None:
    attempt = FailedAttempt(problems=["title: empty"], answer="{}")
    full = draft(
        title="Kabel tauschen – „jetzt“ 🔧 \u2028 <b>",
        first_seen=START, last_seen=later(0.25), cable={"length_m": 1e-07}, cost_usd=0.1 + 0.2,
        failed_attempts=[attempt], lane=3,
    )  # fmt: skip
    ledger.record_draft(full, START)
    stored = ledger.current_draft(TICKET)
    assert stored.draft == full
    assert stored.intact
    assert stored.draft_sha256 == full.sha256 == draft(**_without_accounts(full)).sha256


def _without_accounts(full: TicketDraft) -> dict[str, object]:
    accounts = {"cost_usd", "failed_attempts", "ticket_id", "text"}
    return full.model_dump(exclude=accounts) | {"title": full.text.title}


def test_a_draft_is_found_by_its_evidence(ledger: Ledger) -> None:
    old, new = draft(), draft(evidence_sha256=sha("more evidence"))
    ledger.record_draft(old, START)
    ledger.record_draft(new, later(1))
    assert ledger.draft_for_evidence(TICKET, sha("evidence")) == old
    assert ledger.draft_for_evidence(TICKET, sha("more evidence")) == new
    assert ledger.draft_for_evidence(TICKET, sha("none")) is None


def test_drafts_whose_incident_vanished_are_retired(ledger: Ledger) -> None:
    ledger.record_draft(draft(), START)
    ledger.record_draft(draft(OTHER), START)
    ledger.record_draft(draft("TKT-elsewhere", drop="d2"), START)
    assert ledger.retire_drafts("d1", [OTHER], later(1)) == [TICKET]
    assert ledger.retire_drafts("d1", [OTHER], later(2)) == []
    assert [stored.ticket_id for stored in ledger.drafts_of_drop("d1")] == [OTHER]
    assert ledger.review_state(TICKET, draft().sha256).standing == "retired"
    assert {row.ticket_id: row.state for row in ledger.tickets("d1")} == {
        TICKET: "superseded",
        OTHER: "awaiting",
    }


def test_the_list_shows_where_each_ticket_stands(ledger: Ledger) -> None:
    names = ["t-awaiting", "t-approved", "t-rejected", "t-published"]
    for name in names:
        ledger.record_draft(draft(name), START)
    for name in ("t-approved", "t-published"):
        review = ledger.add_review(name, draft(name).sha256, "approved", "Mara", "fits", later(1))
    ledger.record_publication(names[3], draft(names[3]).sha256, review.seq, "Mara", later(2), "f")
    ledger.add_review("t-rejected", draft("t-rejected").sha256, "rejected", "Olu", "no", later(3))
    rows = {row.ticket_id: row for row in ledger.tickets()}
    assert {name: row.state for name, row in rows.items()} == {
        "t-awaiting": "awaiting",
        "t-approved": "approved",
        "t-rejected": "rejected",
        "t-published": "published",
    }
    assert (rows["t-rejected"].reviewer, rows["t-rejected"].reason) == ("Olu", "no")
    assert rows["t-published"].published_at == later(2)
    assert rows["t-awaiting"].reviewed_at is None
    assert rows["t-approved"].title == "Reseat the cable"
    assert [row.ticket_id for row in ledger.reviews_after(review.seq)] == ["t-rejected"]
    assert ledger.review(review.seq) == review


def test_unknown_tickets_and_reviews_are_said_to_be_unknown(ledger: Ledger) -> None:
    with pytest.raises(NotFoundError):
        ledger.current_draft("t")
    with pytest.raises(NotFoundError):
        ledger.review(1)
    assert ledger.tickets("nowhere") == []


def test_a_file_that_is_no_ledger_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_text("this is not a database, it is a note of some length" * 20)
    with pytest.raises(FabricError, match=r"ledger\.sqlite cannot be used"):
        Ledger(path)


def test_nothing_can_be_written_while_reading(ledger: Ledger) -> None:
    with pytest.raises(FabricError, match="readonly"), ledger.reading() as con:
        con.execute("DELETE FROM drops")
