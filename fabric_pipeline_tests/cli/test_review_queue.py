"""The review queue, and deciding at a terminal: the draft is shown before anybody is asked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fabric_pipeline.cli import decide
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline_tests.cli.calls import Shell
from fabric_pipeline_tests.cli.pictures import widest

BOLD = re.compile(r"\x1b\[[0-9;]*m")  # NO_COLOR leaves bold and dim


@pytest.fixture
def ticket(home: Settings) -> str:
    return Ledger(home.ledger).tickets()[0].ticket_id


@pytest.fixture
def at_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody sits there: answers come from stdin, pictures are drawn for 80 columns."""
    monkeypatch.setattr(decide, "person_at_terminal", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")


def decisions(home: Settings) -> list[tuple[str, str, str]]:
    rows = Ledger(home.ledger).reviews_after(0)
    return [(row.decision, row.reviewer, row.reason) for row in rows]


def test_the_queue_says_who_what_and_how_long(shell: Shell, home: Settings, ticket: str) -> None:
    piped = shell("review")
    head, rule, first, second = piped.out.splitlines()
    assert head.split()[:4] == ["ticket", "priority", "waits", "since"]
    assert set(rule) == {"-", " "}
    assert ticket in first + second
    assert "--decide" in piped.err
    rows = shell("review", "--json").json
    assert {row["ticket_id"] for row in rows} == {row.ticket_id for row in Ledger(home.ledger).tickets()}  # fmt: skip
    assert all(len(row["draft_sha256"]) == 64 and row["waits_minutes"] >= 0 for row in rows)


@pytest.mark.usefixtures("at_terminal")
def test_the_queue_on_a_terminal_has_what_waits_and_what_was_decided(
    shell: Shell, home: Settings, ticket: str
) -> None:
    assert "2 drafts wait for a person   0 decided" in shell("review").out
    draft = Ledger(home.ledger).current_draft(ticket).draft_sha256
    shell("review", ticket, "--reject", "--reviewer", "reviewer-1", "--reason", "wrong port", "--draft", draft)  # fmt: skip
    drawn = shell("review").out
    assert "1 draft waits for a person   1 decided" in drawn
    assert "x rejected" in drawn
    assert "rejected by reviewer-1" in drawn
    assert "wrong port" in drawn


@pytest.mark.usefixtures("at_terminal")
def test_a_decision_is_asked_after_the_draft_was_shown(
    shell: Shell, home: Settings, ticket: str
) -> None:
    answer = shell("review", ticket, "--decide", stdin="a\nreviewer-1\nevidence fits\n")
    assert answer.code == 0
    assert answer.out.index("STEPS") < answer.out.index("approved by reviewer-1")
    assert decisions(home) == [("approved", "reviewer-1", "evidence fits")]
    later = shell("review", ticket, "--decide", stdin="\n")
    assert (later.code, "nothing was recorded" in later.err) == (0, True)
    wrong = shell("review", ticket, "--decide", stdin="maybe\n")
    assert wrong.code == 2
    unnamed = shell("review", ticket, "--decide", stdin="r\nreviewer-1\n\n")
    assert unnamed.code == 2
    assert len(decisions(home)) == 1


@pytest.mark.usefixtures("at_terminal")
def test_a_flag_without_the_hash_shows_the_draft_and_asks(
    shell: Shell, home: Settings, ticket: str
) -> None:
    no = shell("review", ticket, "--approve", "--reviewer", "reviewer-1", stdin="n\n")
    assert no.code == 5
    assert "STEPS" in no.out
    assert decisions(home) == []
    yes = shell("review", ticket, "--approve", "--reviewer", "reviewer-1", stdin="y\n")
    assert yes.code == 0
    assert len(decisions(home)) == 1


def test_without_a_terminal_the_draft_is_shown_on_stderr(
    shell: Shell, home: Settings, ticket: str
) -> None:
    answer = shell("review", ticket, "--approve", "--reviewer", "reviewer-1", "--json")
    assert answer.json["decision"] == "approved"
    assert "STEPS" in answer.err
    assert shell("review", ticket, "--decide").code == 2


def test_the_first_characters_of_the_hash_are_enough(
    shell: Shell, home: Settings, ticket: str
) -> None:
    draft = Ledger(home.ledger).current_draft(ticket).draft_sha256
    short = shell("review", ticket, "--approve", "--reviewer", "reviewer-1", "--draft", draft[:12])
    assert short.code == 0
    assert "STEPS" not in short.out + short.err
    for wrong in (draft[:4], "0" * 12):
        assert shell("review", ticket, "--approve", "--reviewer", "reviewer-1", "--draft", wrong).code == 5  # fmt: skip


def test_who_edited_cannot_approve_at_a_terminal_either(
    shell: Shell, home: Settings, ticket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited = shell("tickets", "edit", ticket, "--set", "rack=R12", "--editor", "technician-2", "--reason", "seen on site")  # fmt: skip
    assert edited.code == 0, edited.err
    monkeypatch.setattr(decide, "person_at_terminal", lambda: True)
    own = shell("review", ticket, "--decide", stdin="a\ntechnician-2\nmine\n")
    assert own.code == 5
    assert "technician-2, who cannot approve" in own.out
    assert decisions(home) == []


@pytest.mark.usefixtures("at_terminal")
@pytest.mark.parametrize("columns", [60, 200])
def test_lists_are_blocks_on_a_narrow_terminal_and_tables_on_a_wide_one(
    shell: Shell, home: Settings, ticket: str, monkeypatch: pytest.MonkeyPatch, columns: int, tmp_path: Path
) -> None:  # fmt: skip
    monkeypatch.setenv("COLUMNS", str(columns))
    incident = Ledger(home.ledger).tickets()[0].incident_id
    for words in (["incidents", "--all"], ["tickets"], ["incidents", incident], ["review"]):
        drawn = shell(*words).out
        assert widest(BOLD.sub("", drawn)) <= columns
        assert ticket in drawn or incident in drawn
    one_line = [line for line in shell("incidents").out.splitlines() if incident in line and ticket in line]  # fmt: skip
    assert bool(one_line) == (columns == 200)
