"""The fit behind the score card: ridge logistic regression with weights of given sign.

Needs numpy only, so that `benchmarks.ceiling` can use it where the product is not installed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fabric_pipeline.diagnose.localise.scorecard import TERMS

Floats = npt.NDArray[np.float64]
# With n links that could as well have erred at that moment, the odds of each fall by no more than n.
LIMITS = {"tried/0": 1.0, "rivals/2": 1.0}
_RIDGE = 3.0
_SWEEPS = 400


def fit(values: Floats, labels: Floats, ridge: float = _RIDGE) -> tuple[Floats, float]:
    """Ridge logistic regression in which no weight may turn against its fact (coordinate descent)."""
    centre, spread = values.mean(axis=0), values.std(axis=0)
    free = np.flatnonzero(spread > 1e-6)
    scaled = (values[:, free] - centre[free]) / spread[free]
    bounds = [
        tuple(sorted((0.0, sign * LIMITS.get(name, np.inf) * spread[place])))
        if sign
        else (-np.inf, np.inf)
        for place in free
        for name, sign in (TERMS[place],)
    ]
    weight, bias = np.zeros(len(free)), 0.0
    odds = np.full(len(labels), bias)
    for _ in range(_SWEEPS):
        largest = 0.0
        for place in range(-1, len(free)):
            column = scaled[:, place] if place >= 0 else np.ones(len(labels))
            chance = 1 / (1 + np.exp(-odds))
            slope = float(column @ (chance - labels)) + (
                ridge * weight[place] if place >= 0 else 0.0
            )
            curve = float((column**2) @ (chance * (1 - chance))) + (ridge if place >= 0 else 1e-6)
            old = weight[place] if place >= 0 else bias
            new = old - slope / curve
            if place >= 0:
                low, high = bounds[place]
                new = min(max(new, low), high)
            odds += (new - old) * column
            largest = max(largest, abs(new - old))
            if place >= 0:
                weight[place] = new
            else:
                bias = new
        if largest < 1e-6:
            break
    full = np.zeros(values.shape[1])
    full[free] = weight / spread[free]
    return full, bias - float(full @ centre)
