"""What is wrong with the telemetry of a scenario: skewed clocks, resets, losses, silent nodes.

Only draws and records the flaws; `imperfections` applies them to counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fabric_pipeline.synth.fleet.plan import Plan, StateSpan
from fabric_pipeline.synth.fleet.spec import FleetSpec
from fabric_pipeline.synth.fleet.streams import Purpose, stream
from fabric_pipeline.synth.fleet.topology_arrays import Shape

SKEW_SHARE, RESET_SHARE, LOSS_SHARE, GAP_SHARE = 0.3, 0.3, 0.4, 0.5
SKEWED_NODES, RESET_NODES = 4, 6  # one node of so many
LOST, LOST_DIRTY = (0.03, 0.15), (0.2, 0.4)


@dataclass(slots=True)
class Flaws:
    """What is wrong with the telemetry of a scenario; shifts and resets by node."""

    shift: NDArray[np.int64]  # bins by which a node's clock is off
    resets: dict[int, tuple[int, float]] = field(default_factory=dict)  # bin, share lost of it
    lost_share: float = 0.0
    gap: tuple[int, int, int] | None = None  # node, first bin, last bin


def draw_flaws(spec: FleetSpec, shape: Shape, plan: Plan, seed: int) -> Flaws:
    """The flaws of the scenario; dirty ones have them all."""
    flaws = Flaws(np.zeros(shape.nodes, np.int64))
    notes = plan.confounders
    rng = stream(seed, Purpose.CLOCKS)
    if spec.dirty or rng.random() < SKEW_SHARE:
        for node in rng.choice(shape.nodes, max(1, shape.nodes // SKEWED_NODES), replace=False):
            flaws.shift[node] = rng.choice((-3, -2, -1, 1, 2, 3))
            notes.append({"kind": "clock_skew", "node": int(node), "bins": int(flaws.shift[node])})
    rng = stream(seed, Purpose.RESETS)
    if spec.dirty or rng.random() < RESET_SHARE:
        for node in rng.choice(shape.nodes, max(1, shape.nodes // RESET_NODES), replace=False):
            flaws.resets[int(node)] = (int(rng.integers(1, spec.bins)), float(rng.random()))
            bin_ = flaws.resets[int(node)][0]
            notes.append({"kind": "counter_reset", "node": int(node), "bin": bin_})
    rng = stream(seed, Purpose.LOST)
    if spec.dirty or rng.random() < LOSS_SHARE:
        flaws.lost_share = float(rng.uniform(*(LOST_DIRTY if spec.dirty else LOST)))
        notes.append({"kind": "lost_samples", "share": round(flaws.lost_share, 3)})
        if rng.random() < GAP_SHARE:
            first = int(rng.integers(0, spec.bins - 12))
            last = min(spec.bins, first + int(rng.integers(6, 30)))
            flaws.gap = (int(rng.integers(shape.nodes)), first, last)
            notes.append(
                {"kind": "silent_node", "node": flaws.gap[0], "first_bin": first, "last_bin": last}
            )
    return flaws


def shifted(
    states: list[StateSpan], flaws: Flaws, spec: FleetSpec, shape: Shape
) -> list[StateSpan]:
    """States carry the skewed time of their node as counters do."""
    moved = []
    for span in states:
        node = int(shape.end_node[2 * span.link + span.side])
        shift = int(flaws.shift[node]) if node >= 0 else 0
        first = span.first_bin if span.first_bin == 0 else max(0, span.first_bin + shift)
        last = (
            span.last_bin if span.last_bin == spec.bins else min(spec.bins, span.last_bin + shift)
        )
        fields = (span.link, span.side, span.counter, span.normal, span.value)
        moved.append(StateSpan(*fields, first, last))
    return moved
