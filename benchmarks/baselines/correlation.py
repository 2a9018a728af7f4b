"""Statistics that are tried first: z-score of the rate, and its correlation with the latency.

Both look at one link at a time and know nothing of other explanations.
"""

from __future__ import annotations

import numpy as np

from benchmarks.baselines.errors import link_errors
from benchmarks.baselines.limits import lost_state, slow_meanwhile
from benchmarks.baselines.method import accused
from benchmarks.baselines.timing import Timing, timing_of
from benchmarks.fleet_window import Observed
from benchmarks.scoring import Answer
from fabric_pipeline.diagnose.localise.window import Floats, Ints

_LEAST_ERRORS = 20.0  # in the window; fewer correlate with anything
_LEAST_BINS = 20


def z_score_straggler(observed: Observed, least: float) -> list[Answer]:
    """Links whose rate leaves its own history by so many standard deviations, with a straggler."""
    timing = timing_of(observed)
    if timing is None:
        return []
    errors = link_errors(observed.scenario)
    # The deviation is at least one error a sample, so a hit has at least `least` errors.
    links = np.unique(errors.link[errors.delta >= least])
    scores = z_scores(errors.per_bin_h(links), 3600.0 / observed.scenario.spec.step_s)
    high = (scores > least).any(axis=1)
    active = timing.on_clock(scores[high]) > least
    return accused(slow_meanwhile(timing, links[high], active))


def z_scores(rates: Floats, one_error_h: float) -> Floats:
    """[n, T] distance of each bin from all bins before it, in their standard deviations.

    Nothing before the first bin counts as silence, so that a fault older than the window shows.
    Measured on training scenarios this beats mean and deviation, or median and MAD, of all bins.
    """
    before = np.maximum(np.arange(rates.shape[1]), 1)
    mean = (np.cumsum(rates, axis=1) - rates) / before
    square = (np.cumsum(rates**2, axis=1) - rates**2) / before
    spread = np.sqrt(np.maximum(square - mean**2, one_error_h**2))
    scores: Floats = (rates - mean) / spread
    return scores


def pearson_state(observed: Observed, least: float) -> list[Answer]:
    """Links whose log rate correlates with the latency of what crosses them, and lost states."""
    timing = timing_of(observed)
    if timing is None:
        return []
    errors = link_errors(observed.scenario)
    links = np.flatnonzero(errors.total >= _LEAST_ERRORS)
    rates = np.log1p(timing.on_clock(errors.per_bin_h(links)))
    found = correlations(timing, links, rates)
    # Any accusation counts from 0.5 on; the correlation only orders them.
    answers = {link: 0.5 + r / 2 for link, r in found.items() if r > least}
    answers |= {one.link: one.confidence for one in accused(lost_state(timing))}
    return [Answer(link, answers[link]) for link in sorted(answers)]


def correlations(timing: Timing, links: Ints, rates: Floats) -> dict[int, float]:
    """Pearson's r of each link's rates [links, T] with the mean deviation on its path."""
    by_path: dict[int, list[int]] = {}
    for row, link in enumerate(links):
        route = timing.route(int(link))
        if route is not None:
            by_path.setdefault(route.path, []).append(row)
    found: dict[int, float] = {}
    for path, rows in by_path.items():
        deviation = timing.window.series.deviation[timing.window.paths[path]]
        known = ~np.isnan(deviation)
        measured = known.any(axis=0)
        if measured.sum() < _LEAST_BINS:
            continue
        mean = np.where(known, deviation, 0.0).sum(axis=0)[measured] / known.sum(axis=0)[measured]
        values = _pearson(rates[rows][:, measured], mean)
        found |= {int(links[row]): float(r) for row, r in zip(rows, values, strict=True)}
    return found


def _pearson(rows: Floats, against: Floats) -> Floats:
    """R of every row; 0 where a row never changes."""
    rows = rows - rows.mean(axis=1, keepdims=True)
    against = against - against.mean()
    size = np.sqrt((rows**2).sum(axis=1) * (against**2).sum())
    r: Floats = rows @ against / np.where(size > 0, size, 1.0)
    return r
