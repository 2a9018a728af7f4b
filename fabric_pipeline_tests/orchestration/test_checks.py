"""Checks that fail: a broken table goes no further, lost readings and altered publications are found."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import dagster as dg
import pytest

from fabric_pipeline.orchestration.assets import findings
from fabric_pipeline.schemas.validation import Violation
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.duck import session
from fabric_pipeline.store.lake import attach, write_table
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows import sharded_counters
from fabric_pipeline.workflows.drop_stages import StageResult, load_incidents
from fabric_pipeline.workflows.inbox import claim
from fabric_pipeline_tests.halls import Losing
from fabric_pipeline_tests.orchestration.runs import (
    DROP,
    EVERYTHING,
    definitions,
    failures,
    materialised,
    run,
    verdicts,
)
from fabric_pipeline_tests.pipeline_runs import NOW
from fabric_pipeline_tests.small_drop import BAD_LINKS

CHECKS = ("nothing_lost", "ledger_agrees")


@cache
def check_job(name: str) -> dg.JobDefinition:
    """A job that runs one check and makes nothing, as the button in the Dagster UI does."""
    loaded = definitions()
    keys = loaded.resolve_asset_graph().asset_check_keys
    (key,) = [key for key in keys if key.name == name]
    return dg.Definitions(
        assets=loaded.assets,
        asset_checks=loaded.asset_checks,
        resources=loaded.resources,
        jobs=[dg.define_asset_job("look", selection=dg.AssetSelection.checks(key))],
    ).resolve_job_def("look")


def look(name: str, instance: dg.DagsterInstance) -> dg.AssetCheckEvaluation:
    """Evaluate one check alone."""
    outcome = check_job(name).execute_in_process(
        instance=instance, tags={"dagster/partition": DROP}, raise_on_error=False
    )
    (seen,) = outcome.get_asset_check_evaluations()
    return seen


def test_a_table_that_breaks_its_schema_goes_no_further(
    home: Settings, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Violation("severity", "one of info, watch", "['purple']")
    monkeypatch.setattr(
        findings, "spike_stage", lambda *_: StageResult("spike_detections", 0, "", [broken])
    )
    wanted = [dg.AssetKey("spike_detections"), dg.AssetKey("straggler_correlations")]
    outcome = run(EVERYTHING, instance, asset_selection=wanted)
    assert not outcome.success
    assert verdicts(outcome)["spike_detections:fits_its_schema"] == (False, "ERROR")
    (seen,) = outcome.get_asset_check_evaluations()
    assert "severity" in str(seen.metadata["broken_rules"].value)
    assert "purple" in str(seen.metadata["broken_rules"].value)
    assert "straggler_correlations" not in materialised(outcome)


def test_a_shard_that_failed_is_a_warning_and_the_rest_of_the_run_goes_on(
    home: Settings, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABRIC_SHARD_READINGS", "1")  # a shard for each of the two nodes
    monkeypatch.setattr(sharded_counters, "open_engine", lambda _: Losing(1))
    outcome = run("diagnose_drop", instance)
    assert failures(outcome) == {}
    assert verdicts(outcome)["link_counters:nothing_lost"] == (False, "WARN")
    assert {"incident_records", "ticket_drafts", "audit_database"} <= materialised(outcome)
    accused = {one.isolated_component for one in load_incidents(home, DROP) if one.needs_ticket}
    assert accused == {BAD_LINKS[0]}


def test_a_lost_reading_is_an_error(home: Settings, instance: dg.DagsterInstance) -> None:
    assert look("nothing_lost", instance).passed
    connection = session()
    try:
        attach(connection, home.lake, "link_counters", DROP)
        connection.execute("create temp table fewer as select * from link_counters offset 3")
        write_table(connection, "fewer", home.lake, "link_counters", DROP)
    finally:
        connection.close()
    seen = look("nothing_lost", instance)
    assert not seen.passed
    assert seen.severity is dg.AssetCheckSeverity.ERROR
    assert seen.metadata["read"].value == seen.metadata["accepted"].value + 3  # type: ignore[operator]


def test_a_drop_of_which_nothing_was_published_agrees(
    home: Settings, instance: dg.DagsterInstance
) -> None:
    assert look("ledger_agrees", instance).passed


def test_a_materialisation_reported_by_hand_is_found(
    home: Settings, instance: dg.DagsterInstance
) -> None:
    by_hand = dg.AssetMaterialization(dg.AssetKey("published_tickets"), partition=DROP)
    instance.report_runless_asset_event(by_hand)
    seen = look("ledger_agrees", instance)
    assert not seen.passed
    assert "no publishing step made" in str(seen.metadata["problems"].value)


def test_a_drop_with_nothing_in_it_goes_to_its_end(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABRIC_HOME", str(tmp_path / "warehouse"))
    (tmp_path / DROP).mkdir()
    (tmp_path / DROP / "drop.yaml").write_text("site: hall\n")
    ledger = Ledger(tmp_path / "warehouse" / "ledger.sqlite")
    claim(ledger, tmp_path / DROP, NOW)
    outcome = run("diagnose_drop", instance)
    assert failures(outcome) == {}
    assert outcome.success
    assert {passed for passed, _ in verdicts(outcome).values()} == {True}
    assert ledger.drop(DROP).processed_sha256


def test_a_drop_that_is_gone_is_named(home: Settings, instance: dg.DagsterInstance) -> None:
    instance.add_dynamic_partitions("drops", ["other"])
    outcome = run("diagnose_drop", instance, "other")
    assert not outcome.success
    assert "'other' is not in the ledger" in failures(outcome)["read_drop"]
