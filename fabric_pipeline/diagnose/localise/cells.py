"""How slow each collective cell is: noise of every group, and a soft yes or no instead of a hard limit.

A cell is one group of ranks in one time bin. A soft answer keeps small effects that a hard limit would
cut off, and bounds what a single outlier can say.
"""

from __future__ import annotations

import numpy as np

from fabric_pipeline.diagnose.localise.window import Flags, Floats

_SIGMA_FLOOR, _SIGMA_CEILING = 0.01, 0.12
_POOL_WEIGHT = 20.0  # cells' worth of the common noise in each group's own estimate
_OUTLIERS, _OUTLIER_WIDTH = 0.03, 0.35
_MEDIAN_OF_THREE = 0.75  # noise left after a median of three, as a share of the noise before
# What "slow" may mean: 6 % to four times, equal weight on the logarithm.
_EFFECTS = np.log(np.geomspace(1.06, 4.0, 12))


def noise(deviation: Floats) -> Floats:
    """[G] spread of healthy cells, from successive differences, so that level shifts do not count."""
    steps = np.abs(np.diff(deviation, axis=1))
    known = ~np.isnan(steps)
    if not known.any():
        return np.full(len(deviation), _SIGMA_CEILING)
    pooled = 1.4826 * float(np.median(steps[known])) / np.sqrt(2)
    counts = known.sum(axis=1)
    own = np.full(len(deviation), pooled)
    enough = counts >= 8
    if enough.any():
        own[enough] = 1.4826 * np.nanmedian(steps[enough], axis=1) / np.sqrt(2)
    mixed = np.sqrt((counts * own**2 + _POOL_WEIGHT * pooled**2) / (counts + _POOL_WEIGHT))
    bounded: Floats = np.clip(mixed, _SIGMA_FLOOR, _SIGMA_CEILING)
    return bounded


def slowness(deviation: Floats, sigma: Floats) -> Floats:
    """[G, T] between 0 (normal) and 1 (slow); 0 where nothing was measured."""
    smooth = median_of_three(deviation)
    width = (sigma * _MEDIAN_OF_THREE)[:, None]
    normal = (1 - _OUTLIERS) * _density(smooth, width) + _OUTLIERS * _density(
        smooth, _OUTLIER_WIDTH
    )
    slow = np.zeros_like(smooth)
    for effect in _EFFECTS:
        # A slow cell scatters more than a healthy one: each collective meets the fault differently.
        slow += _density(smooth - effect, np.hypot(width, 0.25 * effect))
    slow /= len(_EFFECTS)
    soft = slow / (slow + normal)
    return np.where(np.isnan(soft) | (smooth <= 0), 0.0, soft)


def median_of_three(values: Floats) -> Floats:
    """[G, T] each cell's median with its measured neighbours; a lone outlier vanishes, an edge stays."""
    before = np.concatenate([values[:, 1:2], values[:, :-1]], axis=1)
    after = np.concatenate([values[:, 1:], values[:, -2:-1]], axis=1)
    before, after = (
        np.where(np.isnan(before), after, before),
        np.where(np.isnan(after), before, after),
    )
    before, after = (
        np.where(np.isnan(before), values, before),
        np.where(np.isnan(after), values, after),
    )
    low, high = np.minimum(values, before), np.maximum(values, before)
    middle: Floats = np.maximum(low, np.minimum(high, after))
    return middle


def widened(flags: Flags, bins: int) -> Flags:
    """Flags with `bins` more on either side, along the last axis."""
    wide = flags.copy()
    for step in range(1, bins + 1):
        wide[..., step:] |= flags[..., :-step]
        wide[..., :-step] |= flags[..., step:]
    return wide


def closed(flags: Flags, bins: int = 2) -> Flags:
    """Flags with holes of up to `bins` bins closed."""
    return ~widened(~widened(flags, bins), bins)


def _density(values: Floats, width: Floats | float) -> Floats:
    scaled: Floats = np.exp(-0.5 * (values / width) ** 2) / width
    return scaled
