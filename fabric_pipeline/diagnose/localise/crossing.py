"""Which candidate links share collectives with which: their rivals, and whom a change concerns.

Looked up by path and group, because asking every pair of links grows with the square of the fleet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import nlargest
from math import inf

import numpy as np

from fabric_pipeline.diagnose.localise.window import Candidate, Window


class Crossing:
    """The candidates of a window by link and path, and the paths of each group that a candidate lies on.

    `candidates` [G]: candidate links that each group crosses.
    """

    def __init__(self, window: Window) -> None:
        self._window = window
        self.candidates = np.zeros(len(window.series.run))
        self.of_link: dict[str, list[int]] = {}
        self._of_path: dict[int, list[int]] = {}
        self._paths_of: dict[int, list[int]] = {}
        self._meeting: dict[int, frozenset[int]] = {}
        for number, one in enumerate(window.candidates):
            self.candidates[window.paths[one.path]] += 1
            self.of_link.setdefault(one.link, []).append(number)
            self._of_path.setdefault(one.path, []).append(number)
        for path in self._of_path:
            for group in window.paths[path].tolist():
                self._paths_of.setdefault(group, []).append(path)

    def touched(self, groups: Iterable[int]) -> set[int]:
        """Candidates that any of these groups crosses."""
        paths = {path for group in groups for path in self._paths_of.get(group, ())}
        return {number for path in paths for number in self._of_path[path]}

    def meeting(self, path: int) -> frozenset[int]:
        """Paths of candidates that share a collective with this one, itself included."""
        if path not in self._meeting:
            groups = self._window.paths[path].tolist()
            shared = (other for group in groups for other in self._paths_of.get(group, ()))
            self._meeting[path] = frozenset({path, *shared})
        return self._meeting[path]

    def of_path(self, path: int) -> list[int]:
        """Candidates on a path."""
        return self._of_path.get(path, [])


class Rivals:
    """The rivals of weighed candidates: other links that share a collective with them.

    `odds` gives the odds (nats) of a candidate, None when it was not weighed. Per path the two strongest
    links are kept, so that a link is not its own rival; only paths that are asked about are looked at.
    """

    def __init__(
        self, crossing: Crossing, window: Window, odds: Callable[[int], float | None]
    ) -> None:
        self._crossing, self._window, self._odds = crossing, window, odds
        self._of_path: dict[int, tuple[int, list[tuple[float, str]]]] = {}

    def of(self, candidate: Candidate) -> tuple[float, int]:
        """Best odds of any rival of this candidate, 0 without any, and their number."""
        paths = self._crossing.meeting(candidate.path)
        found = [self._weighed(path) for path in paths]
        of_link = [n for n in self._crossing.of_link[candidate.link] if self._odds(n) is not None]
        own = sum(self._window.candidates[n].path in paths for n in of_link)
        others = [nats for _, best in found for nats, link in best if link != candidate.link]
        return max(others, default=0.0), sum(count for count, _ in found) - own

    def _weighed(self, path: int) -> tuple[int, list[tuple[float, str]]]:
        """Number of weighed candidates on a path, and the best odds of the two strongest links of them."""
        if path not in self._of_path:
            count, best = 0, dict[str, float]()
            for number in self._crossing.of_path(path):
                nats = self._odds(number)
                if nats is not None:
                    link, count = self._window.candidates[number].link, count + 1
                    best[link] = max(nats, best.get(link, -inf))
            strongest = nlargest(2, ((nats, link) for link, nats in best.items()))
            self._of_path[path] = count, strongest
        return self._of_path[path]
