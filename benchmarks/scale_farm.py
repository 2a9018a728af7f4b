"""A task farm in simulated time: shards handed out by one driver to many workers over a network.

Discrete events, one random generator with a seed, so the same farm gives the same times. What is put
into it is measured in `scale_measure` or assumed in `scale_simulation`; nothing here knows telemetry.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

_MOST_TRIES = 3
_BUSY = 0.8  # from this share of its time on something is called the bottleneck of the farm


@dataclass(frozen=True, slots=True)
class Farm:
    """What a run meets. Times in seconds, sizes in MB (10^6 bytes), rates in MB/s; 0 as a rate is no limit.

    `handout_s` is the driver's processor time for one task, half at its start and half at its end.
    `gap_s` is how long a worker waits between two tasks beyond that. Inputs are sent before the first
    task (`send_mb_s`), results are collected after the last. `store_mb_s` is what all transfers share:
    so many of `worker_mb_s` go on at once, others wait for their turn.
    """

    workers: int
    start_s: float = 0.0
    handout_s: float = 0.0
    gap_s: float = 0.0
    in_mb: float = 0.0
    out_mb: float = 0.0
    send_mb_s: float = 0.0
    worker_mb_s: float = 0.0
    store_mb_s: float = 0.0
    collect_s: float = 0.0
    reduce_s: float = 0.0
    straggler_share: float = 0.0
    straggler_factor: float = 1.0
    deaths_per_worker_h: float = 0.0
    restart_s: float = 0.0
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of it. `compute_s` is the work that was wanted, `lost_s` what deaths and stragglers added."""

    workers: int
    wall_s: float
    send_s: float
    farm_s: float
    after_s: float
    compute_s: float
    lost_s: float
    handout_share: float
    network_share: float
    deaths: int
    failed: int

    @property
    def efficiency(self) -> float:
        """Share of the workers' time, from first to last second, that was wanted work."""
        return self.compute_s / (self.workers * self.wall_s)

    @property
    def bottleneck(self) -> str:
        """What would have to be faster first."""
        if max(self.send_s, self.after_s) > self.farm_s:
            return "sending inputs" if self.send_s > self.after_s else "collecting and reducing"
        if (self.compute_s + self.lost_s) / (self.workers * self.farm_s) >= _BUSY:
            return "workers"
        if max(self.handout_share, self.network_share) >= _BUSY:
            return "handing out" if self.handout_share > self.network_share else "network"
        return "too few shards for so many workers"


@dataclass(slots=True)
class _Run:
    """One try of one shard on one worker. `is_on` ends with its end or with its worker."""

    shard: int
    worker: int
    begun_s: float
    is_on: bool = True


@dataclass(slots=True)
class _State:
    farm: Farm
    costs: Sequence[float]
    random: Random
    events: list[tuple[float, int, str, _Run]] = field(default_factory=list)
    waiting: deque[int] = field(default_factory=deque)
    tries: dict[int, int] = field(default_factory=dict)
    idle: deque[int] = field(default_factory=deque)
    channels: list[float] = field(default_factory=list)
    driver_free_s: float = 0.0
    handed_s: float = 0.0
    moved_s: float = 0.0
    worked_s: float = 0.0
    last_s: float = 0.0
    deaths: int = 0
    done: int = 0
    failed: int = 0
    number: int = 0


def simulate(farm: Farm, costs: Sequence[float]) -> Outcome:
    """Work through all shards, whose computing takes `costs` seconds, in their order."""
    state = _State(farm, costs, Random(farm.seed))  # noqa: S311
    send_s = len(costs) * farm.in_mb / farm.send_mb_s if farm.send_mb_s else 0.0
    begin_s = max(send_s, farm.start_s)
    state.waiting.extend(range(len(costs)))
    state.idle.extend(range(farm.workers))
    state.channels = [0.0] * _channels(farm)
    state.driver_free_s = state.last_s = begin_s
    _hand_out(state, begin_s)
    while state.events:
        now_s, _, what, run = heapq.heappop(state.events)
        if run.is_on:
            _HANDLERS[what](state, now_s, run)
    after_s = len(costs) * farm.collect_s + farm.reduce_s
    farm_s = state.last_s - send_s
    return Outcome(
        workers=farm.workers,
        wall_s=state.last_s + after_s,
        send_s=send_s,
        farm_s=farm_s,
        after_s=after_s,
        compute_s=sum(costs),
        lost_s=max(state.worked_s - sum(costs), 0.0),
        handout_share=state.handed_s / farm_s if farm_s else 0.0,
        network_share=state.moved_s / (len(state.channels) * farm_s)
        if farm_s and state.channels
        else 0.0,
        deaths=state.deaths,
        failed=state.failed,
    )


def _channels(farm: Farm) -> int:
    """Transfers that go on at once; none are counted when nothing limits them."""
    if not farm.worker_mb_s or not farm.store_mb_s:
        return 0
    return max(int(farm.store_mb_s / farm.worker_mb_s), 1)


def _hand_out(state: _State, now_s: float) -> None:
    while state.idle and state.waiting:
        shard, worker = state.waiting.popleft(), state.idle.popleft()
        ready_s = _driver(state, now_s) + state.farm.gap_s / 2
        state.tries[shard] = state.tries.get(shard, 0) + 1
        run = _Run(shard, worker, ready_s)
        _plan(state, ready_s, "fetch", run)
        if state.farm.deaths_per_worker_h:
            lives_s = state.random.expovariate(state.farm.deaths_per_worker_h / 3600)
            _plan(state, ready_s + lives_s, "die", run)


def _driver(state: _State, now_s: float) -> float:
    """The driver does one thing after the other; returns when it is through with this."""
    begun_s = max(now_s, state.driver_free_s)
    state.driver_free_s = begun_s + state.farm.handout_s / 2
    state.handed_s += state.farm.handout_s / 2
    return state.driver_free_s


def _plan(state: _State, at_s: float, what: str, run: _Run) -> None:
    state.number += 1  # events of one moment happen in the order in which they were planned
    heapq.heappush(state.events, (at_s, state.number, what, run))


def _moved(state: _State, now_s: float, size_mb: float) -> float:
    if not state.farm.worker_mb_s:
        return now_s
    took_s = size_mb / state.farm.worker_mb_s
    if not state.channels:
        return now_s + took_s
    free_s = heapq.heappop(state.channels)
    end_s = max(free_s, now_s) + took_s
    heapq.heappush(state.channels, end_s)
    state.moved_s += took_s
    return end_s


def _fetch(state: _State, now_s: float, run: _Run) -> None:
    _plan(state, _moved(state, now_s, state.farm.in_mb), "compute", run)


def _compute(state: _State, now_s: float, run: _Run) -> None:
    cost_s = state.costs[run.shard]
    if state.farm.straggler_share and state.random.random() < state.farm.straggler_share:
        cost_s *= state.farm.straggler_factor
    run.begun_s = now_s
    _plan(state, now_s + cost_s, "put", run)


def _put(state: _State, now_s: float, run: _Run) -> None:
    state.worked_s += now_s - run.begun_s
    _plan(state, _moved(state, now_s, state.farm.out_mb) + state.farm.gap_s / 2, "answer", run)


def _answer(state: _State, now_s: float, run: _Run) -> None:
    """A worker is given its next shard when the driver has seen that it is through with this one."""
    run.is_on = False
    state.done += 1
    state.last_s = _driver(state, now_s)
    state.idle.append(run.worker)
    _hand_out(state, state.last_s)


def _die(state: _State, now_s: float, run: _Run) -> None:
    """What was under way is lost and done again by whoever is free next, three times at most."""
    run.is_on = False
    state.deaths += 1
    state.worked_s += max(now_s - run.begun_s, 0.0)
    state.last_s = max(state.last_s, now_s)
    if state.tries[run.shard] < _MOST_TRIES:
        state.waiting.appendleft(run.shard)
    else:
        state.failed += 1
    _plan(state, now_s + state.farm.restart_s, "back", _Run(run.shard, run.worker, now_s))
    _hand_out(state, now_s)


def _back(state: _State, now_s: float, run: _Run) -> None:
    state.idle.append(run.worker)
    _hand_out(state, now_s)


_HANDLERS = {
    "fetch": _fetch,
    "compute": _compute,
    "put": _put,
    "answer": _answer,
    "die": _die,
    "back": _back,
}
