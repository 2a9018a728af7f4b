"""A ledger of the first version opens as it is: the chain holds, drafts stay readable and unaltered."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fabric_pipeline.errors import GateError
from fabric_pipeline.incidents.review import verdict
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.edit_ticket import edit
from fabric_pipeline.workflows.publish_ticket import publish_approved
from fabric_pipeline.workflows.review_ticket import review
from fabric_pipeline_tests.store.fakes import draft, incident, later, settings
from fabric_pipeline_tests.store.first_ledger import (
    APPROVED,
    GONE,
    PUBLISHED,
    REVIEWER,
    WAITING,
    first_draft,
    first_sha256,
    write_first_ledger,
)


@pytest.fixture
def old(tmp_path: Path) -> tuple[Ledger, str]:
    """The upgraded ledger and the head that its chain had before."""
    head = write_first_ledger(settings(tmp_path).ledger)
    return Ledger(settings(tmp_path).ledger), head


def test_the_chain_of_the_old_file_still_holds(old: tuple[Ledger, str]) -> None:
    ledger, head = old
    assert ledger.chain_head() == head
    assert ledger.verify_chain([head]) == []
    assert ledger.missing_rules() == []
    assert Ledger(ledger.path).verify_chain([head]) == []  # opened once more: upgraded once


def test_drafts_of_the_first_schema_are_intact_and_readable(old: tuple[Ledger, str]) -> None:
    stored = old[0].current_draft(WAITING)
    assert stored.intact
    assert stored.draft_sha256 == first_sha256(first_draft(WAITING))
    assert not stored.is_present_schema
    assert stored.draft is not None
    assert (stored.draft.rack, stored.draft.cost_usd) == ("R3", 0.0123)
    finding = stored.draft.topology_finding
    assert finding is not None
    assert (finding.level, finding.agrees_with_isolation) == ("link", True)
    assert finding.would_refute_it.startswith("Errors that stay")
    assert {row.ticket_id: row.state for row in old[0].tickets()} == {
        WAITING: "awaiting",
        APPROVED: "approved",
        PUBLISHED: "published",
        GONE: "superseded",
    }


def test_an_old_draft_that_was_changed_is_not_intact(old: tuple[Ledger, str]) -> None:
    ledger, _ = old
    with closing(sqlite3.connect(ledger.path)) as con:
        con.execute("DROP TRIGGER drafts_no_update")
        con.execute("UPDATE drafts SET json = replace(json, 'Reseat', 'Remove')")
        con.commit()
    stored = ledger.current_draft(WAITING)
    assert stored.draft is not None
    assert not stored.intact


def test_an_old_approval_does_not_go_out_in_another_shape(
    old: tuple[Ledger, str], tmp_path: Path
) -> None:
    ledger, _ = old
    state = ledger.review_state(APPROVED, first_sha256(first_draft(APPROVED)))
    assert (state.decision, state.reviewer) == ("approved", REVIEWER)
    assert "another ticket schema" in verdict(state).why
    outcome = publish_approved(settings(tmp_path), ledger, "d1", later(0))
    assert outcome.published == []
    assert [row.ticket_id for row in outcome.already] == [PUBLISHED]
    assert any(t == APPROVED and "run its drop again" in why for t, why in outcome.refused)
    with pytest.raises(GateError, match=r"schema 1\.0"):
        review(ledger, WAITING, None, "approved", REVIEWER, "", later(1))
    review(ledger, WAITING, None, "rejected", REVIEWER, "wrong rack", later(1))


def test_old_drafts_are_not_used_again_and_an_edit_lifts_them(old: tuple[Ledger, str]) -> None:
    ledger, _ = old
    old_sha = first_sha256(first_draft(WAITING))
    assert ledger.draft_for_evidence(WAITING, first_draft(WAITING)["evidence_sha256"]) is None
    edit(ledger, WAITING, old_sha, {"rack": "R4"}, "technician-2", "the sticker says so", later(1))
    stored = ledger.current_draft(WAITING)
    assert stored.intact
    assert stored.is_present_schema
    assert stored.draft is not None
    assert stored.draft.sha256 == stored.draft_sha256
    review(ledger, WAITING, None, "approved", REVIEWER, "", later(2))
    assert verdict(ledger.review_state(WAITING, stored.draft_sha256)).may_publish
    assert ledger.verify_chain() == []


def test_a_run_after_the_upgrade_says_why_the_old_approval_is_lost(old: tuple[Ledger, str]) -> None:
    ledger, _ = old
    evidence = first_draft(APPROVED)["evidence_sha256"]
    new = draft(APPROVED, incident_id=f"INC-{APPROVED}", evidence_sha256=evidence)
    assert ledger.record_draft(new, later(1)) == 2
    row = next(row for row in ledger.tickets() if row.ticket_id == APPROVED)
    assert row.state == "awaiting"
    assert row.expired.endswith("written in ticket schema 2.0")


def test_text_that_is_no_draft_of_any_version_is_told_apart(old: tuple[Ledger, str]) -> None:
    ledger, _ = old
    for text in ("not json", "[]", json.dumps({"schema_version": "1.0"})):
        with closing(sqlite3.connect(ledger.path)) as con:
            con.execute("DROP TRIGGER IF EXISTS drafts_no_update")
            con.execute("UPDATE drafts SET json = ?", [text])
            con.commit()
        stored = ledger.current_draft(WAITING)
        assert (stored.draft, stored.intact) == (None, False)


def test_accusations_of_an_old_file_are_found_by_serial_and_by_end(tmp_path: Path) -> None:
    where = settings(tmp_path)
    write_first_ledger(where.ledger)
    record = incident(
        place={"gpu_serial": "SN-1"}, cable={"serial": "C-2"}, far_end="calc-08:gpu1/nvlink-5"
    )
    with closing(sqlite3.connect(where.ledger)) as con:
        con.execute(
            "INSERT INTO incident_observations (incident_id, drop_id, found, component, gpu_serial, "
            "needs_ticket, evidence_sha256, json, at) VALUES (?, 'd1', 1, ?, 'SN-1', 1, '', ?, '')",
            [record.incident_id, record.isolated_component, record.model_dump_json()],
        )
        con.commit()
    ledger = Ledger(where.ledger)
    for serial in ("SN-1", "C-2"):
        assert ledger.accused_with_serial(serial) == [record]
    assert ledger.accused_with_serial("SN") == []
    (ends,) = ledger.standing_ends(["d1"])
    assert (ends.component, ends.far_end) == (record.isolated_component, "calc-08:gpu1/nvlink-5")
    ledger.record_incidents("d1", [], later(1))
    assert ledger.standing_ends(["d1"]) == []
    assert ledger.accused_with_serial("SN-1") == []


def test_what_waits_is_listed_without_what_was_decided(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    for name in ("t-open", "t-decided", "t-gone", "t-again"):
        ledger.record_draft(draft(name, drop="gone" if name == "t-gone" else "d1"), later(1))
    for name in ("t-decided", "t-again"):
        sha256 = ledger.current_draft(name).draft_sha256
        ledger.add_review(name, sha256, "approved", REVIEWER, "", later(2))
    ledger.retire_drafts("gone", [], later(3))
    ledger.record_draft(draft("t-again", title="Swap the cable"), later(4))
    assert [row.ticket_id for row in ledger.awaiting()] == ["t-again", "t-open"]
    assert ledger.awaiting() == [row for row in ledger.tickets() if row.state == "awaiting"]
    assert ledger.undecided_drops() == {"d1"}
