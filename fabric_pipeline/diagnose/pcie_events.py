"""Rules for PCIe: lost GPUs, uncorrected and corrected error reports, slots whose link went down.

A lost GPU or a fatal report accuses its link at once, a lone non-fatal or corrected report never
does; corrected reports accuse by their rate. Pure functions on an event sheet.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabric_pipeline.diagnose.event_timeline import (
    FOLLOW_S,
    EventSheet,
    count_of,
    finding_of,
    follows,
    gap_s,
    group_by,
    host_of,
    one_moment,
    times_text,
)
from fabric_pipeline.model.components import component_id
from fabric_pipeline.model.records import FabricEvent

# Corrected errors a minute: DCGM's diagnostic limit of 480 in 15 minutes (field-guide R7).
CORRECTED_PER_MIN = 32
CORRECTED_UNCLOCKED = 32  # the same number in a log that has no clock
CORRECTED_TOTAL = 100  # clearly many, whatever the rate
CORRECTED_SHORT_MIN = 10  # fewest events from which a rate of a log below one minute is taken
NON_FATAL_REPEATS = 3
SHARED_GPUS = 3  # as many GPUs lost in one moment have one common cause


def is_gpu_loss(event: FabricEvent) -> bool:
    """True for Xid 79 and for the same message without a number."""
    return event.kind == "gpu_lost" or (event.kind == "xid" and event.code == 79)


def judge_lost_gpus(sheet: EventSheet) -> None:
    """GPUs that fell off the bus: one cause each, or one common cause for many in one moment."""
    lost = sheet.open_events(is_gpu_loss)
    groups = group_by(lost, lambda e: (host_of(e), e.interface))
    for cluster in one_moment(groups, FOLLOW_S):
        named = [group for group in cluster if group[0].interface]
        if len(named) >= SHARED_GPUS:
            _shared_loss(sheet, cluster)
            continue
        for group in cluster:
            if not group[0].interface and named:
                named[0].extend(group)
        for group in named or cluster:
            _one_loss(sheet, group)


def _one_loss(sheet: EventSheet, group: list[FabricEvent]) -> None:
    event = group[0]
    place = event.details.get("pci") or event.interface or "unknown address"
    code = "Xid 79: t" if any(e.code == 79 for e in group) else "T"
    reason = f"{code}he GPU at {place} has fallen off the bus {times_text(group)}"
    boards = {e.details["gpu_uuid"] for e in group if e.details.get("gpu_uuid")}
    if len(boards) > 1:
        reason += (
            f"; {len(boards)} different GPUs failed at this position, so suspect slot or board"
        )
    serial = event.details.get("serial")
    if serial:
        reason += f" (board serial number {serial})"
    sheet.add(
        group,
        finding_of(
            group,
            "gpu_lost",
            "critical",
            "cause",
            f"{reason}: the GPU answers no longer over PCIe.",
            error_class="link_down",
            class_basis="reported",
            far_end=_error_port(sheet, event),
            rules=["event.gpu_lost"],
            numbers={"link_type": "pcie"},
            alternatives=[
                "power of the GPU",
                "the GPU itself",
                "riser, slot or PCIe switch above it",
            ],
        ),
    )


def _error_port(sheet: EventSheet, event: FabricEvent) -> str:
    """Port above a lost GPU, when exactly one port reported a fatal error in that minute."""
    ports = {
        component_id(e.node, e.interface)
        for e in sheet.events
        if e.kind == "aer_uncorrected"
        and e.interface != event.interface
        and host_of(e) == host_of(event)
        and _is_near(e, event)
    }
    return ports.pop() if len(ports) == 1 else ""


def _is_near(one: FabricEvent, other: FabricEvent) -> bool:
    return follows(one, other) or follows(other, one)


def _shared_loss(sheet: EventSheet, cluster: Sequence[list[FabricEvent]]) -> None:
    events = [event for group in cluster for event in group]
    names = ", ".join(sorted({e.interface or "unknown" for e in events}))
    shared = component_id(events[0].node, "")
    reason = (
        f"{len(cluster)} GPUs of one host fell off the bus within {FOLLOW_S:.0f} s ({names}, Xid 79 or "
        "its message): one common cause such as power, PCIe switch or baseboard, not as many links."
    )
    finding = finding_of(
        events, "shared_component", "critical", "cause", reason, component=shared,
        error_class="link_down", class_basis="reported", rules=["event.shared_cause"],
        numbers={"gpus": len(cluster)},
    )  # fmt: skip
    sheet.add(events, finding)
    for group in cluster:
        sheet.add_symptom(
            group,
            shared,
            "gpu_lost",
            f"Lost together with {len(cluster) - 1} other GPUs of the host.",
        )


# -- error reports ---------------------------------------------------------------------------------


def judge_pcie_errors(sheet: EventSheet) -> None:
    """Uncorrected reports, then corrected ones, then slots."""
    for group in group_by(
        sheet.open_events(lambda e: e.kind == "aer_uncorrected"), lambda e: (host_of(e), _slot(e))
    ):
        _uncorrected(sheet, group)
    for group in group_by(
        sheet.open_events(lambda e: e.kind == "aer_corrected"), lambda e: (host_of(e), _slot(e))
    ):
        _corrected(sheet, group)
    slots = sheet.open_events(lambda e: e.kind in ("pcie_link_down", "pcie_link_up"))
    for group in group_by(slots, lambda e: (host_of(e), e.interface)):
        _slot_link(sheet, group)


def _slot(event: FabricEvent) -> str:
    """Address without function: functions of one device share the link."""
    return event.interface.rpartition(".")[0] or event.interface


def _device_component(group: Sequence[FabricEvent]) -> str:
    """The device under its function 0 when the log mentions that one, as link and GPU are its."""
    event = group[0]
    main = f"{_slot(event)}.0"
    mentioned = {e.interface for e in group} | {f"pci-{e.details.get('source', '')}" for e in group}
    for e in group:
        mentioned |= {f"pci-{a['pci']}" for a in e.details.get("affected", [])}
    return component_id(event.node, main if main in mentioned else event.interface)


def _bits_text(group: Sequence[FabricEvent]) -> str:
    bits = sorted({bit for e in group for bit in e.details.get("bits", [])})
    return f" ({', '.join(bits)})" if bits else ""


def _uncorrected(sheet: EventSheet, group: list[FabricEvent]) -> None:
    fatal = [e for e in group if e.details.get("is_fatal", True)]
    failed = any(e.details.get("recovery") == "failed" for e in group)
    has_loss = any(
        is_gpu_loss(o) and host_of(o) == host_of(group[0]) and _is_near(o, group[0])
        for o in sheet.events
    )
    word = "fatal" if fatal else "non-fatal"
    reason = f"Uncorrected {word} PCIe error{_bits_text(group)} reported {times_text(group)}"
    if failed:
        reason += ", and the recovery of the device failed"
    is_cause = bool(fatal) or failed or has_loss or count_of(group) >= NON_FATAL_REPEATS
    if not is_cause:
        reason += f"; below {NON_FATAL_REPEATS} non-fatal errors this is only watched"
    sheet.add(
        group,
        finding_of(
            group,
            "pcie_uncorrected",
            ("critical" if fatal else "warning") if is_cause else "watch",
            "cause" if is_cause else "context",
            f"{reason}.",
            component=_device_component(group),
            far_end=_far_end(group),
            error_class="uncorrected",
            class_basis="reported",
            rules=["event.aer_fatal" if fatal else "event.aer_nonfatal"],
        ),
    )


def _far_end(group: Sequence[FabricEvent]) -> str:
    """The device below a port that could not be recovered, when the log names exactly one."""
    below = {
        a["pci"].rpartition(".")[0] + ".0"
        for e in group
        for a in e.details.get("affected", [])
        if a["pci"].rpartition(".")[0] != _slot(e).removeprefix("pci-")
    }
    return component_id(group[0].node, f"pci-{below.pop()}") if len(below) == 1 else ""


def _corrected(sheet: EventSheet, group: list[FabricEvent]) -> None:
    count = count_of(group)
    rate, basis = _rate(group)
    is_many = rate >= CORRECTED_PER_MIN or count >= CORRECTED_TOTAL
    reason = f"Corrected PCIe errors{_bits_text(group)} reported {times_text(group)}{basis}"
    if is_many:
        reason += f": at or above {CORRECTED_PER_MIN} in a minute or {CORRECTED_TOTAL} in all"
    else:
        reason += f": below {CORRECTED_PER_MIN} in a minute, worth a note only"
    numbers = {"per_minute": round(rate, 1), "limit_per_minute": CORRECTED_PER_MIN}
    sheet.add(
        group,
        finding_of(
            group,
            "pcie_corrected",
            "warning" if is_many else "watch",
            "cause" if is_many else "context",
            f"{reason}.",
            component=_device_component(group),
            error_class="detected_retransmitted",
            class_basis="proxy",
            rules=["event.aer_corrected_rate"],
            numbers=numbers,
        ),
    )


def _rate(group: Sequence[FabricEvent]) -> tuple[float, str]:
    """Most errors in any minute, and in words how it was found.

    A log that covers less than a minute gives its own rate when it holds enough events; a log
    without clock gives the plain count.
    """
    moments = [gap_s(group[0], event) for event in group]
    known = sorted(m for m in moments if m is not None)
    count = count_of(group)
    if len(known) < len(group) or not known:
        many = count >= CORRECTED_UNCLOCKED
        return (float(count) if many else 0.0), " in a log without a common clock"
    busiest, start = 0, 0
    for end, moment in enumerate(known):
        while moment - known[start] > 60.0:
            start += 1
        busiest = max(busiest, end - start + 1)
    busiest = max(busiest, count if known[-1] <= 60.0 else 0)
    observed = group[0].details.get("observed_s")
    if observed is not None and 0 < observed < 60.0 and count >= CORRECTED_SHORT_MIN:
        return count * 60.0 / observed, f" in a log of {observed:.1f} s"
    return float(busiest), f", at most {busiest} in one minute"


def _slot_link(sheet: EventSheet, group: list[FabricEvent]) -> None:
    downs = [e for e in group if e.kind == "pcie_link_down"]
    lead = sheet.lead_for(group[0], lambda lead: lead.is_link)
    if downs and lead is not None:
        sheet.add_symptom(
            group,
            lead.component,
            "pcie_link_down",
            "The slot lost its link together with the cause.",
        )
        return
    stays_down = group[-1].kind == "pcie_link_down"
    slot = group[0].details.get("slot", "unknown")
    reason = (
        f"The link of PCIe slot {slot} went down {times_text(downs)}"
        if downs
        else f"The link of PCIe slot {slot} came up"
    )
    reason += " and did not come back." if stays_down else "."
    sheet.add(
        group,
        finding_of(
            group,
            "pcie_link_down" if downs else "pcie_link_up",
            "warning" if stays_down else "watch" if downs else "info",
            "cause" if stays_down else "context",
            reason,
            error_class="link_down" if downs else "",
            class_basis="reported" if downs else "",
            rules=["event.pcie_slot_down"],
        ),
    )
