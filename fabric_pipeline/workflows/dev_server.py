"""Starting `dagster dev` on loopback from anywhere, with the instance of this checkout.

The process is replaced, so that Ctrl-C and signals reach Dagster directly.
"""

from __future__ import annotations

import os
import sys

from fabric_pipeline.errors import UsageError
from fabric_pipeline.settings import Settings
from fabric_pipeline.workflows.dagster_home import enter_dagster_home

WORKSPACE = "workspace.yaml"


def serve(settings: Settings, port: int) -> None:
    """Replace this process by `dagster dev`; never returns when it works."""
    if not (settings.root / WORKSPACE).is_file():
        raise UsageError(
            f"{settings.root} has no {WORKSPACE}", "start it from a checkout of the project"
        )
    enter_dagster_home(settings)
    os.environ.setdefault("PYTHONWARNINGS", "ignore")  # dagster's notes on its own command line
    command = [sys.executable, "-m", "dagster", "dev", "-h", "127.0.0.1", "-p", str(port)]
    os.execv(sys.executable, [*command, "-w", WORKSPACE])  # noqa: S606 - our own interpreter, no shell
