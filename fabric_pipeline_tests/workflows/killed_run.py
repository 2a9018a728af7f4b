"""Work on one home that ends by kill -9 at a given moment, in a process of its own each time.

Started as a process that has not computed anything yet and forks from there. A moment is a rename, named
by the end of its target, or a call that writes to the ledger; never a time.
"""

from __future__ import annotations

import fnmatch
import importlib
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from fabric_pipeline.settings import Settings
from fabric_pipeline.sources.drop import list_drop
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.store.run_mark import at_work
from fabric_pipeline.workflows.publish_ticket import publish_approved
from fabric_pipeline.workflows.unpacked import with_archives
from fabric_pipeline_tests.pipeline_runs import NOW, ROOT, diagnose_without_dagster


def _diagnose(settings: Settings, drop: Path) -> None:
    with at_work(settings.home, drop.name):
        diagnose_without_dagster(settings, drop, dossiers=True)


def _publish(settings: Settings, drop: Path) -> None:
    publish_approved(settings, Ledger(settings.ledger), drop.name, NOW)


def _unpack(settings: Settings, drop: Path) -> None:
    with_archives(list_drop(drop), settings.unpacked)


WORK = {"diagnose": _diagnose, "publish": _publish, "unpack": _unpack}


def end_of(work: str, home: Path, drop: Path, moment: str) -> int:
    """Exit status of one piece of work; `moment` "" lets it come to its end."""
    told, tells = os.pipe()
    child = os.fork()
    if child == 0:
        _work(work, Settings(root=ROOT, home=home), drop, moment, tells)
    os.close(tells)
    with os.fdopen(told) as names:
        for name in names.read().split():  # what a whole run imported, the next need not
            with suppress(ImportError):
                importlib.import_module(name)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def kill_at(when: str, what: str) -> None:
    """End this process `before` or `after` what a pattern names: a path ending or a method of `Ledger`."""
    if hasattr(Ledger, what):
        _watch(Ledger, what, when, lambda *_: True)
        return
    for call in ("replace", "rename"):
        _watch(os, call, when, lambda _, target, *__: fnmatch.fnmatch(str(target), f"*/{what}"))


def _watch(owner: Any, name: str, when: str, is_meant: Callable[..., bool]) -> None:
    original = getattr(owner, name)

    def watched(*given: Any, **named: Any) -> Any:
        if when == "before" and is_meant(*given):
            os.kill(os.getpid(), signal.SIGKILL)
        answer = original(*given, **named)
        if is_meant(*given):
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    setattr(owner, name, watched)


def _work(work: str, settings: Settings, drop: Path, moment: str, tells: int) -> NoReturn:
    code = 1
    try:
        if moment:
            kill_at(*moment.split(" ", 1))
        WORK[work](settings, drop)
        if not moment:
            with os.fdopen(tells, "w") as names:
                names.write("\n".join(sorted(sys.modules)))
        code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    # One line in: work, home, drop folder and moment. One line out: how it ended and what is loaded.
    for line in sys.stdin:
        work, home, drop, moment = json.loads(line)
        ended = end_of(work, Path(home), Path(drop), moment)
        sys.stdout.write(f"{json.dumps([ended, [*sys.modules]])}\n")
        sys.stdout.flush()
