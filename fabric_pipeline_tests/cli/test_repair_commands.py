"""`tickets repaired` over a home with two drafts."""

from __future__ import annotations

import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline_tests.cli.calls import Shell

AT = "2024-05-06T15:00:00+02:00"


@pytest.fixture
def ticket(home: Settings) -> str:
    return Ledger(home.ledger).tickets()[0].ticket_id


def test_a_repair_is_recorded_and_shown_with_what_it_waits_for(
    shell: Shell, home: Settings, ticket: str
) -> None:
    words = (
        "--action",
        "reseat",
        "--old-serial",
        "S01",
        "--new-serial",
        "S01",
        "--by",
        "technician-2",
    )
    done = shell("tickets", "repaired", ticket, *words, "--at", AT)
    assert done.code == 0
    assert f"{ticket}: repair 1 recorded" in done.out
    assert "repaired since 2024-05-06 13:00 UTC: measured clean for 0 min" in done.out
    assert "reseat by technician-2: out S01, in S01; not yet known" in done.out
    assert "was not published before this repair" in done.err
    assert Ledger(home.ledger).verify_chain() == []
    assert "repaired since" in shell("tickets", ticket).out


def test_a_program_reads_the_same_as_json(shell: Shell, home: Settings, ticket: str) -> None:
    words = ("--action", "other", "--note", "moved\x1b[31m the node", "--by", "technician-2")
    body = shell("tickets", "repaired", ticket, *words, "--at", AT, "--json").json
    assert (body["action"], body["step"], body["state"]) == ("other", None, "repaired")
    assert body["note"] == "moved the node"
    assert body["repaired_at"] == AT
    (row,) = Ledger(home.ledger).repairs()
    assert row.report.incident_id == body["incident_id"]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--action", "hit_it", "--by", "x"), 2, "its repair order: step 1"),
        (("--action", "reseat", "--by", "x", "--at", "2024-05-06T15:00"), 2, "time zone"),
        (("--action", "reseat", "--by", "x", "--at", "2020-05-06T15:00Z"), 2, "first seen"),
        (("--action", "reseat", "--by", "x", "--new-serial", "=1+1"), 3, "not a serial"),
    ],
)
def test_mistakes_end_with_what_to_do_and_record_nothing(
    shell: Shell, home: Settings, ticket: str, words: tuple[str, ...], code: int, says: str
) -> None:
    done = shell("tickets", "repaired", ticket, *words)
    assert (done.code, done.out) == (code, "")
    assert says in done.err
    assert Ledger(home.ledger).repairs() == []


def test_an_unknown_ticket_is_not_found(shell: Shell, home: Settings) -> None:
    assert shell("tickets", "repaired", "T-none", "--action", "reseat", "--by", "x").code == 4
