"""The review queue says what each waiting draft is about, and says on forms what a typed name is worth."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.portal.identity import Auth
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.queue_list import beginning, queue_of
from fabric_pipeline_tests.portal.serving import ask
from fabric_pipeline_tests.portal.ticket_homes import portal
from fabric_pipeline_tests.store.fakes import START, draft, settings


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [
        ("Short enough.", 20, "Short enough."),
        ("It is 418.5 % slower. It is far. The rest.", 32, "It is 418.5 % slower."),
        ("One. Two.\nThree is longer than that", 12, "One. Two."),
        ("no sentence ends in these words", 14, "no sentence…"),
        ("onewordwithoutanyend", 5, "oneword"[:5] + "…"),
        ("", 5, ""),
    ],
)
def test_the_beginning_of_a_summary_is_whole_sentences(text: str, most: int, shown: str) -> None:
    assert beginning(text, most) == shown


def test_a_waiting_draft_says_what_it_is_about(tmp_path: Path) -> None:
    home = settings(tmp_path)
    made = with_summary("<b>It</b> counts errors. " + "And more words than fit. " * 20)
    Ledger(home.ledger).record_draft(made, START)
    (waiting,) = queue_of(Ledger(home.ledger)).waiting
    assert waiting.says.startswith("<b>It</b> counts errors. And more")
    assert waiting.says.endswith(".")
    with portal(home) as url:
        assert "&lt;b&gt;It&lt;/b&gt; counts errors." in ask(url, "/queue").text


def test_a_typed_name_is_called_unproven_and_a_proxys_is_not(tmp_path: Path) -> None:
    home = settings(tmp_path)
    made = draft()
    Ledger(home.ledger).record_draft(made, START)
    pages = (f"/tickets/{made.ticket_id}", f"/tickets/{made.ticket_id}/edit")
    with portal(home) as url:
        for path in pages:
            assert "nothing here proves it" in ask(url, path).text
    with portal(home, Auth("proxy", proxies=("127.0.0.0/8",))) as url:
        for path in pages:
            page = ask(url, path, headers={"X-Forwarded-User": "reviewer-1"})
            assert page.status == 200
            assert "nothing here proves it" not in page.text


def with_summary(summary: str) -> TicketDraft:
    made = draft()
    return made.model_copy(update={"text": made.text.model_copy(update={"summary": summary})})
