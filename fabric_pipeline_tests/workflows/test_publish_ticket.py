"""Publishing: what goes out, what does not and why, and runs that are cut short."""

from __future__ import annotations

import json
import multiprocessing
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows import publish_ticket
from fabric_pipeline.workflows.publish_ticket import publish_approved
from fabric_pipeline.workflows.review_ticket import review
from fabric_pipeline_tests.store.fakes import START, TICKET, draft, later, settings

FILES = [
    "jira.json",
    "pagerduty.json",
    "servicenow.json",
    "sheet.html",
    "ticket.json",
    "ticket.txt",
]
OTHER = "TKT-00000000000b"


@pytest.fixture
def where(tmp_path: Path) -> Settings:
    return settings(tmp_path)


@pytest.fixture
def ledger(where: Settings) -> Ledger:
    ledger = Ledger(where.ledger)
    ledger.record_draft(draft(), START)
    return ledger


def out(where: Settings) -> list[str]:
    """Everything in the outbox but its lock and its empty staging folder."""
    paths = (path.relative_to(where.outbox).as_posix() for path in where.outbox.rglob("*"))
    return sorted(path for path in paths if path not in (".lock", ".staging"))


def test_only_the_approved_one_goes_out(where: Settings, ledger: Ledger) -> None:
    ledger.record_draft(draft(OTHER), START)
    review(ledger, TICKET, None, "approved", "reviewer-1", "fits", later(1))
    outcome = publish_approved(where, ledger, "d1", later(2))
    assert [row.ticket_id for row in outcome.published] == [TICKET]
    assert outcome.refused == [(OTHER, "no person has reviewed this draft yet")]
    assert out(where) == [TICKET, *(f"{TICKET}/{name}" for name in FILES)]
    written = json.loads((where.outbox / outcome.published[0].outbox_file).read_text())
    assert written["draft_sha256"] == draft().sha256
    assert written["approval"]["reviewer"] == "reviewer-1"
    assert ledger.verify_chain() == []


def test_a_second_call_publishes_nothing_again(where: Settings, ledger: Ledger) -> None:
    review(ledger, TICKET, None, "approved", "reviewer-1", "", later(1))
    first = publish_approved(where, ledger, "d1", later(2))
    before = (where.outbox / TICKET / "ticket.json").read_bytes()
    review(ledger, TICKET, None, "approved", "reviewer-2", "me too", later(3))
    second = publish_approved(where, ledger, "d1", later(4))
    assert (second.published, second.already, second.refused) == ([], first.published, [])
    assert (where.outbox / TICKET / "ticket.json").read_bytes() == before


@pytest.mark.parametrize("last", ["none", "rejected", "redrafted"])
def test_what_a_person_has_not_approved_stays(where: Settings, ledger: Ledger, last: str) -> None:
    if last != "none":
        review(ledger, TICKET, None, "approved", "reviewer-1", "", later(1))
    if last == "rejected":
        review(ledger, TICKET, None, "rejected", "reviewer-2", "wrong port", later(2))
    if last == "redrafted":
        ledger.record_draft(draft(title="Replace the cable"), later(2))
    outcome = publish_approved(where, ledger, "d1", later(3))
    assert [ticket for ticket, _ in outcome.refused] == [TICKET]
    assert (outcome.published, ledger.publications(), out(where)) == ([], [], [])
    assert len(ledger.drafts_of_drop("d1")) == 1


def test_a_retired_draft_is_not_considered(where: Settings, ledger: Ledger) -> None:
    review(ledger, TICKET, None, "approved", "reviewer-1", "", later(1))
    ledger.retire_drafts("d1", [], later(2))
    outcome = publish_approved(where, ledger, "d1", later(3))
    assert (outcome.published, outcome.refused, out(where)) == ([], [], [])
    assert ledger.current_draft(TICKET).retired


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE drafts SET json = replace(json, 'Reseat', 'Remove')",
        "UPDATE reviews SET decision = 'approved'",
        (
            "INSERT INTO reviews (ticket_id, revision, draft_sha256, decision, reviewer, reason, at) "
            "SELECT ticket_id, revision, draft_sha256, 'approved', reviewer, reason, at FROM reviews"
        ),
    ],
)
def test_a_ledger_changed_from_outside_publishes_nothing(
    where: Settings, ledger: Ledger, tampering: str
) -> None:
    decision = "approved" if "drafts SET" in tampering else "rejected"
    review(ledger, TICKET, None, decision, "reviewer-1", "because", later(1))
    with closing(sqlite3.connect(ledger.path)) as con:
        for trigger in ("drafts_no_update", "reviews_no_update"):
            con.execute(f"DROP TRIGGER {trigger}")
        con.execute(tampering)
        con.commit()
    outcome = publish_approved(where, ledger, "d1", later(2))
    assert [ticket for ticket, _ in outcome.refused] == [TICKET]
    assert "changed from outside" in outcome.refused[0][1]
    assert (ledger.publications(), out(where)) == ([], [])
    assert len(ledger.drafts_of_drop("d1")) == 1


def test_the_ledger_refuses_what_a_wrong_verdict_lets_through(
    where: Settings, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    review(ledger, TICKET, None, "rejected", "reviewer-1", "wrong port", later(1))
    monkeypatch.setattr(publish_ticket, "verdict", lambda _: (True, "always"))
    outcome = publish_approved(where, ledger, "d1", later(2))
    assert "not approved by a person" in outcome.refused[0][1]
    assert (ledger.publications(), out(where)) == ([], [])
    assert len(ledger.drafts_of_drop("d1")) == 1


def test_a_new_revision_replaces_the_published_folder_whole(
    where: Settings, ledger: Ledger
) -> None:
    review(ledger, TICKET, None, "approved", "reviewer-1", "", later(1))
    publish_approved(where, ledger, "d1", later(2))
    (where.outbox / TICKET / "note-of-the-desk.txt").write_text("seen")
    ledger.record_draft(draft(title="Replace the cable"), later(3))
    review(ledger, TICKET, None, "approved", "reviewer-1", "", later(4))
    publish_approved(where, ledger, "d1", later(5))
    assert out(where) == [TICKET, *(f"{TICKET}/{name}" for name in FILES)]
    assert "Replace the cable" in (where.outbox / TICKET / "sheet.html").read_text()
    assert [row.revision for row in ledger.publications("d1")] == [1, 2]


class PowerCutError(Exception):
    """Stands for a process that ends at this point."""


@pytest.mark.parametrize("published_before", [False, True])
def test_a_run_cut_short_after_the_ledger_is_finished_by_the_next(
    where: Settings, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, published_before: bool
) -> None:
    if published_before:
        review(ledger, TICKET, None, "approved", "reviewer-1", "", later(1))
        publish_approved(where, ledger, "d1", later(2))
        ledger.record_draft(draft(title="Replace the cable"), later(3))
    review(ledger, TICKET, None, "approved", "reviewer-1", "", later(4))
    with monkeypatch.context() as patch:
        patch.setattr(publish_ticket, "_put_in_place", _cut)
        with pytest.raises(PowerCutError):
            publish_approved(where, ledger, "d1", later(5))
    outcome = publish_approved(where, ledger, "d1", later(6))
    assert [row.at for row in outcome.already] == [later(5)]
    assert out(where) == [TICKET, *(f"{TICKET}/{name}" for name in FILES)]
    written = json.loads((where.outbox / TICKET / "ticket.json").read_text())
    assert written["published_at"] == later(5).isoformat()


def test_a_run_cut_short_between_the_two_renames_is_finished_by_the_next(
    where: Settings, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    review(ledger, TICKET, None, "approved", "reviewer-1", "", later(1))
    publish_approved(where, ledger, "d1", later(2))
    ledger.record_draft(draft(title="Replace the cable"), later(3))
    review(ledger, TICKET, None, "approved", "reviewer-1", "", later(4))
    rename = Path.rename

    def once(path: Path, target: Path) -> Path:
        if path.name.endswith(".2"):
            raise PowerCutError
        return rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", once)
        with pytest.raises(PowerCutError):
            publish_approved(where, ledger, "d1", later(5))
    assert not (where.outbox / TICKET).exists()
    publish_approved(where, ledger, "d1", later(6))
    assert out(where) == [TICKET, *(f"{TICKET}/{name}" for name in FILES)]
    assert "Replace the cable" in (where.outbox / TICKET / "sheet.html").read_text()


def test_a_run_cut_short_before_the_ledger_leaves_no_file_behind(
    where: Settings, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    review(ledger, TICKET, None, "approved", "reviewer-1", "", later(1))
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "record_publication", _cut)
        with pytest.raises(PowerCutError):
            publish_approved(where, ledger, "d1", later(2))
    assert ledger.publications() == []
    assert not (where.outbox / TICKET).exists()
    review(ledger, TICKET, None, "rejected", "reviewer-2", "second thoughts", later(3))
    assert publish_approved(where, ledger, "d1", later(4)).published == []
    assert out(where) == []


def test_a_ticket_that_the_desk_took_away_is_not_written_again(
    where: Settings, ledger: Ledger
) -> None:
    review(ledger, TICKET, None, "approved", "reviewer-1", "", later(1))
    publish_approved(where, ledger, "d1", later(2))
    (where.outbox / TICKET).rename(where.home / "taken")
    assert len(publish_approved(where, ledger, "d1", later(3)).already) == 1
    assert out(where) == []


def _cut(*_: object) -> None:
    raise PowerCutError


def _publish(home: Path) -> None:
    where = settings(home)
    publish_approved(where, Ledger(where.ledger), "d1", later(9))


def test_two_processes_publish_each_ticket_once(
    tmp_path: Path, where: Settings, ledger: Ledger
) -> None:
    names = [f"TKT-{number}" for number in range(6)]
    for name in names:
        ledger.record_draft(draft(name), START)
        review(ledger, name, None, "approved", "reviewer-1", "", later(1))
    process = multiprocessing.get_context("spawn").Process(target=_publish, args=(tmp_path,))
    process.start()
    _publish(tmp_path)
    process.join(60)
    assert process.exitcode == 0
    assert sorted(row.ticket_id for row in ledger.publications()) == names
    assert sorted(path.parent.name for path in where.outbox.glob("*/ticket.json")) == names
    assert ledger.verify_chain() == []
