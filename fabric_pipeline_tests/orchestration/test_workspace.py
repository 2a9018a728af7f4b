"""The checkout as `dagster` itself loads it, with no environment variable set."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
import yaml

from fabric_pipeline_tests.pipeline_runs import ROOT


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files Dagster starts from, and the package by a link."""
    for name in ("dagster.yaml", "workspace.yaml", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "fabric_pipeline").symlink_to(ROOT / "fabric_pipeline")
    return tmp_path


def test_the_definitions_load_from_a_plain_checkout(checkout: Path) -> None:
    command = [sys.executable, "-m", "dagster", "definitions", "validate", "-w", "workspace.yaml"]
    env = {"PATH": os.environ["PATH"], "HOME": str(checkout)}
    done = subprocess.run(
        command, cwd=checkout, env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Validation successful for code location fabric" in done.stdout + done.stderr


def test_the_instance_settings_are_valid_and_quiet(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkout)
    monkeypatch.setenv("DAGSTER_HOME", str(checkout))
    with dg.DagsterInstance.get() as instance:
        assert not instance.telemetry_enabled
        instance.add_dynamic_partitions("drops", ["d"])
        queue = instance.get_concurrency_config().run_queue_config
    config = yaml.safe_load((checkout / "dagster.yaml").read_text("utf-8"))
    base = Path(config["storage"]["sqlite"]["base_dir"])
    assert not base.is_absolute()
    assert (checkout / base / "history" / "runs.db").is_file()
    assert queue is not None
    # One run at a time for each drop: two would write the same tables.
    (limit,) = queue.tag_concurrency_limits
    assert (limit["key"], limit["limit"]) == ("dagster/partition", 1)
