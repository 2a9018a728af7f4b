"""From spikes and states to erring links: both ends folded into one, bursts of all counters merged.

Sums over a whole GPU stand for the GPU, and only where none of its links tells more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from fabric_pipeline.detect.spikes.evaluate import Spike
from fabric_pipeline.diagnose.localise.build import ErringLink, Span
from fabric_pipeline.model.components import component_id, device_of
from fabric_pipeline.model.topology import Topology

# What FEC repairs is a margin, not trouble; it is no evidence that a link slows anything.
_MARGINS = frozenset({"corrected_bits"})
_JOIN = timedelta(seconds=1)


def erring_links(spikes: Iterable[Spike], topology: Topology) -> list[ErringLink]:
    """One entry per physical link with errors in known times, named by its louder end."""
    usable = [
        s
        for s in spikes
        if s.start_ts is not None and s.counter not in _MARGINS and s.scope != "switch_sum"
    ]
    told = {(s.node, device_of(s.interface)) for s in usable if s.scope != "gpu_sum"}
    by_link: dict[str, list[tuple[str, Spike]]] = {}
    for spike in usable:
        if spike.scope == "gpu_sum" and (spike.node, device_of(spike.interface)) in told:
            continue
        component = topology.resolve(component_id(spike.node, spike.interface))
        by_link.setdefault(topology.link_key(component), []).append((component, spike))
    links = []
    for ends in by_link.values():
        spans = merged([span for _, spike in ends for span in _spans(spike)])
        if spans:
            component = _louder(ends)
            links.append(
                ErringLink(component, topology.far_end(component), ends[0][1].link_type, spans)
            )
    return links


def _spans(spike: Spike) -> list[Span]:
    """The significant stretches, or the whole interval when only an absolute rule speaks."""
    if spike.bursts:
        return list(spike.bursts)
    if (
        spike.start_ts is None
        or spike.end_ts is None
        or spike.severity not in ("warning", "critical")
    ):
        return []
    return [(spike.start_ts, spike.end_ts, spike.events)]


def _louder(ends: Sequence[tuple[str, Spike]]) -> str:
    totals: dict[str, float] = {}
    for component, spike in ends:
        totals[component] = totals.get(component, 0.0) + spike.events
    return min(totals, key=lambda name: (-totals[name], name))


def merged(spans: Iterable[Span]) -> list[Span]:
    """Overlapping and touching spans joined; events of the louder one, since counters overlap in meaning."""
    joined: list[tuple[datetime, datetime, float]] = []
    for start, end, events in sorted(spans):
        if joined and start <= joined[-1][1] + _JOIN:
            first, last, known = joined[-1]
            joined[-1] = (first, max(last, end), max(known, events))
        else:
            joined.append((start, end, events))
    return joined
