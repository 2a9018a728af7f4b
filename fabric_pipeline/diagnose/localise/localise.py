"""Explaining away: the surest link takes the slow time it explains, then the rest is looked at again.

Pure: a window in, findings out, in a fixed order. What nothing explains goes to a place (a host, one rail
of a node, the fabric) or stays unexplained; it is never given to the next best link.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fabric_pipeline.diagnose.localise.cells import noise, slowness, widened
from fabric_pipeline.diagnose.localise.crossing import Crossing, Rivals
from fabric_pipeline.diagnose.localise.elsewhere import NO_PLACES, PlaceIndex, Scan
from fabric_pipeline.diagnose.localise.features import Facts, facts
from fabric_pipeline.diagnose.localise.scorecard import ScoreCard
from fabric_pipeline.diagnose.localise.support import (
    Cells,
    PathView,
    Shifts,
    Support,
    best_support,
    responding_groups,
)
from fabric_pipeline.diagnose.localise.window import Candidate, Flags, Floats, Ints, Window

_MIN_ODDS = 2.0
_MIN_PLACE_ODDS = 4.0
_MIN_PLACE_BINS = 4
_STEP_FLOOR, _STEP_CEILING, _STEP_SIGMAS = 0.05, 0.15, 3.2
Weighed = tuple[Support, PathView, float]  # the price in nats is taken off the table's odds


@dataclass(slots=True)
class Scored:
    """One candidate link with its table, facts and confidence."""

    candidate: Candidate
    support: Support
    facts: Facts
    confidence: float
    groups: Ints
    effect: float = 0.0
    accepted: bool = False
    twins: list[str] = field(default_factory=list)
    own_confidence: float = 0.0  # before it is shared among twins
    pattern: tuple[bytes, bytes] = (
        b"",
        b"",
    )  # one for links that erred together over the same groups


@dataclass(slots=True)
class SlowPlace:
    """A place that is slow for a while without an accepted link."""

    place: int
    odds: float
    active: Flags
    alike: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Localised:
    """Links in order of acceptance, the other candidates as first seen, and places left over."""

    accepted: list[Scored]
    others: list[Scored]
    places: list[SlowPlace]
    sigma: Floats


def localise(
    window: Window,
    card: ScoreCard,
    accept_from: float = 0.5,
    most: int = 0,
    truth: set[str] | None = None,
) -> Localised:
    """Accept links from the surest downwards while their confidence reaches `accept_from`.

    `truth` replaces the confidence when facts are collected for fitting.
    """
    work = _Work(window, card, accept_from, truth)
    for _ in range(most or max(8, len(window.node_groups) // 8)):
        if not work.anything_slow():
            break
        work.rescore()
        top = work.surest()
        if top is not None:
            work.accept(top)
            continue
        if not work.accept_place():
            break
    return work.result()


class _Work:
    """The state of one localisation."""

    def __init__(
        self, window: Window, card: ScoreCard, accept_from: float, truth: set[str] | None
    ) -> None:
        self.window, self.card, self.accept_from, self.truth = window, card, accept_from, truth
        self.sigma = noise(window.series.deviation)
        self.step = (
            float(np.clip(_STEP_SIGMAS * np.median(self.sigma), _STEP_FLOOR, _STEP_CEILING))
            if len(self.sigma)
            else 0.1
        )
        self.slow = slowness(window.series.deviation, self.sigma)
        self.valid = window.series.valid
        self.index = PlaceIndex(window)
        self.stale = set(range(len(window.candidates)))
        self.crossing = Crossing(window)
        self.shifts = [Shifts.of(candidate.active) for candidate in window.candidates]
        self.scored: dict[int, Scored] = {}
        self.alike: dict[tuple[bytes, bytes], dict[int, Scored]] = {}
        self.moved: set[tuple[bytes, bytes]] = set()  # patterns with other links than before
        self.first: dict[int, Scored] = {}
        self.taken: set[int] = set()
        self.taken_places: set[int] = set()
        self.accepted: list[Scored] = []
        self.places: list[SlowPlace] = []
        self.cells = Cells(window, self.slow, self.valid)
        self.scanned: Scan | None = None
        # Groups whose cells changed since the last scan, None all.
        self.changed: set[int] | None = None

    def anything_slow(self) -> bool:
        """True while unexplained slow time is left."""
        return self.cells.slowest > 0.5

    def rescore(self) -> None:
        """Table and facts of every candidate whose collectives changed."""
        if self.changed is not None:
            self.cells.renew(self.slow, self.valid, np.array(sorted(self.changed), dtype=np.int64))
        if self.window.places:
            self.scanned = self.index.scan(self.cells, self.changed, self.taken_places)
        self.changed = set()
        views: dict[int, PathView] = {}
        fresh: dict[int, Weighed] = {}
        for number in sorted(self.stale):
            self._forget(number)
            weighed = None if number in self.taken else self._weigh(number, views)
            if weighed is not None:
                fresh[number] = weighed

        def odds(number: int) -> float | None:
            if number in fresh:
                return fresh[number][0].llr
            return self.scored[number].support.llr if number in self.scored else None

        rivals = Rivals(self.crossing, self.window, odds)
        for number, (support, path, price) in fresh.items():
            self._score(number, support, path, price, rivals)
        if not self.first:
            self.first = dict(self.scored)
        self.stale = set()

    def _weigh(self, number: int, views: dict[int, PathView]) -> Weighed | None:
        """The table of one candidate, what its collectives did, and the price; None when nothing fits."""
        candidate, shifts = self.window.candidates[number], self.shifts[number]
        groups = self.window.paths[candidate.path]
        if not len(groups):
            return None
        if candidate.path not in views:
            views[candidate.path] = self.cells.path(groups)
        path, price = views[candidate.path], 0.0
        if path.slow[shifts.erring.any(axis=0)].sum() < 0.5:
            return None
        share = self.window.path_share.get(candidate.path)
        if share is not None:
            chosen, price = responding_groups(self.cells, groups, shifts, share)
            if not len(chosen):
                return None
            path = self.cells.path(chosen)
        support = best_support(path, shifts)
        if support is None or support.llr - price < _MIN_ODDS:
            return None
        support.llr -= price
        return support, path, price

    def _score(
        self, number: int, support: Support, path: PathView, price: float, rivals: Rivals
    ) -> None:
        candidate = self.window.candidates[number]
        best, others = rivals.of(candidate)
        found = facts(
            self.window, self.cells, candidate, path, support, support.llr - best,
            others, float(self.crossing.candidates[path.groups].mean()), self.index, self.scanned or NO_PLACES,
            self.step, price,
        )  # fmt: skip
        confidence = self.card.confidence(found)
        pattern = path.groups.tobytes(), support.active.tobytes()
        one = Scored(
            candidate, support, found, confidence, path.groups, own_confidence=confidence, pattern=pattern
        )  # fmt: skip
        self.scored[number] = self.alike.setdefault(pattern, {})[number] = one
        self.moved.add(pattern)

    def _forget(self, number: int) -> None:
        one = self.scored.pop(number, None)
        if one is not None:
            del self.alike[one.pattern][number]
            self.moved.add(one.pattern)

    def surest(self) -> int | None:
        """The candidate to accept next, or None. What several links fit equally is shared among them."""
        for pattern in self.moved:
            # Links that erred at the same time over the same collectives: nothing here tells them apart.
            links = sorted(one.candidate.link for one in self.alike[pattern].values())
            for one in self.alike[pattern].values():
                one.twins = [link for link in links if link != one.candidate.link]
                one.confidence = one.own_confidence / (1 + len(one.twins))
        self.moved = set()
        if self.truth is None:
            fit = [n for n, s in self.scored.items() if s.confidence >= self.accept_from]
        else:
            fit = [n for n, s in self.scored.items() if s.candidate.link in self.truth]
        return min(
            fit,
            key=lambda n: (
                -self.scored[n].confidence,
                -self.scored[n].support.llr,
                self.scored[n].candidate.link,
            ),
            default=None,
        )

    def accept(self, number: int) -> None:
        """Take the link's own typical effect out of the cells it explains."""
        top = self.scored[number]
        top.accepted = True
        self.accepted.append(top)
        for taken in self.crossing.of_link[top.candidate.link]:
            self.taken.add(taken)
            self._forget(taken)
        own = top.groups
        bins = np.flatnonzero(widened(top.support.active, 2))
        block = self.window.series.deviation[np.ix_(own, np.flatnonzero(top.support.active))]
        slow = self.slow[np.ix_(own, np.flatnonzero(top.support.active))] > 0.5
        top.effect = float(np.median(block[slow])) if slow.any() else 0.0
        left = self.window.series.deviation[own].copy()
        left[:, bins] -= top.effect
        remaining = slowness(left, np.maximum(self.sigma[own] * 1.5, 0.06))
        self.slow[np.ix_(own, bins)] = np.minimum(self.slow[np.ix_(own, bins)], remaining[:, bins])
        touched = set(own.tolist())
        if top.candidate.is_nvlink and top.candidate.node >= 0:
            # Ranks of the node come late to their other groups, which then wait for this link.
            others = np.setdiff1d(
                self.window.node_groups.get(top.candidate.node, np.zeros(0, int)), own
            )
            self._explain(others, bins)
            touched |= set(others.tolist())
        self._touch(touched)

    def accept_place(self) -> bool:
        """Give the strongest unexplained stretch to its place; False when none is strong enough."""
        if self.scanned is None or not len(self.scanned.odds):
            return False
        number = int(np.argmax(self.scanned.odds))
        odds, active = float(self.scanned.odds[number]), self.scanned.mask(number, self.window.bins)
        if odds < _MIN_PLACE_ODDS or active.sum() < _MIN_PLACE_BINS:
            return False
        mine = set(self.window.places[number].groups.tolist())
        near = self.index.near(mine)
        alike = near[(self.scanned.odds[near] > odds - 3) & (near != number)]
        self.places.append(SlowPlace(number, odds, active, alike.tolist()))
        self.taken_places.add(number)
        groups = self.window.places[number].groups
        self._explain(groups, np.flatnonzero(active))
        self._touch(mine)
        return True

    def _explain(self, groups: np.ndarray, bins: np.ndarray) -> None:
        if len(groups) and len(bins):
            self.slow[np.ix_(groups, bins)] = 0.0
            self.valid[np.ix_(groups, bins)] = False

    def _touch(self, groups: set[int]) -> None:
        self.changed = (self.changed or set()) | groups
        self.stale = self.crossing.touched(groups) - self.taken

    def result(self) -> Localised:
        """Links accepted, everything else that was weighed, places."""
        names = {one.candidate.link for one in self.accepted}
        others = [one for one in self.first.values() if one.candidate.link not in names]
        others.sort(key=lambda one: (-one.confidence, -one.support.llr, one.candidate.link))
        return Localised(self.accepted, others, self.places, self.sigma)
