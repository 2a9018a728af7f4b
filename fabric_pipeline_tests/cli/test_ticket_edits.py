"""Editing a ticket on the command line, up to the refusal to publish what nobody approved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabric_pipeline.incidents.ticket import FailedAttempt, TopologyFinding
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.publish_ticket import publish_approved
from fabric_pipeline_tests.cli.calls import Answer, Shell
from fabric_pipeline_tests.pipeline_runs import NOW
from fabric_pipeline_tests.store.fakes import draft

BY = ("--editor", "technician-2", "--reason", "the sticker says so")


@pytest.fixture
def ticket(home: Settings) -> str:
    return Ledger(home.ledger).tickets()[0].ticket_id


def refused(answer: Answer, code: int, says: str) -> None:
    assert (answer.code, answer.out) == (code, "")
    assert says in answer.err
    assert "what to do" in answer.err


def test_an_edit_is_shown_as_a_diff_and_waits_for_another_person(
    shell: Shell, home: Settings, ticket: str, tmp_path: Path
) -> None:
    patch = tmp_path / "patch.yaml"
    patch.write_text("rack: R12\nrollback: >\n  Put the old cable back\n  and tell the shift.\n")
    read = shell("tickets", ticket, "--json").json["draft_sha256"]
    done = shell("tickets", "edit", ticket, "--from", patch, *BY, "--draft", read)
    assert done.code == 0
    assert "revision 2, edited by technician-2" in done.out
    assert '+rack: "R12"' in done.out
    assert '+rollback: "Put the old cable back and tell the shift."' in done.out
    assert f"review {ticket}" in done.err
    refused(
        shell("tickets", "edit", ticket, "--set", "rack=R13", *BY, "--draft", read),
        5, "no longer the current one",
    )  # fmt: skip
    own = shell("review", ticket, "--approve", "--reviewer", "Technician-2")
    refused(own, 5, "another person must approve")
    shown = shell("review", ticket)
    assert "EDITED by technician-2, who cannot approve this draft" in shown.out
    assert "rack: " in shown.out.split("CHECK THESE")[1]
    notes = shell("review", ticket, "--json").json["notes"]
    assert notes["editors"] == ["technician-2"]
    assert any("'R12'" in warning for warning in notes["warnings"])
    assert shell("review", ticket, "--approve", "--reviewer", "reviewer-1").code == 0


def test_after_an_approval_an_edit_takes_it_back(shell: Shell, home: Settings, ticket: str) -> None:
    assert shell("review", ticket, "--approve", "--reviewer", "reviewer-1").code == 0
    done = shell("tickets", "edit", ticket, "--set", "unit=U9", *BY)
    lost = "the approval of revision 1 by reviewer-1 is not of this draft: edited by technician-2"
    assert f"NOT APPROVED: {lost}" in done.out
    assert f"{ticket}: {lost}" in shell("tickets").out
    assert shell("tickets", "--json").json[0]["expired"] == lost
    assert f"NOT APPROVED: {lost}" in shell("tickets", ticket).out
    shown = shell("review", ticket).out
    assert "CHANGED SINCE revision 1, approved by reviewer-1" in shown
    assert '+unit: "U9"' in shown
    outcome = publish_approved(home, Ledger(home.ledger), "small", NOW)
    assert outcome.published == []
    assert ticket in {one for one, _ in outcome.refused}
    refused(shell("publish", "small"), 5, "2 ticket(s) wait for a person")


def test_the_history_tells_it_all_oldest_first(shell: Shell, home: Settings, ticket: str) -> None:
    shell("review", ticket, "--approve", "--reviewer", "reviewer-1")
    shell("tickets", "edit", ticket, "--set", "unit=U9", *BY)
    shell("tickets", "repaired", ticket, "--action", "other", "--by", "technician-2",
          "--note", "cleaned the cage")  # fmt: skip
    shell("review", ticket, "--reject", "--reviewer", "technician-2", "--reason", "not yet")
    assert (
        "technician-2 reported a repair (other) after this was written"
        in shell("review", ticket).out
    )
    events = shell("tickets", "history", ticket, "--json").json
    assert [event["kind"] for event in events] == [
        "draft", "approved", "edit", "repair", "rejected",
    ]  # fmt: skip
    assert events[2]["says"] == "over revision 1: the sticker says so"
    assert '+unit: "U9"' in events[2]["diff"]
    assert events[3]["who"] == "technician-2"
    told = shell("tickets", "history", ticket).out
    assert told.index("reviewer-1") < told.index('+unit: "U9"') < told.index("not yet")
    refused(shell("tickets", "history", "T-none"), 4, "T-none")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ((*BY,), 2, "no change is given"),
        (("--set", "rack", *BY), 2, "not FIELD=VALUE"),
        (("--set", "link=x", *BY), 2, "link cannot be changed"),
        (("--set", "rack=R1"), 2, "needs the name"),
        (("--set", "rack=R1", "--editor", "technician-2"), 2, "needs a reason"),
        (("--set", "summary=Reboot the node.", *BY), 5, "reboot"),
        (("--from", "nowhere.yaml", *BY), 3, "no such file"),
    ],
)
def test_an_edit_that_cannot_count_is_refused(
    shell: Shell, home: Settings, ticket: str, words: tuple[str, ...], code: int, says: str
) -> None:
    refused(shell("tickets", "edit", ticket, *words), code, says)
    assert Ledger(home.ledger).edits_of(ticket) == []
    assert Ledger(home.ledger).current_draft(ticket).revision == 1


def test_a_ticket_as_json_can_be_changed_and_given_back(
    shell: Shell, home: Settings, ticket: str, tmp_path: Path
) -> None:
    whole = shell("tickets", ticket, "--json").json
    whole["text"]["title"] += ", rack checked"
    path = tmp_path / "ticket.json"
    path.write_text(json.dumps(whole))
    done = shell("tickets", "edit", ticket, "--from", path, *BY, "--json").json
    assert (done["revision"], done["editor"]) == (2, "technician-2")
    assert shell("tickets", ticket, "--json").json["text"]["title"] == whole["text"]["title"]
    refused(shell("tickets", "edit", ticket, "--from", path, *BY), 5, "no longer the current one")


def test_hostile_names_cannot_steer_the_terminal(shell: Shell, home: Settings, ticket: str) -> None:
    by = ("--editor", "\x1b[2Jtech\u202e", "--reason", "\x1b]0;x\x07why")
    done = shell("tickets", "edit", ticket, "--set", "unit=U9", *by)
    told = [done, shell("tickets", "history", ticket), shell("review", ticket), shell("tickets")]
    assert all(answer.code == 0 for answer in told)
    assert "\x1b" not in "".join(answer.out for answer in told)
    assert "\u202e" not in "".join(answer.out for answer in told)


def test_the_sheet_of_a_ticket_goes_into_a_file(
    shell: Shell, home: Settings, ticket: str, tmp_path: Path
) -> None:
    page = tmp_path / "sheet.html"
    assert shell("tickets", ticket, "--sheet", page).out == f"{page}\n"
    text = page.read_text("utf-8")
    assert "NOT APPROVED" in text
    assert ticket in text
    refused(shell("tickets", "--sheet", page), 2, "a sheet is of one ticket")


def test_a_disagreement_and_refused_answers_are_put_before_the_reviewer(
    shell: Shell, home: Settings
) -> None:
    finding = TopologyFinding(
        component="calc-07:nvswitch-0", level="shared_component", why="Two links share it.",
        would_refute_it="A clean sibling.", agrees_with_isolation=False,
    )  # fmt: skip
    attempt = FailedAttempt(problems=["title: empty"], answer='{"title": "the refused answer"}')
    by_claude = {"drafter": "claude", "model": "m", "topology_finding": finding}
    Ledger(home.ledger).record_draft(draft("t-1", **by_claude, failed_attempts=[attempt]), NOW)
    shown = shell("review", "t-1").out
    assert "OWN FINDING DISAGREES: it names calc-07:nvswitch-0 (shared component)" in shown
    assert "title: empty" in shown
    assert "the refused answer" not in shown
    assert "the refused answer" in shell("review", "t-1", "--full").out
    assert "the refused answer" in shell("tickets", "t-1", "--full").out
    shell("tickets", "edit", "t-1", "--set", "rack=R7", *BY)
    assert "its words are not checked" in shell("review", "t-1").out
