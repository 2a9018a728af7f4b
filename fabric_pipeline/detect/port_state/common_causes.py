"""Many ports of one device that changed alike: one common cause in place of many bad links.

A host whose ports all left, a switch that vanished, or ports that all dropped to one lower rate
share a cause (power, firmware, the switch, a setting). Such a finding replaces the single ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from fabric_pipeline.detect.port_state import thresholds as t
from fabric_pipeline.detect.port_state.candidates import Candidate
from fabric_pipeline.detect.port_state.link_ends import device_component, device_id, device_words
from fabric_pipeline.detect.port_state.views import Captures, evidence
from fabric_pipeline.model.findings import Finding

_GROUPED = {
    t.RULE_LOST: "lost",
    t.RULE_DOWN_AFTER_ACTIVE: "lost",
    t.RULE_BELOW_EARLIER: "lower",
}


def set_apart(
    candidates: Sequence[Candidate],
    captures: Captures,
    far: Mapping[str, str],
    limits: t.PortStateLimits = t.LIMITS,
) -> tuple[list[Finding], list[Candidate]]:
    """Common causes as findings, and the candidates that remain faults of their own."""
    ports_of = _ports_of_devices(captures, far)
    groups: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        kind = _GROUPED.get(candidate.rule)
        ends = {candidate.component, candidate.far_end or far.get(candidate.component, "")} - {""}
        for device in {device_id(end) for end in ends} if kind else ():
            groups[(device, kind or "")].append(candidate)
    findings: list[Finding] = []
    explained: set[int] = set()
    for (device, kind), group in sorted(groups.items(), key=lambda item: -len(item[1])):
        fresh = [candidate for candidate in group if id(candidate) not in explained]
        ports = _ports_hit(device, fresh, far)
        if _is_common(kind, len(ports), len(ports_of.get(device, ())), limits):
            findings.append(_finding(device, kind, fresh, len(ports)))
            explained |= {id(candidate) for candidate in fresh}
    return findings, [c for c in candidates if id(c) not in explained]


def _is_common(kind: str, hit: int, known: int, limits: t.PortStateLimits) -> bool:
    if kind == "lost":
        # a host with a single port that left cannot be told from a bad link
        return hit > 1 and hit == known
    return hit >= limits.min_common and hit >= limits.common_share * known


def _ports_of_devices(captures: Captures, far: Mapping[str, str]) -> dict[str, set[str]]:
    """Ports of each device that any capture saw linked, also from the far end."""
    ports: dict[str, set[str]] = defaultdict(set)
    for view in captures.views.values():
        if view.is_netdev or not (view.is_up or view.was_up):
            continue
        ports[view.device].add(view.component)
        other = far.get(view.component)
        if other:
            ports[device_id(other)].add(other)
    return ports


def _ports_hit(device: str, group: Sequence[Candidate], far: Mapping[str, str]) -> set[str]:
    hit = set()
    for candidate in group:
        other = candidate.far_end or far.get(candidate.component, "")
        hit |= {end for end in (candidate.component, other) if end and device_id(end) == device}
    return hit


def _finding(device: str, kind: str, group: Sequence[Candidate], ports: int) -> Finding:
    seen = [reading for candidate in group for reading in candidate.seen if reading is not None]
    if kind == "lost":
        is_switch = ":" in device
        return Finding(
            device_component(device),
            "shared_component" if is_switch else "node_left_fabric",
            "critical" if is_switch else "warning",
            "cause",
            f"All {ports} ports of {device_words(device)} that were linked are gone at once: "
            "the device itself, its power or its adapter, not its cables.",
            evidence=evidence(seen),
            is_link=is_switch,
            numbers={"ports": ports, "failing_links": sorted({c.component for c in group})},
            rules=[t.RULE_NODE_LOST],
        )
    now = min((candidate.numbers.get("speed_gbps", 0.0) for candidate in group), default=0.0)
    before = max((c.numbers.get("earlier_speed_gbps", 0.0) for c in group), default=0.0)
    return Finding(
        device_component(device),
        "common_rate_change",
        "warning",
        "cause",
        f"All {ports} ports of {device_words(device)} that changed run {now:g} Gb/s where an "
        f"earlier capture saw {before:g} Gb/s: one common cause, such as a switch or firmware setting.",
        evidence=evidence(seen),
        is_link=False,
        numbers={"ports": ports, "speed_gbps": now, "earlier_speed_gbps": before},
        rules=[t.RULE_BELOW_EARLIER],
        alternatives=["as many bad cables at once, which is far less likely"],
    )
