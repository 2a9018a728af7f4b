"""What was observed in one window of time, as arrays: collectives, erring links, places, side evidence.

Built from tables by `build`, or by a benchmark from a generator; the scoring modules read nothing else.
Nothing here judges.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

# Kinds of groups of ranks by what their traffic crosses.
LOCAL, RAIL, FLAT = 0, 1, 2
# Kinds of places in which something can be slow; the first four are made of links.
NVLINK_DOMAIN, NODE_RAIL, NODE_NETWORK, LEAF, HOST, RUN, FABRIC = range(7)
LINK_PLACES = (NVLINK_DOMAIN, NODE_RAIL, NODE_NETWORK, LEAF)


def by_number(numbers: Ints) -> dict[int, Ints]:
    """Number -> its places in the array, both rising: one sort instead of a search for each number."""
    order = np.argsort(numbers, kind="stable")
    found, first = np.unique(numbers[order], return_index=True)
    return dict(zip(found.tolist(), np.split(order, first[1:]), strict=True)) if len(found) else {}


@dataclass(slots=True)
class GroupSeries:
    """G series of like collectives over T bins.

    `deviation` [G, T] is ln(duration / baseline) of the communication alone where ranks are timed, else
    of the whole collective; NaN where nothing was measured. `late_node` [G, T] is the node index of the
    last rank to arrive, -1 unknown. `run`, `kind` [G]; `has_ranks` [G]: ranks are timed.
    """

    deviation: Floats
    late_node: Ints
    run: Ints
    kind: Ints
    has_ranks: Flags

    @property
    def valid(self) -> Flags:
        """Cells in which something was measured."""
        return ~np.isnan(self.deviation)


@dataclass(slots=True)
class Candidate:
    """A link with errors or with a lost width or speed.

    `active` [T]: 1 while it erred, 0 while it was quiet, NaN where nobody knows. `path` is an index into
    `Window.paths`, `place` into `Window.places` (-1 none): the smallest place the link is part of.
    `node` is a node index (-1 for a switch link). `has_state`: the evidence is a state, not a count.
    """

    link: str
    active: Floats
    path: int
    place: int
    node: int
    is_nvlink: bool
    has_state: bool = False
    counts: Floats | None = None


@dataclass(slots=True)
class Place:
    """Somewhere collectives can be slow without any link's errors: a kind, a name and the groups that use it."""

    kind: int
    name: str
    node: int
    groups: Ints


@dataclass(slots=True)
class Window:
    """Everything that localisation weighs. `paths` holds, per path, the indices of the groups that cross it.

    `congested` maps a place index to [T] flags of measured congestion, `throttled` a node index to [T]
    flags of a throttled GPU. `node_groups` maps a node index to the groups with a rank there.
    `path_share` maps a path to the chance that one of its groups really crosses the link, where routing is
    not known (one of several spines); other paths are certain.
    """

    step_s: float
    series: GroupSeries
    candidates: list[Candidate]
    paths: list[Ints]
    places: list[Place]
    node_groups: dict[int, Ints]
    congested: dict[int, Flags] = field(default_factory=dict)
    throttled: dict[int, Flags] = field(default_factory=dict)
    path_share: dict[int, float] = field(default_factory=dict)

    @property
    def bins(self) -> int:
        """Number of time bins."""
        return int(self.series.deviation.shape[1])
