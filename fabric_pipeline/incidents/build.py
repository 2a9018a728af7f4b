"""Making standard incident records from findings: place, priority, action, evidence, stable id.

Pure: findings, topology and file hashes in, records out. What a finding says is decided before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fabric_pipeline.diagnose.actions import ACTIONS, action_for
from fabric_pipeline.incidents.confidence import confidence, evidence_grade, would_change
from fabric_pipeline.incidents.figures import figures_of
from fabric_pipeline.incidents.record import (
    Evidence,
    FaultType,
    FiredRule,
    IncidentRecord,
    Place,
    Priority,
    Severity,
    Symptom,
)
from fabric_pipeline.incidents.record_texts import (
    alternatives,
    failing_links,
    failing_text,
    more_numbers,
    readable,
    reasoning,
    summary,
)
from fabric_pipeline.incidents.whereabouts import (
    cable_of,
    place_of,
    platform_of,
    service_of,
    spares_of,
)
from fabric_pipeline.model.components import (
    component_id,
    device_of,
    gpu_index,
    link_type_of,
    parse_component,
)
from fabric_pipeline.model.findings import ROLES, SEVERITIES, EvidenceRef, Finding
from fabric_pipeline.model.sql import sql_text
from fabric_pipeline.model.topology import Topology

_SEVERITY: dict[str, Severity] = {
    "info": "INFO",
    "watch": "WATCH",
    "warning": "WARNING",
    "critical": "CRITICAL",
}
_FAULTS: dict[str, FaultType] = {
    "link_flapping": "link_flapping",
    "no_telemetry": "no_data",
    "congestion": "congestion",
    "contention": "congestion",
}
_FAULT_WORDS: tuple[tuple[tuple[str, ...], FaultType], ...] = (
    (("downgrade", "width", "speed"), "width_or_speed_downgrade"),
    (("shared", "common_cause", "uniform"), "shared_component"),
    (("congest",), "congestion"),
    (("flap",), "link_flapping"),
    (("down", "inactive", "lost", "unplugged", "gone", "init"), "link_down"),
)
_MAX_EXCERPT = 400
# What an accused link has cost makes its ticket urgent, whatever its severity. Policy values: ten GPU-hours
# are a working shift of one GPU, a hundred are an hour of a hundred GPUs.
_HIGH_GPU_HOURS = 10.0
_URGENT_GPU_HOURS = 100.0
# Tables whose rows stand for lines of source files: where the rows behind an excerpt can be.
_ROW_TABLES = ("raw_telemetry", "fabric_events", "collective_timings")


@dataclass(slots=True)
class Context:
    """What surrounds the findings of one drop: ids, file hashes, topology, run facts."""

    drop: str
    cluster: str = ""
    topology: Topology = field(default_factory=Topology)
    file_sha256: Mapping[str, str] = field(default_factory=dict)
    repeats: Mapping[str, int] = field(default_factory=dict)


def build_incidents(findings: Sequence[Finding], context: Context) -> list[IncidentRecord]:
    """Records of all findings that stand for themselves; symptoms are folded into their cause.

    Causes come first, then the heavier severity, then what cost more GPU-hours; else the order of the findings.
    """
    symptoms: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        if finding.cause:
            symptoms.setdefault((finding.machine, finding.cause), []).append(finding)
    together = _accused_together(findings)
    records = [
        _record(
            finding,
            symptoms.get((finding.machine, finding.component), []),
            context,
            together.get(id(finding), 0),
        )
        for finding in findings
        if not finding.cause and _stands_alone(finding)
    ]
    return sorted(_unique(records), key=_weight)


def _accused_together(findings: Sequence[Finding]) -> dict[int, int]:
    """How many links are accused over the runs that a finding's cost comes from, itself included.

    The cost is measured on a run as a whole, so with more than one link it is nobody's alone.
    """
    costly = [f for f in findings if f.accuses and f.is_link and f.numbers.get("runs")]
    of_run: dict[str, set[str]] = {}
    for finding in costly:
        for run in finding.numbers["runs"]:
            of_run.setdefault(run, set()).add(finding.component)
    return {id(f): len(set().union(*(of_run[run] for run in f.numbers["runs"]))) for f in costly}


def incident_id(finding: Finding, context: Context) -> str:
    """Stable id: same cluster, same link (either end), same family of fault.

    A component without a known node can only be told apart inside its drop, unless it is a port of a
    fabric switch, whose name is the cluster's. An NVSwitch is numbered anew in every node.
    """
    parsed = parse_component(finding.component)
    plain = component_id(parsed.node, parsed.interface)
    family = "link" if finding.is_link else finding.kind
    is_switch = "/port-" in parsed.interface and link_type_of(parsed.interface) == "infiniband"
    scope = context.cluster if parsed.node or is_switch else f"{context.cluster}|{context.drop}"
    runs = (
        ",".join(finding.numbers.get("runs") or [])
        if not parsed.interface and not parsed.node
        else ""
    )
    parts = (scope, context.topology.link_key(plain), family, runs, finding.machine)
    text = "|".join(parts if finding.machine else parts[:-1])
    return f"INC-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def fault_type_of(finding: Finding) -> FaultType:
    """The fault type of the record for a finding's kind."""
    if finding.kind in _FAULTS:
        return _FAULTS[finding.kind]
    if not finding.is_link:
        return "not_a_link"
    for words, fault in _FAULT_WORDS:
        if any(word in finding.kind for word in words):
            return fault
    return "physical_link_degradation"


def evidence_hash(record: IncidentRecord) -> str:
    """Hash over all that a draft rests on; ids of reruns and free text order do not change it."""
    body = record.model_dump(mode="json", exclude={"evidence_sha256", "status", "repeat_count"})
    text = json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _stands_alone(finding: Finding) -> bool:
    return finding.role == "cause" or finding.severity == "watch" or finding.kind == "no_telemetry"


def _record(
    finding: Finding, symptoms: Sequence[Finding], context: Context, together: int
) -> IncidentRecord:
    fault = fault_type_of(finding)
    # A map has one node without a name at most, and this may be another machine than that one.
    topology = Topology() if finding.machine else context.topology
    failing = failing_links(finding, fault, symptoms, topology)
    record = IncidentRecord(
        incident_id=incident_id(finding, context),
        drop=context.drop,
        role="cause" if finding.role == "cause" else "context",
        status="open" if finding.accuses else "watch",
        first_seen=finding.first_seen,
        last_seen=finding.last_seen,
        fault_type=fault,
        error_class=finding.error_class,
        class_basis=finding.class_basis,
        severity=_SEVERITY[finding.severity],
        ticket_priority=_priority(finding),
        summary=summary(finding, fault, together),
        reasoning=[*reasoning(finding), *failing_text(finding, failing, topology)],
        would_change_the_verdict=would_change(finding, fault),
        confidence=confidence(finding),
        evidence_grade=evidence_grade(finding),
        alternatives=alternatives(finding),
        symptoms=[
            Symptom(component=s.component, kind=s.kind, reason=readable(s.reason)) for s in symptoms
        ],
        rules=[_rule(rule) for rule in finding.numbers.get("rules") or []],
        repeat_count=context.repeats.get(finding.component, 0),
        evidence=[_evidence(n, ref, context) for n, ref in enumerate(finding.evidence, 1)],
        figures=figures_of(finding, context.drop, topology),
        **_where(finding, fault, topology),
        **_effect(finding.numbers, more_numbers(finding, failing, together, topology)),
    )
    return record.model_copy(update={"evidence_sha256": evidence_hash(record)})


def _where(finding: Finding, fault: FaultType, topology: Topology) -> dict[str, Any]:
    """Both ends, their places, the link's type and parts, and what to do about it."""
    parsed = parse_component(finding.component)
    stated = str(finding.numbers.get("link_type") or "")
    end = _link_end(finding.component, stated)
    far_end = finding.far_end or topology.far_end(end)
    link = topology.link_of(end)
    link_type = stated or (link.link_type if link else link_type_of(parsed.interface))
    action = action_for(fault, link_type, finding.is_link, _SEVERITY[finding.severity])
    place = place_of(finding.component, topology)
    far_place = place_of(far_end, topology) if far_end else Place()
    cable, platform = (
        cable_of(end, topology),
        platform_of(finding.component, far_end, topology),
    )
    part = link.part if link else ""
    parts = [part, cable.part_number, platform.stated]
    parts += [
        number
        for end in (place, far_place)
        for number in (end.gpu_part_number, end.nic_part_number)
    ]
    return {
        "isolated_component": finding.component,
        "far_end": far_end,
        "place": place,
        "far_place": far_place,
        "link_type": link_type if link_type in _LINK_TYPES else "",
        "fabric_or_switch_port": _switch_port(end, far_end),
        "lane": parsed.lane,
        "cable_id": link.cable_id if link else "",
        "part_reference": part,
        "cable": cable,
        "platform": platform,
        "service": service_of(_priority(finding), topology),
        "spares": spares_of(parts, topology),
        "action_code": action,
        "action_text": ACTIONS[action],
    }


def _link_end(component: str, link_type: str) -> str:
    """The end of the link that a fault concerns: a GPU that left the bus has lost its PCIe link."""
    parsed = parse_component(component)
    if (
        link_type == "pcie"
        and gpu_index(parsed.interface) is not None
        and "/" not in parsed.interface
    ):
        return component_id(parsed.node, f"{parsed.interface}/pcie")
    return component


def _effect(numbers: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """What the fault costs, as far as it was measured."""
    degradation = numbers.get("degradation_pct")
    return {
        "degradation_pct": None if degradation is None else round(degradation, 1),
        "degradation_exact": "" if degradation is None else f"{degradation:.6f}",
        "latency_us": numbers.get("latency_us"),
        "baseline_us": numbers.get("baseline_us"),
        "affected_runs": list(numbers.get("runs") or []),
        "affected_ranks": list(numbers.get("late_ranks") or []),
        "gpu_hours_lost": _gpu_hours(numbers),
        "straggler_p_value": numbers.get("p_value"),
        "score": float(numbers.get("score") or 0.0),
        "numbers": {
            **{key: numbers[key] for key in _KEPT_NUMBERS if numbers.get(key) is not None},
            **more,
        },
    }


def _gpu_hours(numbers: Mapping[str, Any]) -> float | None:
    lost = numbers.get("lost_gpu_s")
    return round(lost / 3600, 6) if lost else None


_LINK_TYPES = ("nvlink", "pcie", "infiniband", "roce", "ethernet")
_KEPT_NUMBERS = (
    "counts", "max_rate_per_hour", "surprise", "peers", "overlap_share", "covered_share", "effect_pct", "q_value", "is_snapshot",
)  # fmt: skip


def _switch_port(component: str, far_end: str) -> str:
    """The end of the link that is a switch or NVSwitch port, "" when neither is known to be one."""
    for end in (far_end, component):
        interface = parse_component(end).interface if end else ""
        if "/port-" in interface:
            node = parse_component(end).node
            is_nvswitch = device_of(interface).startswith("nvswitch")
            return f"{node}:{interface}" if is_nvswitch and node else interface
    return ""


def _priority(finding: Finding) -> Priority:
    degradation = finding.numbers.get("degradation_pct") or 0.0
    if not finding.accuses:
        return "low"
    if not finding.is_link:
        return "high" if finding.severity == "critical" else "normal"
    gpu_hours = _gpu_hours(finding.numbers) or 0.0
    if finding.severity == "critical" or gpu_hours >= _URGENT_GPU_HOURS:
        return "urgent"
    is_high = degradation > 5 or finding.numbers.get("is_snapshot") or gpu_hours >= _HIGH_GPU_HOURS
    return "high" if is_high else "normal"


def _rule(rule: dict[str, Any]) -> FiredRule:
    return FiredRule(
        rule_id=rule["rule_id"],
        says=rule["says"],
        value=rule["value"],
        limit=rule["limit"],
        source=rule["source"],
    )


def _evidence(number: int, ref: EvidenceRef, context: Context) -> Evidence:
    last = ref.last_line if ref.last_line is not None else ref.line
    where = f'"drop" = {sql_text(context.drop)} and file = {sql_text(ref.file)}'
    lines = (
        f" and line between {ref.line} and {max(last or ref.line, ref.line)}"
        if ref.line is not None
        else ""
    )
    return Evidence(
        evidence_id=f"E{number}",
        file=ref.file,
        sha256=context.file_sha256.get(ref.file, ""),
        line=ref.line,
        last_line=ref.last_line,
        excerpt=ref.excerpt[:_MAX_EXCERPT],
        says=readable(ref.excerpt[:_MAX_EXCERPT]),
        query=" union all by name ".join(
            f"select '{table}' as \"table\", * from {table} where {where}{lines}"
            for table in _ROW_TABLES
        ),
    )


def _unique(records: Sequence[IncidentRecord]) -> list[IncidentRecord]:
    """One record per id; two findings that share an id are the same fault, the heavier one stays."""
    kept: dict[str, IncidentRecord] = {}
    for record in records:
        known = kept.get(record.incident_id)
        if known is None:
            kept[record.incident_id] = record
            continue
        head, tail = (known, record) if _rank(known) >= _rank(record) else (record, known)
        extra = Symptom(
            component=tail.isolated_component, kind=tail.fault_type, reason=tail.summary
        )
        merged = head.model_copy(update={"symptoms": [*head.symptoms, extra, *tail.symptoms]})
        kept[record.incident_id] = merged.model_copy(
            update={"evidence_sha256": evidence_hash(merged)}
        )
    return list(kept.values())


def _rank(record: IncidentRecord) -> int:
    return SEVERITIES.index(record.severity.lower())


def _weight(record: IncidentRecord) -> tuple[int, int, float]:
    return -ROLES.index(record.role), -_rank(record), -(record.gpu_hours_lost or 0.0)
