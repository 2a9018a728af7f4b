"""The human gate against every way round it. Each test also shows that drafts were there to publish."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from types import SimpleNamespace
from typing import Any, cast

import dagster as dg

from fabric_pipeline.orchestration.checks.review import is_publishing
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.review_ticket import review
from fabric_pipeline_tests.orchestration.runs import (
    DROP,
    EVERYTHING,
    assert_nothing_went_out,
    definitions,
    failures,
    materialised,
    outbox_of,
    rows_of_published,
    run,
    tickets_of,
    verdicts,
)
from fabric_pipeline_tests.pipeline_runs import NOW

REVIEW = "ticket_drafts:human_review"
AGREES = "published_tickets:ledger_agrees"
PUBLISHED = dg.AssetKey("published_tickets")


def decide(settings: Settings, ticket: str, decision: str, who: str = "Mara") -> None:
    review(Ledger(settings.ledger), ticket, None, decision, who, "looked at it", NOW)


def test_the_publish_job_is_red_without_an_approval(
    home: Settings, instance: dg.DagsterInstance
) -> None:
    outcome = run("publish", instance)
    assert not outcome.success
    assert verdicts(outcome)[REVIEW] == (False, "ERROR")
    assert materialised(outcome) == set()
    assert_nothing_went_out(home)


def test_the_publishing_asset_alone_asks_by_itself(
    home: Settings, instance: dg.DagsterInstance
) -> None:
    outcome = run(EVERYTHING, instance, asset_selection=[PUBLISHED])
    assert not outcome.success
    assert REVIEW not in verdicts(outcome)
    assert "wait for a person" in failures(outcome)["published_tickets"]
    assert_nothing_went_out(home)


def test_the_publish_job_with_its_check_left_out_is_red(
    home: Settings, instance: dg.DagsterInstance
) -> None:
    outcome = run("publish", instance, op_selection=["published_tickets"])
    assert not outcome.success
    assert verdicts(outcome) == {}
    assert "wait for a person" in failures(outcome)["published_tickets"]
    assert_nothing_went_out(home)


def test_materialising_without_any_job_is_red(home: Settings, instance: dg.DagsterInstance) -> None:
    assets = [one for one in definitions().assets or [] if isinstance(one, dg.AssetsDefinition)]
    outcome = dg.materialize(
        assets,
        selection=[PUBLISHED],
        partition_key=DROP,
        instance=instance,
        resources={"fabric": (definitions().resources or {})["fabric"]},
        raise_on_error=False,
    )
    assert not outcome.success
    assert "wait for a person" in failures(outcome)["published_tickets"]
    assert_nothing_went_out(home)


def test_an_approval_of_an_older_draft_is_void(
    home: Settings, instance: dg.DagsterInstance
) -> None:
    ledger = Ledger(home.ledger)
    ticket = tickets_of(home)[0]
    decide(home, ticket, "approved")
    read = ledger.current_draft(ticket).draft
    assert read is not None
    ledger.record_draft(read.model_copy(update={"priority": "low"}), NOW)
    outcome = run("publish", instance)
    assert not outcome.success
    assert verdicts(outcome)[REVIEW] == (False, "ERROR")
    assert_nothing_went_out(home)


def test_the_latest_review_counts(home: Settings, instance: dg.DagsterInstance) -> None:
    ticket = tickets_of(home)[0]
    decide(home, ticket, "approved")
    decide(home, ticket, "rejected", "Olu")
    assert not run("publish", instance).success
    assert_nothing_went_out(home)


def test_rejected_drafts_stay_and_stop_nobody(home: Settings, instance: dg.DagsterInstance) -> None:
    for ticket in tickets_of(home):
        decide(home, ticket, "rejected")
    outcome = run("publish", instance)
    assert outcome.success
    assert verdicts(outcome)[REVIEW] == (True, "WARN")
    assert_nothing_went_out(home)


def test_only_the_approved_ticket_goes_out_and_only_once(
    home: Settings, instance: dg.DagsterInstance
) -> None:
    approved, waiting = tickets_of(home)
    decide(home, approved, "approved")
    first = run("publish", instance)
    assert first.success
    assert verdicts(first)[REVIEW] == (False, "WARN")
    assert verdicts(first)[AGREES] == (True, "ERROR")
    assert outbox_of(home) == [approved]
    assert (home.outbox / approved / "ticket.json").is_file()
    decide(home, waiting, "rejected")
    assert run("publish", instance).success
    assert outbox_of(home) == [approved]
    assert rows_of_published(home) == 1
    assert [row.ticket_id for row in Ledger(home.ledger).publications()] == [approved]
    assert tickets_of(home) == [approved, waiting]


def test_an_approval_in_a_ledger_changed_from_outside_is_red(
    home: Settings, instance: dg.DagsterInstance
) -> None:
    ticket = tickets_of(home)[0]
    decide(home, ticket, "rejected")
    with closing(sqlite3.connect(home.ledger)) as con:
        con.execute("drop trigger reviews_no_update")
        con.execute("update reviews set decision = 'approved'")
        con.commit()
    outcome = run("publish", instance)
    assert not outcome.success
    assert "changed from outside" in failures(outcome)["published_tickets"]
    assert_nothing_went_out(home)


def test_a_materialisation_reported_by_hand_is_no_publication(
    home: Settings, instance: dg.DagsterInstance
) -> None:
    instance.report_runless_asset_event(dg.AssetMaterialization(PUBLISHED, partition=DROP))
    assert not run("publish", instance).success
    assert_nothing_went_out(home)  # and the check ledger_agrees names it, see test_checks


def test_when_dagster_does_not_tell_the_gate_is_shut() -> None:
    blind = cast(Any, SimpleNamespace(job_def=SimpleNamespace()))
    assert is_publishing(blind)


def test_publishing_does_not_count_as_reading_a_drop_that_has_changed(
    home: Settings, instance: dg.DagsterInstance
) -> None:
    ledger = Ledger(home.ledger)
    changed = ledger.claim_drop(DROP, ledger.drop(DROP).path, "c" * 64, NOW)
    assert (changed.state, changed.processed) == ("changed", False)
    decide(home, tickets_of(home)[0], "approved")
    assert run("publish", instance).success
    assert ledger.drop(DROP).processed_sha256 == ""
