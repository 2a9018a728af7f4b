"""A lock between processes on one machine, for steps that must not run twice at once.

The lock belongs to the open file: it ends with the process, so a crash leaves nothing to clear.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file `path` while the block runs; others wait for their turn."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
