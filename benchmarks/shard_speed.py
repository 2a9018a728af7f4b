"""One drop on every engine: the same result, and what more workers gain.

    python -m benchmarks.shard_speed [--readings 20e6] [--shards 16]

The same readings are counted in this process and on Dask with one and two workers, in other shard sizes,
in shuffled order, and while a worker is killed. Each way is a process of its own on a copy of the drop;
hashes are over all rows of link_counters in their order and over the file of spike_detections. The start
of a cluster is told apart from the work; `busy` is the share of the workers' time in which they computed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from threading import Timer
from typing import Any

import psutil  # type: ignore[import-untyped]

from benchmarks.fleet_drop import DROP, fleet_of, generate, readings_sql, settings_of
from benchmarks.results import table
from benchmarks.scale_work import first_task
from fabric_pipeline.engine.base import Done, Engine
from fabric_pipeline.engine.choose import open_engine
from fabric_pipeline.model.progress import Moment, Tell, silent
from fabric_pipeline.settings import Settings
from fabric_pipeline.store import lake
from fabric_pipeline.store.duck import session
from fabric_pipeline.workflows import drop_stages, sharded_counters
from fabric_pipeline.workflows.shards import node_ranges

_INTO_A_SHARD_S = 0.3


@dataclass(frozen=True, slots=True)
class Way:
    """How the drop is worked on. `shards` multiplies their number; the rest is what is done to them."""

    name: str
    engine: str
    workers: int = 0
    shards: float = 1
    shuffled: bool = False
    killed: bool = False


WAYS = (
    Way("this process, both cores in a shard", "local"),
    Way("Dask, 1 worker", "dask", 1),
    Way("Dask, 2 workers", "dask", 2),
    Way("Dask, 2 workers, three times the shards", "dask", 2, shards=3),
    Way("Dask, 2 workers, half the shards", "dask", 2, shards=0.5),
    Way("Dask, 2 workers, shuffled", "dask", 2, shuffled=True),
    Way("Dask, 2 workers, one killed", "dask", 2, killed=True),
)


_ONE_WORKER = 1  # its place in WAYS


@dataclass(slots=True)
class Measured:
    """What one way took in seconds, and what came out of it."""

    shards: int = 0
    start_s: float = 0.0
    wall_s: float = 0.0
    cpu_s: float = 0.0
    tries: int = 0
    failed: int = 0
    rows: int = 0
    counters: str = ""
    spikes: str = ""


class Watched:
    """The engine of a run, with a clock on it, and its items in another order or a worker killed."""

    def __init__(self, engine: Engine, way: Way, measured: Measured) -> None:
        """The workers are started, so that the clock shows their work alone."""
        self._engine, self._way, self._measured = engine, way, measured
        self.name = engine.name
        begun = time.perf_counter()
        engine.map(first_task, range(4 * max(way.workers, 1)))
        measured.start_s = time.perf_counter() - begun

    def map(
        self,
        work: Callable[[Any], Any],
        items: Sequence[Any],
        *,
        words: str = "",
        tell: Tell = silent,
    ) -> list[Done[Any]]:
        """See `Engine.map`."""
        order = list(range(len(items)))
        if self._way.shuffled:
            random.Random(1).shuffle(order)  # noqa: S311 - the same order in every run
        workers = _workers()

        def told(moment: Moment) -> None:
            tell(moment)
            if self._way.killed and moment.files == len(items) // 3 and workers:
                Timer(_INTO_A_SHARD_S, workers.pop().kill).start()

        wall, cpu = time.perf_counter(), _cpu_s()
        done = self._engine.map(work, [items[at] for at in order], words=words, tell=told)
        self._measured.wall_s = time.perf_counter() - wall
        self._measured.cpu_s = _cpu_s() - cpu
        self._measured.tries = sum(one.tries for one in done)
        return [
            replace(one, number=at)
            for at, one in sorted(zip(order, done, strict=True), key=lambda pair: pair[0])
        ]

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.__exit__(None, None, None)


def _watched(way: Way, measured: Measured, settings: Settings) -> Watched:
    return Watched(open_engine(settings), way, measured)


def _workers() -> list[Any]:
    return [
        one
        for one in psutil.Process().children(recursive=True)
        if "forkserver" in " ".join(one.cmdline()) and one.parent().pid != os.getpid()
    ]


def _cpu_s() -> float:
    """Processor seconds of this process and of all workers; those of a killed one are lost."""
    times = [one.cpu_times() for one in (psutil.Process(), *_workers())]
    return float(sum(one.user + one.system for one in times))


def work(way: Way, settings: Settings) -> Measured:
    """Count the drop of this home and look for spikes, the counting with a clock on it."""
    measured = Measured()
    watched = partial(_watched, way, measured)
    sharded_counters.open_engine = watched  # type: ignore[attr-defined]
    asked = replace(settings, engine=way.engine, dask_workers=way.workers)
    counted = drop_stages.link_counters_stage(asked, DROP)
    spikes = drop_stages.spike_stage(asked, DROP)
    measured.shards, measured.rows = int(counted.figures["shards"]), counted.rows
    measured.failed = int(counted.figures["shards_failed"])
    measured.counters, measured.spikes = _rows_hash(settings), spikes.sha256
    return measured


def _rows_hash(settings: Settings) -> str:
    paths = [str(path) for path in lake.parts_of(settings.lake, "link_counters", DROP)]
    with closing(session()) as connection:
        connection.execute("set threads = 1")
        row = connection.execute(
            """
            with counted as (select c, row_number() over () - 1 as n from read_parquet(?) c),
            blocks as (select n // 100000 as block, md5(string_agg(hash(c)::varchar, ',' order by n)) as h from counted group by block)
            select md5(string_agg(h, '' order by block)) from blocks
            """,
            [paths],
        ).fetchall()[0]
    return str(row[0])


def main() -> None:
    """Measure all ways, or one of them in a process of its own, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readings", type=float, default=20e6)
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--ways", default=",".join(map(str, range(len(WAYS)))), help="by number")
    parser.add_argument("--way", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.way is not None:
        one = work(WAYS[asked.way], settings_of(asked.home))
        sys.stdout.write(json.dumps(asdict(one)) + "\n")
        return
    fleet = fleet_of(int(asked.readings))
    with tempfile.TemporaryDirectory(prefix="shards-") as folder:
        generate(fleet, Path(folder, "home"))
        found = {
            at: _in_own_process(at, Path(folder, "home"), fleet, asked.shards)
            for at in map(int, asked.ways.split(","))
        }
    sys.stdout.write(f"{fleet.readings:,} readings of {fleet.nodes} nodes\n\n{report(found)}\n")


def _in_own_process(at: int, home: Path, fleet: Any, shards: int) -> Measured:
    settings = settings_of(home)
    for folder in (settings.shards, settings.lake / "link_counters"):
        shutil.rmtree(folder, ignore_errors=True)
    _cut(settings, fleet, max(round(shards * WAYS[at].shards), 2))
    command = [
        sys.executable, "-m", "benchmarks.shard_speed", "--way", str(at), "--home", str(home),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(f"{WAYS[at].name} failed:\n{done.stderr}")
    sys.stderr.write(f"{WAYS[at].name}: {done.stdout}")
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def _cut(settings: Settings, fleet: Any, shards: int) -> None:
    """The readings of the drop in so many parts, or in one a node."""
    per_node = fleet.series // fleet.nodes * fleet.steps
    names = [(f"node{number:05d}", per_node) for number in range(fleet.nodes)]
    ranges = node_ranges(names, -(-fleet.readings // shards))
    rows = [readings_sql(fleet, int(one.first[4:]), int(one.last[4:]) + 1) for one in ranges]
    said = {"nodes": ranges, "refused_of_parts": [0] * len(rows)}
    with closing(session()) as connection:
        lake.write_parts(connection, rows, settings.lake, "raw_telemetry", DROP, said)


def report(found: dict[int, Measured]) -> str:
    """One row a way. Efficiency is against one worker; every hash ought to be that of the first row."""
    alone = found.get(_ONE_WORKER)
    rows = []
    for at, one in found.items():
        way = WAYS[at]
        workers = way.workers or 1
        efficient = alone.wall_s / one.wall_s / workers if alone and way.workers else 0.0
        rows.append([
            way.name, one.shards, f"{one.start_s:.1f}", f"{one.wall_s:.2f}", f"{one.cpu_s:.2f}",
            f"{efficient:.0%}" if efficient else "–", f"{one.cpu_s / one.wall_s / workers:.0%}",
            one.tries, one.failed, one.counters[:12], one.spikes[:12],
        ])  # fmt: skip
    head = (
        "way", "shards", "start s", "wall s", "processor s", "efficient", "busy", "tries", "failed",
        "link_counters", "spike_detections",
    )  # fmt: skip
    return table(head, rows)


if __name__ == "__main__":
    main()
