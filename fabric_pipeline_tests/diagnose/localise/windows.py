"""Makes handmade fleets and windows: two runs of two nodes, sixty bins, slow only where a test says so.

Run `a` uses n1 and n2, run `b` n3 and n4. Each has one group inside a node (`tp-<node>`) and one group
a rail over both its nodes (`dp0` .. `dp3`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fabric_pipeline.diagnose.localise.build import Built, ErringLink, SideEvidence, build_window
from fabric_pipeline.diagnose.localise.groups import TimedGroup
from fabric_pipeline.diagnose.localise.window import (
    LOCAL,
    RAIL,
    Candidate,
    Floats,
    GroupSeries,
    Ints,
    Place,
    Window,
)
from fabric_pipeline.model.components import link_type_of, parse_component
from fabric_pipeline.model.topology import Topology
from fabric_pipeline_tests.diagnose.evidence import START, at

BINS, STEP_S = 60, 30.0
RUNS = {"a": ("n1", "n2"), "b": ("n3", "n4")}
RAILS = 4
Slow = Mapping[tuple[str, str], Iterable[int]]
BURST = range(20, 35)
CABLE, NVLINK, OTHER_CABLE = "n1:mlx5_2/1", "n1:gpu2/nvlink-4", "n3:mlx5_1/1"


def flags(bins: Iterable[int], length: int = BINS) -> Floats:
    """1 in the given bins, else 0."""
    made = np.zeros(length)
    made[list(bins)] = 1.0
    return made


def noisy(groups: int, bins: int = BINS, sigma: float = 0.02, seed: int = 7) -> Floats:
    """[groups, bins] healthy deviations."""
    return np.random.default_rng(seed).normal(0.0, sigma, (groups, bins))


def timed(
    run: str, communicator: str, deviation: Floats, nodes: Sequence[str], **changes: Any
) -> TimedGroup:
    """A group with one collective at the start of every bin."""
    times_s = START.timestamp() + STEP_S * np.arange(len(deviation))
    gpus = changes.pop("gpus", [])
    return TimedGroup(run, communicator, nodes, gpus, 8, times_s, deviation, **changes)


def fleet(slow: Slow | None = None, factor: float = 2.0, bins: int = BINS) -> list[TimedGroup]:
    """All groups of both runs; `slow` names groups by run and communicator and lists their slow bins."""
    groups = []
    for number, (run, nodes) in enumerate(RUNS.items()):
        names = [(f"tp-{node}", [node], []) for node in nodes]
        names += [(f"dp{rail}", list(nodes), [rail]) for rail in range(RAILS)]
        rows = noisy(len(names), bins, seed=11 + number)
        for row, (name, used, gpus) in zip(rows, names, strict=True):
            row[list((slow or {}).get((run, name), ()))] += np.log(factor)
            groups.append(timed(run, name, row, used, gpus=gpus))
    return groups


def erring(component: str, bins: Iterable[int], **changes: Any) -> ErringLink:
    """A link that errs in these bins, from start to end of each."""
    spans = [(at(n * STEP_S), at((n + 1) * STEP_S), 5.0) for n in bins]
    far_end, link_type = changes.pop("far_end", ""), changes.pop("link_type", None)
    link_type = link_type or link_type_of(parse_component(component).interface)
    return ErringLink(component, far_end, link_type, spans, **changes)


def built(
    slow: Slow,
    links: Iterable[ErringLink],
    topology: Topology | None = None,
    side: SideEvidence | None = None,
    factor: float = 2.0,
) -> Built:
    """The window of the handmade fleet."""
    made = build_window(fleet(slow, factor), links, topology or Topology(), STEP_S, side)
    assert made is not None
    return made


def bare_window(
    deviation: Floats,
    run: Sequence[int],
    candidates: Sequence[Candidate] = (),
    paths: Sequence[Ints] = (),
    places: Sequence[Place] = (),
    local: bool = False,
) -> Window:
    """A window without names, for the parts below `localise`."""
    groups = len(deviation)
    series = GroupSeries(
        deviation,
        np.full(deviation.shape, -1, dtype=np.int64),
        np.array(run, dtype=np.int64),
        np.full(groups, LOCAL if local else RAIL, dtype=np.int64),
        np.zeros(groups, dtype=bool),
    )
    return Window(STEP_S, series, list(candidates), list(paths), list(places), {})
