"""`run` and `publish` for real: the child process, the Dagster run in it, and readers beside it."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.audit import rebuild_audit
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.launch_jobs import launch
from fabric_pipeline_tests.cli.calls import Answer, Shell
from fabric_pipeline_tests.cli.readers import COUNT, Seen, ask_in_a_loop
from fabric_pipeline_tests.pipeline_runs import NOW, ROOT
from fabric_pipeline_tests.small_drop import BAD_LINKS


@dataclass(frozen=True)
class FirstRun:
    """A run of the small drop with three readers beside it, and what they saw."""

    settings: Settings
    answer: Answer
    thread: Seen
    other_process: Seen
    held_open: int


def command(settings: Settings, *words: object) -> Answer:
    """`fabric-pipeline` as a process of its own, as a person starts it."""
    env = {name: value for name, value in os.environ.items() if name != "DAGSTER_HOME"}
    done = subprocess.run(
        [sys.executable, "-m", "fabric_pipeline", *map(str, words)],
        cwd=ROOT,
        env=env | {"FABRIC_HOME": str(settings.home)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def first_run(small_drop: Path, tmp_path_factory: pytest.TempPathFactory) -> FirstRun:
    """An auditor's session stays open and two others keep asking while the drop is processed."""
    place = tmp_path_factory.mktemp("run")
    settings = Settings(root=ROOT, home=place / "warehouse")
    settings.home.mkdir()
    rebuild_audit(settings)
    stop, reports = place / "stop", (place / "thread.json", place / "process.json")
    readers = (
        threading.Thread(target=ask_in_a_loop, args=(settings, stop, reports[0])),
        multiprocessing.get_context("spawn").Process(
            target=ask_in_a_loop, args=(settings, stop, reports[1])
        ),
    )
    with closing(duckdb.connect(str(settings.audit), read_only=True)) as session:
        for reader in readers:
            reader.start()
        answer = command(settings, "run", small_drop, "--json")
        held_open = session.execute(COUNT).fetchall()[0][0]
    stop.write_text("")
    for reader in readers:
        reader.join(60)
    thread, other_process = (Seen(**json.loads(report.read_text())) for report in reports)
    return FirstRun(settings, answer, thread, other_process, held_open)


@pytest.fixture
def home(first_run: FirstRun, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The home of the run, for calls in this process; the child keeps its history in it as well."""
    monkeypatch.setenv("FABRIC_HOME", str(first_run.settings.home))
    monkeypatch.delenv("DAGSTER_HOME")
    return first_run.settings


def test_a_run_says_what_was_found(first_run: FirstRun) -> None:
    assert first_run.answer.code == 0
    body = json.loads(first_run.answer.out)
    (drop,) = body["drops"]
    figures = (drop["drop"], drop["read"], drop["accepted"], drop["quarantined"], drop["files"])
    assert figures == ("small", 960, 960, 0, 4)
    found = {one["isolated_component"]: one["severity"] for one in drop["incidents"]}
    assert found == dict.fromkeys(BAD_LINKS, "CRITICAL")
    assert len(body["tickets_waiting"]) == 2
    assert body["failed"] == []
    assert body["audit_database"] == str(first_run.settings.audit)


def test_a_run_tells_of_its_steps_on_stderr(first_run: FirstRun) -> None:
    said = first_run.answer.err.splitlines()
    assert said[:2] == ["small: new", "small: started"]
    assert "small: incident_records" in said
    assert said[-1].startswith("small: done in ")
    assert "Warning" not in first_run.answer.err


def test_readers_are_answered_while_a_run_writes_and_do_not_stop_it(first_run: FirstRun) -> None:
    assert first_run.answer.code == 0
    for seen in (first_run.thread, first_run.other_process):
        assert seen.errors == []
        assert len(seen.answers) > 5
        # The old file or the new one, nothing between and never back.
        assert set(seen.answers) <= {0, 960}
        assert seen.answers == sorted(seen.answers)
    assert (first_run.thread.answers[0], first_run.thread.answers[-1]) == (0, 960)
    assert first_run.held_open == 0  # a session keeps the file that it opened


def test_a_second_run_finds_nothing_to_do_and_says_the_same(
    first_run: FirstRun, home: Settings, shell: Shell, small_drop: Path
) -> None:
    before = {path: path.stat().st_mtime_ns for path in home.lake.rglob("*.parquet")}
    again = shell("run", small_drop, "--json")
    assert again.code == 0
    assert again.err == "small: unchanged since it was read\n"
    assert again.json == json.loads(first_run.answer.out)
    assert {path: path.stat().st_mtime_ns for path in home.lake.rglob("*.parquet")} == before
    for_people = shell("run", small_drop).out
    assert "960 readings accepted, 0 quarantined" in for_people
    assert all(link in for_people for link in BAD_LINKS)
    assert "2 ticket(s) wait for a person" in for_people


def test_a_bad_drop_beside_a_good_one_is_named_and_ends_with_1(
    home: Settings, shell: Shell, small_drop: Path, tmp_path: Path
) -> None:
    answer = shell("run", tmp_path / "nowhere", small_drop, "--json")
    assert answer.code == 1
    assert "nowhere: no such file" in answer.err
    assert [one["drop"] for one in answer.json["drops"]] == ["small"]


def test_an_approved_ticket_is_published_once(home: Settings, shell: Shell) -> None:
    first, second = (row["ticket_id"] for row in shell("tickets", "--json").json)
    assert shell("publish", "--json").code == 5
    assert shell("review", first, "--approve", "--reviewer", "Mara").code == 0
    answer = shell("publish", "--json")
    assert answer.code == 0, answer.err
    (row,) = answer.json
    assert (row["ticket"], row["drop"], row["reviewer"]) == (first, "small", "Mara")
    assert json.loads(Path(row["file"]).read_text("utf-8"))["approval"]["reviewer"] == "Mara"
    assert sorted(path.name for path in home.outbox.iterdir() if path.name[0] != ".") == [first]
    assert shell("review", second, "--reject", "--reviewer", "Mara", "--reason", "no").code == 0
    nothing_left = shell("publish", "--json")
    assert (nothing_left.code, nothing_left.json) == (0, [])
    assert "published already" in nothing_left.err
    states = {row["ticket_id"]: row["state"] for row in shell("tickets", "--json").json}
    assert states == {first: "published", second: "rejected"}
    assert Ledger(home.ledger).verify_chain() == []
    who = "select reviewer, count(*) as tickets from ledger_publications group by all"
    assert shell("audit", "query", who, "--json").json == [{"reviewer": "Mara", "tickets": 1}]


def test_a_drop_whose_files_are_gone_fails_with_the_step_and_the_reason(
    home: Settings, shell: Shell, tmp_path: Path
) -> None:
    drop = tmp_path / "brief"
    drop.mkdir()
    (drop / "a.log").write_text("nothing known\n")
    Ledger(home.ledger).claim_drop("brief", drop, "0" * 64, NOW)
    (drop / "a.log").unlink()
    drop.rmdir()
    (outcome,) = launch(home, "diagnose", ["brief"])
    assert not outcome.success
    assert outcome.error.startswith(f"read_drop: {drop}: the drop is no longer there")
