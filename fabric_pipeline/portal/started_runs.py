"""Runs that a page has asked for: started beside the server, watched by a thread, never waited for.

Where the home has a Dagster instance, the same job is started in a child process as by the command line
and shows in the Dagster UI; else the stage itself runs. What may go out is decided by the gate alone.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from fabric_pipeline.errors import FabricError
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.audit import rebuild_audit
from fabric_pipeline.workflows.dagster_home import FILE
from fabric_pipeline.workflows.dispatch_stages import publish_stage
from fabric_pipeline.workflows.launch_jobs import Event, launch

Job = Literal["diagnose", "publish"]
Phase = Literal["asked", "running", "done", "failed"]
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StartedRun:
    """One run as it stands. `run_id` is Dagster's, "" without Dagster or before it is known."""

    job: Job
    drop: str
    asked_at: datetime
    phase: Phase = "asked"
    step: str = ""
    run_id: str = ""
    error: str = ""

    @property
    def is_over(self) -> bool:
        """True when nothing more will happen."""
        return self.phase in ("done", "failed")


class Runs:
    """The runs of one home. A job of a drop runs once at a time; asked for meanwhile, it runs again."""

    def __init__(self, settings: Settings) -> None:
        """Nothing is started before it is asked for."""
        self._settings = settings
        self._lock = threading.Lock()
        self._runs: dict[tuple[Job, str], StartedRun] = {}
        self._again: set[tuple[Job, str]] = set()

    def of(self, job: Job, drop: str) -> StartedRun | None:
        """The last run of this job and drop that this portal has started."""
        with self._lock:
            return self._runs.get((job, drop))

    def ask(self, job: Job, drop: str) -> StartedRun:
        """Start the job unless it is running; an approval during a run gets a run of its own."""
        key = (job, drop)
        with self._lock:
            known = self._runs.get(key)
            if known is not None and not known.is_over:
                self._again.add(key)
                return known
            started = self._runs[key] = StartedRun(job, drop, datetime.now(UTC))
        threading.Thread(target=self._work, args=key, name=f"{job} {drop}").start()
        return started

    def _work(self, job: Job, drop: str) -> None:
        key = (job, drop)
        while True:
            error = self._failure(job, drop)
            with self._lock:
                if key not in self._again:
                    phase: Phase = "failed" if error else "done"
                    self._runs[key] = replace(self._runs[key], phase=phase, step="", error=error)
                    return
                self._again.discard(key)

    def _failure(self, job: Job, drop: str) -> str:
        """Run the job to its end; why it failed, "" when it did not."""
        try:
            self._note(job, drop, phase="running")
            if not has_dagster(self._settings):
                _STAGES[job](self._settings, drop)
                return ""
            outcomes = launch(self._settings, job, [drop], lambda event: self._hear(job, event))
            return "; ".join(one.error or "failed" for one in outcomes if not one.success)
        except FabricError as error:
            return str(error)
        except Exception:  # a thread has nobody above it who could tell the reader
            _LOG.exception("run of %s on %r failed", job, drop)
            return "the run failed; its cause is in the log of the portal"

    def _hear(self, job: Job, event: Event) -> None:
        if event["event"] == "step":
            self._note(job, event["drop"], step=str(event["step"]))
        elif event["event"] == "finished":
            self._note(job, event["drop"], run_id=str(event["run_id"]))

    def _note(self, job: Job, drop: str, **news: str) -> None:
        with self._lock:
            self._runs[job, drop] = replace(self._runs[job, drop], **news)  # type: ignore[arg-type]


def has_dagster(settings: Settings) -> bool:
    """True when this home has a Dagster instance, in which runs are to show."""
    home = settings.root if settings.is_default_home else settings.home / "dagster"
    return (home / FILE).is_file()


def runs_of(settings: Settings) -> Runs:
    """The runs of a home; the same object for every request of this process."""
    with _LOCK:
        return _HOMES.setdefault(settings.home, Runs(settings))


def _draft(settings: Settings, drop: str) -> None:
    from fabric_pipeline.workflows.draft_drop import draft_stage  # loads drafters

    draft_stage(settings, drop, datetime.now(UTC))
    rebuild_audit(settings)


def _publish(settings: Settings, drop: str) -> None:
    publish_stage(settings, drop, datetime.now(UTC))
    rebuild_audit(settings)


_STAGES: dict[Job, Callable[[Settings, str], None]] = {"diagnose": _draft, "publish": _publish}
_HOMES: dict[Path, Runs] = {}
_LOCK = threading.Lock()
