"""Runs jobs for the command line in a process of its own and reports as JSON lines on stdout.

`python -m fabric_pipeline.orchestration.launch diagnose DROP...` or `publish DROP...` with ids that
the ledger knows. The command line itself never imports Dagster.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dagster as dg

from fabric_pipeline.orchestration.build import build_definitions
from fabric_pipeline.settings import load_settings
from fabric_pipeline.store.filelock import locked
from fabric_pipeline.workflows.dagster_home import enter_dagster_home

JOBS = {"diagnose": "diagnose_drop", "publish": "publish"}
# Failures that say by themselves what is wrong; the name of their class adds nothing.
_EXPECTED = ("fabric_pipeline.errors.", "dagster._core.definitions.events.Failure: ")
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def main(arguments: list[str]) -> int:
    """Run the job for each drop in turn; 0 when all succeeded, 1 otherwise."""
    job_name, drop_ids = JOBS[arguments[0]], arguments[1:]
    settings = load_settings()
    enter_dagster_home(settings)
    job = build_definitions().resolve_job_def(job_name)
    with dg.DagsterInstance.get() as instance:
        # Two first starts at once would both create the tables of the history.
        with locked(settings.home / ".dagster.lock"):
            instance.add_dynamic_partitions("drops", drop_ids)
            instance.get_runs_count()
        results = [_run(job, instance, drop_id) for drop_id in drop_ids]
    return 0 if all(results) else 1


def _run(job: dg.JobDefinition, instance: dg.DagsterInstance, drop_id: str) -> bool:
    started = time.monotonic()
    _say(event="started", drop=drop_id)
    with _steps_reported(instance, drop_id):
        outcome = job.execute_in_process(
            instance=instance,
            partition_key=drop_id,
            raise_on_error=False,
            run_config=_QUIET,
            tags={"fabric/launched_by": "command line"},
        )
    _say(
        event="finished",
        drop=drop_id,
        run_id=outcome.run_id,
        success=outcome.success,
        seconds=round(time.monotonic() - started, 2),
        error="" if outcome.success else _first_error(outcome),
    )
    return outcome.success


@contextmanager
def _steps_reported(instance: dg.DagsterInstance, drop_id: str) -> Iterator[None]:
    """Say each step as it starts; the instance stores every event through `handle_new_event`."""
    store_event = instance.handle_new_event

    def handle_new_event(event: dg.EventLogEntry, **options: Any) -> None:
        store_event(event, **options)
        if event.dagster_event is not None and event.dagster_event.is_step_start:
            _say(event="step", drop=drop_id, step=event.dagster_event.step_key)

    instance.handle_new_event = handle_new_event  # type: ignore[method-assign]
    try:
        yield
    finally:
        del instance.handle_new_event


def _first_error(outcome: dg.ExecuteInProcessResult) -> str:
    for event in outcome.all_events:
        if event.is_step_failure:
            error = event.step_failure_data.error
            while error is not None and error.cause is not None:
                error = error.cause
            message = error.message.strip() if error is not None else "failed"
            if message.startswith(_EXPECTED):
                message = message.partition(": ")[2]
            return f"{event.step_key}: {message}"
    return "the run failed before its first step"


def _say(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)  # noqa: T201 - this is the protocol with the parent


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
