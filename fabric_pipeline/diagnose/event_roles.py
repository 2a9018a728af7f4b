"""Turns events into findings: which one is the cause, which ones follow, which are worth a note.

`judge_events` is the door; the rules for PCIe, NVLink and ports live in the sibling modules. Software
and GPU-internal codes end here as findings that are no link's. Pure: no files, no clock of our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fabric_pipeline.diagnose.event_timeline import (
    FOLLOW_S,
    EventSheet,
    Lead,
    component_of,
    count_of,
    device_id,
    finding_of,
    group_by,
    host_of,
    in_order,
    times_text,
)
from fabric_pipeline.diagnose.nvlink_events import is_nvlink, judge_nvlink
from fabric_pipeline.diagnose.pcie_events import is_gpu_loss, judge_lost_gpus, judge_pcie_errors
from fabric_pipeline.diagnose.port_events import judge_ports
from fabric_pipeline.model.components import component_id
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import FabricEvent

# Xids that mostly follow from another event of the same GPU or host (NVIDIA Xid catalogue).
_TEARDOWN_CODES = frozenset({45, 154})
_FIRMWARE_CODES = frozenset({119, 120})
# A fault of a link drags these along; memory faults are never taken for a consequence.
_DRAGGED_CODES = _FIRMWARE_CODES | {8, 13, 31, 32, 43, 46, 61, 62, 68, 69, 109, 158}
_APPLICATION_CODES = frozenset({8, 11, 13, 31, 32, 43, 68, 69})
_NOT_LINK_KINDS = frozenset(
    {"peermem_error", "gpu_init_failed", "fabric_manager_failed", "diag_other_test_failed"}
)
FIRMWARE_S = 600.0  # requests to the GPU's processor time out one after the other for minutes
_WATCH = ("info", "watch")
# Kinds of job tools (RAS, watchdog, benchmarks): `detect.sweeps` judges those, they name processes.
_JOB_PREFIXES = ("ras_", "nccl_", "collective_", "watchdog_", "superbench_", "flight_recorder_")


def judge_events(events: Sequence[FabricEvent]) -> list[Finding]:
    """Findings from the fabric events of a run; causes first, then symptoms, then notes.

    Only findings of role `cause` and severity `warning` or `critical` accuse. `Finding.cause` of a
    symptom is the component id of its cause. Codes and counts stand in `reason` and `numbers`.
    """
    ordered = in_order(e for e in events if not e.kind.startswith(_JOB_PREFIXES))
    sheet = EventSheet([*ordered, *_second_hand(ordered)])
    judge_lost_gpus(sheet)
    judge_pcie_errors(sheet)
    judge_nvlink(sheet)
    _not_a_link(sheet)
    _teardown(sheet)
    judge_ports(sheet)
    _devices(sheet)
    _fabric_health(sheet)
    _diagnostics(sheet)
    _leftovers(sheet)
    order = {"cause": 0, "symptom": 1, "context": 2}
    return sorted(sheet.findings, key=lambda f: (not f.accuses, order[f.role]))


def _second_hand(events: Sequence[FabricEvent]) -> list[FabricEvent]:
    """Xids that only another line quotes (`caused by previous Xid 149`), once for each GPU."""
    seen = {(host_of(e), device_id(e), e.code) for e in events if e.kind == "xid"}
    quoted: list[FabricEvent] = []
    for event in events:
        code = event.details.get("previous_xid")
        if event.kind != "xid" or code is None or (host_of(event), device_id(event), code) in seen:
            continue
        seen.add((host_of(event), device_id(event), code))
        quoted.append(_quoted(event, code))
    return quoted


def _quoted(event: FabricEvent, code: int) -> FabricEvent:
    meaning = event.details.get("previous_meaning", {})
    details = {
        "second_hand": True,
        "pci": event.details.get("pci", ""),
        "is_link": meaning.get("is_link", True),
        "subject": meaning.get("subject", ""),
    }
    return replace(
        event,
        code=code,
        count=1,
        details=details,
        role=meaning.get("role", "context"),
        severity=meaning.get("severity", "watch"),
        reason=meaning.get("reason", "named by another Xid line only"),
    )


# -- not a link ---------------------------------------------------------------------------------------


def _is_not_link(event: FabricEvent) -> bool:
    if event.kind in _NOT_LINK_KINDS:
        return True
    if (
        event.kind != "xid"
        or event.code in _TEARDOWN_CODES
        or is_nvlink(event)
        or is_gpu_loss(event)
    ):
        return False
    return event.role == "cause" and event.severity in ("warning", "critical")


def _not_a_link(sheet: EventSheet) -> None:
    """GPU-internal and software faults; hardware before programs, for it may explain them."""
    events = sheet.open_events(_is_not_link)
    groups = group_by(events, lambda e: (host_of(e), e.interface, e.kind, e.code))
    for group in sorted(groups, key=lambda g: g[0].code in _APPLICATION_CODES):
        _one_fault(sheet, group)


def _one_fault(sheet: EventSheet, group: list[FabricEvent]) -> None:
    event = group[0]
    told = _told(event, group)
    lead = _dragged_by(sheet, event)
    if lead is not None:
        why = f"{told}, shortly after the cause; it mostly follows from such an event."
        sheet.add_symptom(group, lead.component, event.kind, why)
        return
    is_link = bool(event.details.get("is_link", False)) and event.kind == "xid"
    reason = f"{told}: " + (
        "the path to this GPU is at fault." if is_link else "no link is named, so no cable ticket."
    )
    # A program's fault is no fault of a device that is known by index only.
    is_software = event.code in _APPLICATION_CODES and event.interface.startswith("gpu")
    component = component_id(event.node, "" if is_software else event.interface)
    finding = finding_of(
        group, event.kind, "warning", "cause", reason, component, is_link=is_link,
        rules=["event.not_a_link"],
    )  # fmt: skip
    if is_link:
        finding.rules = [f"event.xid_{event.code}"]
    sheet.add(group, finding)


def _told(event: FabricEvent, group: Sequence[FabricEvent]) -> str:
    name = f"Xid {event.code}" if event.code is not None else event.kind.replace("_", " ")
    place = event.details.get("pci") or event.interface
    if (gpu := event.details.get("gpu")) is not None:
        place = f"{place} (GPU{gpu})"
    says = event.reason or "no text"
    return f"{name} ({says}){' of the GPU at ' + str(place) if place else ''} {times_text(group)}"


def _dragged_by(sheet: EventSheet, event: FabricEvent) -> Lead | None:
    """The lead that explains the fault: any link fault of the host, or a fault inside the same GPU."""
    if event.kind == "gpu_init_failed":
        return sheet.lead_for(
            event, lambda lead: device_id(lead.event) == device_id(event)
        ) or next(
            (
                ld
                for ld in sheet.leads
                if is_gpu_loss(ld.event) and device_id(ld.event) == device_id(event)
            ),
            None,
        )
    if event.kind != "xid" or event.code not in _DRAGGED_CODES:
        return None
    within_s = FIRMWARE_S if event.code in _FIRMWARE_CODES else FOLLOW_S
    by_link = sheet.lead_for(event, lambda lead: lead.is_link and _is_gpu_fabric(lead), within_s)
    if by_link is not None or event.code not in _APPLICATION_CODES:
        return by_link
    return sheet.lead_for(
        event,
        lambda lead: device_id(lead.event) == device_id(event) and lead.event.code != event.code,
    )


def _is_gpu_fabric(lead: Lead) -> bool:
    """True for leads at NVLink, NVSwitch or PCIe; a network port tears no GPU channel down."""
    return lead.event.kind in ("xid", "sxid", "gpu_lost", "aer_uncorrected", "pcie_link_down")


def _teardown(sheet: EventSheet) -> None:
    """Xid 45 and 154 follow by their nature: from a lead of the same GPU, else of the same minute."""
    events = sheet.open_events(lambda e: e.kind == "xid" and e.code in _TEARDOWN_CODES)
    for group in group_by(events, lambda e: (host_of(e), e.interface, e.code)):
        event = group[0]
        same = [
            ld
            for ld in sheet.leads
            if device_id(ld.event) == device_id(event) and ld.event.code != event.code
        ]
        lead = sheet.lead_for(event, _is_gpu_fabric) or (same[0] if same else None)
        told = _told(event, group)
        if action := event.details.get("recovery_action"):
            told += f", recovery action {action}"
        if lead is not None:
            sheet.add_symptom(
                group, lead.component, "xid", f"{told}: a consequence, never a cause."
            )
            continue
        finding = finding_of(
            group,
            "xid",
            "info",
            "symptom",
            f"{told}: a consequence of something this log does not show.",
        )
        finding.is_link = False
        sheet.add(group, finding)


# -- the rest -----------------------------------------------------------------------------------------


def _devices(sheet: EventSheet) -> None:
    """Network cards that stopped answering, and failed vendor tests of a device's interconnect."""
    for group in group_by(
        sheet.open_events(lambda e: e.kind == "nic_failed"), lambda e: (host_of(e), e.interface)
    ):
        reason = f"The network card behind {component_of(group[0])} stopped answering {times_text(group)}."
        sheet.add(
            group,
            finding_of(
                group, "nic_failed", "warning", "cause", reason, rules=["event.nic_failed"],
                alternatives=["PCIe path of the card", "firmware of the card"],
            ),
        )  # fmt: skip


def _fabric_health(sheet: EventSheet) -> None:
    """A GPU that states itself that its NVLink bandwidth or routes are degraded names no link."""
    events = sheet.open_events(
        lambda e: e.kind in ("fabric_bandwidth", "fabric_route") and e.severity not in _WATCH
    )
    for group in group_by(events, lambda e: (host_of(e), e.interface)):
        said = ", ".join(dict.fromkeys(event.text[:80] for event in group))
        reason = (
            f"The GPU reports of its NVLink fabric {said} {times_text(group)}; no link is named."
        )
        sheet.add(
            group,
            finding_of(
                group, "nvlink_fabric_degraded", "warning", "cause", reason,
                rules=["event.fabric_health"], alternatives=["a link of this GPU", "NVSwitch"],
            ),
        )  # fmt: skip


def _diagnostics(sheet: EventSheet) -> None:
    """A vendor's own test of the interconnect that failed accuses its device; a warning is a note."""
    failed = sheet.open_events(
        lambda e: e.kind == "diag_link_test_failed" and e.severity not in _WATCH
    )
    for group in group_by(failed, lambda e: (host_of(e), e.interface)):
        reason = f"{group[0].reason[:1].upper()}{group[0].reason[1:]} {times_text(group)}: {group[0].text[:200]}"
        sheet.add(
            group,
            finding_of(
                group,
                "diag_link_test_failed",
                "warning",
                "cause",
                reason,
                rules=["event.diag_link_test"],
            ),
        )


def _fatal_word(event: FabricEvent) -> str:
    is_fatal = event.details.get("is_fatal")
    return "" if is_fatal is None else "fatal" if is_fatal else "non-fatal"


def _leftovers(sheet: EventSheet) -> None:
    """Everything no rule claimed is noted with its code and count, and accuses nobody."""
    events = sheet.open_events(lambda _event: True)
    for group in group_by(events, lambda e: (host_of(e), e.interface, e.kind, e.code)):
        event = group[0]
        severity = event.severity if event.severity in _WATCH else "watch"
        name = {"xid": "Xid", "sxid": "SXid"}.get(event.kind, event.kind.replace("_", " "))
        code = f" {event.code}" if event.code is not None else ""
        says = event.details.get("says") or event.details.get("unit") or event.reason or "no text"
        word = _fatal_word(event)
        told = f"{name}{code} ({', '.join(p for p in (word, says) if p)}) {times_text(group)}"
        reason = f"{told[:1].upper()}{told[1:]} at {event.interface or 'an unnamed place'}: noted, not enough to accuse."
        is_link = bool(event.details.get("is_link", True))
        note = finding_of(
            group, event.kind, severity, "context", reason, is_link=is_link,
            numbers={"events": count_of(group)},
        )  # fmt: skip
        sheet.add(group, note)
