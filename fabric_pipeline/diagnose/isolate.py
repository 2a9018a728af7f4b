"""Which link is held responsible for which run's slow time, from the verdicts of localisation.

The weighing is done over all runs together in `localise`; here its verdicts are laid on the link cases,
run by run, and what is left unexplained is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fabric_pipeline.diagnose.correlate import Correlation
from fabric_pipeline.diagnose.link_cases import LinkCase
from fabric_pipeline.diagnose.localise.judge import MASKED, RESPONSIBLE, SUSPECT

_MOSTLY = 0.5  # a run counts as explained when at least this share of its slow time is


def hold_responsible(
    cases: Sequence[LinkCase], correlations: Sequence[Correlation] = ()
) -> set[str]:
    """Mark guilty, suspected and masked cases; returns the runs whose slow time is mostly explained.

    `correlations` are those of all candidates: a link without counted errors has no case and explains too.
    """
    for case in cases:
        for one in case.correlations:
            if one.verdict == RESPONSIBLE and one.overlap_bins:
                case.guilty_of.append(one)
            elif one.verdict == SUSPECT and one.overlap_bins:
                case.suspected_of.append(one)
            elif one.verdict == MASKED:
                case.outweighed_by += [name for name in one.behind if name != case.component]
    every = {id(one): one for case in cases for one in case.correlations}
    every |= {id(one): one for one in correlations}
    return {run for run, share in _explained(every.values()).items() if share >= _MOSTLY}


def _explained(correlations: Iterable[Correlation]) -> dict[str, float]:
    """Share of the slow time of each run that its responsible links cover, together at most all."""
    shares: dict[str, float] = {}
    for one in correlations:
        if one.verdict == RESPONSIBLE:
            shares[one.run] = min(shares.get(one.run, 0.0) + one.covered_share, 1.0)
    return shares
