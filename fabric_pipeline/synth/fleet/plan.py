"""What is planned for the links of a scenario, guilty or not: plain records without any drawing.

`faults` and `confounders` fill a plan; `counters`, `latency` and `flaws` carry it out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fabric_pipeline.synth.fleet.bursts import Burst


@dataclass(slots=True)
class GuiltyLink:
    """A link that slows collectives. `silent`: "", "state" (a lowered state shows) or "nostate".

    `effect` is the factor on the time of a collective, `felt` true when at least three observed
    collective cells were slowed by it.
    """

    link: int
    first_bin: int
    last_bin: int
    active: NDArray[np.bool_]
    effect: float
    silent: str
    felt: bool = False


@dataclass(slots=True)
class StateSpan:
    """One end reports a lowered `width` or `speed_gbps` from `first_bin` to before `last_bin`."""

    link: int
    side: int
    counter: str
    normal: float
    value: float
    first_bin: int
    last_bin: int


@dataclass(slots=True)
class Slowdown:
    """Factor on the time of some groups (groups x bins) because of one guilty link."""

    truth: int
    groups: NDArray[np.int64]
    factor: NDArray[np.float64]


@dataclass(slots=True)
class Plan:
    """What happens to links in a scenario, guilty or not."""

    truth: list[GuiltyLink] = field(default_factory=list)
    bursts: list[Burst] = field(default_factory=list)
    states: list[StateSpan] = field(default_factory=list)
    slowdowns: list[Slowdown] = field(default_factory=list)
    confounders: list[dict[str, object]] = field(default_factory=list)
    taken: set[int] = field(default_factory=set)
