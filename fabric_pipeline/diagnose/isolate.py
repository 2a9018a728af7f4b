"""Which link is held responsible for which run's slow time, and what is left unexplained.

Greedy explaining-away per run: the best candidate takes the slow time it covers; a second link is held
responsible only for slow time that the first leaves over. Chances of several runs over one link are
combined, because a single run of an hour cannot show more than a few shifts.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

from fabric_pipeline.diagnose.correlate import Correlation
from fabric_pipeline.diagnose.link_cases import LinkCase
from fabric_pipeline.diagnose.thresholds import IsolationLimits

_MOSTLY = 0.5  # a run counts as explained when at least this share of its slow time is


def hold_responsible(cases: Sequence[LinkCase], limits: IsolationLimits) -> set[str]:
    """Mark the guilty correlations in the cases; returns the runs whose slow time is explained."""
    candidates: dict[str, list[tuple[LinkCase, Correlation]]] = {}
    for case in cases:
        fitting = [one for one in case.correlations if _fits(one, limits)]
        if _is_beyond_chance(fitting, limits):
            for one in fitting:
                candidates.setdefault(one.run, []).append((case, one))
    return {run for run, pairs in candidates.items() if _explain_away(pairs, limits) >= _MOSTLY}


def _explain_away(pairs: Sequence[tuple[LinkCase, Correlation]], limits: IsolationLimits) -> float:
    """Give each slow bin to the best candidate that covers it; returns the largest share explained of a group."""
    taken: dict[str, set[int]] = {}
    share = 0.0
    for case, one in sorted(pairs, key=lambda pair: (-pair[1].score, pair[0].component)):
        covered = taken.setdefault(one.communicator, set())
        new = set(one.covered_bins) - covered
        if len(new) < limits.covered_share * one.slow_bins:
            # The slow time it covers is already explained by better candidates.
            case.outweighed_by += [c.component for c, _ in pairs if one.run in _runs(c)]
            continue
        case.guilty_of.append(one)
        covered |= new
        share = max(share, len(covered) / max(one.slow_bins, 1))
    return share


def _runs(case: LinkCase) -> set[str]:
    return {one.run for one in case.guilty_of}


def combined_p(p_values: Sequence[float]) -> float:
    """Fisher's combination of independent chances (closed form of the chi-square tail, even degrees)."""
    if len(p_values) < 2:  # exact, because one chance is compared with a limit as it is
        return p_values[0] if p_values else 1.0
    half = -sum(log(max(p, 1e-300)) for p in p_values)
    term, total = 1.0, 1.0
    for i in range(1, len(p_values)):
        term *= half / i
        total += term
    return min(1.0, exp(-half) * total)


def _fits(one: Correlation, limits: IsolationLimits) -> bool:
    """Errors and slow time of this run belong together by size: shares and effect."""
    return (
        one.overlap_share >= limits.overlap_share
        and one.covered_share >= limits.covered_share
        and (one.effect_pct or 0.0) >= limits.effect_pct
    )


def _is_beyond_chance(fitting: Sequence[Correlation], limits: IsolationLimits) -> bool:
    if combined_p([_p(one) for one in fitting]) <= limits.p_value:
        return True
    # In a short run even a perfect match cannot reach the limit: then nearly all of the error time
    # must be slow and nearly all of the slow time must be covered.
    return any(
        _p(one) <= limits.short_run_p_value
        and min(one.overlap_share, one.covered_share) >= limits.short_run_share
        for one in fitting
    )


def _p(one: Correlation) -> float:
    return 1.0 if one.p_value is None else one.p_value
