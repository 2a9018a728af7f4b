"""`incidents`, `tickets` and `review` over a home with two drafts."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline_tests import small_drop
from fabric_pipeline_tests.cli.calls import Shell
from fabric_pipeline_tests.pipeline_runs import diagnose_without_dagster
from fabric_pipeline_tests.small_drop import BAD_LINKS, write_drop

PROMISED = {
    "incident_id", "isolated_component", "far_end", "link_type", "fault_type", "severity",
    "ticket_priority", "confidence", "degradation_pct", "first_seen", "last_seen", "affected_runs",
    "role",
}  # fmt: skip


@pytest.fixture
def ticket(home: Settings) -> str:
    return Ledger(home.ledger).tickets()[0].ticket_id


def reviews(home: Settings) -> list[tuple[str, str]]:
    return [(row.decision, row.reviewer) for row in Ledger(home.ledger).reviews_after(0)]


def test_incidents_are_listed_with_what_was_promised(shell: Shell, home: Settings) -> None:
    records = shell("incidents", "--json").json
    assert {record["isolated_component"] for record in records} == set(BAD_LINKS)
    assert all(set(record) >= PROMISED for record in records)
    table = shell("incidents", "--drop", "small").out
    assert all(link in table for link in BAD_LINKS)
    assert shell("incidents", "--drop", "other", "--json").json == []


def test_one_incident_is_shown_with_its_reasoning_and_evidence(
    shell: Shell, home: Settings
) -> None:
    record = shell("incidents", "--json").json[0]
    shown = shell("incidents", record["incident_id"]).out
    assert record["isolated_component"] in shown
    assert record["far_end"] in shown
    assert "counters.csv" in shown
    (same,) = shell("incidents", record["incident_id"], "--json").json
    assert same == record


def test_an_incident_of_two_drops_is_shown_as_it_was_seen_last(
    shell: Shell, home: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_drop, "SLOW_US", small_drop.SLOW_US * 2)
    diagnose_without_dagster(home, write_drop(tmp_path / "a-later-one"))
    incident = shell("incidents", "--json").json[0]["incident_id"]
    assert len(shell("incidents", incident, "--json").json) == 2
    answer = shell("incidents", incident)
    assert "4003 us" in answer.out
    assert "seen in 2 drops" in answer.err


def test_tickets_are_listed_and_shown(shell: Shell, home: Settings, ticket: str) -> None:
    rows = shell("tickets", "--json").json
    assert [row["state"] for row in rows] == ["awaiting", "awaiting"]
    assert {row["link"] for row in rows} == set(BAD_LINKS)
    assert ticket in shell("tickets").out
    sheet = shell("tickets", ticket).out
    assert "AWAITING" in sheet
    whole = shell("tickets", ticket, "--json").json
    assert whole["draft_sha256"] == rows[0]["draft_sha256"]
    assert whole["link"] in sheet
    assert shell("tickets", "show", ticket).out == sheet
    assert shell("tickets", "--drop", "small", "--json").json == rows
    assert shell("tickets", "--drop", "none", "--json").json == []
    assert {row["life"] for row in rows} == {"new"}


def test_looking_at_a_draft_records_nothing(shell: Shell, home: Settings, ticket: str) -> None:
    answer = shell("review", ticket)
    assert answer.code == 0
    content = shell("tickets", ticket, "--json").json["draft_sha256"]
    assert f"--approve --reviewer NAME --draft {content}" in answer.err
    assert "OWN FINDING: none" in answer.out
    assert reviews(home) == []


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--approve"], 2, "needs the name"),
        (["--approve", "--reviewer", " \t"], 2, "needs the name"),
        (["--approve", "--reviewer", "rules"], 2, "cannot review it"),
        (["--reject", "--reviewer", "Mara"], 2, "needs a reason"),
        (["--approve", "--reject", "--reviewer", "Mara"], 2, "either approved or rejected"),
        (["--approve", "--reviewer", "Mara", "--draft", "0" * 64], 5, "not the current one"),
    ],
)
def test_a_review_that_cannot_count_is_refused(
    shell: Shell, home: Settings, ticket: str, words: list[str], code: int, says: str
) -> None:
    answer = shell("review", ticket, *words)
    assert (answer.code, answer.out) == (code, "")
    assert says in answer.err
    assert reviews(home) == []


def test_decisions_are_kept_with_name_and_reason(shell: Shell, home: Settings, ticket: str) -> None:
    draft = shell("tickets", ticket, "--json").json["draft_sha256"]
    approved = shell(
        "review", ticket, "--approve", "--reviewer", "Mara", "--draft", draft, "--json"
    )
    assert approved.json["decision"] == "approved"
    assert approved.json["draft_sha256"] == draft
    assert "fabric-pipeline publish small" in approved.err
    rejected = shell("review", ticket, "--reject", "--reviewer", "Olu", "--reason", "wrong port")
    assert "rejected by Olu" in rejected.out
    assert reviews(home) == [("approved", "Mara"), ("rejected", "Olu")]
    assert shell("tickets", "--json").json[0]["state"] == "rejected"
    assert shell("publish", "small").code == 5
