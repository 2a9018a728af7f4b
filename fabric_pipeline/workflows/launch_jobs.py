"""Starting Dagster jobs from a process that does not import Dagster: a child process, JSON lines back.

The child stores the run in the instance, so it shows in the Dagster UI with its lineage.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fabric_pipeline.errors import PipelineError
from fabric_pipeline.settings import Settings, engine_environment

_MODULE = "fabric_pipeline.orchestration"
_KEPT_ERROR_LINES = 6
_STOP_S = 10.0
Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """How the run of one drop ended; `error` names the step and why."""

    drop: str
    run_id: str
    success: bool
    seconds: float
    error: str = ""


def launch(
    settings: Settings,
    job: str,
    drop_ids: Sequence[str],
    on_event: Callable[[Event], None] = lambda _: None,
) -> list[JobOutcome]:
    """Run `diagnose` or `publish` for each drop; one outcome each.

    Raises PipelineError when the child ends without reporting on every drop.
    """
    if not drop_ids:
        return []
    outcomes = []
    for event in _events(settings, job, drop_ids):
        on_event(event)
        if event["event"] == "finished":
            outcomes.append(
                JobOutcome(
                    event["drop"],
                    event["run_id"],
                    event["success"],
                    event["seconds"],
                    event["error"],
                )
            )
    return outcomes


def _events(settings: Settings, job: str, drop_ids: Sequence[str]) -> Iterator[Event]:
    command = [sys.executable, "-m", _MODULE, job, *drop_ids]
    env = dict(os.environ)
    if not settings.is_default_home:
        env["FABRIC_HOME"] = str(settings.home)
    if settings.engine:
        env.update(
            engine_environment(settings.engine, settings.dask_address, settings.dask_workers)
        )
    # Warnings of Dagster about previews and its own command line are not the user's business.
    env.setdefault("PYTHONWARNINGS", "ignore")
    done, problem = 0, ""
    # Errors go to a file: nobody reads a second pipe meanwhile, and a full one would stop the child.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        with subprocess.Popen(  # noqa: S603 - our own interpreter and module, ids checked by the ledger
            command,
            stdin=subprocess.PIPE,  # closes when this process is gone, and the child ends
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=env,
            cwd=settings.root,
        ) as child:
            assert child.stdout is not None  # noqa: S101 - PIPE was asked for
            try:
                for line in child.stdout:
                    if line.startswith("{"):
                        event = json.loads(line)
                        done += event["event"] == "finished"
                        yield event
            except BaseException:
                _end(child)
                raise
            problem = _ended_by(child.wait())
        errors.seek(0)
        said = errors.read()
    if done < len(drop_ids):
        tail = "\n".join(said.strip().splitlines()[-_KEPT_ERROR_LINES:])
        raise PipelineError(
            f"the {job} run ended before it reported on every drop{problem}:\n{tail}".rstrip(":\n"),
            "what was finished is kept: run the command again to continue, or see the run in the Dagster UI: fabric-pipeline dev",
        )


def _end(child: subprocess.Popen[str]) -> None:
    """Let the child come to a stop by itself, and stop it when it does not."""
    child.terminate()
    try:
        child.wait(_STOP_S)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):  # a second Ctrl-C does not wait
        child.kill()


def _ended_by(code: int) -> str:
    if code == -signal.SIGKILL:
        return ", killed from outside (the system does so when memory runs out)"
    return f", by signal {-code}" if code < 0 else ""
