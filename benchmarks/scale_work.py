"""What is done with one generated drop in measurements of scale: as a shard of a worker, or by the driver afterwards.

The work is that of the product; here it is only timed. How many there are and where they are worked on is
decided in `scale_measure`.
"""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from benchmarks.fleet_drop import DROP, settings_of
from benchmarks.fleet_speed import STAGES, Cost, run_step
from fabric_pipeline.model.progress import silent
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.duck import session
from fabric_pipeline.store.shard_files import Place, send
from fabric_pipeline.workflows.shard_counting import Counted, CountItem, count_shard
from fabric_pipeline.workflows.sharded_counters import count_in_shards
from fabric_pipeline.workflows.shards import raw_parts

COUNTING, COLLECTING = "counting", "collecting"
ON_DRIVER = (COLLECTING, *STAGES[1:])


@dataclass(frozen=True, slots=True)
class Timed:
    """A shard that was counted: seconds that passed, processor seconds, and its result."""

    wall_s: float
    cpu_s: float
    counted: Counted


def nothing(number: int) -> int:
    """A task without work: what is left is the cost of the farm."""
    return number


def first_task(number: int) -> int:
    """What a worker pays once: libraries, and an engine."""
    importlib.import_module("fabric_pipeline.workflows.diagnose")
    session().close()
    return number


def items_of(place: Place, homes: list[Path], turn: int = 0) -> list[CountItem]:
    """The drops of these homes as shards; another turn finds nothing of an earlier one."""
    parts = [part for home in homes for part in raw_parts(settings_of(home), DROP)]
    addresses = send(place, [part.path for part in parts], [part.sha256 for part in parts])
    return [
        CountItem(place, address, part.sha256, (), _key(part.sha256, turn))
        for address, part in zip(addresses, parts, strict=True)
    ]


def _key(*follows_from: object) -> str:
    return sha256(json.dumps(follows_from).encode()).hexdigest()


def timed(item: CountItem) -> Timed:
    """Count one shard and say what it took."""
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    counted = count_shard(item)
    return Timed(time.perf_counter() - wall_s, time.process_time() - cpu_s, counted)


def run(step: str, home: Path) -> Cost:
    """One step over the drop of a home in this process: the shard itself, or what its driver does."""
    settings = settings_of(home)
    if step not in (COUNTING, COLLECTING):
        return run_step(step, home)
    if step == COUNTING:
        (item,) = items_of(Place("", str(settings.shards)), [home])
        cost = _cost(lambda: _rows(count_shard(item)))
        count_in_shards(settings, DROP, silent)  # the driver's own process will find this result
        return cost
    return _cost(lambda: _found_again(settings))


def _found_again(settings: Settings) -> int:
    figures = count_in_shards(settings, DROP, silent).figures
    if figures["shards_found_again"] < figures["shards"]:
        raise SystemExit("shards were counted where they should have been found")
    return figures["accepted"]


def _rows(counted: Counted) -> int:
    if counted.manifest is None:
        raise SystemExit(f"a generated shard breaks rules: {counted.violations}")
    return int(counted.manifest.said["accepted"])


def _cost(work: Callable[[], int]) -> Cost:
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    rows = work()
    return Cost(time.process_time() - cpu_s, time.perf_counter() - wall_s, _peak_mb(), rows)


def _peak_mb() -> float:
    """Most memory of this process so far (Linux)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024
