"""Many drafts in one call: order, one bound on simultaneous requests, one budget, one line for each."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from fabric_pipeline.drafting.agent import fixed_characters
from fabric_pipeline.drafting.budget import worst_usd
from fabric_pipeline.drafting.catalogue import Catalogue
from fabric_pipeline.drafting.draft import DraftRequest, draft_tickets
from fabric_pipeline.errors import DraftingError
from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.drafting import answers
from fabric_pipeline_tests.drafting.incidents import nvlink_incident
from fabric_pipeline_tests.drafting.messages_server import MessagesServer, Reply, draft, failure

MODEL = "claude-sonnet-5-5"


def several(count: int) -> list[DraftRequest]:
    """The same fault as several incidents."""
    ids = [f"INC-{number:012x}" for number in range(count)]
    return [DraftRequest(nvlink_incident(incident_id=name)) for name in ids]


def incident_of(request: dict[str, Any]) -> int:
    """Which of `several` a request to the model is about."""
    found = re.search(r"INC-([0-9a-f]{12})", str(request["messages"]))
    assert found
    return int(found.group(1), 16)


def test_drafts_come_in_order_whoever_answers_first(
    server: MessagesServer, settings: Settings, catalogue: Catalogue
) -> None:
    def reply(request: dict[str, Any]) -> Reply:
        number = incident_of(request)
        title = f"CRITICAL: NVLink 13 of GPU 6 on trn-b07-n03{', rack B07' * (number % 2)}"
        return dataclasses.replace(draft(answers.answer(title=title)), delay_s=0.3 - 0.05 * number)

    server.choose = reply
    said: list[str] = []
    drafts = draft_tickets(several(6), settings=settings, catalogue=catalogue, progress=said.append)
    assert [one.incident_id for one in drafts] == [one.incident.incident_id for one in several(6)]
    assert ["rack" in one.text.title for one in drafts] == [False, True] * 3
    assert said == ["trn-b07-n03:gpu6/nvlink-13: asking Claude"] * 6


@pytest.mark.parametrize("seats", [1, 3])
def test_no_more_requests_are_open_than_allowed(
    seats: int, server: MessagesServer, settings: Settings, catalogue: Catalogue
) -> None:
    server.choose = lambda _request: dataclasses.replace(draft(answers.GOOD), delay_s=0.2)
    chosen = dataclasses.replace(settings, draft_concurrency=seats)
    drafts = draft_tickets(several(7), settings=chosen, catalogue=catalogue)
    assert {one.drafter for one in drafts} == {"claude"}
    assert server.busiest == seats


def test_one_failing_draft_does_not_touch_the_others(
    server: MessagesServer, settings: Settings, catalogue: Catalogue
) -> None:
    server.choose = lambda request: (
        failure(400, "invalid_request_error") if incident_of(request) == 1 else draft(answers.GOOD)
    )
    drafts = draft_tickets(several(3), settings=settings, catalogue=catalogue)
    assert [one.drafter for one in drafts] == ["claude", "rules", "claude"]
    assert "HTTP 400" in drafts[1].drafter_note


def test_a_spent_budget_leaves_the_rest_to_the_rules(
    server: MessagesServer, settings: Settings, catalogue: Catalogue
) -> None:
    """Each answer costs 0.1 dollars; the budget carries two worst cases and a half."""
    server.choose = lambda _request: draft(answers.GOOD, tokens=(2_000, 9_600))
    chosen = dataclasses.replace(settings, draft_budget_usd=0.5, draft_concurrency=1)
    drafts = draft_tickets(several(6), settings=chosen, catalogue=catalogue)
    made = [one.drafter for one in drafts]
    assert made == sorted(made)  # Claude first, then the rules
    assert 0 < made.count("claude") < 6
    assert sum(one.cost_usd or 0 for one in drafts) <= 0.5
    note = drafts[-1].drafter_note
    assert note.startswith(f"Claude ({MODEL}) was not asked: the budget of 0.5 US dollars")
    assert (drafts[-1].requests, drafts[-1].cost_usd) == (0, None)
    assert len(server.requests) == made.count("claude")


def test_a_budget_below_one_draft_asks_nothing(
    server: MessagesServer, settings: Settings, catalogue: Catalogue
) -> None:
    chosen = dataclasses.replace(settings, draft_budget_usd=0.05)
    (ticket,) = draft_tickets(several(1), settings=chosen, catalogue=catalogue)
    assert "was not asked: the budget of 0.05 US dollars" in ticket.drafter_note
    assert server.requests == []


def test_a_draft_stops_inside_what_it_was_granted(
    server: MessagesServer, settings: Settings, catalogue: Catalogue
) -> None:
    """An answer that is refused again and again ends when the next one could pass the budget."""
    server.script = [
        draft(answers.answer(rollback="Order part number 9-9."), tokens=(9_000, 9_000))
    ]
    two = 2 * worst_usd(MODEL, fixed_characters() + 24_000)
    chosen = dataclasses.replace(settings, draft_budget_usd=two)
    (ticket,) = draft_tickets(several(1), settings=chosen, catalogue=catalogue)
    assert ticket.drafter == "rules"
    assert "the budget of the run left for this draft was used up" in ticket.drafter_note
    assert ticket.failed_attempts
    assert ticket.cost_usd is not None
    assert ticket.cost_usd <= two


def test_an_unlisted_model_is_stopped_by_a_high_price(
    server: MessagesServer, settings: Settings, catalogue: Catalogue
) -> None:
    server.choose = lambda _request: draft(answers.GOOD, tokens=(20_000, 10_000))
    chosen = dataclasses.replace(
        settings, model="claude-of-another-house", draft_budget_usd=3.5, draft_concurrency=1
    )
    drafts = draft_tickets(several(5), settings=chosen, catalogue=catalogue)
    assert [one.drafter for one in drafts].count("claude") in (1, 2)
    assert {one.cost_usd for one in drafts} == {None}


def test_nothing_is_asked_when_one_incident_needs_no_ticket(
    server: MessagesServer, settings: Settings, catalogue: Catalogue
) -> None:
    requests = [*several(1), DraftRequest(nvlink_incident(severity="WATCH"))]
    with pytest.raises(DraftingError, match="accuses no part"):
        draft_tickets(requests, settings=settings, catalogue=catalogue)
    assert server.requests == []
    assert draft_tickets([], settings=settings, catalogue=catalogue) == []
