"""Explanations without an erring link: a place that is slow for a stretch of time, whatever the reason.

Every place (a node's NVLinks, one rail of a node, a leaf, a host, a run, the fabric) is scanned for the
interval that fits best. What such an interval explains better is no evidence against a link.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fabric_pipeline.diagnose.localise.support import BASE_RATE, Cells
from fabric_pipeline.diagnose.localise.window import (
    FABRIC,
    HOST,
    NODE_NETWORK,
    RUN,
    Flags,
    Floats,
    Window,
)

_SLOW_SHARE = 0.9
_CELLS_PER_BIN = 3.0
# Hosts and fabric-wide events are commoner than silent links (nats).
_PRIOR = {HOST: 1.0, FABRIC: 1.5, RUN: 1.0, NODE_NETWORK: -0.5}


@dataclass(slots=True)
class Scan:
    """Best interval of every place: log odds after the price of the search, and [start, end) bins."""

    odds: Floats
    start: np.ndarray
    end: np.ndarray

    def mask(self, place: int, bins: int) -> Flags:
        """[T] flags of the best interval of a place."""
        flags = np.zeros(bins, dtype=bool)
        flags[self.start[place] : self.end[place]] = True
        return flags


class PlaceIndex:
    """Groups of all places in one flat array, so that sums over places are one call."""

    def __init__(self, window: Window) -> None:
        self.flat = (
            np.concatenate([place.groups for place in window.places])
            if window.places
            else np.zeros(0, dtype=np.int64)
        )
        sizes = [len(place.groups) for place in window.places]
        self.first = (
            np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int) if sizes else np.zeros(0, int)
        )
        self.prior = np.array([_PRIOR.get(place.kind, 0.0) for place in window.places])
        groups = len(window.series.run)
        self.places_of: list[list[int]] = [[] for _ in range(groups)]
        for number, place in enumerate(window.places):
            for group in place.groups:
                self.places_of[int(group)].append(number)

    def sums(self, values: Floats) -> Floats:
        """[places, T] sums of [G, T] values over the groups of each place."""
        summed: Floats = np.add.reduceat(values[self.flat], self.first, axis=0)
        return summed


def scan(index: PlaceIndex, cells: Cells, taken: set[int]) -> Scan:
    """The best slow interval of every place (largest sum over consecutive bins)."""
    slow_cells = cells.slow
    slow, number = index.sums(slow_cells), index.sums(cells.valid.astype(float))
    others_slow = np.maximum(slow_cells.sum(axis=0) - slow, 0.0)
    others = np.maximum(cells.valid.sum(axis=0) - number, 0.0)
    anyway = np.clip((others_slow + 4 * BASE_RATE) / (others + 4.0), BASE_RATE, 0.9)
    fraction, weight = slow / np.maximum(number, 1.0), np.minimum(number, _CELLS_PER_BIN)
    odds = fraction * np.log(_SLOW_SHARE / anyway) + (1 - fraction) * np.log(
        (1 - _SLOW_SHARE) / (1 - anyway)
    )
    best, start, end = _best_interval(np.where(number > 0, weight * odds, 0.0))
    scored = best - np.log(max(slow.size, 1)) + index.prior
    for place in taken:
        scored[place] = -np.inf
    return Scan(scored, start, end)


def _best_interval(gains: Floats) -> tuple[Floats, np.ndarray, np.ndarray]:
    """Per row: largest sum over consecutive bins, and where it starts and ends."""
    sums = np.concatenate([np.zeros((len(gains), 1)), np.cumsum(gains, axis=1)], axis=1)
    lowest = np.minimum.accumulate(sums, axis=1)
    rise = sums[:, 1:] - lowest[:, :-1]
    end = np.argmax(rise, axis=1)
    rows = np.arange(len(gains))
    best = rise[rows, end]
    positions = np.arange(sums.shape[1])[None, :]
    before = np.where(positions <= end[:, None], sums, np.inf)
    start = np.argmin(before, axis=1)
    return best, start, end + 1
