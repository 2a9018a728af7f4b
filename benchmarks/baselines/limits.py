"""Fixed limits on the error rate, alone, with a straggler nearby, and with lost width or speed.

The last is the best that operators do by hand and the honest baseline of the diagnosis.
"""

from __future__ import annotations

from benchmarks.baselines.errors import link_errors
from benchmarks.baselines.method import accused
from benchmarks.baselines.timing import Timing, timing_of
from benchmarks.fleet_window import Observed
from benchmarks.scoring import Answer
from fabric_pipeline.diagnose.localise.window import Flags, Ints

_LEAST_SAMPLES = 2


def limits(observed: Observed, limit_h: float) -> list[Answer]:
    """Every link with two samples above so many errors an hour, slow or not."""
    return accused(link_errors(observed.scenario).over(limit_h, _LEAST_SAMPLES))


def limits_straggler(observed: Observed, limit_h: float) -> list[Answer]:
    """The same, if a collective that crosses the link was slow at about that time."""
    return accused(_loud_and_slow(observed, timing_of(observed), limit_h))


def limits_straggler_state(observed: Observed, limit_h: float) -> list[Answer]:
    """The same, and every link that lost width or speed while a run across it was slow."""
    timing = timing_of(observed)
    return accused(_loud_and_slow(observed, timing, limit_h) + lost_state(timing))


def slow_meanwhile(timing: Timing, links: Ints, active: Flags) -> list[int]:
    """The links with a slow collective across them within two bins of an active one [links, T]."""
    return [
        int(link)
        for link, bins in zip(links, active, strict=True)
        if (bins & timing.slow_near(int(link))).any()
    ]


def lost_state(timing: Timing | None) -> list[int]:
    """Links that reported less width or speed while a collective across them was slow."""
    if timing is None:
        return []
    window, names = timing.window, timing.observed.names
    return [
        names[one.link]
        for one in window.candidates
        if one.has_state and timing.slow[window.paths[one.path]][:, one.active > 0].any()
    ]


def _loud_and_slow(observed: Observed, timing: Timing | None, limit_h: float) -> list[int]:
    if timing is None:
        return []
    errors = link_errors(observed.scenario)
    links = errors.over(limit_h, _LEAST_SAMPLES)
    active = timing.on_clock(errors.per_bin_h(links)) > limit_h
    return slow_meanwhile(timing, links, active)
