"""Independent streams of random numbers, one for each purpose of a scenario.

A new draw in one place leaves all other places as they were, because every purpose has a generator
of its own; nothing in this package draws from anywhere else.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """What a stream is for. The numbers are part of the seeds: never reuse or renumber one."""

    START = 1
    SCHEDULE = 2
    MESSAGES = 3
    PATHS = 4
    LOST = 5
    FAULT = 6
    FEELING = 7
    HARMLESS = 8
    LATE_HOSTS = 9
    CONGESTION = 10
    NOISE = 11
    ARRIVALS = 12
    RECORDS = 13
    BACKGROUND = 14
    BURSTS = 15
    CLOCKS = 16
    RESETS = 17
    LOSSES = 18
    WIRING = 19
    BASELINES = 20
    WAITING = 21
    DROP = 22


def stream(seed: int, purpose: Purpose) -> np.random.Generator:
    """The generator of one purpose."""
    return np.random.default_rng([seed, int(purpose)])


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """One draw whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))
