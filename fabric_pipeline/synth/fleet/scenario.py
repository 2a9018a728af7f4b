"""One random fleet: `generate_fleet` draws it, `FleetScenario` holds what was observed and the truth.

The parts come from the other modules of this package; writing a scenario as files is in `drop`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabric_pipeline.synth.fleet.bursts import COUNTERS
from fabric_pipeline.synth.fleet.confounders import add_harmless_errors
from fabric_pipeline.synth.fleet.counters import true_counts
from fabric_pipeline.synth.fleet.disturbance import Throttled, WaitTicks, draw_disturbance
from fabric_pipeline.synth.fleet.faults import draw_faults
from fabric_pipeline.synth.fleet.flaws import draw_flaws, shifted
from fabric_pipeline.synth.fleet.imperfections import Increments, observe
from fabric_pipeline.synth.fleet.latency import draw_timings
from fabric_pipeline.synth.fleet.plan import GuiltyLink, StateSpan
from fabric_pipeline.synth.fleet.spec import FleetSpec
from fabric_pipeline.synth.fleet.streams import Purpose, stream
from fabric_pipeline.synth.fleet.topology_arrays import RAIL, FleetLinks, Shape, shape_of
from fabric_pipeline.synth.fleet.topology_file import topology_of
from fabric_pipeline.synth.fleet.workload import FleetGroup, draw_workload

FIRST_START = datetime(2026, 1, 5, tzinfo=UTC)
START_DAYS = 180


@dataclass(slots=True)
class FleetScenario:
    """What was observed of a fleet in one window, and the truth behind it.

    Arrays over ends have 2 x link + side (0 near, 1 far). `exposure_s` and `samples` tell how long
    and how often each end was read. `whole_us` and the arrays beside it are groups x bins:
    `whole_us` from the first arrival to the end (NaN: no record), `pure_us` the least duration over
    the ranks (None without rank records), `late_node`/`late_gpu` who came last (-1 not known).
    `links` is what is really there; a miswired scenario has `miswired`, the two cables that its
    topology file has swapped.
    """

    spec: FleetSpec
    seed: int
    start: datetime
    node_names: list[str]
    links: FleetLinks
    counters: tuple[str, ...]
    increments: Increments
    exposure_s: NDArray[np.float32]
    samples: NDArray[np.int32]
    states: list[StateSpan]
    groups: list[FleetGroup]
    whole_us: NDArray[np.float64]
    pure_us: NDArray[np.float64] | None
    late_node: NDArray[np.int32]
    late_gpu: NDArray[np.int32]
    wait_ticks: list[WaitTicks]
    throttled: list[Throttled]
    truth: list[GuiltyLink]
    confounders: list[dict[str, Any]]
    miswired: tuple[int, int] | None = None

    def topology(self) -> dict[str, Any]:
        """The fleet's `topology.json`, with both ends of every link."""
        shape = shape_of(self.spec.platform, self.spec.nodes, False)
        return topology_of(shape, self._swapped_rails(shape))

    def _swapped_rails(self, shape: Shape) -> tuple[int, int] | None:
        """The swapped cables as link numbers of a shape with all NVLinks."""
        if self.miswired is None:
            return None
        first = shape.size - len(self.links.gpu)
        return self.miswired[0] + first, self.miswired[1] + first


def generate_fleet(spec: FleetSpec, seed: int) -> FleetScenario:
    """Draw one scenario; the same specification and seed give the same arrays."""
    shape = shape_of(spec.platform, spec.nodes, spec.gpu_totals)
    work = draw_workload(spec, shape, seed)
    plan = draw_faults(spec, shape, work, seed)
    add_harmless_errors(spec, shape, work, plan, seed)
    found = draw_disturbance(spec, shape, work, plan, seed)
    timings = draw_timings(spec, shape, work, plan, found, seed)
    flaws = draw_flaws(spec, shape, plan, seed)
    counts = true_counts(spec, shape, plan, seed)
    seen = observe(counts, flaws, spec, shape, stream(seed, Purpose.LOSSES))
    miswired = _swapped_cables(shape, plan.truth, seed) if spec.miswired else None
    if miswired is not None:
        plan.confounders.append({"kind": "miswired", "links": list(miswired)})
    return FleetScenario(
        spec=spec,
        seed=seed,
        start=_start(seed),
        node_names=list(shape.node_names),
        links=shape.links,
        counters=COUNTERS,
        increments=seen.increments,
        exposure_s=seen.exposure_s,
        samples=seen.samples,
        states=shifted(plan.states, flaws, spec, shape),
        groups=work.groups,
        whole_us=timings.whole_us,
        pure_us=timings.pure_us,
        late_node=timings.late_node,
        late_gpu=timings.late_gpu,
        wait_ticks=found.wait_ticks,
        throttled=found.throttled,
        truth=plan.truth,
        confounders=plan.confounders,
        miswired=miswired,
    )


def _start(seed: int) -> datetime:
    minutes = int(stream(seed, Purpose.START).integers(START_DAYS * 24 * 60))
    return FIRST_START + timedelta(minutes=minutes)


def _swapped_cables(shape: Shape, truth: list[GuiltyLink], seed: int) -> tuple[int, int] | None:
    """Two rail cables; in half of the scenarios one is guilty where a rail cable is."""
    rng = stream(seed, Purpose.WIRING)
    rails = np.flatnonzero(shape.kind == RAIL)
    first, second = (int(link) for link in rng.choice(rails, 2, replace=False))
    guilty = [one.link for one in truth if shape.kind[one.link] == RAIL and one.link != second]
    if guilty and rng.random() < 0.5:
        first = guilty[0]
    return first, second
