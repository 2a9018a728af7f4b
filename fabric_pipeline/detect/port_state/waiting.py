"""Ports that wait: physically up but not Active, or without anything to show a partner is due.

A port that hangs in Init while others of its device are active is suspected; when none became
active the subnet manager is missing, which is no link's fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fabric_pipeline.detect.port_state import thresholds as t
from fabric_pipeline.detect.port_state.candidates import Candidate
from fabric_pipeline.detect.port_state.link_ends import (
    device_component,
    device_words,
    is_switch_port,
)
from fabric_pipeline.detect.port_state.views import (
    Captures,
    PortView,
    evidence,
    keeps_lid,
    netdev_of,
)
from fabric_pipeline.detect.state_words import since, up_or_down
from fabric_pipeline.model.components import UNKNOWN
from fabric_pipeline.model.findings import Finding

WAITING = ("init", "armed")
_FABRIC = f"{UNKNOWN}:{UNKNOWN}"


def stuck_candidates(
    view: PortView, siblings: Sequence[PortView], captures: Captures
) -> Iterator[Candidate]:
    """Physically up but never made Active, while other ports of the device are."""
    netdev = netdev_of(view, captures)
    active = sum(other.is_up for other in siblings)
    if not active or (netdev is not None and netdev.is_up):
        return
    state = view.now["link_up"]
    below = f" and its interface {netdev.component} is down" if netdev is not None else ""
    yield Candidate(
        view.component,
        "",
        "port_not_active",
        "warning",
        t.RULE_STUCK,
        f"The port hangs in {state.state}{since(view.since.get('link_up'))}{below}, while {active} other ports of "
        f"{device_words(view.device)} are active.",
        [state, netdev.now.get("link_up") if netdev is not None else None],
        {"active_siblings": active},
        ["the subnet manager does not reach or refuses this port"],
        since=view.since.get("link_up"),
    )


def unconfigured_findings(captures: Captures, far: Mapping[str, str]) -> list[Finding]:
    """Hosts or whole fabrics none of whose linked ports became Active: no subnet manager.

    Ports with a known far end belong to one fabric; the others are judged host by host.
    """
    groups: dict[str, list[PortView]] = {}
    for device, views in captures.by_device().items():
        for view in views:
            if view.words and "down" not in view.words:
                place = _FABRIC if view.component in far else device
                groups.setdefault(place, []).append(view)
    return [
        _unconfigured(place, linked)
        for place, linked in groups.items()
        if all(any(word in view.words for word in WAITING) for view in linked)
    ]


def _unconfigured(place: str, waiting: Sequence[PortView]) -> Finding:
    whose = "the fabric" if place == _FABRIC else device_words(place)
    return Finding(
        device_component(place),
        "subnet_not_configured",
        "warning",
        "cause",
        f"All {len(waiting)} linked ports of {whose} wait to be made active: "
        "no subnet manager has configured them.",
        evidence=evidence(view.now.get("link_up") for view in waiting),
        is_link=False,
        numbers={"waiting_ports": len(waiting)},
        rules=[t.RULE_STUCK],
    )


def unexplained_findings(captures: Captures) -> list[Finding]:
    """Adapter ports that wait for a partner, with nothing to show whether one is expected.

    A pulled cable looks the same as a port that was never used, so this is said and not accused.
    """
    return [
        Finding(
            view.component,
            "port_without_partner",
            "watch",
            "context",
            f"The port is {up_or_down(view.now['link_up'])}; nothing shows whether a partner is "
            "expected.",
            evidence=evidence([view.now["link_up"]]),
        )
        for views in captures.by_device().values()
        for view in views
        if not is_switch_port(view.component)
        and not view.was_up
        and not keeps_lid(view)
        and "poll" in view.words
    ]
