"""A run on Dask that is told to stop, or killed: it ends at once and its workers with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from fabric_pipeline_tests.pipeline_runs import ROOT

RUN = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background ignores it
from fabric_pipeline.engine.dask_engine import DaskEngine
from fabric_pipeline_tests.engine.shards import Shard, add_up
with DaskEngine(workers=1) as engine:
    told = lambda moment: print(moment.files, flush=True)
    engine.map(add_up, [Shard(1), Shard(2, seconds=600), Shard(3)], tell=told)
"""
LONGEST_S = 10.0


@pytest.fixture
def at_work(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has done one shard of three and hangs in the second."""
    with subprocess.Popen(
        [sys.executable, "-c", RUN],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path), "ANTHROPIC_API_KEY": "sk-not-for-logs"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line == "1\n":
                break
        yield process
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_it_ends_at_once_and_its_workers_with_it(
    at_work: subprocess.Popen[str], number: signal.Signals, tmp_path: Path
) -> None:
    workers = psutil.Process(at_work.pid).children(recursive=True)
    assert len(workers) >= 2
    begun = time.monotonic()
    at_work.send_signal(number)
    _, errors = at_work.communicate(timeout=60)
    gone, left = psutil.wait_procs(workers, timeout=LONGEST_S)
    assert time.monotonic() - begun < LONGEST_S
    assert (len(gone), left) == (len(workers), [])
    assert at_work.returncode == -number
    assert "sk-not-for-logs" not in errors
    assert "Shard(" not in errors
    if number == signal.SIGINT:
        assert errors.rstrip().endswith("KeyboardInterrupt")
        assert not [*tmp_path.glob("fabric-pipeline-*")]
