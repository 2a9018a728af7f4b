"""Where the gate stands over the current drafts, and what publishing writes."""

from __future__ import annotations

import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.lake import part_path
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.accounting import publication_problems, reading_account
from fabric_pipeline.workflows.dispatch_stages import (
    GateState,
    gate_state,
    publish_stage,
)
from fabric_pipeline.workflows.review_ticket import review
from fabric_pipeline.workflows.summary import summarise
from fabric_pipeline_tests.pipeline_runs import NOW
from fabric_pipeline_tests.small_drop import BAD_LINKS

DROP = "small"


def tickets(settings: Settings, drop: str = DROP) -> list[str]:
    return [draft.ticket_id for draft in Ledger(settings.ledger).drafts_of_drop(drop)]


def decide(settings: Settings, ticket: str, decision: str) -> None:
    review(Ledger(settings.ledger), ticket, None, decision, "Mara", "seen", NOW)


@pytest.fixture
def published(diagnosed: Settings) -> Settings:
    """One of the two tickets is approved and published."""
    decide(diagnosed, tickets(diagnosed)[0], "approved")
    publish_stage(diagnosed, DROP, NOW)
    return diagnosed


def test_the_gate_counts_only_what_is_current(diagnosed: Settings) -> None:
    first, second = tickets(diagnosed)
    assert gate_state(diagnosed, DROP) == GateState(awaiting=[first, second])
    assert gate_state(diagnosed, DROP).must_block_publishing
    decide(diagnosed, first, "approved")
    assert gate_state(diagnosed, DROP) == GateState(approved=[first], awaiting=[second])
    assert not gate_state(diagnosed, DROP).must_block_publishing
    decide(diagnosed, first, "rejected")
    decide(diagnosed, second, "rejected")
    state = gate_state(diagnosed, DROP)
    assert (state.rejected, state.is_reviewed) == ([first, second], True)
    assert not state.must_block_publishing
    assert gate_state(diagnosed, "unknown") == GateState()


def test_publishing_writes_the_approved_ticket_and_the_table(diagnosed: Settings) -> None:
    first, second = tickets(diagnosed)
    decide(diagnosed, first, "approved")
    result, outcome = publish_stage(diagnosed, DROP, NOW)
    assert (result.rows, result.figures["published_now"]) == (1, 1)
    assert [ticket for ticket, _ in outcome.refused] == [second]
    assert publication_problems(diagnosed, DROP) == []
    again, _ = publish_stage(diagnosed, DROP, NOW)
    assert (again.rows, again.figures["published_now"], again.sha256) == (1, 0, result.sha256)


def test_nothing_published_is_no_problem(diagnosed: Settings) -> None:
    assert publication_problems(diagnosed, DROP) == []


@pytest.mark.parametrize("gone", ["outbox file", "table", "ledger"])
def test_a_publication_that_is_not_everywhere_is_found(published: Settings, gone: str) -> None:
    (row,) = Ledger(published.ledger).publications()
    if gone == "outbox file":
        (published.outbox / row.outbox_file).unlink()
        expected = "is missing from the outbox"
    elif gone == "table":
        part_path(published.lake, "published_tickets", DROP).unlink()
        expected = "in the ledger but not in the table"
    else:
        for leftover in published.home.glob("ledger.sqlite*"):
            leftover.unlink()
        expected = "in the table but not in the ledger"
    assert publication_problems(published, DROP) == [
        f"{row.ticket_id}: {f'{row.outbox_file} ' if gone == 'outbox file' else ''}{expected}"
    ]


def test_the_reading_account_balances(diagnosed_once: Settings) -> None:
    account = reading_account(diagnosed_once, DROP)
    assert (account.read, account.accepted, account.quarantined) == (960, 960, 0)
    assert account.balances


def test_the_summary_has_the_figures_and_leaves_unknown_drops_out(diagnosed: Settings) -> None:
    decide(diagnosed, tickets(diagnosed)[0], "approved")
    summary = summarise(diagnosed, [DROP, DROP, "never-run"])
    (one,) = summary.drops
    assert (one.drop, one.files, one.problems) == (DROP, 4, [])
    assert {record.isolated_component for record in one.accusing} == set(BAD_LINKS)
    assert one.other_causes == []
    assert [row.ticket_id for row in summary.waiting] == tickets(diagnosed)[1:]
    as_json = summary.as_json()
    assert as_json["drops"][0]["read"] == 960
    assert len(as_json["tickets_waiting"]) == 1
