"""Errors of every link over time, as dashboards have them: both ends and all counters in one rate.

The counters of a link overlap in meaning (a repeat follows an error), so the loudest of them
speaks and nothing is added up. Judging a rate is left to the rules.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fabric_pipeline.diagnose.localise.window import Floats, Ints
from fabric_pipeline.synth.fleet import FleetScenario


@dataclass(frozen=True, slots=True)
class LinkErrors:
    """Increments by link: `steps` is the number of bins that one covers, back from `bin`.

    `total` [links] counts the errors of the louder end by its loudest counter.
    """

    bins: int
    link: Ints
    bin: Ints
    steps: Ints
    delta: Floats
    rate_h: Floats
    total: Floats

    def over(self, limit_h: float, samples: int) -> Ints:
        """Links with at least so many samples above a rate."""
        above = self.rate_h > limit_h
        sample = np.unique(self.link[above] * self.bins + self.bin[above])
        links, count = np.unique(sample // self.bins, return_counts=True)
        found: Ints = links[count >= samples]
        return found

    def per_bin_h(self, links: Ints) -> Floats:
        """[links, bins] rate per hour; an increment over lost samples is spread evenly."""
        row = np.full(len(self.total), -1)
        row[links] = np.arange(len(links))
        mine = np.flatnonzero(row[self.link] >= 0)
        rates = np.zeros((len(links), self.bins))
        for back in range(int(self.steps[mine].max(initial=0))):
            mine = mine[self.steps[mine] > back]
            np.maximum.at(rates, (row[self.link[mine]], self.bin[mine] - back), self.rate_h[mine])
        return rates


def link_errors(scenario: FleetScenario) -> LinkErrors:
    """The increments of a scenario by link."""
    found = scenario.increments
    counters, links = len(scenario.counters), len(scenario.links.gpu)
    series = found.end * counters + found.counter
    sums = np.bincount(series, weights=found.delta, minlength=2 * links * counters)
    return LinkErrors(
        bins=scenario.spec.bins,
        link=found.end // 2,
        bin=found.bin,
        steps=np.rint(found.elapsed_s / scenario.spec.step_s).astype(np.int64),
        delta=found.delta,
        rate_h=found.delta / found.elapsed_s * 3600.0,
        total=sums.reshape(links, 2 * counters).max(axis=1),
    )
