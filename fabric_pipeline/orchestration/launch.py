"""Runs jobs for the command line in a process of its own and reports as JSON lines on stdout.

`python -m fabric_pipeline.orchestration diagnose DROP...` or `publish DROP...` with ids that
the ledger knows. The command line itself never imports Dagster. The runs end with the process that
started them: its end of standard input closes when it is gone, however it went.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from threading import Thread
from typing import Any

import dagster as dg

from fabric_pipeline.model.progress import Moment
from fabric_pipeline.orchestration.build import build_definitions
from fabric_pipeline.orchestration.history import kept_open
from fabric_pipeline.orchestration.told import heard_by
from fabric_pipeline.settings import Settings, load_settings
from fabric_pipeline.store.filelock import locked
from fabric_pipeline.store.run_mark import Begun, at_work
from fabric_pipeline.workflows.dagster_home import enter_dagster_home

JOBS = {"diagnose": "diagnose_drop", "publish": "publish"}
# Failures that say by themselves what is wrong; the name of their class adds nothing.
_EXPECTED = ("fabric_pipeline.errors.", "dagster._core.definitions.events.Failure: ")
_COLLECT_AFTER = (20_000, 20, 20)
_LAUNCHED = {"fabric/launched_by": "command line"}
_PROCESS, _HOST = "fabric/process", "fabric/host"
_INTERRUPTED = 130
_TELL_EVERY_S = 0.2
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def main(arguments: list[str]) -> int:
    """Run the job for each drop in turn; 0 when all succeeded, 1 otherwise."""
    job_name, drop_ids = JOBS[arguments[0]], arguments[1:]
    settings = load_settings()
    enter_dagster_home(settings)
    job = build_definitions().resolve_job_def(job_name)
    with kept_open(), dg.DagsterInstance.get() as instance:
        # Two first starts at once would both create the tables of the history.
        with locked(settings.home / ".dagster.lock"):
            instance.add_dynamic_partitions("drops", drop_ids)
            instance.get_runs_count()
        _close_dead_runs(instance)
        results = [_run(settings, job, instance, drop_id) for drop_id in drop_ids]
    return 0 if all(results) else 1


def _run(
    settings: Settings, job: dg.JobDefinition, instance: dg.DagsterInstance, drop_id: str
) -> bool:
    with at_work(settings.home, drop_id, lambda by: _say_waiting(drop_id, by)):
        return _run_held(job, instance, drop_id)


def _run_held(job: dg.JobDefinition, instance: dg.DagsterInstance, drop_id: str) -> bool:
    started = time.monotonic()
    _say(event="started", drop=drop_id)
    with _steps_reported(instance, drop_id, len(job.nodes)), heard_by(_Progress(drop_id).tell):
        outcome = job.execute_in_process(
            instance=instance,
            partition_key=drop_id,
            raise_on_error=False,
            run_config=_QUIET,
            tags={**_LAUNCHED, _PROCESS: str(os.getpid()), _HOST: socket.gethostname()},
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


def _close_dead_runs(instance: dg.DagsterInstance) -> None:
    """Runs of killed processes of this host would stand as started for ever."""
    started = [dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.STARTING]
    filters = dg.RunsFilter(statuses=started, tags={**_LAUNCHED, _HOST: socket.gethostname()})
    for run in instance.get_runs(filters=filters):
        if not _is_alive(int(run.tags.get(_PROCESS, "0"))):
            instance.report_run_failed(run, "its process was ended from outside")


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class _Progress:
    """Reports moments of one drop, not more often than somebody can read them."""

    def __init__(self, drop_id: str) -> None:
        self._drop_id, self._last, self._work = drop_id, 0.0, ""

    def tell(self, moment: Moment) -> None:
        now = time.monotonic()
        if moment.work == self._work and now - self._last < _TELL_EVERY_S:
            return
        self._last, self._work = now, moment.work
        _say(event="progress", drop=self._drop_id, moment=asdict(moment))


@contextmanager
def _steps_reported(instance: dg.DagsterInstance, drop_id: str, steps: int) -> Iterator[None]:
    """Say each step as it starts; the instance stores every event through `handle_new_event`."""
    store_event = instance.handle_new_event
    begun: dict[str, int] = {}

    def handle_new_event(event: dg.EventLogEntry, **options: Any) -> None:
        store_event(event, **options)
        if event.dagster_event is not None and event.dagster_event.is_step_start:
            step = str(event.dagster_event.step_key)
            number = begun.setdefault(step, len(begun) + 1)
            _say(event="step", drop=drop_id, step=step, number=number, of=max(steps, number))

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


def _say_waiting(drop_id: str, by: Begun | None) -> None:
    _say(event="waiting", drop=drop_id, by=str(by or "another process"))


def _say(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)  # noqa: T201 - this is the protocol with the parent


def _end_with_parent() -> None:
    """Standard input ends when the parent has gone, also by kill -9: then there is nobody to work for."""

    def watch() -> None:
        while os.read(0, 1024):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    # In the parent's care standard input is a pipe that nothing is ever written to.
    Thread(target=watch, daemon=True).start()


def run_to_end(arguments: list[str]) -> int:
    """`main` as a process of its own: ends with its parent, and in order when it is told to stop."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _end_with_parent()
    # What was imported stays; looking through it for garbage again and again takes a tenth of a run.
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)
    try:
        return main(arguments)
    except (KeyboardInterrupt, dg.DagsterExecutionInterruptedError):
        return _INTERRUPTED
