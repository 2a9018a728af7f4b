"""The child process of the command line: what is made of its words, its silence and its end."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fabric_pipeline.errors import PipelineError
from fabric_pipeline.settings import Settings
from fabric_pipeline.workflows import launch_jobs
from fabric_pipeline.workflows.launch_jobs import JobOutcome, launch

FINISHED = """
def finished(drop, success=True, error=""):
    say(event="finished", drop=drop, run_id="r-" + drop, success=success, seconds=1.5, error=error)
"""
HEAD = f"""
import json, os, sys
def say(**fields):
    print(json.dumps(fields), flush=True)
{FINISHED}
job, drops = sys.argv[1], sys.argv[2:]
"""


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr(launch_jobs, "_MODULE", "stand_in")
    return Settings(root=tmp_path, home=tmp_path / "elsewhere")


def child(where: Settings, body: str) -> None:
    """The module that is started instead of the launcher."""
    (where.root / "stand_in.py").write_text(HEAD + body)


def test_each_drop_has_its_outcome_and_every_event_is_passed_on(where: Settings) -> None:
    child(
        where,
        """
print("a library says hello")
for drop in drops:
    say(event="started", drop=drop)
    finished(drop, drop != "b", "" if drop != "b" else "read_drop: no")
""",
    )
    events: list[dict[str, Any]] = []
    outcomes = launch(where, "diagnose", ["a", "b"], events.append)
    assert outcomes == [
        JobOutcome("a", "r-a", True, 1.5),
        JobOutcome("b", "r-b", False, 1.5, "read_drop: no"),
    ]
    assert [event["event"] for event in events] == ["started", "finished"] * 2


def test_nothing_is_started_for_nothing(where: Settings) -> None:
    assert launch(where, "diagnose", []) == []


def test_the_child_gets_job_home_and_quiet(where: Settings) -> None:
    child(where, "say(event='env', job=job, **os.environ); [finished(d) for d in drops]")
    events: list[dict[str, Any]] = []
    launch(where, "publish", ["a"], events.append)
    assert events[0]["job"] == "publish"
    assert events[0]["FABRIC_HOME"] == str(where.home)
    assert events[0]["PYTHONWARNINGS"] == "ignore"


def test_a_child_that_ends_early_is_an_error_with_its_last_words(where: Settings) -> None:
    child(where, "finished('a'); sys.stderr.write('first\\nthe disk is full\\n'); sys.exit(3)")
    with pytest.raises(PipelineError, match="the disk is full") as error:
        launch(where, "diagnose", ["a", "b"])
    assert error.value.exit_code == 7


def test_a_talkative_child_is_not_stopped_by_a_full_pipe(where: Settings) -> None:
    child(where, "sys.stderr.write('warning\\n' * 200_000); [finished(d) for d in drops]")
    assert [one.success for one in launch(where, "diagnose", ["a"])] == [True]


def test_the_child_ends_with_its_caller(where: Settings) -> None:
    child(where, "say(event='pid', pid=os.getpid()); import time; time.sleep(60)")
    seen: list[int] = []

    def stop(event: dict[str, Any]) -> None:
        seen.append(event["pid"])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        launch(where, "diagnose", ["a"], stop)
    with pytest.raises(ProcessLookupError):
        os.kill(seen[0], 0)


def test_a_killed_child_is_said_to_be_killed_and_how_to_go_on(where: Settings) -> None:
    child(where, "os.kill(os.getpid(), 9)")
    with pytest.raises(PipelineError, match="killed from outside") as error:
        launch(where, "diagnose", ["a"])
    assert "run the command again to continue" in error.value.remedy


def test_an_interrupted_parent_waits_for_the_end_of_its_child(where: Settings) -> None:
    child(
        where,
        """
import signal, time
signal.signal(signal.SIGTERM, signal.default_int_handler)
try:
    say(event="started", drop="a")
    time.sleep(60)
except KeyboardInterrupt:
    open("let_go", "w").write("yes")
""",
    )

    def interrupted(_: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        launch(where, "diagnose", ["a"], interrupted)
    assert (where.root / "let_go").read_text() == "yes"


def test_a_child_that_does_not_let_go_is_stopped(
    where: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch_jobs, "_STOP_S", 0.2)
    child(
        where,
        """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
say(event="started", drop=str(os.getpid()))
time.sleep(60)
""",
    )
    seen: list[int] = []

    def interrupted(event: dict[str, Any]) -> None:
        seen.append(int(event["drop"]))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        launch(where, "diagnose", ["a"], interrupted)
    with pytest.raises(ProcessLookupError):
        os.kill(seen[0], 0)


def test_the_engine_that_was_asked_for_is_passed_on(
    where: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABRIC_DASK_ADDRESS", "tcp://127.0.0.1:1")
    names = "('FABRIC_ENGINE', 'FABRIC_DASK_ADDRESS', 'FABRIC_DASK_WORKERS')"
    child(where, f"finished('a', error=' '.join(os.environ.get(n) or '-' for n in {names}))")
    (unsaid,) = launch(where, "diagnose", ["a"])
    assert unsaid.error == "- tcp://127.0.0.1:1 -"  # left to the environment and to Dagster
    (asked,) = launch(replace(where, engine="dask", dask_workers=2), "diagnose", ["a"])
    assert asked.error == "dask - 2"
