"""The retention job deletes old finished runs, and readings of old drops by policy."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.storage.runs.schema import RunsTable
from dagster._core.storage.runs.sql_run_storage import SqlRunStorage

from fabric_pipeline.orchestration import jobs
from fabric_pipeline_tests.orchestration.runs import QUIET, definitions

OLD = timedelta(days=jobs.KEEP_RUNS_DAYS + 1)
RECENT = timedelta(days=jobs.KEEP_RUNS_DAYS - 1)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The job throws things away: never in a home of somebody else."""
    monkeypatch.setenv("FABRIC_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def past_run(instance: dg.DagsterInstance, status: dg.DagsterRunStatus, age: timedelta) -> str:
    """A run that was last updated so long ago."""
    run = instance.create_run_for_job(definitions().resolve_job_def("retention"), status=status)
    storage = instance.run_storage
    assert isinstance(storage, SqlRunStorage)
    with storage.connect() as connection:
        moment = (datetime.now(UTC) - age).replace(tzinfo=None)
        rows = RunsTable.update().where(RunsTable.c.run_id == run.run_id)
        connection.execute(rows.values(update_timestamp=moment))
    return run.run_id


def test_old_finished_runs_go_and_the_others_stay(instance: dg.DagsterInstance) -> None:
    finished = (
        dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED,
    )  # fmt: skip
    old = {past_run(instance, status, OLD) for status in finished}
    recent = {past_run(instance, status, RECENT) for status in finished}
    unfinished = past_run(instance, dg.DagsterRunStatus.STARTED, OLD)
    job = definitions().resolve_job_def("retention")
    outcome = job.execute_in_process(instance=instance, run_config=QUIET)
    assert outcome.success
    left = {record.dagster_run.run_id for record in instance.get_run_records()}
    assert left == {*recent, unfinished, outcome.run_id}
    assert not left & old


def test_a_long_history_goes_in_steps(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_DELETE_AT_ONCE", 2)
    for _ in range(3):
        past_run(instance, dg.DagsterRunStatus.SUCCESS, OLD)
    job = definitions().resolve_job_def("retention")
    for expected in (1 + 1, 0 + 2):  # old ones left, and the retention runs themselves
        job.execute_in_process(instance=instance, run_config=QUIET)
        assert instance.get_runs_count() == expected


def test_the_job_says_what_expired_and_brings_the_audit_file_up_to_it(
    instance: dg.DagsterInstance, own_home: Path
) -> None:
    job = definitions().resolve_job_def("retention")
    outcome = job.execute_in_process(instance=instance, run_config=QUIET)
    (told,) = [
        event.step_output_data.metadata
        for event in outcome.all_events
        if event.is_successful_output and event.step_key == "expire_old_readings"
    ]
    assert (told["drops_expired"].value, told["drops_kept"].value) == (0, 0)
    assert (own_home / "audit.duckdb").is_file()
