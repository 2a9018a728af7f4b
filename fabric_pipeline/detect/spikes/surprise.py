"""How surprising a count is: over-dispersed tail bound in SQL, false discovery control, sibling totals.

Closed forms without random numbers, so that the same rows give the same answer on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lgamma, log, log10

# Size of the negative binomial: bursty errors vary far more than a Poisson count (detection.md S3).
DISPERSION_K = 0.5
_LN10 = log(10)


def surprise_sql(events: str, expected: str, k: float = DISPERSION_K) -> str:
    """SQL for -log10 of an upper bound for the chance of `events` or more when `expected` are normal.

    Chernoff bound of a negative binomial; 0 when the count is not above its expectation.
    """
    mean = f"greatest({expected}, 1e-9)"
    bound = f"{events} * ln({events} / {mean}) - ({events} + {k}) * ln(({events} + {k}) / ({mean} + {k}))"
    return f"case when {events} > {mean} then greatest(0, ({bound}) / {_LN10!r}) else 0 end"


def benjamini_hochberg(log10_p: Sequence[float], tests: int) -> list[float]:
    """q-values for p given as log10(p), over `tests` tests of which the missing ones count as p = 1."""
    order = sorted(range(len(log10_p)), key=lambda i: log10_p[i])
    q_values = [1.0] * len(log10_p)
    best = 1.0
    for place in range(len(order), 0, -1):
        index = order[place - 1]
        exponent = log10_p[index] + log10(max(tests, 1) / place)
        best = min(best, 1.0 if exponent >= 0 else 10.0 ** max(exponent, -300.0))
        q_values[index] = best
    return q_values


def sibling_log10_p(events: int, total: int, siblings: int) -> float:
    """log10 of the chance that one of `siblings` equal links has `events` or more of `total` errors.

    Binomial(total, 1/siblings) bounded by its largest tail term times the number of terms; the window
    over which the counters ran cancels because siblings share it.
    """
    if siblings < 2 or events <= total / siblings:
        return 0.0
    share = 1.0 / siblings
    log_term = (
        lgamma(total + 1) - lgamma(events + 1) - lgamma(total - events + 1)
        + events * log(share)
        + (total - events) * log(1 - share)
    )  # fmt: skip
    return min(0.0, (log_term + log(total - events + 1)) / _LN10)
