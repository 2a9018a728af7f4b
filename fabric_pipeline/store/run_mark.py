"""Whether a run is at work on a drop, and whether the last one came to its end.

A run holds a lock as long as it lives, so a crash, a kill or a copied home never looks like a run. What it
began stays noted until a whole diagnosis is through; who reads that decides what to do about it.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from fabric_pipeline.store.lake import checked_drop

_FOLDER = ".runs"


@dataclass(frozen=True, slots=True)
class Begun:
    """A diagnosis that began and has not come to its end: by which process, on which host, when."""

    pid: int
    host: str
    at: datetime

    def __str__(self) -> str:
        """As people are told."""
        return f"process {self.pid} on {self.host}"


Waits = Callable[[Begun | None], None]
_held: set[Path] = set()  # by this process


@contextmanager
def at_work(home: Path, drop: str, on_wait: Waits = lambda _: None) -> Iterator[None]:
    """Hold the drop while the block runs. Another run of it is waited for, after `on_wait` was told.

    Two runs of one drop would write tables of two readings side by side.
    """
    path = _path(home, drop, "lock").resolve()
    handle = _locked(home, drop, on_wait)
    _held.add(path)
    try:
        yield
    finally:
        _held.discard(path)
        os.close(handle)


def hold_to_the_end(home: Path, drop: str, on_wait: Waits = lambda _: None) -> None:
    """Hold the drop as long as this process lives; nothing to do where it holds the drop already."""
    path = _path(home, drop, "lock").resolve()
    if path not in _held:
        _locked(home, drop, on_wait)
        _held.add(path)


def _locked(home: Path, drop: str, on_wait: Waits) -> int:
    path = _path(home, drop, "lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait(unfinished(home, drop))
            fcntl.flock(handle, fcntl.LOCK_EX)
    except BaseException:
        os.close(handle)
        raise
    return handle


def is_at_work(home: Path, drop: str) -> bool:
    """True while a living process holds the drop. Changes nothing, also where nothing may be written."""
    try:
        with _path(home, drop, "lock").open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # nobody ever held it, or it may not be opened
        return False
    return False


def begin(home: Path, drop: str, at: datetime) -> None:
    """Note that the tables of the drop are about to be written anew."""
    path = _path(home, drop, "json")
    path.parent.mkdir(parents=True, exist_ok=True)
    body = {"pid": os.getpid(), "host": socket.gethostname(), "at": at.astimezone(UTC).isoformat()}
    temporary = path.with_name(f".{uuid4().hex}.tmp")
    try:
        temporary.write_text(json.dumps(body), encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def finish(home: Path, drop: str) -> None:
    """All tables of the drop are of one reading, and the audit file holds them."""
    _path(home, drop, "json").unlink(missing_ok=True)


def unfinished(home: Path, drop: str) -> Begun | None:
    """The diagnosis that began and has not ended, at work or not; None when the last one ended."""
    try:
        body = json.loads(_path(home, drop, "json").read_bytes())
        return Begun(int(body["pid"]), str(body["host"]), datetime.fromisoformat(body["at"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):  # something was begun, whatever it says
        return Begun(0, "an unknown host", datetime.fromtimestamp(0, UTC))


def _path(home: Path, drop: str, ending: str) -> Path:
    return home / _FOLDER / f"{checked_drop(drop)}.{ending}"
