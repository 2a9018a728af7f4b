"""Makes a synthetic drop from a scenario and a seed: the one way in for callers.

Works out all tables in memory and hands them to `writer`. The same scenario and seed give the same
bytes; nothing depends on the clock or the machine.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import numpy as np

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.synth.cluster import Cluster
from fabric_pipeline.synth.counters import end_series
from fabric_pipeline.synth.effects import Effects, Event, Site
from fabric_pipeline.synth.rows import Row, counter_rows
from fabric_pipeline.synth.scenario_model import PutIn, Scenario
from fabric_pipeline.synth.timegrid import iso_utc
from fabric_pipeline.synth.timings import carried_delays, collective_rows, step_time_ms
from fabric_pipeline.synth.topology import build_topology
from fabric_pipeline.synth.workload import Communicator, Job, busy_share, communicators
from fabric_pipeline.synth.writer import DropTables, default_answer_key, write_drop

ANSWER_SCHEMA = 1


def generate(scenario: Scenario, out: Path, *, seed: int, answer_key: Path | None) -> None:
    """Write one drop to the folder `out` and its answer key beside it, never inside.

    Without `answer_key` the key goes to `answers/<name of out>.json` in the folder that holds the
    drop. An earlier synthetic drop at `out` is replaced as a whole.

    Raises:
        UsageError: the key would lie in the drop, or `out` holds something that is no drop.
        NotFoundError: a fault or a job names a node or link that the cluster does not have.
    """
    topology = build_topology(scenario.cluster)
    _put_in(topology, scenario.put_in)
    site = Site(Cluster.of(topology), scenario.grid)
    effects = [
        plant.plant(site, _rng(scenario, seed, f"plant {number}"))
        for number, plant in enumerate(scenario.plants)
    ]
    groups = {job.run: communicators(job, site) for job in scenario.jobs}
    tables = DropTables(
        header=_header(scenario),
        topology=topology,
        layout=scenario.layout,
        counters=_counters(scenario, site, effects, seed),
        collectives=_collectives(scenario, site, effects, groups, seed),
        runs=[_run(job, site, effects, groups[job.run]) for job in scenario.jobs],
        events=_events(scenario, site, effects),
    )
    answer = _answer(scenario, site, effects, groups, seed)
    write_drop(tables, out, answer, answer_key or default_answer_key(out))


def _put_in(topology: dict[str, Any], boards: Sequence[PutIn]) -> None:
    """Exchange GPU boards: serial and UUID go with the board, everything else stays with the slot."""

    def board(node: int, gpu: int) -> dict[str, Any]:
        try:
            found: dict[str, Any] = topology["nodes"][node]["gpus"][gpu]
        except IndexError:
            raise NotFoundError(f"there is no GPU {gpu} in node {node} of the cluster") from None
        return found

    built = {
        one.taken_from: {name: board(*one.taken_from)[name] for name in ("serial", "uuid")}
        for one in boards
        if one.taken_from is not None
    }
    for one in boards:
        new = {"serial": one.serial, "uuid": f"GPU-{uuid5(NAMESPACE_OID, one.serial)}"}
        board(one.node, one.gpu).update(built[one.taken_from] if one.taken_from else new)


def _rng(scenario: Scenario, seed: int, purpose: str) -> np.random.Generator:
    """One stream per purpose, so that adding a fault does not change anything else."""
    return np.random.default_rng([seed, zlib.crc32(f"{scenario.name}: {purpose}".encode())])


def _header(scenario: Scenario) -> dict[str, Any]:
    return {
        "cluster": scenario.cluster.cluster,
        "site": scenario.cluster.site,
        "window": {
            "start": iso_utc(scenario.grid.start),
            "end": iso_utc(scenario.grid.end),
        },
        "timezone": "UTC",
        "node_pattern": scenario.cluster.node_pattern,
    }


def _counters(scenario: Scenario, site: Site, effects: list[Effects], seed: int) -> list[Row]:
    busy = busy_share(scenario.jobs, site)
    series = end_series(site, effects, busy, _rng(scenario, seed, "counters"))
    lost = _rng(scenario, seed, "lost samples")
    return counter_rows(series, effects, site.grid, scenario.layout, lost)


def _collectives(
    scenario: Scenario,
    site: Site,
    effects: list[Effects],
    groups: dict[str, list[Communicator]],
    seed: int,
) -> list[Row]:
    rows = []
    for run, comms in groups.items():
        carried = carried_delays(comms, effects, site)
        for comm in comms:
            rng = _rng(scenario, seed, f"timings {run} {comm.name}")
            rows += collective_rows(comm, carried, effects, site, scenario.sampling, rng)
    rows.sort(key=lambda row: row[0])
    return [row for _, row in rows]


def _run(job: Job, site: Site, effects: list[Effects], comms: list[Communicator]) -> dict[str, Any]:
    carried = carried_delays(comms, effects, site)
    return {
        "run": job.run,
        "model": job.model.name,
        "nodes": [site.cluster.node_at(index) for index in job.nodes],
        "start": iso_utc(site.grid.at(job.first_minute)),
        "end": iso_utc(site.grid.at(job.last_minute)),
        "step_time_ms": step_time_ms(comms, carried, effects, site),
        "baseline_step_time_ms": job.model.step_time_ms,
    }


def _events(scenario: Scenario, site: Site, effects: list[Effects]) -> list[dict[str, Any]]:
    events = [event for effect in effects for event in effect.events]
    for job in scenario.jobs:
        node = site.cluster.node_at(job.nodes[0])
        for kind, minute in (("job_start", job.first_minute), ("job_end", job.last_minute)):
            word = "started" if kind == "job_start" else "ended"
            text = f"scheduler: {job.run} {word} on {len(job.nodes)} nodes"
            events.append(Event(site.grid.at(minute), node, "", kind, text))
    silent = {node for effect in effects for node in effect.silent_nodes}
    events.sort(key=lambda event: event.time)
    return [_event(event) for event in events if not event.component or event.node not in silent]


def _event(event: Event) -> dict[str, Any]:
    row = {
        "ts": iso_utc(event.time, milliseconds=True),
        "node": event.node,
        "component": event.component,
        "kind": event.kind,
        "code": event.code,
        "text": event.text,
    }
    return {key: value for key, value in row.items() if value is not None}


def _answer(
    scenario: Scenario,
    site: Site,
    effects: list[Effects],
    groups: dict[str, list[Communicator]],
    seed: int,
) -> dict[str, Any]:
    planted = [{**effect.answer, "slowed": _slowed(effect, groups, site)} for effect in effects]
    return {
        "schema": ANSWER_SCHEMA,
        "drop": scenario.name,
        "says": scenario.says,
        "seed": seed,
        "window": _header(scenario)["window"],
        "sample_interval_s": timedelta(seconds=site.grid.step_s).total_seconds(),
        "faults": [one for one in planted if one["is_fault"]],
        "confounders": [one for one in planted if not one["is_fault"]],
    }


def _slowed(
    effect: Effects, groups: dict[str, list[Communicator]], site: Site
) -> dict[str, list[str]]:
    """Run -> groups whose collectives this plant makes slower by itself while they run."""
    slowed: dict[str, list[str]] = {}
    for run, comms in groups.items():
        job = comms[0].job
        bins = site.grid.mask(((job.first_minute, job.last_minute),))
        for comm in comms:
            crossed = any(
                comm.crosses(one) and bool((one.factor[bins] > 1).any()) for one in effect.slowdowns
            )
            waits = any(
                (one.node, one.gpu) in comm.members and bool(one.share[bins].any())
                for one in effect.late
            )
            if crossed or waits:
                slowed.setdefault(run, []).append(comm.name)
    return slowed
