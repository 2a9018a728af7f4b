"""Rules for NVLink errors of GPUs: Xid 149, 74 and their relatives. SXid has its own module.

The codes that lead accuse the link they name; those that follow become symptoms of a lead, and only
stand in as best suspects when nothing leads. Pure functions on an event sheet.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabric_pipeline.diagnose.event_timeline import (
    BOOT_S,
    EventSheet,
    Lead,
    component_of,
    device_id,
    finding_of,
    group_by,
    host_of,
    one_moment,
    times_text,
)
from fabric_pipeline.diagnose.nvswitch_events import judge_sxids
from fabric_pipeline.diagnose.pcie_events import is_gpu_loss
from fabric_pipeline.model.components import component_id, gpu_index, nvlink_index
from fabric_pipeline.model.records import FabricEvent

# Xids of NVLink 5: 149 is the link itself, the others are units that notice (NVIDIA Xid catalogue).
LINK_DOWN_CODE = 149
NOTICING_CODES = frozenset({144, 146, 147, 148, 150})
FOLLOWING_CODES = frozenset({137, 145})
NVLINK_CODES = NOTICING_CODES | FOLLOWING_CODES | {74, LINK_DOWN_CODE, 155}
SHARED_LINKS = 4  # as many links lost in one moment have one common cause (appendix C 6)
MOMENT_S = 5.0
BOOT_NODES = 5  # NVLink down at boot on that many machines is a restart of the fleet (appendix C 2)
SUSPECT_LINKS = 2  # more links named by followers alone name no link any more


def is_nvlink(event: FabricEvent) -> bool:
    """True for Xids that speak of NVLink by number or by text."""
    return event.kind == "xid" and (
        event.code in NVLINK_CODES or event.details.get("subject") == "nvlink"
    )


def _link(event: FabricEvent) -> int | None:
    """Link number, None when no link is named (`Link -1` is the whole GPU)."""
    found = nvlink_index(event.interface)
    if found is not None:
        return found
    link = event.details.get("link")
    return link if isinstance(link, int) and link >= 0 else None


def judge_nvlink(sheet: EventSheet) -> None:
    """All NVLink rules in the order in which codes lead to each other."""
    _boot_note(sheet)
    _link_leads(sheet)
    _whole_gpu(sheet)
    judge_sxids(sheet)
    _noticing(sheet)
    _followers(sheet)


# -- leads -----------------------------------------------------------------------------------------


def _is_lead(event: FabricEvent) -> bool:
    if not is_nvlink(event) or event.code in NOTICING_CODES | FOLLOWING_CODES:
        return False
    if event.details.get("register_class") in ("ignored", "secondary", "corrected"):
        return False
    if event.details.get("is_fatal", True):
        return True
    return event.code == LINK_DOWN_CODE and "LINK" in str(event.details.get("unit", ""))


def _boot_note(sheet: EventSheet) -> None:
    """Links that go down on many machines right after their start are one note, no incident."""

    def at_boot(event: FabricEvent) -> bool:
        since = event.details.get("since_boot_s")
        return event.code == LINK_DOWN_CODE and since is not None and since < BOOT_S

    events = sheet.open_events(lambda e: e.kind == "xid" and at_boot(e))
    hosts = {host_of(event) for event in events}
    if len(hosts) < BOOT_NODES:
        return
    reason = (
        f"{len(hosts)} machines report Xid {LINK_DOWN_CODE} (NVLink down) within {BOOT_S:.0f} s after "
        "their start: links train again after a restart, so this is a note and no fault."
    )
    note = finding_of(
        events, "nvlink_down_at_boot", "info", "context", reason, component=component_id("", ""),
        rules=["event.boot_window"], numbers={"machines": len(hosts)},
    )  # fmt: skip
    sheet.add(events, note)


def _link_leads(sheet: EventSheet) -> None:
    events = sheet.open_events(lambda e: _is_lead(e) and _link(e) is not None)
    groups = group_by(events, lambda e: (host_of(e), e.interface))
    for cluster in one_moment(groups, MOMENT_S):
        if len(cluster) >= SHARED_LINKS:
            _shared_links(sheet, cluster)
        else:
            for group in cluster:
                _one_link(sheet, group)


def _words(event: FabricEvent) -> str:
    """Unit and severity word as the driver printed them, in brackets."""
    unit, is_fatal = event.details.get("unit"), event.details.get("is_fatal")
    word = {True: "fatal", False: "non-fatal"}.get(is_fatal, "") if is_fatal is not None else ""
    parts = [p for p in (unit, word) if p]
    return f" ({', '.join(parts)})" if parts else ""


_REGISTER_TEXT = {
    "signal_integrity": "the register bits tell of marginal signal integrity: check the connection",
    "possible_hardware": "the register bits tell of a possible hardware fault: re-seat first",
    "parity": "the register bits tell of an ECC or parity fault of the hardware",
    "unlisted": "the set register bits are not in the vendor's table",
}


def _one_link(sheet: EventSheet, group: list[FabricEvent]) -> None:
    event = group[0]
    is_fatal = any(e.details.get("is_fatal", True) for e in group)
    reason = f"Xid {event.code}{_words(event)} names {event.interface} {times_text(group)}"
    bits = event.details.get("register_class")
    if bits in _REGISTER_TEXT:
        reason += f"; {_REGISTER_TEXT[bits]} ({', '.join(event.details['register_bits'])})"
    lost = sheet.lead_for(event, lambda lead: is_gpu_loss(lead.event))
    if lost is not None and lost.component == device_id(event):
        sheet.add_symptom(
            group, lost.component, "nvlink_error", f"{reason}, after its GPU was lost."
        )
        return
    sheet.add(
        group,
        finding_of(
            group,
            "nvlink_error",
            "critical" if is_fatal else "warning",
            "cause",
            f"{reason}: this code leads, others follow from it.",
            error_class="uncorrected" if bits == "parity" else "link_down",
            class_basis="reported",
            rules=[f"event.xid_{event.code}"],
            alternatives=[
                "the device at the other end of the link",
                "cable, connector or baseboard",
            ],
        ),
    )


def _shared_links(sheet: EventSheet, cluster: Sequence[list[FabricEvent]]) -> None:
    events = [event for group in cluster for event in group]
    devices = {device_id(event) for event in events}
    shared = devices.pop() if len(devices) == 1 else component_id(events[0].node, "")
    what = "of one GPU" if shared != component_id(events[0].node, "") else "of several GPUs"
    reason = (
        f"{len(cluster)} NVLinks {what} failed within {MOMENT_S:.0f} s (Xid "
        f"{', '.join(sorted({str(e.code) for e in events}))}): one common cause, not as many bad links."
    )
    finding = finding_of(
        events, "shared_component", "critical", "cause", reason, component=shared,
        error_class="link_down", class_basis="reported", rules=["event.shared_cause"],
        numbers={"links": len(cluster)},
    )  # fmt: skip
    sheet.add(events, finding)
    for group in cluster:
        why = (
            f"Xid {group[0].code} in the same moment as {len(cluster) - 1} other links of the host."
        )
        sheet.add_symptom(group, shared, "nvlink_error", why)


def _whole_gpu(sheet: EventSheet) -> None:
    """Leading codes without a link number: symptom of a named link, else the GPU is all we have."""
    for group in group_by(
        sheet.open_events(lambda e: _is_lead(e) and _link(e) is None),
        lambda e: (host_of(e), e.interface),
    ):
        event = group[0]
        lead = _nvlink_lead(sheet, event)
        told = f"Xid {event.code}{_words(event)}"
        if lead is not None:
            why = f"{told} speaks of the whole GPU {times_text(group)} and names no link."
            sheet.add_symptom(group, lead.component, "nvlink_error", why)
            continue
        how = "is reported second hand for" if event.details.get("second_hand") else "speaks of"
        sheet.add(
            group,
            finding_of(
                group,
                "nvlink_error",
                "warning",
                "cause",
                f"{told} {how} the whole GPU {times_text(group)}; no line names the link.",
                error_class="link_down",
                class_basis="reported",
                rules=[f"event.xid_{event.code}"],
            ),
        )


def _nvlink_lead(sheet: EventSheet, event: FabricEvent) -> Lead | None:
    """A named link of the same GPU, else of the same host or moment."""
    leads = [
        lead for lead in sheet.leads if is_nvlink(lead.event) and _link(lead.event) is not None
    ]
    same = [lead for lead in leads if device_id(lead.event) == device_id(event)]
    host = [lead for lead in leads if host_of(lead.event) == host_of(event)]
    chosen = same or host or leads
    return chosen[0] if chosen else None


# -- those that notice or follow ---------------------------------------------------------------------


def _noticing(sheet: EventSheet) -> None:
    events = sheet.open_events(
        lambda e: e.kind == "xid" and e.code in NOTICING_CODES and bool(e.details.get("is_fatal"))
    )
    for group in group_by(events, lambda e: (host_of(e), e.interface, e.code)):
        event = group[0]
        lead = _nvlink_lead(sheet, event) or sheet.lead_for(event, lambda lead: lead.is_link)
        told = f"Xid {event.code}{_words(event)} {times_text(group)}"
        if lead is not None:
            sheet.add_symptom(
                group, lead.component, "nvlink_error", f"{told} follows from the cause."
            )
            continue
        sheet.add(
            group,
            finding_of(
                group, "nvlink_error", "warning", "cause",
                f"{told} is fatal and no Xid {LINK_DOWN_CODE} or 74 leads to it.",
                error_class="uncorrected", class_basis="reported", rules=[f"event.xid_{event.code}"],
            ),
        )  # fmt: skip


def _followers(sheet: EventSheet) -> None:
    """Xid 145 and 137 follow; alone they are the best suspects there are."""
    events = sheet.open_events(lambda e: e.kind == "xid" and e.code in FOLLOWING_CODES)
    orphans: list[list[FabricEvent]] = []
    for group in group_by(events, lambda e: (host_of(e), e.interface, e.code)):
        event = group[0]
        lead = _nvlink_lead(sheet, event) or _any_nvlink_lead(sheet)
        lead = lead or sheet.lead_for(event, lambda lead: lead.is_link)
        if lead is None:
            orphans.append(group)
            continue
        told = f"Xid {event.code}{_words(event)} {times_text(group)}"
        sheet.add_symptom(group, lead.component, "nvlink_error", f"{told} follows from the cause.")
    if any(group[0].code == 145 and _link(group[0]) is not None for group in orphans):
        _suspects(sheet, orphans)


def _any_nvlink_lead(sheet: EventSheet) -> Lead | None:
    return next((lead for lead in sheet.leads if is_nvlink(lead.event)), None)


def _suspects(sheet: EventSheet, groups: Sequence[list[FabricEvent]]) -> None:
    """Name the link that followers agree on; many links at once name none."""
    places = _merge_places(groups)
    hosts = group_by([events[0] for events in places.values()], lambda e: (host_of(e),))
    for host in hosts:
        mine = {c: events for c, events in places.items() if host_of(events[0]) == host_of(host[0])}
        if len(mine) <= SUSPECT_LINKS:
            for component, events in mine.items():
                _suspect(sheet, component, events)
        else:
            _many_suspects(sheet, mine)


def _merge_places(groups: Sequence[list[FabricEvent]]) -> dict[str, list[FabricEvent]]:
    """Events by component; one whose GPU is unknown joins the known GPU with the same link number."""
    known = [
        g[0] for g in groups if gpu_index(g[0].interface) is not None or g[0].details.get("pci")
    ]
    places: dict[str, list[FabricEvent]] = {}
    for group in groups:
        event = group[0]
        component = component_of(event)
        if event not in known:
            same = [k for k in known if _link(k) == _link(event) and host_of(k) == host_of(event)]
            component = (
                component_of(same[0]) if len({k.interface for k in same}) == 1 else component
            )
        places.setdefault(component, []).extend(group)
    return {c: events for c, events in places.items() if any(_link(e) is not None for e in events)}


def _codes_text(events: Sequence[FabricEvent]) -> str:
    return " and ".join(
        f"Xid {code}" for code in sorted({e.code for e in events if e.code}, reverse=True)
    )


def _names(events: Sequence[FabricEvent]) -> str:
    """The codes as subject of a sentence, with its verb."""
    text = _codes_text(events)
    return f"{text} name{'' if ' and ' in text else 's'}"


def _suspect(sheet: EventSheet, component: str, events: list[FabricEvent]) -> None:
    reason = (
        f"{_names(events)} NVLink {_link(events[0])} {times_text(events)}. These codes mostly "
        f"follow from Xid {LINK_DOWN_CODE} or 74 elsewhere, but no such line is here: this link is the "
        "best suspect, not proven."
    )
    sheet.add(
        events,
        finding_of(
            events, "nvlink_suspect", "warning", "cause", reason, component=component,
            error_class="uncorrected", class_basis="proxy", rules=["event.xid_145_alone"],
            alternatives=["the far end of the link", "another GPU whose log is missing"],
        ),
    )  # fmt: skip


def _many_suspects(sheet: EventSheet, places: dict[str, list[FabricEvent]]) -> None:
    events = [event for group in places.values() for event in group]
    devices = {device_id(event) for event in events}
    shared = devices.pop() if len(devices) == 1 else component_id(events[0].node, "")
    reason = (
        f"{_names(events)} {len(places)} NVLinks {times_text(events)} and no Xid "
        f"{LINK_DOWN_CODE} or 74 leads to them: a common cause in the fabric or a GPU, no single link."
    )
    sheet.add(
        events,
        finding_of(
            events, "shared_component", "warning", "cause", reason, component=shared,
            error_class="uncorrected", class_basis="proxy", rules=["event.shared_cause"],
            numbers={"links": len(places)},
        ),
    )  # fmt: skip
    for group in group_by(events, lambda e: (device_id(e),)):
        links = len({_link(e) for e in group})
        why = (
            f"{_codes_text(group)} at {links} NVLinks of {device_id(group[0])} {times_text(group)}."
        )
        sheet.add_symptom(group, shared, "nvlink_error", why, device_id(group[0]))
