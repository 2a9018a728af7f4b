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
    """Share of the slow bins of each run that responsible links cover, by its best explained group.

    Bins are counted within a group; rows that compare another number of bins count them differently.
    """
    covered: dict[tuple[str, str, int], set[int]] = {}
    slow: dict[tuple[str, str, int], int] = {}
    for one in correlations:
        if one.verdict == RESPONSIBLE:
            key = (one.run, one.communicator, one.bins)
            covered.setdefault(key, set()).update(one.covered_bins)
            slow[key] = max(slow.get(key, 1), one.slow_bins)
    shares: dict[str, float] = {}
    for key, bins in covered.items():
        shares[key[0]] = max(shares.get(key[0], 0.0), min(len(bins) / slow[key], 1.0))
    return shares
