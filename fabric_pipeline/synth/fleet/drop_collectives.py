"""The `collectives.csv` of a scenario: rank records where it has them, else whole collectives.

Ranks of one collective end together, so the rank that comes last has the shortest duration.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabric_pipeline.synth.fleet.platforms import PLATFORMS
from fabric_pipeline.synth.fleet.scenario import FleetScenario
from fabric_pipeline.synth.fleet.streams import Purpose, stream
from fabric_pipeline.synth.fleet.workload import FleetGroup

COLLECTIVE_COLUMNS = (
    "run",
    "comm",
    "seq",
    "op",
    "bytes",
    "ts",
    "rank",
    "node",
    "gpu",
    "duration_us",
    "arrival_us",
    "baseline_us",
)
Row = dict[str, Any]


def write_collectives(scenario: FleetScenario, path: Path) -> None:
    """Write the file, sorted by bin."""
    rng = stream(scenario.seed, Purpose.DROP)
    nodes_of = nodes_of_runs(scenario)
    rows: list[tuple[int, Row]] = []
    for number, group in enumerate(scenario.groups):
        rows += _group_rows(scenario, number, group, nodes_of[group.run], rng)
    rows.sort(key=lambda row: row[0])
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, COLLECTIVE_COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(row for _, row in rows)


def _group_rows(
    scenario: FleetScenario,
    number: int,
    group: FleetGroup,
    run_nodes: list[int],
    rng: np.random.Generator,
) -> Iterator[tuple[int, Row]]:
    """Rows of one communicator, each with its bin."""
    whole, pure = scenario.whole_us[number], scenario.pure_us
    node = scenario.node_names[group.nodes[0]] if len(group.nodes) == 1 else ""
    for bin_ in np.flatnonzero(~np.isnan(whole)):
        began = time_of(scenario, int(bin_)) + timedelta(
            seconds=float(scenario.spec.step_s * rng.uniform(0.3, 0.7))
        )
        row: Row = {
            "run": group.run,
            "comm": group.name,
            "seq": int(bin_) - group.first_bin + 1,
            "op": "all_reduce",
            "bytes": group.bytes,
            "baseline_us": round(group.base_us, 1) if group.baseline_given else "",
        }
        if pure is None:
            gpu = group.rail if group.rail >= 0 else ""
            duration = round(float(whole[bin_]), 1)
            more = {"ts": iso_utc(began), "node": node, "gpu": gpu, "duration_us": duration}
            yield int(bin_), row | more
            continue
        late = int(scenario.late_node[number, bin_]), int(scenario.late_gpu[number, bin_])
        members = _members(scenario, group)
        span = float(whole[bin_]), float(pure[number, bin_])
        arrivals = _arrivals(members, late, span[0] - span[1], rng)
        for (index, gpu), arrival in zip(members, arrivals, strict=True):
            more = {
                "ts": iso_utc(began + timedelta(microseconds=float(arrival))),
                "rank": run_nodes.index(index) * _gpus(scenario) + gpu,
                "node": scenario.node_names[index],
                "gpu": gpu,
                "duration_us": round(span[0] - float(arrival), 1),
                "arrival_us": round(float(arrival), 1),
            }
            yield int(bin_), row | more


def _arrivals(
    members: list[tuple[int, int]],
    late: tuple[int, int],
    waited: float,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """When each rank comes: the first at zero, the late one last, the others in the first third."""
    arrivals = waited * rng.uniform(0.0, 0.3, len(members))
    last = members.index(late) if late in members else 0
    arrivals[(last + 1 + int(rng.integers(len(members) - 1))) % len(members)] = 0.0
    arrivals[last] = waited
    return np.asarray(arrivals, np.float64)


def _members(scenario: FleetScenario, group: FleetGroup) -> list[tuple[int, int]]:
    gpus = [group.rail] if group.rail >= 0 else range(_gpus(scenario))
    return [(int(node), gpu) for node in group.nodes for gpu in gpus]


def _gpus(scenario: FleetScenario) -> int:
    return PLATFORMS[scenario.spec.platform].gpus


def nodes_of_runs(scenario: FleetScenario) -> dict[str, list[int]]:
    """Run -> indices of its nodes, in order of rank."""
    found: dict[str, set[int]] = {}
    for group in scenario.groups:
        found.setdefault(group.run, set()).update(int(node) for node in group.nodes)
    return {run: sorted(nodes) for run, nodes in found.items()}


def time_of(scenario: FleetScenario, bin_: int) -> datetime:
    """Start of a bin."""
    return scenario.start + timedelta(seconds=bin_ * scenario.spec.step_s)


def iso_utc(time: datetime) -> str:
    """ISO 8601 with milliseconds."""
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
