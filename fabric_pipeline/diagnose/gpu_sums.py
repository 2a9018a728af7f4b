"""Sums over all links of a GPU beside the counters of its single links: told, never added, never a second fault.

A sum names no link. Where a link of the GPU is accused by its own counters, the sum is that link's errors
read once more, or more than them: then the rest belongs to links nobody read, which is said.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabric_pipeline.detect.spikes.evaluate import Spike
from fabric_pipeline.diagnose.link_cases import LinkCase
from fabric_pipeline.diagnose.witnesses import SAME_COUNTER
from fabric_pipeline.model.components import component_id, device_of, parse_component
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import UnknownFact

_SUM = "gpu_sum"
_ACCUSED = ("warning", "critical")
_LEAST_REST, _REST_SHARE = 8.0, 0.1  # sums and links are read at different moments


def note_sums(cases: Sequence[LinkCase]) -> None:
    """Mark the cases of sums whose GPU has a link that is bad by its own counters."""
    links: dict[str, list[LinkCase]] = {}
    for case in cases:
        if case.rule_severity in _ACCUSED and not _is_sum(case):
            for end in _ends(case):
                links.setdefault(_gpu(end), []).append(case)
    for case in cases:
        if _is_sum(case):
            named = sorted(links.get(_gpu(case.component), ()), key=lambda one: -_total(one))
            case.links_of_sum = [one.component for one in named]


def sum_of_links(finding: Finding, case: LinkCase) -> Finding:
    """The finding on the sum as what it is then: the errors of a named link told once more."""
    links = ", ".join(case.links_of_sum)
    finding.role, finding.severity, finding.kind = "symptom", "watch", "gpu_sum_of_links"
    finding.cause = case.links_of_sum[0]
    finding.far_end = ""
    finding.reason = (
        f"{finding.summary}, summed over all links of the GPU. {links} counted errors by itself: the sum holds "
        "them once more, is not added to them and names no link."
    )
    return finding


def unread_links(case: LinkCase, cases: Sequence[LinkCase]) -> list[UnknownFact]:
    """What a sum holds far beyond its named links: errors of a link that was not read by itself."""
    if not case.links_of_sum:
        return []
    place = parse_component(case.component)
    named = [one for one in cases if one.component in case.links_of_sum]
    facts = []
    for counter, total in _by_counter(case.spikes).items():
        known = sum(_by_counter(_own(one, case)).get(counter, 0.0) for one in named)
        if total - known >= max(_LEAST_REST, _REST_SHARE * total):
            reason = (
                f"the sum over all links says {total:.0f}, {', '.join(case.links_of_sum)} counted {known:.0f} of it: "
                "which link the rest belongs to is not known; neither is added to the other"
            )
            facts.append(UnknownFact(place.node, place.interface, counter, reason))
    return facts


def _own(link: LinkCase, gpu_sum: LinkCase) -> list[Spike]:
    """What was counted at that end of the link that belongs to the GPU."""
    gpu = _gpu(gpu_sum.component)
    return [s for s in link.spikes if s.scope != _SUM and _gpu(component_id(s.node, s.interface)) == gpu]  # fmt: skip


def _is_sum(case: LinkCase) -> bool:
    return all(spike.scope == _SUM for spike in case.spikes)


def _ends(case: LinkCase) -> set[str]:
    return {component_id(s.node, s.interface) for s in case.spikes if s.hits and s.scope != _SUM}


def _gpu(component: str) -> str:
    parsed = parse_component(component)
    return component_id(parsed.node, device_of(parsed.interface))


def _total(case: LinkCase) -> float:
    return sum(_by_counter(case.spikes).values())


def _by_counter(spikes: Sequence[Spike]) -> dict[str, float]:
    """Events of each counter: two names of one counter are one, and the larger of two readings stands."""
    per_end: dict[tuple[str, str, str, str], float] = {}
    for s in spikes:
        key = (s.counter, s.node, s.interface, s.gpu_uuid)
        per_end[key] = per_end.get(key, 0.0) + s.events
    counts: dict[tuple[str, str], float] = {}
    for (counter, node, interface, _), events in per_end.items():
        place = (SAME_COUNTER.get(counter, counter), component_id(node, interface))
        counts[place] = max(counts.get(place, 0.0), events)
    totals: dict[str, float] = {}
    for (counter, _), events in counts.items():
        totals[counter] = totals.get(counter, 0.0) + events
    return totals
