"""One finding per physical component: what several detectors say of one link is said once.

Counters, events and states of both ends of a link are joined; lesser findings on a blamed component
become its symptoms. Nothing is dropped: every reason and every piece of evidence stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fabric_pipeline.diagnose.link_cases import is_switch_end
from fabric_pipeline.model.components import component_id, device_of, parse_component
from fabric_pipeline.model.findings import ROLES, SEVERITIES, Finding
from fabric_pipeline.model.topology import Topology

# The more a kind says of the state of the link, the earlier it names the merged finding.
_KIND_ORDER = (
    "link_down",
    "gpu_lost",
    "link_flapping",
    "nvlink_inactive",
    "width_downgrade",
    "physical_link_degradation",
)


_SLOWNESS = ("degradation_pct", "latency_us", "baseline_us")  # figures that belong together


def merge_findings(findings: Iterable[Finding], topology: Topology) -> list[Finding]:
    """Join accusations of one link, make lesser findings on it symptoms, order by weight."""
    groups: dict[tuple[str, bool], list[Finding]] = {}
    for finding in findings:
        if not finding.machine:
            finding.component = topology.resolve(finding.component)
        groups.setdefault((_key(finding, topology), finding.is_link), []).append(finding)
    merged: list[Finding] = []
    named_now: dict[tuple[str, str], str] = {}
    for group in groups.values():
        names = {(one.machine, one.component) for one in group if one.accuses}
        joined = _merge_group(group, topology)
        named_now |= dict.fromkeys(names, joined[0].component)
        merged += joined
    for finding in merged:
        if finding.cause:  # a symptom must still find its cause under the name that was chosen
            cause = finding.cause if finding.machine else topology.resolve(finding.cause)
            finding.cause = named_now.get((finding.machine, cause), cause)
    return sorted(merged, key=_weight)


def _merge_group(group: list[Finding], topology: Topology) -> list[Finding]:
    accusing = [finding for finding in group if finding.accuses]
    if not accusing:
        return group
    head = _joined(accusing)
    if not head.machine:
        head.far_end = head.far_end or topology.far_end(head.component)
    for finding in group:
        if finding.accuses:
            continue
        if not finding.cause:
            finding.cause = head.component
        if finding.role == "cause":
            finding.role = "symptom"
    return [head, *(finding for finding in group if not finding.accuses)]


def _joined(accusing: list[Finding]) -> Finding:
    head = min(
        accusing,
        key=lambda f: (
            _kind_place(f.kind),
            -SEVERITIES.index(f.severity),
            is_switch_end(f.component),
            -len(f.component),
        ),
    )
    for other in accusing:
        if other is head:
            continue
        head.reason = f"{head.reason} {_told_of(other, head)}"
        head.evidence += [ref for ref in other.evidence if ref not in head.evidence]
        head.rules += [rule for rule in other.rules if rule not in head.rules]
        head.numbers = _joined_numbers(head.numbers, other.numbers)
        head.severity = max(head.severity, other.severity, key=SEVERITIES.index)
        head.error_class = head.error_class or other.error_class
        head.class_basis = head.class_basis or other.class_basis
        head.first_seen = min(filter(None, (head.first_seen, other.first_seen)), default=None)
        head.last_seen = max(filter(None, (head.last_seen, other.last_seen)), default=None)
        head.alternatives += [text for text in other.alternatives if text not in head.alternatives]
        if _lane(other) is not None and _lane(head) is None and _same_end(head, other):
            head.component = other.component
    return head


def _told_of(other: Finding, head: Finding) -> str:
    """What else accuses the link; what was seen at its other end says so."""
    plain = parse_component(other.component)
    end = component_id(plain.node, plain.interface)
    if _same_end(head, other) or plain.interface in other.reason or end in other.reason:
        return other.reason
    return f"At its other end, {end}: {other.reason}"


def _joined_numbers(head: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The head's figures where it has any; runs and ranks of both, losses added where runs differ."""
    numbers = {**other, **{key: value for key, value in head.items() if value is not None}}
    if (other.get("degradation_pct") or 0.0) > (head.get("degradation_pct") or 0.0):
        numbers |= {name: other.get(name) for name in _SLOWNESS}
    for name in ("runs", "late_ranks"):
        if name in numbers:
            numbers[name] = sorted({*(head.get(name) or ()), *(other.get(name) or ())})
    if not set(head.get("runs") or ()) & set(other.get("runs") or ()):
        lost = [part["lost_gpu_s"] for part in (head, other) if part.get("lost_gpu_s")]
        if lost:
            numbers["lost_gpu_s"] = sum(lost)
    return numbers


def _key(finding: Finding, topology: Topology) -> str:
    parsed = parse_component(finding.component)
    plain = component_id(parsed.node, parsed.interface)
    if finding.machine:
        return f"{finding.machine}|{plain}" + ("" if parsed.interface else f"|{finding.kind}")
    if not parsed.interface:
        return f"{plain}|{finding.kind}"  # a whole node or nothing known: never joined across kinds
    return topology.link_key(plain)


def _same_end(a: Finding, b: Finding) -> bool:
    first, second = parse_component(a.component), parse_component(b.component)
    return (first.node, first.interface) == (second.node, second.interface)


def _lane(finding: Finding) -> int | None:
    return parse_component(finding.component).lane


def _kind_place(kind: str) -> int:
    return _KIND_ORDER.index(kind) if kind in _KIND_ORDER else len(_KIND_ORDER)


def _weight(finding: Finding) -> tuple[int, int, str, str]:
    parsed = parse_component(finding.component)
    return (
        -ROLES.index(finding.role),
        -SEVERITIES.index(finding.severity),
        parsed.node,
        device_of(parsed.interface) + finding.component,
    )
