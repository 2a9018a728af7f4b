"""Starting the Dagster UI and, beside it, the portal, on loopback, as two processes that end together.

Both stop when this process is told to stop, and when one ends by itself the other is stopped too, so
that a port that is taken is not overlooked. What they serve lives in `orchestration` and `portal`.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType

from fabric_pipeline.errors import PipelineError, UsageError
from fabric_pipeline.settings import Settings
from fabric_pipeline.workflows.dagster_home import enter_dagster_home

WORKSPACE = "workspace.yaml"
LOOPBACK = "127.0.0.1"
GRACE_S = 20.0  # Dagster stops its daemon and code server within some seconds
_LOOK_S = 0.2


@dataclass(frozen=True, slots=True)
class Service:
    """One process to start: its name in messages, its port, its command."""

    name: str
    port: int
    command: tuple[str, ...]


def serve(settings: Settings, port: int, portal_port: int | None) -> None:
    """Run `dagster dev`, and the portal unless `portal_port` is None, until told to stop.

    Raises UsageError without a checkout or with a port that is taken, PipelineError when one ends by itself.
    """
    if not (settings.root / WORKSPACE).is_file():
        raise UsageError(
            f"{settings.root} has no {WORKSPACE}", "start it from a checkout of the project"
        )
    services = services_of(port, portal_port)
    for service in services:
        _need_free(service)
    enter_dagster_home(settings)
    os.environ.setdefault("PYTHONWARNINGS", "ignore")  # dagster's notes on its own command line
    if portal_port:
        os.environ["FABRIC_PORTAL_PORT"] = str(portal_port)  # links back from the Dagster UI
    run_together(services)


def services_of(port: int, portal_port: int | None) -> tuple[Service, ...]:
    """What `dev` starts."""
    python = sys.executable
    dagster = (python, "-m", "dagster", "dev", "-h", LOOPBACK, "-p", str(port), "-w", WORKSPACE)
    ui = Service("the Dagster UI", port, dagster)
    if portal_port is None:
        return (ui,)
    address = f"http://{LOOPBACK}:{port}"
    portal = (python, "-m", "fabric_pipeline", "portal", "--port", str(portal_port))
    return ui, Service("the portal", portal_port, (*portal, "--dagster-url", address))


def run_together(services: Sequence[Service]) -> None:
    """Start all, wait for a signal or for the first that ends, stop the rest."""
    told: list[int] = []

    def tell(number: int, _frame: FrameType | None) -> None:
        told.append(number)

    # Handlers of our own are also what keeps an ignored SIGINT (`dev &` in a script) from being inherited.
    earlier = {one: signal.signal(one, tell) for one in (signal.SIGINT, signal.SIGTERM)}
    started: list[subprocess.Popen[bytes]] = []
    try:
        for service in services:
            # A group of its own each: Ctrl-C reaches this process alone, which stops each child once.
            child = subprocess.Popen(  # noqa: S603 - our own interpreter, no shell
                service.command, stdin=subprocess.DEVNULL, process_group=0
            )
            started.append(child)
        while not told and all(child.poll() is None for child in started):
            time.sleep(_LOOK_S)
        ended = [s.name for s, c in zip(services, started, strict=True) if c.poll() is not None]
    finally:
        _stop(started)
        for one, handler in earlier.items():
            signal.signal(one, handler)
    if ended and not told:
        raise PipelineError(f"{' and '.join(ended)} ended by itself", "its own words stand above")


def _stop(children: Sequence[subprocess.Popen[bytes]]) -> None:
    for child in children:
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
    deadline = time.monotonic() + GRACE_S
    for child in children:
        try:
            child.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _need_free(service: Service) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, service.port))
        except OSError:
            raise UsageError(
                f"port {service.port} for {service.name} is taken",
                "stop what listens there, or choose another with --port or --portal-port",
            ) from None
