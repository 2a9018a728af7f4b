"""Runs beside the server: once at a time, once more when asked for meanwhile, and never silent."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from fabric_pipeline.errors import PipelineError
from fabric_pipeline.portal import started_runs
from fabric_pipeline.portal.started_runs import Runs, has_dagster, runs_of
from fabric_pipeline.settings import Settings
from fabric_pipeline.workflows.launch_jobs import JobOutcome
from fabric_pipeline_tests.portal.ticket_homes import wait_for


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = Settings(root=tmp_path, home=tmp_path / "elsewhere")
    (made.home / "dagster").mkdir(parents=True)
    (made.home / "dagster" / "dagster.yaml").write_text("")
    return made


def is_over(runs: Runs, drop: str = "d1") -> bool:
    run = runs.of("publish", drop)
    return run is not None and run.is_over


def test_a_home_with_an_instance_starts_the_job_in_a_child(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, ...]] = []

    def launch(home: Settings, job: str, drops: list[str], on_event: Any) -> list[JobOutcome]:
        asked.append((home, job, drops))
        on_event({"event": "started", "drop": "d1"})
        on_event({"event": "step", "drop": "d1", "step": "published_tickets"})
        on_event({"event": "finished", "drop": "d1", "run_id": "r-1"})
        return [JobOutcome("d1", "r-1", True, 0.1)]

    monkeypatch.setattr(started_runs, "launch", launch)
    assert has_dagster(settings)
    runs = Runs(settings)
    assert runs.of("publish", "d1") is None
    assert runs.ask("publish", "d1").phase == "asked"
    wait_for(lambda: is_over(runs))
    run = runs.of("publish", "d1")
    assert run is not None
    assert (run.phase, run.run_id, run.error) == ("done", "r-1", "")
    assert asked == [(settings, "publish", ["d1"])]


def test_an_approval_during_a_run_gets_a_run_of_its_own(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, started = threading.Event(), []

    def launch(home: Settings, job: str, drops: list[str], on_event: Any) -> list[JobOutcome]:
        started.append(drops[0])
        assert go.wait(10)
        return [JobOutcome("d1", "r", True, 0.1)]

    monkeypatch.setattr(started_runs, "launch", launch)
    runs = Runs(settings)
    runs.ask("publish", "d1")
    wait_for(lambda: started == ["d1"])
    for _ in range(3):
        assert not runs.ask("publish", "d1").is_over
    go.set()
    wait_for(lambda: is_over(runs))
    assert started == ["d1", "d1"]


@pytest.mark.parametrize(
    ("broken", "says"),
    [(PipelineError("no such step", "look"), "no such step"), (RuntimeError("x"), "in the log")],
)
def test_a_run_that_breaks_says_so(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, broken: Exception, says: str
) -> None:
    def launch(*_: Any) -> list[JobOutcome]:
        raise broken

    monkeypatch.setattr(started_runs, "launch", launch)
    runs = Runs(settings)
    runs.ask("publish", "d1")
    wait_for(lambda: is_over(runs))
    run = runs.of("publish", "d1")
    assert run is not None
    assert run.phase == "failed"
    assert says in run.error


def test_a_failed_job_gives_its_reason(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = JobOutcome("d1", "r", False, 0.1, "human_review: nothing is approved")
    monkeypatch.setattr(started_runs, "launch", lambda *_: [outcome])
    runs = Runs(settings)
    runs.ask("publish", "d1")
    wait_for(lambda: is_over(runs))
    run = runs.of("publish", "d1")
    assert run is not None
    assert run.error == "human_review: nothing is approved"


def test_one_home_has_one_set_of_runs(tmp_path: Path, settings: Settings) -> None:
    assert runs_of(settings) is runs_of(settings)
    other = Settings(root=tmp_path, home=tmp_path / "another")
    assert runs_of(other) is not runs_of(settings)
    assert not has_dagster(other)
