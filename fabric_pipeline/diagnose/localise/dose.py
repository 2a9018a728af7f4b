"""Dose and response: do more errors go with slower collectives, while the link errs.

Told as a fact beside the verdict. It is no part of the confidence: retransmission costs per error differ
too much between links, and a link that lost a lane is slow whatever it counts.
"""

from __future__ import annotations

import numpy as np

from fabric_pipeline.diagnose.localise.window import Flags, Floats

_MIN_BINS = 8


def dose_response(counts: Floats | None, active: Flags, deviation: Floats) -> float | None:
    """Spearman's rank correlation of errors and deviation over the erring bins; None when too few or all equal."""
    if counts is None:
        return None
    used = active & ~np.isnan(deviation)
    if used.sum() < _MIN_BINS:
        return None
    errors, slowness = _ranks(counts[used]), _ranks(deviation[used])
    if np.ptp(errors) == 0 or np.ptp(slowness) == 0:
        return None
    return float(np.corrcoef(errors, slowness)[0, 1])


def _ranks(values: Floats) -> Floats:
    """Mean ranks, equal values share one."""
    unique, place, number = np.unique(values, return_inverse=True, return_counts=True)
    del unique
    last = np.cumsum(number)
    mean: Floats = (last - (number - 1) / 2.0)[place]
    return mean
