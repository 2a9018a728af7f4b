"""Every way round the gate that goes through the ledger file itself; each draft is on record."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fabric_pipeline.errors import BadInputError, GateError, NotFoundError
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline_tests.store.fakes import START, TICKET, draft, incident, later, sha

PUBLISH = (
    "INSERT INTO published (ticket_id, revision, draft_sha256, review_seq, reviewer, at, outbox_file)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


@pytest.fixture
def raw(ledger: Ledger) -> Iterator[sqlite3.Connection]:
    """The file as any other program opens it."""
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as con:
        yield con


def insert(
    raw: sqlite3.Connection,
    content: str,
    review_seq: int,
    *,
    revision: int = 1,
    reviewer: str = "Mara",
    verb: str = "INSERT",
) -> None:
    values = (TICKET, revision, content, review_seq, reviewer, "2031-01-01", "x/ticket.json")
    raw.execute(PUBLISH.replace("INSERT", verb, 1), values)


def assert_recorded_but_not_published(ledger: Ledger, content: str) -> None:
    assert content in {stored.draft_sha256 for stored in ledger.drafts_of_drop("d1")}
    assert ledger.publications() == []


@pytest.mark.parametrize("verb", ["INSERT", "INSERT OR IGNORE", "INSERT OR REPLACE", "REPLACE"])
def test_without_any_review(ledger: Ledger, raw: sqlite3.Connection, verb: str) -> None:
    ledger.record_draft(draft(), START)
    with pytest.raises(sqlite3.IntegrityError, match="not approved by a person"):
        insert(raw, draft().sha256, 1, verb=verb)
    assert_recorded_but_not_published(ledger, draft().sha256)


def test_with_a_rejected_latest_review(ledger: Ledger, raw: sqlite3.Connection) -> None:
    content = draft().sha256
    ledger.record_draft(draft(), START)
    first = ledger.add_review(TICKET, content, "approved", "Mara", "", later(1))
    second = ledger.add_review(TICKET, content, "rejected", "Olu", "wrong port", later(2))
    for seq, reviewer in ((first.seq, "Mara"), (second.seq, "Olu")):
        with pytest.raises(sqlite3.IntegrityError, match="not approved"):
            insert(raw, content, seq, reviewer=reviewer)
    with pytest.raises(GateError):
        ledger.record_publication(TICKET, content, first.seq, "Mara", later(3), "x")
    assert_recorded_but_not_published(ledger, content)


def test_after_a_redraft(ledger: Ledger, raw: sqlite3.Connection) -> None:
    old, new = draft(), draft(title="Replace the cable")
    ledger.record_draft(old, START)
    approval = ledger.add_review(TICKET, old.sha256, "approved", "Mara", "", later(1))
    assert ledger.record_draft(new, later(2)) == 2
    with pytest.raises(sqlite3.IntegrityError, match="not approved"):
        insert(raw, old.sha256, approval.seq)
    for revision in (1, 2):
        with pytest.raises(sqlite3.IntegrityError, match="not approved"):
            insert(raw, new.sha256, approval.seq, revision=revision)
    assert_recorded_but_not_published(ledger, new.sha256)
    assert ledger.review_state(TICKET, old.sha256).standing == "outdated"
    assert ledger.review_state(TICKET, new.sha256).decision == "awaiting"


def test_a_draft_that_comes_back_needs_a_new_review(
    ledger: Ledger, raw: sqlite3.Connection
) -> None:
    old, new = draft(), draft(title="Replace the cable")
    ledger.record_draft(old, START)
    approval = ledger.add_review(TICKET, old.sha256, "approved", "Mara", "", later(1))
    ledger.record_draft(new, later(2))
    assert ledger.record_draft(old, later(3)) == 3
    assert ledger.review_state(TICKET, old.sha256).decision == "awaiting"
    with pytest.raises(sqlite3.IntegrityError, match="not approved"):
        insert(raw, old.sha256, approval.seq, revision=3)
    assert_recorded_but_not_published(ledger, old.sha256)


def test_with_an_approval_of_another_ticket(ledger: Ledger, raw: sqlite3.Connection) -> None:
    other = draft("TKT-00000000000b")
    ledger.record_draft(draft(), START)
    ledger.record_draft(other, START)
    approval = ledger.add_review(other.ticket_id, other.sha256, "approved", "Mara", "", later(1))
    with pytest.raises(sqlite3.IntegrityError, match="not approved"):
        insert(raw, draft().sha256, approval.seq)
    assert_recorded_but_not_published(ledger, draft().sha256)


def test_under_another_reviewers_name(ledger: Ledger, raw: sqlite3.Connection) -> None:
    ledger.record_draft(draft(), START)
    approval = ledger.add_review(TICKET, draft().sha256, "approved", "Mara", "", later(1))
    with pytest.raises(sqlite3.IntegrityError, match="not approved"):
        insert(raw, draft().sha256, approval.seq, reviewer="Olu")
    assert_recorded_but_not_published(ledger, draft().sha256)


def test_of_a_retired_draft(ledger: Ledger, raw: sqlite3.Connection) -> None:
    ledger.record_draft(draft(), START)
    approval = ledger.add_review(TICKET, draft().sha256, "approved", "Mara", "", later(1))
    assert ledger.retire_drafts("d1", [], later(2)) == [TICKET]
    with pytest.raises(sqlite3.IntegrityError, match="not approved"):
        insert(raw, draft().sha256, approval.seq)
    with pytest.raises(GateError, match="not the current draft"):
        ledger.add_review(TICKET, draft().sha256, "approved", "Mara", "", later(3))
    assert ledger.publications() == []
    assert ledger.current_draft(TICKET).draft == draft()
    assert ledger.record_draft(draft(), later(4)) == 2
    assert ledger.review_state(TICKET, draft().sha256).decision == "awaiting"


@pytest.mark.parametrize("reviewer", ["", " ", "\t\n", "\u00a0"])
def test_by_nobody(ledger: Ledger, raw: sqlite3.Connection, reviewer: str) -> None:
    ledger.record_draft(draft(), START)
    with pytest.raises(GateError):
        ledger.add_review(TICKET, draft().sha256, "approved", reviewer, "", later(1))
    with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        raw.execute(
            "INSERT INTO reviews (ticket_id, revision, draft_sha256, decision, reviewer, reason, at)"
            " VALUES (?, 1, ?, 'approved', ?, '', 'now')",
            [TICKET, draft().sha256, reviewer],
        )
    assert_recorded_but_not_published(ledger, draft().sha256)


def test_rejections_need_a_reason_and_reviews_a_known_draft(ledger: Ledger) -> None:
    ledger.record_draft(draft(), START)
    with pytest.raises(GateError):
        ledger.add_review(TICKET, draft().sha256, "rejected", "Mara", " ", later(1))
    with pytest.raises(GateError, match="not the current draft"):
        ledger.add_review(TICKET, sha("other"), "approved", "Mara", "", later(1))
    with pytest.raises(NotFoundError):
        ledger.review_state(TICKET, sha("other"))
    assert ledger.reviews_after(0) == []
    assert_recorded_but_not_published(ledger, draft().sha256)


def test_with_an_approval_written_by_another_program(
    ledger: Ledger, raw: sqlite3.Connection
) -> None:
    ledger.record_draft(draft(), START)
    raw.execute(
        "INSERT INTO reviews (ticket_id, revision, draft_sha256, decision, reviewer, reason, at)"
        " VALUES (?, 1, ?, 'approved', 'Mara', '', '2031-01-01T00:00:00+00:00')",
        [TICKET, draft().sha256],
    )
    with pytest.raises(sqlite3.IntegrityError, match="not approved"):
        insert(raw, draft().sha256, 1)
    assert ledger.verify_chain() == [
        f"reviews: row 1 (ticket {TICKET}) did not come by this program"
    ]
    assert_recorded_but_not_published(ledger, draft().sha256)


def test_an_approved_draft_is_published_once(ledger: Ledger, raw: sqlite3.Connection) -> None:
    content = draft().sha256
    ledger.record_draft(draft(), START)
    approval = ledger.add_review(TICKET, content, "approved", " Mara ", "", later(1))
    row = ledger.record_publication(
        TICKET, content, approval.seq, "Mara", later(2), "x/ticket.json"
    )
    assert (row.ticket_id, row.revision, row.drop, row.at) == (TICKET, 1, "d1", later(2))
    for verb in ("INSERT", "INSERT OR REPLACE"):
        with pytest.raises(sqlite3.IntegrityError, match="already published"):
            insert(raw, content, approval.seq, verb=verb)
    again = ledger.add_review(TICKET, content, "approved", "Mara", "", later(3))
    with pytest.raises(GateError, match="already published"):
        ledger.record_publication(TICKET, content, again.seq, "Mara", later(4), "x")
    assert ledger.publications("d1") == [row]
    assert ledger.publications(ticket_id="other") == []
    assert ledger.verify_chain() == []


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE drafts SET json = '{}'",
        "DELETE FROM drafts",
        "UPDATE reviews SET decision = 'approved'",
        "DELETE FROM reviews",
        "DELETE FROM chain",
        "UPDATE chain SET hash = 'x'",
        "DELETE FROM incident_observations",
        (
            "INSERT OR REPLACE INTO reviews (seq, ticket_id, revision, draft_sha256, decision, "
            "reviewer, reason, at) SELECT seq, ticket_id, revision, draft_sha256, 'approved', "
            "reviewer, reason, at FROM reviews"
        ),
        "INSERT OR REPLACE INTO drafts SELECT * FROM drafts",
        "INSERT OR REPLACE INTO chain SELECT * FROM chain",
        (
            "INSERT OR REPLACE INTO drafts SELECT seq, ticket_id, 2, draft_sha256, drop_id, "
            "incident_id, '{}', drafter, model, prompt_version, 0, 0, NULL, evidence_sha256, at "
            "FROM drafts"
        ),
    ],
)
def test_history_cannot_be_changed(ledger: Ledger, raw: sqlite3.Connection, sql: str) -> None:
    ledger.record_incidents("d1", [incident()], START)
    ledger.record_draft(draft(), START)
    ledger.add_review(TICKET, draft().sha256, "rejected", "Mara", "no", later(1))
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(sql)
    assert ledger.verify_chain() == []
    assert_recorded_but_not_published(ledger, draft().sha256)


def test_a_ticket_id_that_could_leave_the_outbox_is_refused(ledger: Ledger) -> None:
    for ticket_id in ("../x", "", ".hidden", "a/b", "a\n"):
        with pytest.raises(BadInputError):
            ledger.record_draft(draft(ticket_id), START)
