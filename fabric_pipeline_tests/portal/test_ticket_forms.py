"""Forms of a ticket that are recorded: decisions, edits, repairs; by whom, over which text, and what follows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fabric_pipeline.portal.identity import Auth
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline_tests.portal.serving import Answer, ask
from fabric_pipeline_tests.portal.ticket_homes import (
    DROP,
    EDITOR,
    INCIDENT,
    REASON,
    REVIEWER,
    TICKET,
    copied,
    current,
    edit_form,
    portal,
    post,
    wait_for,
)

HERE = f"/tickets/{TICKET}"
PROXY = Auth("proxy", proxies=("127.0.0.0/8",))


@pytest.fixture
def settings(home: Settings, tmp_path: Path) -> Settings:
    return copied(home, tmp_path)


@pytest.fixture
def ledger(settings: Settings) -> Ledger:
    return Ledger(settings.ledger)


@pytest.fixture
def url(settings: Settings) -> Iterator[str]:
    with portal(settings, dagster_url="http://127.0.0.1:3000/") as address:
        yield address


def decide(url: str, sha256: str, decision: str = "approved", **changes: str) -> Answer:
    form = {"draft_sha256": sha256, "decision": decision, "reviewer": REVIEWER, "reason": REASON}
    return post(url, f"{HERE}/review", form | changes)


def test_only_an_approval_of_exactly_this_text_publishes(
    url: str, settings: Settings, ledger: Ledger
) -> None:
    _, sha256 = current(settings)
    for name in ("jira.json", "ticket.json"):
        refused = ask(url, f"{HERE}/payloads/{name}")
        assert refused.status == 409
        assert "no person has reviewed" in refused.text
    assert "NOT APPROVED" in ask(url, f"{HERE}/print").text
    done = decide(url, sha256)
    assert (done.status, done.headers["location"]) == (303, f"{HERE}#standing")
    wait_for(lambda: "run ended" in ask(url, f"{HERE}/progress").text)
    assert [row.draft_sha256 for row in ledger.publications()] == [sha256]
    assert ledger.verify_chain() == []
    page = ask(url, HERE).text
    assert f"outbox/{TICKET}/ticket.json" in page
    assert "NOT APPROVED" not in ask(url, f"{HERE}/print").text
    for name in ("jira.json", "servicenow.json", "pagerduty.json", "ticket.json", "ticket.txt"):
        file = ask(url, f"{HERE}/payloads/{name}")
        assert file.headers["content-disposition"] == f'attachment; filename="{TICKET}-{name}"'
        assert file.text == (settings.outbox / TICKET / name).read_text()
    assert ask(url, f"{HERE}/payloads/..%2f..%2fledger.sqlite").status == 404


def test_a_rejection_publishes_nothing(url: str, settings: Settings, ledger: Ledger) -> None:
    assert decide(url, current(settings)[1], "rejected").status == 303
    assert [row.state for row in ledger.tickets()] == ["rejected"]
    assert "no person" not in ask(url, f"{HERE}/progress").text
    assert f"rejected by {REVIEWER}" in ask(url, f"{HERE}/progress").text
    assert ledger.publications() == []
    assert ask(url, f"{HERE}/payloads/jira.json").status == 409
    refused = post(url, "/drafts", {"incident": INCIDENT, "drop": DROP})
    assert "edit it instead" in refused.text


def test_a_draft_that_was_replaced_cannot_be_decided_unread(
    url: str, settings: Settings, ledger: Ledger
) -> None:
    made, sha256 = current(settings)
    assert post(url, f"{HERE}/edit", edit_form(made, sha256, title="Another title")).status == 303
    answer = decide(url, sha256)
    assert answer.status == 409
    assert "is not the current one" in answer.text
    assert "Another title" in answer.text
    assert REASON in answer.text
    assert ledger.reviews_of(TICKET) == []
    assert decide(url, sha256, reviewer=EDITOR).status == 409


def test_an_edit_makes_a_revision_that_its_editor_cannot_approve(
    url: str, settings: Settings, ledger: Ledger
) -> None:
    made, sha256 = current(settings)
    steps = {"repair_steps.0.do": "Confirm the serial KX246663851 before anything else."}
    done = post(url, f"{HERE}/edit", edit_form(made, sha256, **steps, rack="r99"))
    assert (done.status, done.headers["location"]) == (303, f"{HERE}#edits")
    new, new_sha256 = current(settings)
    assert (new.rack, new.edited_by) == ("r99", EDITOR)
    assert new.text.repair_steps[1:] == made.text.repair_steps[1:]
    page = ask(url, HERE).text
    assert "<ins>" in page
    assert "<del>" in page
    assert 'class="origin person"' in page
    assert "who cannot approve it" in page
    refused = decide(url, new_sha256, reviewer=f" {EDITOR.upper()} ")
    assert refused.status == 409
    assert "another person must approve" in refused.text
    assert "Edited by technician-2" in ask(url, "/queue").text
    old = ask(url, f"{HERE}?revision=1").text
    assert "This is revision 1" in old
    assert f'action="{HERE}/review"' not in old
    assert ask(url, f"{HERE}?revision=9").status == 404
    assert decide(url, new_sha256).status == 303
    wait_for(lambda: bool(ledger.publications()))


def test_of_two_editors_the_second_loses_nothing(
    url: str, settings: Settings, ledger: Ledger
) -> None:
    made, sha256 = current(settings)
    first = edit_form(made, sha256, title="First title", rack="r98", editor="technician-3")
    assert post(url, f"{HERE}/edit", first).status == 303
    second = edit_form(made, sha256, title="Second title", contact="night desk")
    answer = post(url, f"{HERE}/edit", second)
    assert answer.status == 409
    assert "First" in answer.text
    assert 'value="Second title"' in answer.text
    assert 'value="night desk"' in answer.text
    assert 'value="r98"' in answer.text
    assert "Nothing you typed is lost" in answer.text
    assert [row.editor for row in ledger.edits_of(TICKET)] == ["technician-3"]
    read = re.search(r'name="draft_sha256" value="([0-9a-f]{64})"', answer.text)
    assert read
    now, now_sha256 = current(settings)
    assert read[1] == now_sha256
    again = edit_form(now, now_sha256, title="Second title", contact="night desk")
    assert post(url, f"{HERE}/edit", again).status == 303
    both, _ = current(settings)
    assert (both.text.title, both.rack, both.contact) == ("Second title", "r98", "night desk")


def test_fields_that_are_nobodys_to_change_are_not_taken(
    url: str, settings: Settings, ledger: Ledger
) -> None:
    made, sha256 = current(settings)
    foreign = {"priority": "low", "evidence_sha256": "0", "edited_by": "", "pass_criteria": "none"}
    assert post(url, f"{HERE}/edit", edit_form(made, sha256, rack="r98", **foreign)).status == 303
    new, _ = current(settings)
    assert new.model_copy(update={"rack": made.rack, "edited_by": ""}) == made


def test_the_proxy_names_the_person(settings: Settings, ledger: Ledger) -> None:
    made, sha256 = current(settings)
    asked = {"X-Forwarded-User": "reviewer-7"}
    with portal(settings, PROXY) as url:
        page = ask(url, HERE, headers=asked).text
        assert 'value="reviewer-7" readonly' in page
        assert 'name="reviewer"' not in page
        assert ask(url, HERE).status == 401
        form = {"draft_sha256": sha256, "decision": "rejected", "reason": REASON}
        assert post(url, f"{HERE}/review", form | {"reviewer": "somebody-else"}).status == 401
        done = post(url, f"{HERE}/review", form | {"reviewer": "somebody-else"}, asked)
        assert done.status == 303
        edit = edit_form(made, sha256, rack="r98", editor="somebody-else")
        assert post(url, f"{HERE}/edit", edit, asked).status == 303
    assert [row.reviewer for row in ledger.reviews_of(TICKET)] == ["reviewer-7"]
    assert [row.editor for row in ledger.edits_of(TICKET)] == ["reviewer-7"]


def test_a_repair_is_reported_from_the_page(url: str, settings: Settings, ledger: Ledger) -> None:
    made, _ = current(settings)
    step = next(one for one in made.repair_order if one.action.startswith("re"))
    done_at = datetime.now(UTC).replace(second=0, microsecond=0)
    form = {
        "by": EDITOR, "action": f"{step.step}:{step.action}", "old_serial": "S-1", "note": "dusty",
        "repaired_at": f"{done_at:%Y-%m-%dT%H:%M}",
    }  # fmt: skip
    done = post(url, f"{HERE}/repaired", form)
    assert done.status == 303
    (row,) = ledger.repairs(INCIDENT)
    assert (row.report.step, row.report.repaired_by) == (step.step, EDITOR)
    assert row.report.repaired_at == done_at
    page = ask(url, done.headers["location"].partition("#")[0]).text
    assert "was not published before this repair" in page
    assert "reported a repair" in page
    assert "repaired" in ask(url, "/incidents").text


def test_an_altered_draft_is_neither_shown_nor_decided(url: str, settings: Settings) -> None:
    import sqlite3

    _, sha256 = current(settings)
    with sqlite3.connect(settings.ledger) as con:
        names = con.execute("select name from sqlite_master where type = 'trigger'").fetchall()
        for (name,) in names:
            con.execute(f'drop trigger "{name}"')
        con.execute("update drafts set json = replace(json, 'CRITICAL', 'harmless')")
    con.close()
    answer = ask(url, HERE)
    assert answer.status == 409
    assert "no longer matches its hash" in answer.text
    assert decide(url, sha256).status == 409
    assert ask(url, f"{HERE}/payloads/jira.json").status == 409
    assert "can be neither read nor decided" in ask(url, "/queue").text
