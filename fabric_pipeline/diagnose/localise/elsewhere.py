"""Explanations without an erring link: a place that is slow for a stretch of time, whatever the reason.

Every place (a node's NVLinks, one rail of a node, a leaf, a host, a run, the fabric) is scanned for the
interval that fits best. What such an interval explains better is no evidence against a link.
"""

from __future__ import annotations

from collections.abc import Iterable
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
    Ints,
    Window,
)

_SLOW_SHARE = 0.9
_CELLS_PER_BIN = 3.0
_ALWAYS_ALL = 2000  # places up to which every scan looks at all of them
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


_NO_GROUPS: Ints = np.zeros(0, dtype=np.int64)
NO_PLACES = Scan(np.zeros(0), np.zeros(0, dtype=int), np.zeros(0, dtype=int))


class PlaceIndex:
    """Groups of all places in one flat array, so that sums over places are one call.

    In a large fleet sums are kept between scans, and only places whose groups changed are added up and
    searched again; what the rest of the fleet did meanwhile changes them too little to matter.
    """

    def __init__(self, window: Window) -> None:
        sizes = np.array([len(place.groups) for place in window.places], dtype=np.int64)
        self.number = len(sizes)
        self._flat = np.concatenate([np.zeros(0, np.int64), *(p.groups for p in window.places)])
        self._first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._prior = np.array([_PRIOR.get(place.kind, 0.0) for place in window.places])
        self.places_of = self._of_groups(sizes, len(window.series.run))
        self.throttled_of: dict[int, list[int]] = {}  # group -> throttled nodes it has a rank on
        for node in window.throttled:
            for group in window.node_groups.get(node, _NO_GROUPS).tolist():
                self.throttled_of.setdefault(group, []).append(node)
        self._slow = np.zeros((self.number, window.bins), dtype=np.float32)
        self._cells = np.zeros((self.number, window.bins), dtype=np.float32)
        self._odds = np.full(self.number, -np.inf)
        self._start = np.zeros(self.number, dtype=np.int64)
        self._end = np.zeros(self.number, dtype=np.int64)

    def scan(self, cells: Cells, changed: set[int] | None, taken: set[int]) -> Scan:
        """The best slow interval of every place; `changed` are the groups that changed, None all."""
        is_small = self.number <= _ALWAYS_ALL
        places = np.arange(self.number) if changed is None or is_small else self.near(changed)
        if len(places):
            self._add_up(cells, places)
            self._search(cells, places)
        odds = self._odds.copy()
        odds[list(taken)] = -np.inf
        return Scan(odds, self._start, self._end)

    def near(self, groups: Iterable[int]) -> Ints:
        """Places that any of these groups uses, rising."""
        return np.unique(np.concatenate([_NO_GROUPS, *(self.places_of[group] for group in groups)]))

    def _of_groups(self, sizes: Ints, groups: int) -> list[Ints]:
        """Places of each group, rising."""
        order = np.argsort(self._flat, kind="stable")
        ends = np.cumsum(np.bincount(self._flat, minlength=groups))
        return np.split(np.repeat(np.arange(self.number), sizes)[order], ends[:-1])

    def _add_up(self, cells: Cells, places: np.ndarray) -> None:
        sizes = self._first[places + 1] - self._first[places]
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        inside = np.arange(int(sizes.sum())) - np.repeat(first - self._first[places], sizes)
        members = self._flat[inside]
        self._slow[places] = np.add.reduceat(cells.slow_32[members], first, axis=0)
        self._cells[places] = np.add.reduceat(cells.valid_32[members], first, axis=0)

    def _search(self, cells: Cells, places: np.ndarray) -> None:
        slow, number = self._slow[places], self._cells[places]
        others_slow = np.maximum(cells.slow_sum - slow, 0.0)
        others = np.maximum(cells.valid_sum - number, 0.0)
        anyway = np.clip((others_slow + 4 * BASE_RATE) / (others + 4.0), BASE_RATE, 0.9)
        fraction, weight = slow / np.maximum(number, 1.0), np.minimum(number, _CELLS_PER_BIN)
        as_usual = np.log((1 - _SLOW_SHARE) / (1 - anyway))
        odds = as_usual + fraction * (np.log(_SLOW_SHARE / anyway) - as_usual)
        best, start, end = _best_interval(weight * odds)
        price = np.log(max(self._slow.size, 1))
        self._odds[places] = best - price + self._prior[places]
        self._start[places], self._end[places] = start, end


def _best_interval(gains: Floats) -> tuple[Floats, np.ndarray, np.ndarray]:
    """Per row: largest sum over consecutive bins, and where it starts and ends."""
    sums = np.zeros((len(gains), gains.shape[1] + 1))
    np.cumsum(gains, axis=1, out=sums[:, 1:])
    lowest = np.minimum.accumulate(sums, axis=1)
    rise = sums[:, 1:] - lowest[:, :-1]
    end = np.argmax(rise, axis=1)
    rows = np.arange(len(gains))
    best = rise[rows, end]
    positions = np.arange(sums.shape[1])[None, :]
    before = np.where(positions <= end[:, None], sums, np.inf)
    start = np.argmin(before, axis=1)
    return best, start, end + 1
