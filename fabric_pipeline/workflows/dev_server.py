"""Starting `dagster dev` on loopback from anywhere, with the instance of this checkout.

The process is replaced, so that Ctrl-C and signals reach Dagster directly.
"""

from __future__ import annotations

import os
import sys

from fabric_pipeline.errors import UsageError
from fabric_pipeline.settings import Settings


def serve(settings: Settings, port: int) -> None:
    """Replace this process by `dagster dev`; never returns when it works."""
    if not (settings.root / "workspace.yaml").is_file():
        raise UsageError(
            f"{settings.root} has no workspace.yaml", "start it from a checkout of the project"
        )
    os.chdir(settings.root)
    home = settings.root if settings.is_default_home else settings.home / "dagster"
    os.environ.setdefault("DAGSTER_HOME", str(home))
    os.environ.setdefault("PYTHONWARNINGS", "ignore")  # dagster's notes on its own command line
    command = [
        sys.executable,
        "-m",
        "dagster",
        "dev",
        "-h",
        "127.0.0.1",
        "-p",
        str(port),
        "-w",
        "workspace.yaml",
    ]
    os.execv(sys.executable, command)  # noqa: S606 - our own interpreter, no shell
