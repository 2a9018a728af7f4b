"""Rules for NVSwitch errors (SXid): far ends of a lost GPU, a port, or a whole switch.

Non-fatal ones are left to be watched. Pure functions on an event sheet.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabric_pipeline.diagnose.event_timeline import (
    EventSheet,
    Lead,
    component_of,
    count_of,
    device_id,
    finding_of,
    group_by,
    host_of,
    one_moment,
    times_text,
)
from fabric_pipeline.diagnose.pcie_events import is_gpu_loss
from fabric_pipeline.model.components import port_index
from fabric_pipeline.model.records import FabricEvent

SHARED_PORTS = 3  # as many ports in one moment have one common cause (appendix C 6)
MOMENT_S = 5.0


def _port_key(event: FabricEvent) -> tuple[str, object, object]:
    """A port by the switch's PCI address when it is stated: two logs may number switches apart."""
    pci = event.details.get("pci")
    if pci and event.details.get("link") is not None:
        return host_of(event), pci, event.details["link"]
    return host_of(event), event.interface, None


def judge_sxids(sheet: EventSheet) -> None:
    """Fatal SXids: far ends of a lost GPU, else a cause; non-fatal ones are left to be watched."""
    fatal = sheet.open_events(
        lambda e: e.kind == "sxid" and bool(e.details.get("is_fatal", e.severity == "critical"))
    )
    groups = group_by(fatal, _port_key)
    orphans = [group for group in groups if not _far_end_of_loss(sheet, group)]
    for cluster in one_moment(orphans, MOMENT_S):
        _switch_cluster(sheet, cluster)


def _sxid_text(group: Sequence[FabricEvent]) -> str:
    codes = ", ".join(sorted({str(e.code) for e in group}))
    says = group[0].details.get("says") or group[0].reason
    return (
        f"SXid {codes} ({says}) at {group[0].interface or 'an unnamed switch'} {times_text(group)}"
    )


def _is_gpu_link(lead: Lead) -> bool:
    """True for an Xid that accuses an NVLink of a GPU."""
    return lead.is_link and lead.event.kind == "xid" and not is_gpu_loss(lead.event)


def _far_end_of_loss(sheet: EventSheet, group: list[FabricEvent]) -> bool:
    lead = sheet.lead_for(group[0], lambda lead: is_gpu_loss(lead.event))
    if lead is None:
        return False
    why = f"{_sxid_text(group)}: a far end of the GPU that was lost shortly before."
    sheet.add_symptom(group, lead.component, "nvswitch_error", why)
    return True


def _switch_cluster(sheet: EventSheet, cluster: Sequence[list[FabricEvent]]) -> None:
    """Ports that failed in one moment: the first leads; many ports of one switch mean the switch."""
    first = cluster[0]
    lead = sheet.lead_for(first[0], _is_gpu_link)
    if lead is not None and len(cluster) > 1:
        for group in cluster:
            why = f"{_sxid_text(group)}: one of {len(cluster)} switch ports that follow from the cause."
            sheet.add_symptom(group, lead.component, "nvswitch_error", why)
        return
    component = component_of(first[0])
    reason = f"{_sxid_text(first)} is fatal"
    switches = {device_id(group[0]) for group in cluster}
    is_shared = len(cluster) >= SHARED_PORTS
    if is_shared and len(switches) == 1:
        component = switches.pop()
    if is_shared:
        reason += f", the first of {len(cluster)} ports within {MOMENT_S:.0f} s: one common cause"
    _add_switch(sheet, first, component, reason, lead, is_shared)
    for group in cluster if is_shared and component != component_of(first[0]) else cluster[1:]:
        why = f"{_sxid_text(group)}, in the same moment as the first."
        sheet.add_symptom(group, component, "nvswitch_error", why)


def _add_switch(
    sheet: EventSheet,
    first: list[FabricEvent],
    component: str,
    reason: str,
    lead: Lead | None,
    is_shared: bool,
) -> None:
    sheet.add(
        first,
        finding_of(
            first,
            "shared_component" if is_shared else "nvswitch_error",
            "critical",
            "cause",
            f"{reason}.",
            component=component,
            far_end=lead.component if lead is not None else "",
            error_class="link_down",
            class_basis="reported",
            rules=["event.shared_cause" if is_shared else "event.sxid_fatal"],
            numbers={"ports": [port_index(e.interface) for e in first], "times": count_of(first)},
            alternatives=["the GPU at the far end of the port", "baseboard or NVSwitch"],
        ),
    )
