"""Which collectives were slow when, and which of them cross a link: a yes or no for each cell.

Paths, places and deviations are those of the diagnosis, so that a baseline knows as much as it
does; the hard limit for "slow" is what a baseline has instead of soft evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from benchmarks.fleet_window import Observed
from fabric_pipeline.diagnose.localise.build import Built
from fabric_pipeline.diagnose.localise.cells import median_of_three, noise, widened
from fabric_pipeline.diagnose.localise.paths import Route
from fabric_pipeline.diagnose.localise.window import Flags, Floats, Ints, Window
from fabric_pipeline.model.components import component_id

_SIGMAS = 3.2
_LEAST_SLOW, _SURELY_SLOW = 0.05, float(np.log(1.15))
_NEAR_BINS = 2


@dataclass(slots=True)
class Timing:
    """What was built of a scenario's timing, with the slow cells [G, T] of its window.

    `column` maps the bins of the scenario to those of the window, which may lie outside it.
    """

    observed: Observed
    built: Built
    slow: Flags
    column: Ints
    _routes: dict[tuple[str, int], Route | None] = field(default_factory=dict)
    _near: dict[int, Flags] = field(default_factory=dict)

    @property
    def window(self) -> Window:
        """The window that the diagnosis weighs."""
        return self.built.window

    def route(self, link: int) -> Route | None:
        """Where a link of the scenario lies; None when no timed group can have used it."""
        links = self.observed.scenario.links
        node, leaf = int(links.node_index[link]), int(links.leaf[link])
        # Asking takes long in a large fleet, and some links are alike: all NVLinks of a node, all
        # uplinks of a leaf.
        key = ("link", link) if node >= 0 else ("leaf", leaf)
        if links.link_type[link] == "nvlink":
            key = ("nvlink", node)
        if key not in self._routes:
            near = component_id(links.near_node[link], links.near_interface[link])
            self._routes[key] = self._ask(near, str(links.link_type[link]))
        return self._routes[key]

    def _ask(self, component: str, link_type: str) -> Route | None:
        far_end = self.observed.topology.far_end(component)
        return self.built.router.route(component, far_end, link_type)

    def slow_near(self, link: int) -> Flags:
        """[T] true within two bins of a slow collective that crosses the link."""
        route = self.route(link)
        if route is None:
            return np.zeros(self.window.bins, dtype=bool)
        if route.path not in self._near:
            mine: Flags = np.any(self.slow[self.window.paths[route.path]], axis=0)
            self._near[route.path] = widened(mine, _NEAR_BINS)
        return self._near[route.path]

    def on_clock(self, values: Floats) -> Floats:
        """[n, T] largest value in each bin of the window, from [n, bins] of the scenario."""
        moved = np.zeros((len(values), self.window.bins))
        inside = np.flatnonzero((self.column >= 0) & (self.column < self.window.bins))
        np.maximum.at(moved.T, self.column[inside], values.T[inside])
        return moved


def timing_of(observed: Observed) -> Timing | None:
    """Slow cells of a scenario; None when nothing was timed."""
    if observed.built is None:
        return None
    scenario, clock = observed.scenario, observed.built.fleet.clock
    middle = (np.arange(scenario.spec.bins) + 0.5) * scenario.spec.step_s
    column = clock.index(np.asarray(scenario.start.timestamp() + middle, dtype=np.float64))
    slow = slow_cells(observed.built.window.series.deviation)
    return Timing(observed, observed.built, slow, column)


def slow_cells(deviation: Floats) -> Flags:
    """[G, T] more than 15 % or clearly more than noise above normal, in two of three bins."""
    limit = np.clip(_SIGMAS * noise(deviation), _LEAST_SLOW, _SURELY_SLOW)[:, None]
    # Comparisons with NaN are false: what was not measured is not slow.
    is_slow: Flags = (deviation > limit) & (median_of_three(deviation) > limit)
    return is_slow
