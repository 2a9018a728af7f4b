"""The door of the snapshot counter rules: counter readings and links in, findings and gaps out.

Accuses a port only by errors of its own signal. Congestion, relay errors and errors marked upstream
are told as context; sums over a switch accuse the device and leave the port unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fabric_pipeline.detect.port_counters import thresholds as t
from fabric_pipeline.detect.port_counters.context import context_findings
from fabric_pipeline.detect.port_counters.counts import Count, PortCounts, gather
from fabric_pipeline.detect.port_counters.lanes import WorstLane, worst_lane
from fabric_pipeline.detect.port_counters.pictures import Verdict, judge, watched
from fabric_pipeline.detect.port_counters.wording import (
    evidence_of,
    listed,
    numbers_of,
    worst_class,
)
from fabric_pipeline.detect.port_state.link_ends import aliases, device_component, far_ends
from fabric_pipeline.model.components import parse_component
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import Reading, UnknownFact

_KIND = "physical_link_degradation"


@dataclass(slots=True)
class SnapshotVerdict:
    """What the counters say, and what they leave unknown."""

    findings: list[Finding] = field(default_factory=list)
    unknown: list[UnknownFact] = field(default_factory=list)


def evaluate_port_snapshots(
    readings: Sequence[Reading], topology_links: Sequence[Mapping[str, Any]]
) -> SnapshotVerdict:
    """Judge counters of InfiniBand, RoCE and Ethernet ports that have no time span.

    Several readings of one counter, in the order given, are successive captures: then their growth
    is judged. Readings of kind `delta` are increases that a tool saw during its own run.
    """
    if not readings:
        return (
            SnapshotVerdict()
        )  # naming the ends of every link of a fleet takes longer than all else
    far = far_ends(topology_links)
    ports = gather(readings, aliases(topology_links))
    devices: dict[str, list[PortCounts]] = {}
    for port in ports.values():
        if not port.is_sum:
            devices.setdefault(port.device, []).append(port)
    result = SnapshotVerdict()
    for siblings in devices.values():
        result.findings += _device(siblings, far)
    for port in ports.values():
        if port.is_sum and port.component not in devices:
            _judge_sum(port, result)
    return result


def _device(ports: Sequence[PortCounts], far: Mapping[str, str]) -> list[Finding]:
    """Findings of all ports of one device."""
    accused: list[tuple[PortCounts, Verdict]] = []
    made: list[Finding] = []
    for port in ports:
        verdict = judge(port, [other for other in ports if other is not port])
        if verdict is not None:
            accused.append((port, verdict))
        else:
            made += _watch(port)
        made += context_findings(port, far.get(port.component, ""), verdict is not None)
    if _is_shared(len(accused), len(ports)):
        return [_shared(ports[0].device, accused), *made]
    return [_accuse(port, verdict, far) for port, verdict in accused] + made


def _is_shared(accused: int, measured: int) -> bool:
    limits = t.LIMITS
    return accused >= limits.shared_ports and accused >= limits.shared_share * measured


def _accuse(port: PortCounts, verdict: Verdict, far: Mapping[str, str]) -> Finding:
    lane = worst_lane(port.lanes)
    component = port.component
    counts = list(verdict.counts)
    is_recent = any(count.is_growth or count.is_run_delta for count in counts)
    reason = f"{listed(counts)}: {_WORDS[verdict.rule]}."
    numbers, rules = numbers_of(counts), [verdict.rule]
    if lane is not None:
        component = f"{component}/lane-{lane.lane}"
        reason += f" {_lane_words(lane)}"
        numbers |= _lane_numbers(lane)
        rules.append(t.RULE_LANE)
        counts.append(lane.count)
    return Finding(
        component,
        _KIND,
        verdict.severity,
        "cause",
        reason,
        evidence=evidence_of(counts),
        far_end=far.get(port.component, ""),
        error_class=worst_class(verdict.counts),
        class_basis="snapshot",
        numbers=numbers,
        rules=rules,
        alternatives=[] if is_recent else [_OLD],
    )


_OLD = "old damage: the moment since when these totals count is not known"
_WORDS = {
    t.RULE_PICTURE: "several kinds of errors together, the picture of a bad cable or module",
    t.RULE_ALONE: "far above its limit and above every other port measured beside it",
    t.RULE_FLAPS: "far more often down than the other ports of the device",
    t.RULE_DELTA: "grew while the fabric check ran",
    t.RULE_BER: "errors that forward error correction did not repair",
}


def _lane_words(lane: WorstLane) -> str:
    return (
        f"Lane {lane.lane} holds {lane.count.amount:.0f} of {lane.total:.0f} errors counted "
        "before correction."
    )


def _lane_numbers(lane: WorstLane) -> dict[str, Any]:
    return {
        "lane": lane.lane,
        "lane_errors": int(lane.count.amount),
        "all_lanes_errors": int(lane.total),
    }


def _watch(port: PortCounts) -> list[Finding]:
    """Counters over a limit that prove nothing alone, or one lane far off without any loss."""
    made = []
    over: list[Count] = watched(port)
    if over:
        made.append(
            Finding(
                port.component,
                "error_counter_above_limit",
                "watch",
                "context",
                f"{listed(over)}: above the usual limit, but alone or from before these captures.",
                evidence=evidence_of(over),
                error_class=worst_class(over),
                class_basis="snapshot",
                numbers=numbers_of(over),
                rules=[t.RULE_ALONE],
            )
        )
    lane = worst_lane(port.lanes)
    if lane is not None:
        made.append(
            Finding(
                f"{port.component}/lane-{lane.lane}",
                "lane_imbalance",
                "watch",
                "context",
                f"{_lane_words(lane)} No error past the correction accuses it.",
                evidence=evidence_of([lane.count]),
                error_class="corrected_single",
                class_basis="measured",
                numbers=_lane_numbers(lane),
                rules=[t.RULE_LANE],
            )
        )
    return made


def _shared(device: str, accused: Sequence[tuple[PortCounts, Verdict]]) -> Finding:
    counts = [count for _, verdict in accused for count in verdict.counts]
    return Finding(
        device_component(device),
        "shared_component",
        "warning",
        "cause",
        f"{len(accused)} ports of {device} show the same kind of errors: the device or what its "
        "ports share, not that many cables.",
        evidence=evidence_of(counts),
        error_class=worst_class(counts),
        class_basis="snapshot",
        numbers={
            "ports": len(accused),
            "failing_links": sorted({port.component for port, _ in accused}),
        },
        rules=[t.RULE_PICTURE],
    )


def _judge_sum(port: PortCounts, result: SnapshotVerdict) -> None:
    """A sum over all ports of a switch, when no port of it was listed."""
    verdict = judge(port, [])
    result.findings += context_findings(port, "", verdict is not None)
    if verdict is None:
        return
    counts = list(verdict.counts)
    place = parse_component(port.component)
    result.findings.append(
        Finding(
            port.component,
            _KIND,
            "warning",
            "cause",
            f"{listed(counts)}, summed over all ports: one of its links is bad, and which port "
            "is not known.",
            evidence=evidence_of(counts),
            error_class=worst_class(counts),
            class_basis="snapshot",
            numbers=numbers_of(counts),
            rules=[t.RULE_DEVICE_SUM, verdict.rule],
            alternatives=["several links with few errors each"],
        )
    )
    result.unknown.append(
        UnknownFact(
            place.node,
            place.interface,
            "port",
            "the counters are a sum over all ports of the switch; the port is not listed",
        )
    )
