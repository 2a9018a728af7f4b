"""How long collectives take: rows of `collectives.csv`, and what that does to a run's step time.

A collective runs at the speed of the slowest place it crosses. Ranks arrive at different times and
end together, so the rank that comes late has the shortest duration.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from fabric_pipeline.synth.effects import Effects, Factors, Site
from fabric_pipeline.synth.rows import Row
from fabric_pipeline.synth.timegrid import iso_utc
from fabric_pipeline.synth.workload import Communicator

COLLECTIVE_COLUMNS = (
    "run",
    "model",
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
# First iterations load code and build channels; they are slow in every healthy job.
WARM_UP_FACTORS = (11.0, 3.2, 1.5)
WARM_UP_SPACING_S = 3.0
NOISE_SIGMA = 0.012
SLOWDOWN_SIGMA = 0.12
ARRIVAL_SHARE = 0.004  # mean spread of arrivals, as a share of the collective's time
# Slow tensor-parallel calls of one node whose delay a data-parallel collective still feels.
CALLS_FELT_LATER = 3
COMMUNICATION_SHARE = 0.3  # of a training step


@dataclass(frozen=True, slots=True)
class Sampling:
    """Which collectives are kept: one per sample interval, each rank's row of every n-th.

    `outlier_share` of them are slower for no reason, as single events in time.
    """

    ranks_of_every: int = 8
    outlier_share: float = 0.002


Carried = dict[str, Factors]  # node -> delay in microseconds per bin


def slow_factor(comm: Communicator, effects: list[Effects], site: Site) -> Factors:
    """Largest slowdown on the group's path, per bin."""
    factors = [s.factor for e in effects for s in e.slowdowns if comm.crosses(s)]
    largest: Factors = np.maximum.reduce([np.ones(site.grid.bins), *factors])
    return largest


def carried_delays(comms: list[Communicator], effects: list[Effects], site: Site) -> Carried:
    """Delay that slow collectives inside a node carry into the run's data-parallel groups."""
    return {
        comm.node: (slow_factor(comm, effects, site) - 1) * comm.base_us * CALLS_FELT_LATER
        for comm in comms
        if comm.node is not None
    }


def collective_rows(
    comm: Communicator,
    carried: Carried,
    effects: list[Effects],
    site: Site,
    sampling: Sampling,
    rng: np.random.Generator,
) -> list[tuple[datetime, Row]]:
    """Rows of one group with their start times; `carried` is that of the group's run."""
    silent = {node for effect in effects for node in effect.silent_nodes}
    if comm.node in silent:
        return []
    rows: list[tuple[datetime, Row]] = []
    start = site.grid.at(comm.job.first_minute)
    for number, factor in enumerate(WARM_UP_FACTORS):
        time = start + timedelta(seconds=WARM_UP_SPACING_S * (number + 0.5))
        durations, _ = _one(comm, factor, np.zeros(len(comm.members)), rng)
        rows.append((time, _whole(comm, number, time, durations)))
    slower, late_us = slow_factor(comm, effects, site), _late_us(comm, carried, effects, site)
    phase = int(rng.integers(sampling.ranks_of_every))
    for count, (bin_, time) in enumerate(_times(comm, site, rng)):
        elapsed_ms = (time - start).total_seconds() * 1e3
        seq = len(WARM_UP_FACTORS) + int(elapsed_ms // comm.job.model.step_time_ms)
        factor = 1 + (slower[bin_] - 1) * rng.lognormal(0.0, SLOWDOWN_SIGMA)
        if rng.random() < sampling.outlier_share:
            factor *= rng.uniform(1.15, 1.4)
        durations, arrivals = _one(comm, factor, late_us[:, bin_], rng)
        rows.append((time, _whole(comm, seq, time, durations)))
        if count % sampling.ranks_of_every == phase:
            rows += _ranks(comm, seq, time, durations, arrivals, silent)
    return rows


def step_time_ms(
    comms: list[Communicator], carried: Carried, effects: list[Effects], site: Site
) -> float:
    """Mean step time of a run: its collectives' share of a step grows with the slowest of them."""
    job = comms[0].job
    bins = site.grid.mask(((job.first_minute, job.last_minute),))
    ratios = [
        slow_factor(comm, effects, site)
        + _late_us(comm, carried, effects, site).max(axis=0) / comm.base_us
        for comm in comms
    ]
    mean = float(np.maximum.reduce(ratios)[bins].mean())
    return round(job.model.step_time_ms * (1 + COMMUNICATION_SHARE * (mean - 1)), 1)


def _late_us(
    comm: Communicator, carried: Carried, effects: list[Effects], site: Site
) -> NDArray[np.float64]:
    """How late each member comes, members x bins, microseconds."""
    late = np.zeros((len(comm.members), site.grid.bins))
    lateness = [one for effect in effects for one in effect.late]
    for place, (node, gpu) in enumerate(comm.members):
        shares = [one.share for one in lateness if (one.node, one.gpu) == (node, gpu)]
        if shares:
            late[place] = np.maximum.reduce(shares) * comm.base_us
        if comm.gpu is not None:
            late[place] += carried.get(node, 0.0)
    return late


def _times(comm: Communicator, site: Site, rng: np.random.Generator) -> list[tuple[int, datetime]]:
    """One start time in each bin of the job, clear of the warm-up and of the bin's edges."""
    step_s = site.grid.step_s
    offset = rng.uniform(0.45, 0.8) * step_s
    bins = np.flatnonzero(site.grid.mask(((comm.job.first_minute, comm.job.last_minute),)))
    return [
        (int(b), site.grid.time_of(int(b)) + timedelta(seconds=offset + rng.uniform(-2.0, 2.0)))
        for b in bins
    ]


def _one(
    comm: Communicator, factor: float, late_us: NDArray[np.float64], rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Durations and arrivals of all ranks of one collective, microseconds."""
    arrivals = rng.exponential(ARRIVAL_SHARE * comm.base_us, len(comm.members))
    arrivals += late_us * rng.lognormal(0.0, SLOWDOWN_SIGMA)
    arrivals -= arrivals.min()
    pure = comm.base_us * factor * rng.lognormal(0.0, NOISE_SIGMA)
    return pure + arrivals.max() - arrivals, arrivals


def _baseline_us(comm: Communicator) -> float:
    """Normal time of the whole group: the mean of the latest of n exponential arrivals added."""
    latest = sum(1 / n for n in range(1, len(comm.members) + 1))
    return round(comm.base_us * (1 + ARRIVAL_SHARE * (latest - 1 / len(comm.members))), 1)


def _whole(comm: Communicator, seq: int, time: datetime, durations: NDArray[np.float64]) -> Row:
    """From the first arrival to the common end."""
    row = _common(comm, seq, time)
    row.update(node=comm.node, gpu=comm.gpu, duration_us=round(float(durations.max()), 1))
    return row


def _ranks(
    comm: Communicator,
    seq: int,
    time: datetime,
    durations: NDArray[np.float64],
    arrivals: NDArray[np.float64],
    silent: set[str],
) -> list[tuple[datetime, Row]]:
    rows = []
    for place, (node, gpu) in enumerate(comm.members):
        if node in silent:
            continue
        began = time + timedelta(microseconds=float(arrivals[place]))
        row = _common(comm, seq, began)
        row.update(
            rank=comm.ranks[place],
            node=node,
            gpu=gpu,
            duration_us=round(float(durations[place]), 1),
            arrival_us=round(float(arrivals[place]), 1),
        )
        rows.append((began, row))
    return rows


def _common(comm: Communicator, seq: int, time: datetime) -> Row:
    return {
        "run": comm.job.run,
        "model": comm.job.model.name,
        "comm": comm.name,
        "seq": seq,
        "op": "all_reduce",
        "bytes": comm.message_bytes,
        "ts": iso_utc(time, milliseconds=True),
        "baseline_us": _baseline_us(comm),
    }
