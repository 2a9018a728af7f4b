"""Limits of the straggler detection, each with its source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StragglerLimits:
    """When a collective counts as slow. Relative limits are of the baseline."""

    # Rows of one kind (same run, group, operation, size) from which on a series can be judged.
    min_rows: int = 8
    # Slow = above the noise but never below 5 % (Meta, NVRx and the brief's noise band) and never
    # hidden by more than 15 % of noise (detection.md S6).
    sigmas: float = 3.2
    floor: float = 0.05
    ceiling: float = 0.15
    # First rows are warm-up while they take half as long again as the rest; at most five.
    warm_up_ratio: float = 1.5
    warm_up_rows: int = 5
    # A rank is late when it starts this much of the median later than the first one (NVRx: 8 ms is
    # Google CHS's default for whole steps; relative here, so that sizes do not matter).
    late_share: float = 0.05
    # Where only ranks are timed, the others must wait a third of the collective for the late one (NVRx
    # calls a rank a straggler below a relative score of 0.75).
    waiting_share: float = 1 / 0.75 - 1
    # Sister runs of the same kind may be this much faster before their baseline counts.
    sister_margin: float = 0.04
