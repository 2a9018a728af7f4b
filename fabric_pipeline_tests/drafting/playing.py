"""What the tests of one draft share: the incident, what may differ between drafters, how rules take over."""

from __future__ import annotations

from collections.abc import Callable

from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline_tests.drafting.incidents import nvlink_incident

Play = Callable[..., TicketDraft]
INCIDENT = nvlink_incident()
# Deterministic parts of a ticket: whoever words it, and whatever goes wrong, these are the same.
WORDED = {"text", "topology_finding", "drafter", "drafter_note", "model", "prompt_version"}
SPENT = {
    "requests",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cost_usd",
    "failed_attempts",
}


def assert_rules_took_over(ticket: TicketDraft, by_rules: TicketDraft, why: str) -> None:
    assert ticket.drafter == "rules"
    assert (
        ticket.drafter_note
        == f"Claude (claude-sonnet-5-5) was asked and gave no usable draft: {why}."
    )
    assert ticket.text == by_rules.text
    assert ticket.topology_finding is None
    assert (ticket.model, ticket.prompt_version) == ("", "")
