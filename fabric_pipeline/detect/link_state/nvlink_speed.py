"""Rules on NVLink speeds: a link slower than the others of its GPU, or than it was before.

Compared are printed speeds of links that are up, within one GPU and one node; no absolute speed is
demanded, because it depends on the generation.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from fabric_pipeline.detect.link_state.history import (
    NodeStates,
    State,
    evidence_of,
    product_of,
    same_place,
    since_of,
)
from fabric_pipeline.detect.link_state.thresholds import LinkStateLimits
from fabric_pipeline.detect.state_words import since
from fabric_pipeline.model.components import component_id, device_of, link_type_of
from fabric_pipeline.model.findings import Finding


def nvlink_speed_findings(states: NodeStates, limits: LinkStateLimits) -> list[Finding]:
    """Slow links, and GPUs all of whose links are slow beside equal GPUs."""
    speeds: dict[str, dict[str, State]] = defaultdict(dict)
    findings: list[Finding] = []
    for interface in states.interfaces("speed_gbps"):
        latest = states.latest(interface, "speed_gbps")
        if latest is None or link_type_of(interface) != "nvlink" or latest.value <= 0:
            continue
        speeds[device_of(interface)][interface] = latest
        findings.extend(_slower_than_before(states, interface, limits))
    accused = {finding.component for finding in findings}
    for links in speeds.values():
        found = _slow_links(states.node, links, limits)
        findings.extend(f for f in found if f.component not in accused)
    findings.extend(_slow_gpus(states.node, speeds, limits))
    return findings


def _slower_than_before(
    states: NodeStates, interface: str, limits: LinkStateLimits
) -> list[Finding]:
    history = states.series[interface, "speed_gbps"]
    latest = history[-1]
    same = [s for s in history if same_place(states.node, s.reading, latest.reading)]
    best = max(same, key=lambda state: state.value)
    if latest.value >= best.value * (1 - limits.speed_tolerance):
        return []
    start = since_of(same, best.value)
    began = since(start.reading)
    before = "before that" if began else "in an earlier capture"
    reason = f"NVLink {interface} runs at {latest.value:g} Gb/s{began} and ran at {best.value:g} Gb/s {before}."
    finding = _finding(states.node, interface, reason, [start, latest, best], best.value)
    finding.first_seen = start.reading.time
    return [finding]


def _slow_links(node: str, links: dict[str, State], limits: LinkStateLimits) -> list[Finding]:
    usual, count = _usual(links)
    if count < limits.speed_siblings_needed or count * 2 <= len(links):
        return []
    findings = []
    for interface, state in links.items():
        if state.value < usual * (1 - limits.speed_tolerance):
            reason = (
                f"NVLink {interface} runs at {state.value:g} Gb/s, while {count} of the "
                f"{len(links)} links of {device_of(interface)} run at {usual:g} Gb/s."
            )
            peer = next(s for s in links.values() if s.value == usual)
            findings.append(_finding(node, interface, reason, [state, peer], usual))
    return findings


def _slow_gpus(
    node: str, speeds: dict[str, dict[str, State]], limits: LinkStateLimits
) -> list[Finding]:
    """A GPU whose links are slow all alike, beside enough GPUs of the same model that are not."""
    models: dict[str, dict[str, State]] = defaultdict(dict)
    for device, links in speeds.items():
        usual, _ = _usual(links)
        state = next(s for s in links.values() if s.value == usual)
        if device:
            models[product_of(state.reading)][device] = state
    findings = []
    for gpus in models.values():
        usual, count = _usual(gpus)
        for device, state in gpus.items():
            slow = state.value < usual * (1 - limits.speed_tolerance)
            if slow and count >= limits.full_siblings_needed:
                reason = (
                    f"The NVLinks of {device} run at {state.value:g} Gb/s, while those of {count} "
                    f"equal GPUs run at {usual:g} Gb/s."
                )
                findings.append(_finding(node, device, reason, [state], usual))
    return findings


def _usual(links: dict[str, State]) -> tuple[float, int]:
    """The most frequent speed, the higher one of equals, and how many run at it."""
    counts = Counter(state.value for state in links.values())
    value, count = max(counts.items(), key=lambda item: (item[1], item[0]))
    return value, count


def _finding(node: str, interface: str, reason: str, states: list[State], usual: float) -> Finding:
    return Finding(
        component_id(node, interface),
        "speed_downgrade",
        "warning",
        "cause",
        reason,
        evidence=evidence_of(states, usual),
        first_seen=states[0].reading.time,
        last_seen=states[0].reading.time,
        numbers={"speed_gbps": states[0].value, "usual_gbps": usual},
        rules=["link_state.nvlink_speed_downgrade"],
    )
