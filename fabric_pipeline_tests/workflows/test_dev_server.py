"""`fabric-pipeline dev`: two processes that start together, end together, and tell who ended by itself."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fabric_pipeline.errors import PipelineError, UsageError
from fabric_pipeline.settings import Settings, default_home
from fabric_pipeline.workflows.dev_server import Service, run_together, serve, services_of

WAITS = (sys.executable, "-c", "import time; time.sleep(60)")
ENDS = (sys.executable, "-c", "pass")
SCRIPT = """
import sys
from fabric_pipeline.workflows.dev_server import Service, run_together
wait = "import pathlib, sys, time; pathlib.Path(sys.argv[1]).touch(); time.sleep(60)"
run_together([Service(n, 0, (sys.executable, "-c", wait, f"{sys.argv[1]}/{n}")) for n in "ab"])
print("both ended", flush=True)
"""


def test_dagster_and_the_portal_listen_on_loopback_and_know_of_each_other() -> None:
    ui, portal = services_of(3210, 8765)
    assert " ".join(ui.command[1:]) == "-m dagster dev -h 127.0.0.1 -p 3210 -w workspace.yaml"
    assert " ".join(portal.command[1:]) == (
        "-m fabric_pipeline portal --port 8765 --dagster-url http://127.0.0.1:3210"
    )
    assert services_of(3210, None) == (ui,)


def test_it_needs_a_checkout(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"workspace\.yaml"):
        serve(Settings(root=tmp_path, home=default_home(tmp_path)), 3210, None)


def test_a_taken_port_is_said_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "workspace.yaml").touch()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} for the Dagster UI is taken"):
            serve(Settings(root=tmp_path, home=default_home(tmp_path)), port, None)


def test_one_that_ends_by_itself_is_named_and_ends_the_other() -> None:
    began = time.monotonic()
    with pytest.raises(PipelineError, match="second ended by itself"):
        run_together([Service("first", 0, WAITS), Service("second", 0, ENDS)])
    assert time.monotonic() - began < 15


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_both_even_where_a_script_ignores_interrupts(
    tmp_path: Path, told: signal.Signals
) -> None:
    ignoring = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    launch = ignoring + "os.execv(sys.executable, [sys.executable, '-c', *sys.argv[1:]])"
    parent = subprocess.Popen(
        [sys.executable, "-c", launch, SCRIPT, str(tmp_path)], stdout=subprocess.PIPE
    )
    deadline = time.monotonic() + 20
    while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    parent.send_signal(told)
    out, _ = parent.communicate(timeout=20)
    assert out == b"both ended\n"
    assert parent.returncode == 0
