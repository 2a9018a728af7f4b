"""What runs on a worker of a Dask cluster around the work on one item: limits, versions, a result or words.

Nothing here imports Dask when it is loaded. How items are handed out is decided in `dask_map`.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Generic

from fabric_pipeline import __version__
from fabric_pipeline.engine.base import Item, Result, words_of
from fabric_pipeline.settings import worker_environment

# One name for all runs: a scheduler keeps what it heard of a topic, up to a number of entries.
TOPIC = "fabric-pipeline-begun"


@dataclass(frozen=True, slots=True)
class Versions:
    """What must be the same on both sides for the same item to give the same bytes."""

    pipeline: str
    python: str
    duckdb: str

    def __str__(self) -> str:
        """For messages."""
        return f"fabric-pipeline {self.pipeline}, Python {self.python}, DuckDB {self.duckdb}"


@dataclass(frozen=True, slots=True)
class Order(Generic[Item]):
    """One item on its way: what to do with it, in which run, and what the client runs on."""

    run: str
    number: int
    item: Item
    versions: Versions


@dataclass(frozen=True, slots=True)
class Answer(Generic[Result]):
    """What a worker sends back. `versions` are set when they differ from those of the client."""

    result: Result | None = None
    problem: str = ""
    worker: str = ""
    versions: Versions | None = None


@cache
def versions_here() -> Versions:
    """Of this process."""
    python = ".".join(platform.python_version_tuple()[:2])
    return Versions(__version__, python, version("duckdb"))


def answer(work: Callable[[Item], Result], order: Order[Item]) -> Answer[Result]:
    """Do the work on a worker. A failure comes back in words: not every exception survives the journey."""
    from distributed import get_worker

    worker = get_worker()
    place = f"{worker.name} at {worker.address}"
    if versions_here() != order.versions:
        return Answer(worker=place, versions=versions_here())
    _keep_to_its_part(worker.state.nthreads, worker.memory_manager.memory_limit or 0)
    _say_begun(worker, order)
    try:
        return Answer(work(order.item), worker=place)
    except Exception as problem:  # one bad shard is reported, the others are worked on
        return Answer(problem=words_of(problem), worker=place)


def _keep_to_its_part(threads: int, memory_bytes: int) -> None:
    os.environ.update(worker_environment(threads, memory_bytes))


def _say_begun(worker: object, order: Order[Item]) -> None:
    """Told before the work begins and waited for: a worker that dies at once has still counted as a try."""
    from distributed.utils import sync

    words = {"run": order.run, "number": order.number}
    sync(worker.loop, worker.scheduler.log_event, topic=TOPIC, msg=words)  # type: ignore[attr-defined]
