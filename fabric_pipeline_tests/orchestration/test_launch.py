"""The launcher that the command line starts: what it says on stdout, and where its history goes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml

from fabric_pipeline.orchestration import launch
from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.orchestration.runs import DROP, assert_nothing_went_out


@pytest.fixture
def launched(
    home: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> tuple[int, list[dict[str, object]]]:
    """`publish` where nothing is approved, and a drop that nobody knows; exit code and events."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DAGSTER_HOME")
    monkeypatch.setenv("FABRIC_HOME", "warehouse")  # relative, as a person types it
    code = launch.main(["publish", DROP, "never-seen"])
    said = capsys.readouterr().out.splitlines()
    return code, [json.loads(line) for line in said]


def test_every_drop_is_reported_step_by_step(
    home: Settings, launched: tuple[int, list[dict[str, object]]]
) -> None:
    code, events = launched
    assert code == 1
    assert [event["event"] for event in events if event["drop"] == DROP] == [
        "started",
        "step",
        "finished",
    ]
    finished = {event["drop"]: event for event in events if event["event"] == "finished"}
    assert set(finished) == {DROP, "never-seen"}
    assert not finished[DROP]["success"]
    assert "human_review" in str(finished[DROP]["error"])
    assert finished[DROP]["run_id"]
    assert_nothing_went_out(home)
    # The history lies in the moved home by absolute paths, and none of it where the command started.
    config = yaml.safe_load((home.home / "dagster" / "dagster.yaml").read_text())
    bases = [
        config["storage"]["sqlite"]["base_dir"],
        config["local_artifact_storage"]["config"]["base_dir"],
        config["compute_logs"]["config"]["base_dir"],
    ]
    assert [Path(base).parent for base in bases] == [home.home / "dagster"] * 3
    assert Path(bases[0], "history", "runs.db").is_file()
    assert os.environ["FABRIC_HOME"] == str(home.home)
