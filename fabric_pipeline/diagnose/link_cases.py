"""All counted evidence of one physical link in one place: both ends folded, the blamed end chosen.

Which cases are guilty of slowing a run is decided in `isolate`; wording the finding in `link_findings`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from fabric_pipeline.detect.spikes.evaluate import Spike
from fabric_pipeline.detect.spikes.rules import CRC, REPLAYS, RuleHit
from fabric_pipeline.diagnose.correlate import Correlation
from fabric_pipeline.model.components import component_id, device_of, parse_component
from fabric_pipeline.model.topology import Topology

_ORDER = {"info": 0, "watch": 1, "warning": 2, "critical": 3}
_OVER_HOURS = frozenset({"link_flapping", "repeated_retrains"})
_LANE_SHARE = 0.8  # one lane is named when it holds this share of the link's lane errors


@dataclass(slots=True)
class LinkCase:
    """One link with errors: the end that is named, the other end, and what was counted at both.

    `guilty_of`, `suspected_of` and `outweighed_by` are filled in by isolation: runs it is held responsible
    for, runs it may slow without being sure enough, and the better candidates where its errors fit slow time that these explain already.
    `links_of_sum`: for a sum over a whole GPU, the links of it that were counted by themselves and are bad, the worst first.
    """

    component: str
    far_end: str
    link_type: str
    spikes: list[Spike]
    correlations: list[Correlation] = field(default_factory=list)
    guilty_of: list[Correlation] = field(default_factory=list)
    suspected_of: list[Correlation] = field(default_factory=list)
    sympathetic: list[str] = field(default_factory=list)
    outweighed_by: list[str] = field(default_factory=list)
    links_of_sum: list[str] = field(default_factory=list)

    @property
    def hits(self) -> list[RuleHit]:
        """All rule hits, the worst first; each rule once: its worst severity, then its largest count.

        Rules that count over hours say at every event how many there were up to then: the last word stands.
        """
        loudest = sorted(self.spikes, key=lambda spike: -spike.events)
        hits = sorted(
            (h for s in loudest for h in s.hits),
            key=lambda h: (-_ORDER[h.severity], -_so_far(h)),
        )
        kept: dict[str, RuleHit] = {}
        for hit in hits:
            kept.setdefault(hit.rule_id, hit)
        return list(kept.values())

    @property
    def rule_severity(self) -> str:
        """Worst severity by rules alone."""
        return max(
            (spike.severity for spike in self.spikes), key=_ORDER.__getitem__, default="info"
        )

    @property
    def is_snapshot(self) -> bool:
        """True when nothing of this link has a time span."""
        return all(spike.start_ts is None for spike in self.spikes)

    @property
    def counts_by_gpu(self) -> dict[str, float]:
        """GPU UUID -> largest count at the named end, for UUIDs under which a rule fired there.

        Two or more entries mean that the position stayed bad when its GPU was exchanged.
        """
        plain = parse_component(self.component)
        counts: dict[str, float] = {}
        for s in self.spikes:
            if s.gpu_uuid and s.hits and (s.node, s.interface) == (plain.node, plain.interface):
                counts[s.gpu_uuid] = max(counts.get(s.gpu_uuid, 0.0), s.events)
        return counts

    @property
    def first_seen(self) -> datetime | None:
        """Start of the first spike."""
        return min((s.start_ts for s in self.spikes if s.start_ts), default=None)

    @property
    def last_seen(self) -> datetime | None:
        """End of the last spike."""
        return max((s.end_ts for s in self.spikes if s.end_ts), default=None)


def _so_far(hit: RuleHit) -> float:
    """How many events the rule has counted over its hours; 0 for rules that judge one interval."""
    if hit.rule_id not in _OVER_HOURS:
        return 0.0
    try:
        return float(hit.value.split()[0])
    except (IndexError, ValueError):
        return 0.0


def link_cases(
    spikes: Iterable[Spike], correlations: Sequence[Correlation], topology: Topology
) -> list[LinkCase]:
    """Group spikes by physical link; sums over a whole GPU make a case of the GPU, never of a link."""
    grouped: dict[str, list[Spike]] = {}
    for spike in spikes:
        component = topology.resolve(component_id(spike.node, spike.interface))
        grouped.setdefault(topology.link_key(component), []).append(spike)
    cases = [_case(group, topology) for group in grouped.values()]
    by_component: dict[str, list[Correlation]] = {}
    for one in correlations:
        by_component.setdefault(topology.link_key(topology.resolve(one.component)), []).append(one)
    for case in cases:
        case.correlations = by_component.get(topology.link_key(_no_lane(case.component)), [])
    return _without_far_ends(cases)


def _case(spikes: list[Spike], topology: Topology) -> LinkCase:
    ends: dict[str, list[Spike]] = {}
    for spike in spikes:
        ends.setdefault(topology.resolve(component_id(spike.node, spike.interface)), []).append(
            spike
        )
    named = min(ends, key=lambda end: (is_switch_end(end), -_blame(ends[end]), end))
    parsed = parse_component(named)
    lane = _lane(ends[named])
    return LinkCase(
        component=component_id(parsed.node, parsed.interface, lane),
        far_end=topology.far_end(named),
        link_type=spikes[0].link_type,
        spikes=spikes,
    )


def is_switch_end(component: str) -> bool:
    """True for a port of a switch, NVSwitch or PCIe switch.

    Of the two ends of one link the GPU or network card is named: a technician finds that, and the
    switch port stands beside it as the far end.
    """
    return "/port-" in parse_component(component).interface


def _blame(spikes: list[Spike]) -> float:
    """The receiver counts what arrives broken, the sender only has to repeat: CRC outweighs replay."""
    received = sum(s.events for s in spikes if s.counter not in REPLAYS)
    repeated = sum(s.events for s in spikes if s.counter in REPLAYS)
    return received + repeated / 1000


def _lane(spikes: list[Spike]) -> int | None:
    per_lane: dict[int, float] = {}
    for spike in spikes:
        if spike.lane is not None:
            per_lane[spike.lane] = per_lane.get(spike.lane, 0.0) + spike.events
    if len(per_lane) < 1:
        return None
    lane = max(per_lane, key=lambda number: per_lane[number])
    return lane if per_lane[lane] >= _LANE_SHARE * sum(per_lane.values()) else None


def _without_far_ends(cases: list[LinkCase]) -> list[LinkCase]:
    """Fold a replay-only end into the one CRC end of another GPU of the node when no map tells.

    Without topology two ends of one NVLink look like two links: one GPU repeats, its partner counts
    the CRC errors. Only an unambiguous pair on one node is folded.
    """
    of_node: dict[str, list[LinkCase]] = {}
    for case in cases:
        if not case.far_end:
            of_node.setdefault(parse_component(case.component).node, []).append(case)
    folded: set[int] = set()
    for case in cases:
        if case.far_end or case.link_type != "nvlink" or not _only(case, REPLAYS) or not case.hits:
            continue  # a few replays belong to nobody in particular
        near = of_node[parse_component(case.component).node]
        partners = [c for c in near if id(c) not in folded | {id(case)} and _is_partner(case, c)]
        if len(partners) == 1:
            partners[0].sympathetic.append(case.component)
            partners[0].spikes += case.spikes
            folded.add(id(case))
    return [case for case in cases if id(case) not in folded]


def _is_partner(case: LinkCase, other: LinkCase) -> bool:
    mine, theirs = parse_component(case.component), parse_component(other.component)
    different_gpu = device_of(mine.interface) != device_of(theirs.interface)
    received = sum(s.events for s in other.spikes if s.counter in CRC)
    repeated = sum(s.events for s in other.spikes if s.counter in REPLAYS)
    return different_gpu and received > 10 * repeated


def _only(case: LinkCase, counters: frozenset[str]) -> bool:
    return all(spike.counter in counters for spike in case.spikes)


def _no_lane(component: str) -> str:
    parsed = parse_component(component)
    return component_id(parsed.node, parsed.interface)
