"""Which runs of a large fleet are simulated, and what is assumed about network, slow and dying workers.

Costs come from `scale_costs`, time passes in `scale_farm`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from benchmarks.scale_costs import Costs
from benchmarks.scale_farm import Farm, Outcome, simulate

WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
SHARDS = 1000
GPUS, LINKS, COUNTERS = 100_000, 18, 5
SEED = 7
_MB_PER_GBIT = 125.0
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Case:
    """What is worked through: readings of all links, cut into shards of one size, as so many drops."""

    name: str
    readings: int
    interval_s: int
    drops: int

    @property
    def per_shard(self) -> int:
        """Readings of one shard."""
        return self.readings // SHARDS

    @property
    def series_per_shard(self) -> int:
        """Series of one shard, whose readings are those of an hour."""
        return self.per_shard * self.interval_s // 3600


def case(name: str, hours: int, interval_s: int) -> Case:
    """All links for some hours; a drop is one hour."""
    readings = GPUS * LINKS * COUNTERS * hours * 3600 // interval_s
    return Case(name, readings, interval_s, hours)


CASES = (case("an hour at 15 s", 1, 15), case("a day at 60 s", 24, 60))


@dataclass(frozen=True, slots=True)
class Network:
    """Assumed: what a worker's card and the whole store pass, in Gb/s."""

    worker_gbit_s: float
    store_gbit_s: float


NETWORKS = (Network(10, 100), Network(25, 400), Network(100, 1600))


def work_of(costs: Costs, what: Case) -> list[float]:
    """Seconds of computing for each shard of a case."""
    return costs.of_shards(SHARDS, what.series_per_shard, what.per_shard, SEED)


def farm_of(costs: Costs, what: Case, network: Network, workers: int) -> Farm:
    """The farm of a case: sizes and driver from measurements, rates as assumed.

    What a transfer costs a core (hashing, TLS not included) is paid on top of what the network takes.
    """
    in_mb = what.per_shard * costs.in_bytes / 1e6
    out_mb = what.per_shard * costs.out_bytes / 1e6
    card = 1 / (1 / (network.worker_gbit_s * _MB_PER_GBIT) + costs.move_s_per_mb)
    series = GPUS * LINKS * COUNTERS
    return Farm(
        workers=workers,
        start_s=costs.start_s,
        handout_s=costs.handout_s,
        gap_s=costs.gap_s,
        in_mb=in_mb,
        out_mb=out_mb,
        send_mb_s=card,
        worker_mb_s=card,
        store_mb_s=network.store_gbit_s * _MB_PER_GBIT,
        collect_s=out_mb / card,
        reduce_s=what.drops * costs.of_driver(series, what.readings // what.drops),
        seed=SEED,
    )


def outcomes(costs: Costs, what: Case, network: Network) -> list[Outcome]:
    """One simulated run for every number of workers."""
    work = work_of(costs, what)
    return [simulate(farm_of(costs, what, network, number), work) for number in WORKERS]


def farm_only(farm: Farm) -> Farm:
    """The same without what the driver does before and after: how far shards alone scale."""
    return dataclasses.replace(farm, send_mb_s=0.0, collect_s=0.0, reduce_s=0.0, start_s=0.0)


def troubles(costs: Costs, what: Case, network: Network, workers: int) -> list[tuple[str, Outcome]]:
    """The farm alone with assumed slow and dying workers."""
    calm = farm_only(farm_of(costs, what, network, workers))
    work = work_of(costs, what)
    kinds = {
        "nothing happens": {},
        "1 % of shards 3 x slower": {"straggler_share": 0.01, "straggler_factor": 3.0},
        "5 % of shards 10 x slower": {"straggler_share": 0.05, "straggler_factor": 10.0},
        "every worker dies once in 24 h": {"deaths_per_worker_h": 1 / 24, "restart_s": 30.0},
        "every worker dies every 10 min": {"deaths_per_worker_h": 6.0, "restart_s": 30.0},
    }
    return [
        (name, simulate(dataclasses.replace(calm, **change), work))  # type: ignore[arg-type]
        for name, change in kinds.items()
    ]
