"""Other explanations of a run's slow time, weighed by name against the link that is held responsible.

Each entry reads `explanation: why it was set aside`; one that cannot be ruled out says what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fabric_pipeline.detect.stragglers.evaluate import Straggler
from fabric_pipeline.diagnose.correlate import Correlation
from fabric_pipeline.diagnose.link_cases import LinkCase
from fabric_pipeline.diagnose.slow_places import place_words
from fabric_pipeline.model.components import parse_component

_MAX_LINKS, _MAX_PLACES = 3, 2


def alternatives(
    case: LinkCase,
    cases: Sequence[LinkCase],
    stragglers: Sequence[Straggler],
    places: Mapping[str, Sequence[Correlation]] | None = None,
) -> list[str]:
    """Other links with errors, slow compute, a shared part, congestion; empty when nothing is held responsible."""
    if not case.guilty_of:
        return []
    runs = {one.run for one in case.guilty_of}
    weighed = [_other_link(other, runs) for other in _rivals(case, cases, runs)[:_MAX_LINKS]]
    weighed.append(_slow_compute(case, runs, stragglers))
    weighed.append(_shared_part(case, cases))
    slow_elsewhere = [one for run in sorted(runs) for one in (places or {}).get(run, ())]
    weighed += [_slow_place(one) for one in slow_elsewhere[:_MAX_PLACES]]
    weighed.append(_congestion(case, slow_elsewhere))
    return weighed


def _slow_place(one: Correlation) -> str:
    where, may_be, _ = place_words(one)
    return f"{where}: {may_be}; was slow in {one.run} too, at times or in groups that this link does not explain"


def _congestion(case: LinkCase, slow_elsewhere: Sequence[Correlation]) -> str:
    if any(one.because.get("congested") for one in slow_elsewhere):
        return "congestion: ports of the same runs waited for credits at other times; that slow time is not counted against the link"
    best = max(case.guilty_of, key=lambda one: one.score)
    return (
        "congestion: errors of this kind do not come from load, and collectives over other links were no slower than usual "
        f"({best.slow_anyway or 0.0:.0%} slow) at these times"
    )


def _rivals(case: LinkCase, cases: Sequence[LinkCase], runs: set[str]) -> list[LinkCase]:
    related = [c for c in cases if c is not case and any(one.run in runs for one in c.correlations)]
    return sorted(related, key=lambda c: (-_best(c, runs).score, c.component))


def _best(case: LinkCase, runs: set[str]) -> Correlation:
    return max((one for one in case.correlations if one.run in runs), key=lambda one: one.score)


def _other_link(case: LinkCase, runs: set[str]) -> str:
    one = _best(case, runs)
    return (
        f"{case.component}: its errors fall into slow time in {one.overlap_bins} of {one.error_bins} intervals "
        f"(chance {one.p_value:.2g}) and cover {one.covered_share:.0%} of the slow time of {one.run}"
    )


def _slow_compute(case: LinkCase, runs: set[str], stragglers: Sequence[Straggler]) -> str:
    node = parse_component(case.component).node
    late = sorted({place for s in stragglers if s.run in runs for place in s.late_places})
    elsewhere = [place for place in late if parse_component(place).node != node]
    if elsewhere:
        return f"slow compute or host: ranks at {', '.join(elsewhere[:3])} also arrive late, look at them as well"
    if late:
        return f"slow compute or host: only ranks of {node} arrive late, in groups that wait for this link"
    return "slow compute or host: cannot be ruled out, no per-rank timing of these runs shows who arrives late"


def _shared_part(case: LinkCase, cases: Sequence[LinkCase]) -> str:
    node = parse_component(case.component).node
    also = [
        c.component
        for c in cases
        if c is not case and c.guilty_of and parse_component(c.component).node == node
    ]
    if also:
        return f"a part shared with {', '.join(also[:3])}: these links of the node are held responsible too"
    return "a part shared by several links: no other link of the node is held responsible"
