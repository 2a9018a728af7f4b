"""Methods that start from the latency: the slowest node, and votes of slow collectives for places.

Neither can tell links of one place apart, so both name the link there that counted most errors.
"""

from __future__ import annotations

import numpy as np

from benchmarks.baselines.errors import LinkErrors, link_errors
from benchmarks.baselines.method import accused
from benchmarks.baselines.timing import Timing, timing_of
from benchmarks.fleet_window import Observed
from benchmarks.scoring import Answer
from fabric_pipeline.diagnose.localise.window import LINK_PLACES, Floats, Ints

_MOST_PLACES = 4


def latency_only(observed: Observed, least: float) -> list[Answer]:
    """The loudest link of the node with the largest mean excess (ln), if that exceeds `least`."""
    timing = timing_of(observed)
    if timing is None:
        return []
    series = timing.window.series
    excess = np.where(timing.slow, series.deviation, 0.0).sum(axis=1)
    cells = series.valid.sum(axis=1)
    of_nodes = timing.window.node_groups
    means = {n: excess[mine].sum() / max(cells[mine].sum(), 1) for n, mine in of_nodes.items()}
    slowest = max(means, key=lambda node: (means[node], -node))
    if means[slowest] <= least:
        return []
    return accused(_erring_on(timing, link_errors(observed.scenario), slowest)[:1])


def voting_007(observed: Observed, least: float) -> list[Answer]:
    """Each slow collective gives an equal part of one vote to every place on its path.

    The place with the most votes wins and takes away the votes of all collectives that cross it;
    so on, while a winner has at least a share `least` of the first count.
    """
    timing = timing_of(observed)
    if timing is None:
        return []
    errors = link_errors(observed.scenario)
    answers: list[Answer] = []
    for place, share in winners(timing, least):
        link = _loudest_in(timing, errors, place)
        if link is not None:
            # Any accusation counts from 0.5 on; the share of votes only orders them.
            answers.append(Answer(link, 0.5 + share / 2))
    return answers


def winners(timing: Timing, least: float) -> list[tuple[int, float]]:
    """Places in the order of winning, with their share of all votes."""
    places = [n for n, one in enumerate(timing.window.places) if one.kind in LINK_PLACES]
    if not places:
        return []
    members = [timing.window.places[place].groups for place in places]
    flat = np.concatenate(members)
    first = np.concatenate([[0], np.cumsum([len(one) for one in members])[:-1]])
    slow = timing.slow.sum(axis=1).astype(float)
    vote = slow / np.maximum(np.bincount(flat, minlength=len(slow)), 1)
    found: list[tuple[int, float]] = []
    cast = _counted(vote, flat, first).sum()
    while cast > 0 and len(found) < _MOST_PLACES:
        votes = _counted(vote, flat, first)
        top = int(np.argmax(votes))
        share = float(votes[top] / cast)
        if share < least or share == 0:
            break
        found.append((places[top], share))
        vote[members[top]] = 0.0
    return found


def _counted(vote: Floats, flat: Ints, first: Ints) -> Floats:
    counted: Floats = np.add.reduceat(vote[flat], first)
    return counted


def _loudest_in(timing: Timing, errors: LinkErrors, place: int) -> int | None:
    node = timing.window.places[place].node
    for link in _erring_on(timing, errors, node):
        route = timing.route(link)
        if route is not None and route.place == place:
            return link
    return None


def _erring_on(timing: Timing, errors: LinkErrors, node: int) -> list[int]:
    """Links of a node of the window (-1: links between switches) with errors, the loudest first."""
    scenario = timing.observed.scenario
    name = timing.built.fleet.nodes[node] if node >= 0 else ""
    number = scenario.node_names.index(name) if name else -1
    links = np.flatnonzero((errors.total > 0) & (scenario.links.node_index == number))
    order: list[int] = links[np.argsort(-errors.total[links], kind="stable")].tolist()
    return order
