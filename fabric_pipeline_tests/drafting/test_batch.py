"""The Message Batches API end to end: half the price, the same checks, and the way back when it fails."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from fabric_pipeline.drafting.catalogue import Catalogue
from fabric_pipeline.drafting.draft import draft_tickets
from fabric_pipeline.drafting.prompt import PROMPT, WITHOUT_TOOLS
from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.drafting import answers
from fabric_pipeline_tests.drafting.batch_play import (
    CANCELED,
    EXPIRED,
    BatchPlay,
    Result,
    errored,
    succeeded,
)
from fabric_pipeline_tests.drafting.messages_server import MessagesServer, call, draft, message_body
from fabric_pipeline_tests.drafting.test_draft_many import several

Run = Callable[..., list[TicketDraft]]
IDS = [f"T-{number:012x}" for number in range(4)]


def answered(answer: dict[str, Any] = answers.GOOD, stop: str = "tool_use") -> Result:
    """A result that hands in this answer."""
    return succeeded(message_body([call("ticket_draft", answer)], stop, (2000, 700, 500, 0)))


@pytest.fixture
def run(server: MessagesServer, settings: Settings, catalogue: Catalogue) -> Run:
    """Draft four incidents in a batch; whatever falls back finds a good answer."""

    def draft_all(
        play: BatchPlay, said: list[str] | None = None, **changes: Any
    ) -> list[TicketDraft]:
        server.batches = play
        server.choose = lambda _request: draft(answers.GOOD)
        chosen = dataclasses.replace(
            settings, **{"batch_from": 4, "batch_timeout_s": 20, **changes}
        )
        heard = said if said is not None else []
        return draft_tickets(
            several(4), settings=chosen, catalogue=catalogue, progress=heard.append
        )

    return draft_all


def test_a_good_batch_needs_nothing_else_and_costs_half(run: Run, server: MessagesServer) -> None:
    drafts = run(BatchPlay(lambda _name, _params: answered()))
    assert [one.ticket_id for one in drafts] == IDS
    assert {one.drafter for one in drafts} == {"claude"}
    assert all(
        one.topology_finding and one.topology_finding.agrees_with_isolation for one in drafts
    )
    assert server.requests == []
    assert server.batches.calls[0] == "create"
    assert server.batches.calls[-1] == "results"
    assert len(server.batches.created) == 1
    one = drafts[0]
    assert (one.requests, one.input_tokens, one.output_tokens) == (1, 2500, 700)
    assert one.cost_usd == pytest.approx((2000 * 2 + 500 * 0.1 + 700 * 10) / 2 / 1e6)


def test_requests_carry_the_forced_tool_and_the_facts(run: Run, server: MessagesServer) -> None:
    run(BatchPlay(lambda _name, _params: answered()), effort="low")
    (requests,) = server.batches.created
    assert [request["custom_id"] for request in requests] == IDS
    params = requests[0]["params"]
    assert [tool["name"] for tool in params["tools"]] == ["ticket_draft"]
    assert params["tool_choice"]["type"] in ("any", "auto", "tool")
    assert [block["text"] for block in params["system"]] == [PROMPT, WITHOUT_TOOLS]
    assert params["system"][-1]["cache_control"] == {"type": "ephemeral", "ttl": "5m"}
    assert "cache_control" not in params
    assert params["output_config"] == {"effort": "low"}
    told = str(params["messages"])
    assert told.count("<incident_data>") == 1
    for section in ("surroundings", "slow_intervals", "links_of_the_device", "before_this_ticket"):
        assert section in told


def test_fewer_drafts_than_the_limit_and_a_limit_of_zero_need_no_batch(
    run: Run, server: MessagesServer
) -> None:
    for limit in (5, 0):
        assert {one.drafter for one in run(BatchPlay(), batch_from=limit)} == {"claude"}
        assert server.batches.calls == []


UNUSABLE: dict[str, Result | None] = {
    "expired": EXPIRED,
    "canceled": CANCELED,
    "errored": errored(),
    "missing": None,
    "refused": succeeded(message_body([{"type": "text", "text": "I will not."}], "refusal")),
    "cut off": answered(stop="max_tokens"),
    "shapeless": answered({"text": "reseat it"}),
    "reboot": answered(answers.with_summary_also("Then reboot the node.")),
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_what_the_batch_could_not_do_the_agent_does(
    kind: str, run: Run, server: MessagesServer
) -> None:
    bad = {IDS[1]: UNUSABLE[kind], IDS[3]: UNUSABLE[kind]}
    drafts = run(BatchPlay(lambda name, _params: bad.get(name, answered())))
    assert {one.drafter for one in drafts} == {"claude"}
    assert len(server.requests) == 2
    kept = [len(one.failed_attempts) for one in drafts]
    refused = kind in ("refused", "cut off", "shapeless", "reboot")
    assert kept == [0, int(refused), 0, int(refused)]
    billed = refused or kind == "refused"
    assert [one.requests for one in drafts] == [1, 1 + billed, 1, 1 + billed]
    if kind == "reboot":
        assert drafts[1].cost_usd == pytest.approx(0.011 + (4000 + 50 + 7000) / 2 / 1e6)
        assert "reboot" in " ".join(drafts[1].failed_attempts[0].problems)


def test_the_way_back_keeps_to_the_budget(run: Run, server: MessagesServer) -> None:
    """What the batch cost counts; the drafts it could not make find the purse too small."""
    dear = succeeded(
        message_body([call("ticket_draft", {"text": "reseat it"})], "tool_use", (2000, 11_000))
    )
    drafts = run(BatchPlay(lambda _name, _params: dear), draft_budget_usd=0.45)
    assert {one.drafter for one in drafts} == {"rules"}
    assert server.requests == []
    assert {len(one.failed_attempts) for one in drafts} <= {0, 1}
    assert "the budget of" in drafts[0].drafter_note
    assert sum(one.cost_usd or 0 for one in drafts) <= 0.45


def test_a_batch_that_takes_too_long_is_cancelled_first(run: Run, server: MessagesServer) -> None:
    said: list[str] = []
    play = BatchPlay(lambda name, _params: answered() if name == IDS[0] else CANCELED, polls=-1)
    drafts = run(play, said, batch_timeout_s=0.5)
    assert {one.drafter for one in drafts} == {"claude"}
    assert "cancel" in play.calls
    assert play.calls[-1] == "results"
    assert len(server.requests) == 3  # the first one was answered before the cancelling
    assert any("took longer than 0.5 s" in line for line in said)


def test_a_batch_that_cannot_be_cancelled_is_left_and_counted_as_spent(
    run: Run, server: MessagesServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabric_pipeline.drafting.batch.CANCEL_WAIT_S", 0.3)
    play = BatchPlay(polls=-1, ignores_cancel=True)
    began = time.monotonic()
    drafts = run(play, batch_timeout_s=0.3)
    assert time.monotonic() - began < 20
    assert {one.drafter for one in drafts} == {"claude"}
    assert "results" not in play.calls
    poor = run(BatchPlay(polls=-1, ignores_cancel=True), batch_timeout_s=0.3, draft_budget_usd=0.6)
    assert "rules" in {one.drafter for one in poor}


@pytest.mark.parametrize("status", [400, 404, 529])
def test_a_batch_that_cannot_be_sent_is_no_loss(
    status: int, run: Run, server: MessagesServer
) -> None:
    said: list[str] = []
    drafts = run(BatchPlay(failures={"create": [status] * 9}), said)
    assert {one.drafter for one in drafts} == {"claude"}
    assert len(server.requests) == 4
    assert any(re.match(r"the batch could not be sent \(\w+\)", line) for line in said)


def test_a_failing_question_is_asked_again(run: Run, server: MessagesServer) -> None:
    play = BatchPlay(lambda _name, _params: answered(), failures={"ask": [500] * 6})
    assert {one.drafter for one in run(play)} == {"claude"}
    assert server.requests == []


def test_a_service_that_never_answers_questions_is_left(run: Run, server: MessagesServer) -> None:
    play = BatchPlay(failures={"ask": [404] * 99}, ignores_cancel=True)
    assert {one.drafter for one in run(play, batch_timeout_s=8)} == {"claude"}
    assert "cancel" in play.calls
    assert len(server.requests) == 4


def test_a_small_purse_makes_several_batches(run: Run, server: MessagesServer) -> None:
    """Worst cases of two requests fit at a time; what they really cost leaves room for the others."""
    drafts = run(BatchPlay(lambda _name, _params: answered()), draft_budget_usd=0.25)
    assert {one.drafter for one in drafts} == {"claude"}
    assert len(server.batches.created) > 1
    assert len(server.batches.created[0]) < 4
    assert server.requests == []
