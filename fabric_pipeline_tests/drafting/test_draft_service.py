"""One draft while the service is busy, slow, silent or refusing; cache marks, effort and accounts."""

from __future__ import annotations

import dataclasses
import time

import pytest

from fabric_pipeline.drafting.catalogue import Catalogue
from fabric_pipeline.drafting.draft import draft_ticket
from fabric_pipeline.errors import UsageError
from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.drafting import answers
from fabric_pipeline_tests.drafting.incidents import nvlink_incident
from fabric_pipeline_tests.drafting.messages_server import MessagesServer, draft, failure, tool_call
from fabric_pipeline_tests.drafting.playing import Play, assert_rules_took_over


def test_rate_limit_then_good(play: Play, server: MessagesServer) -> None:
    ticket = play(failure(429, "rate_limit_error"), draft(answers.GOOD))
    assert ticket.drafter == "claude"
    assert len(server.requests) == 2


def test_overload_for_ever(play: Play, server: MessagesServer, by_rules: TicketDraft) -> None:
    ticket = play(failure(529, "overloaded_error"))
    why = "the service was still overloaded after all retries (HTTP 529)"
    assert_rules_took_over(ticket, by_rules, why)
    assert len(server.requests) == 4
    assert (ticket.input_tokens, ticket.cost_usd) == (0, 0)


@pytest.mark.parametrize(
    ("status", "why"),
    [(401, "the service refused the key"), (404, "the service does not know this model")],
)
def test_refused_requests_are_not_repeated(
    status: int, why: str, play: Play, server: MessagesServer, by_rules: TicketDraft
) -> None:
    ticket = play(failure(status, "some_error"))
    assert_rules_took_over(ticket, by_rules, f"{why} (HTTP {status})")
    assert len(server.requests) == 1


def test_nothing_of_provider_or_key_reaches_the_ticket(play: Play) -> None:
    text = play(failure(400, "invalid_request_error")).model_dump_json()
    assert "req_secret_1" not in text
    assert "test-key-not-real" not in text


def test_silent_server_is_given_up_after_the_whole_time(play: Play, by_rules: TicketDraft) -> None:
    began = time.monotonic()
    ticket = play(dataclasses.replace(draft(answers.GOOD), delay_s=30), draft_timeout_s=0.5)
    assert time.monotonic() - began < 15
    assert_rules_took_over(ticket, by_rules, "no usable answer within 0.5 s")


def test_retry_after_is_honoured(play: Play, server: MessagesServer) -> None:
    began = time.monotonic()
    ticket = play(failure(429, "rate_limit_error", retry_after_ms="1200"), draft(answers.GOOD))
    assert ticket.drafter == "claude"
    assert time.monotonic() - began > 1.2


def test_server_cannot_make_us_wait_longer(play: Play, by_rules: TicketDraft) -> None:
    began = time.monotonic()
    ticket = play(failure(429, "rate_limit_error", retry_after_ms="3600000"), draft_timeout_s=0.5)
    assert time.monotonic() - began < 15
    assert_rules_took_over(ticket, by_rules, "no usable answer within 0.5 s")


def test_one_hanging_attempt_leaves_time_for_another(play: Play) -> None:
    slow = dataclasses.replace(draft(answers.GOOD), delay_s=30)
    assert play(slow, draft(answers.GOOD), draft_timeout_s=8).drafter == "claude"


def test_unreachable_service(play: Play, server: MessagesServer, by_rules: TicketDraft) -> None:
    ticket = play(draft(answers.GOOD), anthropic_base_url="http://127.0.0.1:9", draft_timeout_s=0.4)
    assert ticket.drafter == "rules"
    assert ticket.text == by_rules.text


def test_a_host_elsewhere_is_blocked_by_the_guard(
    play: Play, loopback_only: list[object], by_rules: TicketDraft
) -> None:
    ticket = play(draft(answers.GOOD), anthropic_base_url="http://192.0.2.1", draft_timeout_s=0.4)
    assert ticket.drafter == "rules"
    assert loopback_only
    loopback_only.clear()


def test_cache_marks_and_effort_are_sent(play: Play, server: MessagesServer) -> None:
    """The part that is the same for every incident is marked: tools, instructions, then the talk."""
    call = tool_call("alternatives", {})
    assert play(call, draft(answers.GOOD), effort="high").effort == "high"
    mark = {"type": "ephemeral", "ttl": "5m"}
    for request in server.requests:
        assert request["tools"][-1]["cache_control"] == mark
        assert request["system"][-1]["cache_control"] == mark
        assert request["cache_control"] == mark
        assert request["output_config"] == {"effort": "high"}
        assert "stream" not in request or request["stream"] is False
    first, second = server.requests
    assert (first["tools"], first["system"]) == (second["tools"], second["system"])
    assert first["messages"][0] == second["messages"][0]


def test_the_prefix_is_the_same_for_another_incident(
    play: Play, server: MessagesServer, settings: Settings, catalogue: Catalogue
) -> None:
    play(draft(answers.GOOD))
    other = nvlink_incident(isolated_component="trn-b07-n03:gpu5/nvlink-2")
    draft_ticket(other, settings=settings, catalogue=catalogue)
    first, second = server.requests[0], server.requests[-1]
    assert (first["tools"], first["system"]) == (second["tools"], second["system"])
    assert first["messages"][0] != second["messages"][0]


def test_effort_is_left_out_when_it_is_not_set(play: Play, server: MessagesServer) -> None:
    assert play(draft(answers.GOOD)).effort == ""
    assert "output_config" not in server.requests[0]


def test_an_unknown_effort_is_an_error_before_any_request(
    play: Play, server: MessagesServer
) -> None:
    with pytest.raises(UsageError, match="one of low, medium, high, xhigh, max"):
        play(draft(answers.GOOD), effort="heroic")
    assert server.requests == []


def test_cache_tokens_are_counted_and_priced(play: Play) -> None:
    ticket = play(draft(answers.GOOD, tokens=(300, 700, 5000, 1000)))
    assert (ticket.input_tokens, ticket.output_tokens) == (6300, 700)
    assert (ticket.cache_read_tokens, ticket.cache_write_tokens) == (5000, 1000)
    assert ticket.cost_usd == pytest.approx((300 * 2 + 5000 * 0.1 + 1000 * 2.5 + 700 * 10) / 1e6)


def test_unknown_model_has_no_price(play: Play) -> None:
    ticket = play(draft(answers.GOOD), model="claude-of-another-house")
    assert (ticket.drafter, ticket.cost_usd) == ("claude", None)
