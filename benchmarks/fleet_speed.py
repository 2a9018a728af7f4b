"""What the way from readings to incidents costs beside the least that it could cost, by size of the fleet.

    python -m benchmarks.fleet_speed --readings 1e6,3e6,10e6 [--noisy 0.02] [--memory 8GB]

Floors over the same Parquet file with the same engine: `scan` reads every column that counts need once,
`window` is one pass with `lag` per series whose sum is thrown away, `written` is that pass with its rows
put in order and written, as every table of the pipeline is. Each measurement is a process of its own;
processor seconds count, because other work on the machine does not change them much.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fleet_drop import DROP, READ_AT, Fleet, fleet_of, generate, settings_of
from benchmarks.results import table
from fabric_pipeline.settings import Settings
from fabric_pipeline.store import lake
from fabric_pipeline.store.duck import session
from fabric_pipeline.workflows import drop_stages

_KEY = "node, interface, lane, counter, gpu_uuid, scope"
_LAG = f"lag({{}}) over (partition by {_KEY} order by ts)"
_SCAN = f"select count(distinct counter), count(*), sum(value), max(ts), {', '.join(f'max({name})' for name in _KEY.split(', '))} from raw_telemetry"
_WINDOW = f"select sum(delta), sum(epoch(gap)) from (select value - {_LAG.format('value')} as delta, ts - {_LAG.format('ts')} as gap from raw_telemetry)"
_WRITTEN = f"""
select "drop", {_KEY}, link_type, kind, ts, value, value - {_LAG.format("value")} as delta, ts - {_LAG.format("ts")} as gap,
    quality, state, file, file_sha256, line
from raw_telemetry order by {_KEY}, ts
"""
FLOORS = ("scan", "window", "written")
STAGES = ("link_counters", "spikes", "stragglers", "correlations", "incidents")
_COUNTED = ("link_counters", "spikes")


@dataclass(slots=True)
class Cost:
    """What one process took, and what it left: rows and hash of its table where it makes one."""

    cpu_s: float
    wall_s: float
    rss_mb: float
    rows: int = 0
    sha256: str = ""


@dataclass(slots=True)
class Measured:
    """All costs of one fleet by step."""

    fleet: Fleet
    costs: dict[str, Cost]

    def cpu_s(self, steps: Sequence[str]) -> float:
        """Processor seconds of some steps together."""
        return sum(self.costs[step].cpu_s for step in steps)

    def ratio(self, steps: Sequence[str], floor: str) -> float:
        """How many times a floor these steps cost."""
        return self.cpu_s(steps) / self.costs[floor].cpu_s


def measure(fleet: Fleet, folder: Path, memory: str) -> Measured:
    """Generate the drop, run every floor and every stage, and remove what was generated."""
    home = Path(tempfile.mkdtemp(prefix="fleet-", dir=folder))
    try:
        generate(fleet, home / "home")
        steps = (*FLOORS, *STAGES)
        return Measured(
            fleet, {step: _in_own_process(step, home / "home", memory) for step in steps}
        )
    finally:
        shutil.rmtree(home)


def _in_own_process(step: str, home: Path, memory: str) -> Cost:
    env = os.environ | ({"FABRIC_MEMORY_LIMIT": memory} if memory else {})
    command = [sys.executable, "-m", "benchmarks.fleet_speed", "--step", step, "--home", str(home)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(f"{step} failed:\n{done.stderr}")
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


def run_step(step: str, home: Path) -> Cost:
    """One floor or stage in this process."""
    settings = settings_of(home)
    wall, cpu = time.perf_counter(), time.process_time()
    rows, sha256 = _floor(step, settings) if step in FLOORS else _stage(step, settings)
    took = time.process_time() - cpu, time.perf_counter() - wall
    return Cost(*took, _peak_mb(), rows, sha256)


def _peak_mb() -> float:
    """Most memory of this process; `ru_maxrss` would count that of the one it was started from."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:  # no Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def _floor(step: str, settings: Settings) -> tuple[int, str]:
    with closing(session()) as connection:
        lake.attach(connection, settings.lake, "raw_telemetry", DROP)
        if step != "written":
            connection.execute(_SCAN if step == "scan" else _WINDOW).fetchall()
            return 0, ""
        written = lake.write_table(connection, _WRITTEN, settings.lake, "floor", DROP)
        lake.remove(settings.lake, "floor", DROP)
        return written.rows, ""


def _stage(step: str, settings: Settings) -> tuple[int, str]:
    stages: dict[str, Callable[[], Any]] = {
        "link_counters": lambda: drop_stages.link_counters_stage(settings, DROP),
        "spikes": lambda: drop_stages.spike_stage(settings, DROP),
        "stragglers": lambda: drop_stages.straggler_stage(settings, DROP),
        "correlations": lambda: drop_stages.correlation_stage(settings, DROP),
        "incidents": lambda: drop_stages.incident_stage(settings, DROP, READ_AT)[0],
    }
    result = stages[step]()
    if result.violations:
        raise SystemExit(f"{step}: {result.violations}")
    return result.rows, result.sha256


def exponent(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """Slope of cost over size in logarithms: 1 is linear."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def report(measured: Sequence[Measured]) -> str:
    """The table of floors, ratios and memory, and the curve."""
    head = (
        "readings", "nodes", "noisy", "scan", "window", "written", "counters + spikes", "x window", "x written",
        "whole diagnosis", "x window", "readings/s", "peak MB",
    )  # fmt: skip
    rows = [_row(one) for one in measured]
    text = "CPU seconds, and as multiples of a floor:\n\n" + table(head, rows)
    text += "\n\nCPU seconds / peak MB by stage:\n\n" + table(
        ("readings", *STAGES),
        [[f"{m.fleet.readings:,}", *(_cell(m.costs[s]) for s in STAGES)] for m in measured],
    )
    if len(measured) > 1:
        sizes = [one.fleet.readings for one in measured]
        for name, steps in (
            ("window", ["window"]),
            ("counters + spikes", _COUNTED),
            ("whole diagnosis", STAGES),
        ):
            slope = exponent(sizes, [one.cpu_s(steps) for one in measured])
            text += f"\n\nCost over size, {name}: size ^ {slope:.2f}"
    return text


def _cell(cost: Cost) -> str:
    return f"{cost.cpu_s:.1f} / {cost.rss_mb:.0f}"


def _row(one: Measured) -> list[object]:
    costs, ours = one.costs, one.cpu_s(_COUNTED)
    return [
        f"{one.fleet.readings:,}", one.fleet.nodes, f"{one.fleet.noisy:.0%}", *(f"{costs[name].cpu_s:.1f}" for name in FLOORS),
        f"{ours:.1f}", f"{one.ratio(_COUNTED, 'window'):.1f}", f"{one.ratio(_COUNTED, 'written'):.1f}",
        f"{one.cpu_s(STAGES):.1f}", f"{one.ratio(STAGES, 'window'):.1f}", f"{one.fleet.readings / one.cpu_s(STAGES):,.0f}",
        f"{max(costs[name].rss_mb for name in STAGES):.0f}",
    ]  # fmt: skip


def main() -> None:
    """Measure fleets of the sizes asked for and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--readings", default="1e6,3e6,10e6", help="sizes, by commas")
    parser.add_argument("--links", type=int, default=18, help="links of a GPU")
    parser.add_argument("--counters", type=int, default=5, help="counters of a link end")
    parser.add_argument("--interval", type=int, default=60, help="seconds between readings")
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--noisy", type=float, default=0.02, help="share of link ends with errors")
    parser.add_argument("--memory", default="", help="FABRIC_MEMORY_LIMIT of every step")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--step", choices=(*FLOORS, *STAGES), help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step:
        cost = run_step(given.step, given.home)
        sys.stdout.write(json.dumps({name: getattr(cost, name) for name in cost.__slots__}) + "\n")
        return
    shape = {
        "links": given.links, "counters": given.counters, "interval_s": given.interval, "hours": given.hours, "noisy": given.noisy,
    }  # fmt: skip
    measured = []
    for size in given.readings.split(","):
        measured.append(measure(fleet_of(int(float(size)), **shape), given.folder, given.memory))
        sys.stdout.write(report(measured) + "\n\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
