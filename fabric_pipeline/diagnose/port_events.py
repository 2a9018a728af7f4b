"""Rules for network ports: flaps, links that stay down, cables and modules, alarms of a fabric manager.

Bring-up at boot is no flap; many ports of one device down in one moment have one common cause.
Pure functions on an event sheet.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from fabric_pipeline.diagnose.event_timeline import (
    BOOT_S,
    EventSheet,
    component_of,
    count_of,
    finding_of,
    follows,
    gap_s,
    group_by,
    host_of,
    one_moment,
    times_text,
)
from fabric_pipeline.model.components import UNKNOWN, component_id, device_of
from fabric_pipeline.model.records import FabricEvent

# Field-guide rule R9: gpud and Azure agree in size (3 drops in 12 h, 5 in 24 h).
FLAPS_12H = 3
FLAPS_24H = 5
HOUR_S = 3600.0
MODULE_S = 10.0  # the driver takes the link down within seconds of a module alarm
MODULE_LINES = 10
SHARED_PORTS = 3
MOMENT_S = 5.0
ALARM_REPEATS = 3
_LINK_KINDS = frozenset({"link_down", "link_up", "link_init"})
_MODULE_KINDS = frozenset(
    {"module_over_temperature", "cable_error", "module_without_power", "cable_unplugged"}
)
_MODULE_TEXT = {
    "module_over_temperature": "the module reported high temperature",
    "module_without_power": "the module got no power",
    "cable_error": "the driver reported a cable or module error",
    "cable_unplugged": "the cable or module was unplugged",
}
_MODULE_ADVICE = {
    "module_over_temperature": "look at the transceiver and the cooling of this port",
    "module_without_power": "look at the power class of the module before the cable",
    "cable_error": "the words can also mean a module without power or too hot",
    "cable_unplugged": "look whether the cable was meant to be pulled",
}
_ALARM_TEXT = {
    "port_unhealthy": "the subnet manager holds the port for unhealthy",
    "symbol_ber": "the symbol bit error rate passed its limit",
    "symbol_ber_warning": "the symbol bit error rate passed its warning level",
    "threshold_exceeded": "an error counter grew faster than its limit",
}
_ALARMS_AT_ONCE = frozenset({"port_unhealthy", "symbol_ber"})


def judge_ports(sheet: EventSheet) -> None:
    """Module events first, for they explain link changes; then links; then alarms."""
    _modules(sheet)
    ports = group_by(
        sheet.open_events(lambda e: e.kind in _LINK_KINDS and bool(e.interface)),
        lambda e: (host_of(e), e.interface),
    )
    for port in _without_shared(sheet, ports):
        _port(sheet, port)
    _alarms(sheet)


def _since_boot(event: FabricEvent) -> float | None:
    since = event.details.get("since_boot_s")
    return float(since) if since is not None else None


def _in_boot(event: FabricEvent) -> bool:
    since = _since_boot(event)
    return since is not None and 0 <= since < BOOT_S


# -- modules and cables -------------------------------------------------------------------------------


def _modules(sheet: EventSheet) -> None:
    for group in group_by(
        sheet.open_events(lambda e: e.kind in _MODULE_KINDS),
        lambda e: (host_of(e), e.interface, e.kind),
    ):
        _module(sheet, group)


def _module(sheet: EventSheet, group: list[FabricEvent]) -> None:
    event = group[0]
    downs = _downs_near(sheet, group)
    place = downs[0] if downs and not event.interface else event
    component = component_of(place)
    reason = f"{_MODULE_TEXT[event.kind].capitalize()} {times_text(group)}"
    words = event.details.get("driver_words")
    reason += f' (driver: "{words}")' if words else ""
    is_replugged = _comes_back(sheet, group[-1])
    is_cause = bool(downs) or event.kind != "cable_unplugged" or _pulled_in_service(group)
    is_cause = is_cause and not (
        event.kind == "cable_unplugged" and (is_replugged or _in_boot(event))
    )
    if downs:
        stays = not _comes_back(sheet, downs[-1])
        reason += f", and {downs[0].interface} went down{' and stayed down' if stays else ''}"
    severity = "critical" if downs and event.kind != "cable_unplugged" else "warning"
    sheet.add(
        [*group, *downs],
        finding_of(
            [*group, *downs],
            event.kind,
            severity if is_cause else "watch",
            "cause" if is_cause else "context",
            f"{reason}: {_MODULE_ADVICE[event.kind]}.",
            component=component,
            error_class="link_down" if downs else "",
            class_basis="reported" if downs else "",
            rules=["event.module"],
            alternatives=["module without power or too hot", "cable", "port of the card"],
        ),
    )


def _downs_near(sheet: EventSheet, modules: Sequence[FabricEvent]) -> list[FabricEvent]:
    """Link losses that module events explain: of the same port, or the next one if none is named."""
    places = [sheet.position(module) for module in modules]
    found: list[FabricEvent] = []
    for event in sheet.open_events(lambda e: e.kind == "link_down"):
        index = bisect_left(places, sheet.position(event))
        neighbours = modules[max(index - 1, 0) : index + 1]
        if any(_explains(module, event) for module in neighbours):
            found.append(event)
    return found if modules[0].interface else found[:1]


def _explains(module: FabricEvent, down: FabricEvent) -> bool:
    if host_of(down) != host_of(module):
        return False
    if module.interface and down.interface != module.interface:
        return False
    gap = gap_s(module, down)
    is_near = (
        abs(gap) <= MODULE_S if gap is not None else abs(down.line - module.line) <= MODULE_LINES
    )
    return is_near and follows(module, down, MODULE_S)


def _comes_back(sheet: EventSheet, event: FabricEvent) -> bool:
    """True when a later line says that the same port is up, or a cable was plugged in again."""
    return any(
        later.kind in ("link_up", "cable_plugged")
        and host_of(later) == host_of(event)
        and later.interface == event.interface
        for later in sheet.events[sheet.position(event) + 1 :]
    )


def _pulled_in_service(group: Sequence[FabricEvent]) -> bool:
    """An empty cage is reported while the driver loads; later somebody pulled the cable."""
    return any((since := _since_boot(e)) is not None and since >= BOOT_S for e in group)


# -- links ------------------------------------------------------------------------------------------


def _without_shared(sheet: EventSheet, ports: list[list[FabricEvent]]) -> list[list[FabricEvent]]:
    """Ports left after those were taken out that went down together with many others."""
    downs = [
        [e]
        for port in ports
        for e in port
        if e.kind == "link_down" and not _in_boot(e) and _may_accuse(e)
    ]
    shared: set[tuple[str, str]] = set()
    for cluster in one_moment(downs, MOMENT_S):
        switches = group_by([group[0] for group in cluster], lambda e: (_owner(e),))
        for events in switches:
            members = group_by(events, lambda e: (e.interface,))
            keys = {(host_of(e), e.interface) for e in events}
            if len(members) >= SHARED_PORTS and not keys & shared:
                shared |= keys
                _shared_ports(
                    sheet, events, [p for p in ports if (host_of(p[0]), p[0].interface) in keys]
                )
    return [p for p in ports if (host_of(p[0]), p[0].interface) not in shared]


def _owner(event: FabricEvent) -> str:
    """The switch a port belongs to, or the host for ports of network cards."""
    if "/port-" in event.interface:
        return component_id(event.node, device_of(event.interface))
    return component_id(event.node, "")


def _shared_ports(
    sheet: EventSheet, downs: list[FabricEvent], ports: Sequence[list[FabricEvent]]
) -> None:
    owner = _owner(downs[0])
    names = ", ".join(sorted({e.interface for e in downs})[:8])
    reason = (
        f"{len(ports)} ports of {owner.removeprefix(f'{UNKNOWN}:')} went down within {MOMENT_S:.0f} s ({names}): one common cause "
        "such as the switch itself or its supply, not as many bad cables."
    )
    sheet.add(
        downs,
        finding_of(
            downs, "shared_component", "warning", "cause", reason, component=owner,
            error_class="link_down", class_basis="reported", rules=["event.shared_cause"],
            numbers={"ports": len(ports)},
        ),
    )  # fmt: skip
    for port in ports:
        why = f"Went down together with {len(ports) - 1} other ports of {owner}."
        sheet.add_symptom(port, owner, "link_down", why)


def _may_accuse(event: FabricEvent) -> bool:
    """False for cards that are no part of the fabric, and when only a network daemon speaks."""
    if event.details.get("is_fabric") is False:
        return False
    return event.details.get("sources") != ["daemon"]


def _port(sheet: EventSheet, port: list[FabricEvent]) -> None:
    """One port: flapping, down at the end, a single drop, or bring-up."""
    counted = _working_drops(port)
    if not counted:
        _bring_up(sheet, port)
        return
    may_accuse = any(_may_accuse(e) for e in counted)
    late = [e for e in counted if not _in_boot(e)]
    busiest = max((_most_in(late, 12), _most_in(late, 24)), key=lambda pair: pair[0] / pair[2])
    states = [e for e in port if e.kind != "link_init"]
    stays_down = states[-1].kind == "link_down"
    name = port[0].interface
    if busiest[0] >= busiest[2] and may_accuse:
        kind, severity = "link_flapping", "warning"
        how = (
            f"within {busiest[1]} h"
            if gap_s(late[0], late[-1]) is not None
            else "in a log without clock"
        )
        reason = f"{name} lost its link {times_text(counted)}, {busiest[0]} of them {how} (limit {busiest[2]})"
    elif stays_down and may_accuse:
        kind, severity = "link_down", "warning"
        reason = (
            f"{name} lost its link {times_text(counted)} and was still down at the end of the log"
        )
    else:
        kind, severity = "link_down", "watch"
        back = "was still down at the end" if stays_down else "came back"
        reason = f"{name} lost its link {times_text(counted)} and {back}; below the limit of {FLAPS_12H} in 12 h"
    _add_port(sheet, port, counted, kind, severity, f"{reason}.")


def _add_port(
    sheet: EventSheet,
    port: list[FabricEvent],
    downs: list[FabricEvent],
    kind: str,
    severity: str,
    reason: str,
) -> None:
    details = downs[0].details
    serial = details.get("cable_serial")
    if serial:
        reason += f" Cable serial number {serial}."
    names = [f"{key} {details[key]}" for key in ("rdma", "pci") if key in details]
    if names:
        reason += f" The log calls it {' and '.join(names)} too."
    finding = finding_of(
        downs, kind, severity, "cause" if severity == "warning" else "context", reason,
        far_end=str(details.get("far_end", "")), error_class="link_down", class_basis="reported",
        rules=["event.link_flapping" if kind == "link_flapping" else "event.link_down"],
        numbers={"drops": count_of(downs), **({"cable_serial": serial} if serial else {})},
    )  # fmt: skip
    sheet.add(port, finding)


def _working_drops(port: Sequence[FabricEvent]) -> list[FabricEvent]:
    """Drops of a working link; one that was never up while the machine starts is being brought up."""
    drops: list[FabricEvent] = []
    was_up = False
    for event in port:
        was_up = was_up or event.kind == "link_up"
        if event.kind == "link_down" and (was_up or not _in_boot(event)):
            drops.append(event)
    return drops


def _bring_up(sheet: EventSheet, port: list[FabricEvent]) -> None:
    is_up = port[-1].kind == "link_up"
    state = "came up" if is_up else "was not up at the end of the log"
    reason = f"{port[0].interface} {state} {times_text(port)}: bring-up, no loss of a working link."
    sheet.add(port, finding_of(port, "link_bring_up", "info", "context", reason))


def _most_in(downs: Sequence[FabricEvent], hours: int) -> tuple[int, int, int]:
    """Most drops in any window of that many hours, the hours, and the limit for them."""
    limit = FLAPS_12H if hours == 12 else FLAPS_24H
    gaps = [gap_s(downs[0], event) for event in downs]
    known = sorted(gap for gap in gaps if gap is not None)
    if len(known) < len(downs):
        return count_of(downs), hours, limit
    best, start = 0, 0
    for end, moment in enumerate(known):
        while moment - known[start] > hours * HOUR_S:
            start += 1
        best = max(best, end - start + 1)
    return best, hours, limit


# -- alarms -----------------------------------------------------------------------------------------


def _alarms(sheet: EventSheet) -> None:
    for group in group_by(
        sheet.open_events(lambda e: e.kind in _ALARM_TEXT),
        lambda e: (host_of(e), e.interface, e.kind, e.code),
    ):
        event = group[0]
        is_flapping = event.details.get("condition") == "FLAPPING"
        is_cause = event.kind in _ALARMS_AT_ONCE or count_of(group) >= ALARM_REPEATS
        is_cause = is_cause and event.details.get("is_error", True)
        code = f"event {event.code}: " if event.code is not None else ""
        reason = (
            f"{code}{_ALARM_TEXT[event.kind]} {times_text(group)} ({event.reason or event.kind})."
        )
        sheet.add(
            group,
            finding_of(
                group,
                "link_flapping" if is_flapping else event.kind,
                "warning" if is_cause else "watch",
                "cause" if is_cause else "context",
                reason[:1].upper() + reason[1:],
                far_end=str(event.details.get("far_end", "")),
                rules=["event.alarm"],
            ),
        )
