"""Network interfaces over RDMA ports: down above an active port, or renamed between captures.

Neither is a fault of a link. An IPoIB interface that was never brought up is left alone, as many
sites do not use IPoIB at all.
"""

from __future__ import annotations

from collections import defaultdict

from fabric_pipeline.detect.port_state import thresholds as t
from fabric_pipeline.detect.port_state.link_ends import device_component, device_words
from fabric_pipeline.detect.port_state.views import Captures, PortView, evidence
from fabric_pipeline.model.findings import Finding


def interface_findings(captures: Captures) -> list[Finding]:
    """Interfaces that are down although the port below them is active."""
    ports = {(v.key[1], v.pci): v for v in captures.views.values() if v.pci and not v.is_netdev}
    netdevs = [view for view in captures.views.values() if view.is_netdev and view.pci]
    made = []
    for view in netdevs:
        port = ports.get((view.key[1], view.pci))
        if view.is_up or port is None or not port.is_up:
            continue
        siblings = [other for other in netdevs if other.device == view.device]
        was_used = view.mark("carrier_up_count") > 0 or view.was_up
        if any(other.is_up for other in siblings) and was_used:
            made.append(_interface_down(view, port))
    return made


def _interface_down(view: PortView, port: PortView) -> Finding:
    ups, downs = view.mark("carrier_up_count"), view.mark("carrier_down_count")
    return Finding(
        view.component,
        "interface_down",
        "warning",
        "cause",
        f"The interface is down after {ups:g} times up and {downs:g} times down, while its port "
        f"{port.component} is active: the interface or its software, not the cable.",
        evidence=evidence(
            [
                view.now.get("link_up"),
                view.marks.get("carrier_down_count"),
                port.now.get("link_up"),
            ]
        ),
        is_link=False,
        numbers={"carrier_ups": ups, "carrier_downs": downs},
        rules=[t.RULE_INTERFACE_DOWN],
    )


def renamed_findings(captures: Captures) -> list[Finding]:
    """Devices whose names moved between captures, one finding a host."""
    moved: dict[str, list[PortView]] = defaultdict(list)
    for view in captures.views.values():
        if len(view.names) > 1:
            moved[view.device].append(view)
    return [_renamed(device, views) for device, views in moved.items()]


def _renamed(device: str, views: list[PortView]) -> Finding:
    changes: dict[str, list[str]] = {}
    for view in views:
        names = " -> ".join(name.partition(":")[2] for name in view.names)
        changes.setdefault(view.pci or view.key[-1], []).append(names)
    words = ", ".join(f"{place} {', '.join(sorted(c))}" for place, c in sorted(changes.items()))
    return Finding(
        device_component(device),
        "device_names_changed",
        "warning",
        "cause",
        f"Names moved between the captures of {device_words(device)} ({words}): "
        "configuration, not a link.",
        evidence=evidence(view.now.get("link_up") for view in views),
        is_link=False,
        numbers={"renamed": changes},
        rules=[t.RULE_NAMES_CHANGED],
    )
