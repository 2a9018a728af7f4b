"""Events that job tools report about processes and nodes, turned into findings.

RAS, watchdogs, flight recorders, SuperBench and the benchmark itself name processes, ranks and nodes,
never links: every finding here has `is_link` False. A rank that reports a time-out is no culprit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from fabric_pipeline.detect.sweeps.thresholds import RAS_LAG_OPERATIONS
from fabric_pipeline.model.components import component_id
from fabric_pipeline.model.findings import EvidenceRef, Finding
from fabric_pipeline.model.records import FabricEvent

_NAMED = frozenset(("ras_peer_dead", "ras_rank_missing", "ras_rank_error", "ras_rank_behind"))
_PROGRESS = frozenset(("flight_recorder_status", "collective_incomplete"))


def judge_job_events(events: Sequence[FabricEvent]) -> list[Finding]:
    """Findings for all events of kinds that this module knows; other kinds are ignored."""
    findings = _processes(events)
    findings += _unnamed_status(events)
    findings += _timeouts(events)
    findings += _progress(events)
    findings += _complaints(events)
    for event in events:
        make = _SINGLE.get(event.kind)
        if make:
            findings.append(make(event))
    return findings


def _finding(event: FabricEvent, severity: str, role: str, reason: str, **numbers: Any) -> Finding:
    return Finding(
        component_id(event.node, event.interface),
        event.kind,
        severity,
        role,
        reason,
        [EvidenceRef(event.file, event.line, event.last_line, event.text[:300])],
        is_link=False,
        first_seen=event.time,
        last_seen=event.time,
        numbers=numbers,
        rules=[f"job-{event.kind.replace('_', '-')}"],
    )


def _processes(events: Sequence[FabricEvent]) -> list[Finding]:
    """One finding per process that is dead, missing, in error or behind; the gravest kind counts."""
    order = ("ras_peer_dead", "ras_rank_error", "ras_rank_missing", "ras_rank_behind")
    seen: dict[tuple[Any, ...], Finding] = {}
    for kind in order:
        for event in events:
            if event.kind != kind:
                continue
            finding = _behind(event) if kind == "ras_rank_behind" else _gone(event)
            known = seen.get(_identity(event))
            if known is None:
                seen[_identity(event)] = finding
            else:
                known.evidence += finding.evidence
    return list(seen.values())


def _identity(event: FabricEvent) -> tuple[Any, ...]:
    """What makes two events speak of one process: host and pid, or the rank where they are unknown."""
    details = event.details
    if details.get("pid") is not None:
        return (details.get("host"), details["pid"])
    return (event.file, event.node, event.interface, details.get("rank"), details.get("pid"))


def _gone(event: FabricEvent) -> Finding:
    finding = _finding(event, "warning", event.role, event.reason, rank=event.details.get("rank"))
    finding.alternatives = ["the process was killed", "the host or its management network is down"]
    return finding


def _behind(event: FabricEvent) -> Finding:
    """A lag of one operation is normal, and a majority behind says nothing about its members."""
    lag, behind = event.details.get("lag", 0), event.details.get("behind", 0)
    accused = lag >= RAS_LAG_OPERATIONS and behind * 2 <= event.details.get("ranks", 0)
    said = ": it is late to call, a software straggler" if accused else ": normal while a job runs"
    finding = _finding(
        event,
        "warning" if accused else "watch",
        "cause" if accused else "context",
        event.reason + said,
        lag=lag,
        furthest=event.details.get("top"),
    )
    finding.alternatives = ["the counts were read while operations were being launched"]
    return finding


def _unnamed_status(events: Sequence[FabricEvent]) -> list[Finding]:
    """Status rows that report trouble in a file that names nobody."""
    named = {event.file for event in events if event.kind in _NAMED}
    findings = []
    for event in events:
        if event.kind != "ras_status" or event.file in named:
            continue
        errors = str(event.details.get("errors", ""))
        if any(word in errors for word in ("INCOMPLETE", "ERROR", "DEAD")):
            reason = f"{event.reason}; the excerpt does not name the process"
            findings.append(_finding(event, "warning", "cause", reason))
        elif errors != "OK":
            reason = f"{event.reason}; such a snapshot is normal while a job runs"
            findings.append(_finding(event, "watch", "context", reason))
    return findings


def _timeouts(events: Sequence[FabricEvent]) -> list[Finding]:
    """One finding per file with watchdog time-outs, and the rank that is furthest behind if stated."""
    files: dict[str, list[FabricEvent]] = defaultdict(list)
    for event in events:
        if event.kind == "collective_timeout":
            files[event.file].append(event)
    findings = []
    for found in files.values():
        ranks = sorted({e.details["rank"] for e in found if e.details.get("rank") is not None})
        ops = sorted({str(e.details["op"]) for e in found if e.details.get("op")})
        who = f"rank {', '.join(map(str, ranks[:16]))}" if ranks else "a rank that is not named"
        reason = (
            f"the job hung: {who} waited for {', '.join(ops) or 'a collective'} until the watchdog gave up; "
            "a rank that reports a time-out waited for another one, so nobody and no link is named by it"
        )
        finding = _finding(
            found[0], "warning", "cause", reason, ranks=ranks[:64], reports=len(found)
        )
        finding.component = component_id("", "")
        findings.append(finding)
    return findings


def _progress(events: Sequence[FabricEvent]) -> list[Finding]:
    """Flight recorders side by side: the process that enqueued less than the others is behind."""
    groups: dict[str, list[FabricEvent]] = defaultdict(list)
    for event in events:
        if event.kind in _PROGRESS and event.details.get("enqueued") is not None:
            groups[str(event.details.get("group"))].append(event)
    findings = []
    for group in groups.values():
        top = max(event.details["enqueued"] for event in group)
        late = [e for e in group if top - e.details["enqueued"] >= RAS_LAG_OPERATIONS]
        stuck = any(event.kind == "collective_incomplete" for event in group)
        accused = stuck and 0 < len(late) * 2 <= len(group)
        for event in late if accused else []:
            reason = f"{event.reason}; other processes of the group enqueued up to {top}: this one is late to call"
            findings.append(_finding(event, "warning", "cause", reason, furthest=top))
        if not accused:
            findings += [_stuck(event) for event in group if event.kind == "collective_incomplete"]
    return findings


def _stuck(event: FabricEvent) -> Finding:
    reason = f"{event.reason}; a collective was under way when the dump was written"
    return _finding(event, "watch", "symptom", reason)


def _complaints(events: Sequence[FabricEvent]) -> list[Finding]:
    """Warnings of the library or the test: one watch finding per file and kind."""
    groups: dict[tuple[str, str], list[FabricEvent]] = defaultdict(list)
    for event in events:
        if event.kind in ("nccl_warning", "watchdog_stuck"):
            groups[event.file, event.kind].append(event)
    findings = []
    for found in groups.values():
        first = found[0]
        more = f" (and {len(found) - 1} more such lines)" if len(found) > 1 else ""
        reason = f"{first.reason}{more}"
        findings.append(_finding(first, "watch", "context", reason, lines=len(found)))
    return findings


def _failed(event: FabricEvent) -> Finding:
    reason = f"the benchmark did not finish: {event.reason}; neither a node nor a link is named"
    return _finding(event, "warning", "cause", reason)


def _wrong_results(event: FabricEvent) -> Finding:
    wrong = event.details.get("wrong_values")
    reason = f"{wrong} values of the collective arrived wrong: data was corrupted on a way that the benchmark does not name"
    return _finding(event, "warning", "cause", reason, wrong_values=wrong)


def _defect(event: FabricEvent) -> Finding:
    reason = f"{event.reason}; SuperBench's rule says nothing about a link"
    return _finding(event, "warning", "cause", reason)


def _lifecycle(event: FabricEvent) -> Finding:
    return _finding(event, event.severity, "context", event.reason)


_SINGLE: dict[str, Callable[[FabricEvent], Finding]] = {
    "nccl_test_failed": _failed,
    "nccl_wrong_results": _wrong_results,
    "superbench_defect": _defect,
    "ras_peer_lifecycle": _lifecycle,
    "ras_rank_status": _lifecycle,
}
