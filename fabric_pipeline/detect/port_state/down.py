"""Ports that are down, hang before Active, or vanished between two captures.

A polling port proves nothing by itself: unused ports poll. It is accused only when an earlier
capture saw it active, a topology names its peer, or it still holds the LID of a former session.
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
from fabric_pipeline.detect.port_state.views import Captures, Key, PortView, evidence
from fabric_pipeline.model.components import UNKNOWN
from fabric_pipeline.model.findings import Finding

_NEVER_ASSIGNED = frozenset({0.0, 65535.0})  # LIDs of a port that no subnet manager has set up
_WAITING = ("init", "armed")
_FABRIC = f"{UNKNOWN}:{UNKNOWN}"


def down_candidates(captures: Captures, far: Mapping[str, str]) -> list[Candidate]:
    """Suspected faults of ports that do not carry traffic; `far` maps a port to its far end."""
    made: list[Candidate] = []
    for views in captures.by_device().values():
        for view in views:
            if view.is_up:
                made += _lost(view, captures, far)
            elif any(word in view.words for word in _WAITING):
                made += _stuck(view, views, captures)
            elif "disab" not in view.words:
                made += _down(view, far)
    return made


def _down(view: PortView, far: Mapping[str, str]) -> Iterator[Candidate]:
    state = view.now.get("link_up")
    if state is None:
        return
    earlier = view.before.get("link_up") if view.was_up else None
    lid = int(view.mark("base lid"))
    if earlier is not None:
        rule, why = t.RULE_DOWN_AFTER_ACTIVE, "an earlier capture saw it active"
    elif view.component in far:
        rule, why = t.RULE_DOWN_KNOWN_PEER, f"the topology links it to {far[view.component]}"
    elif _keeps_lid(view):
        rule = t.RULE_DOWN_WAS_CONFIGURED
        why = f"it still holds LID {lid} from the time when it was active"
    else:
        return
    is_lid = rule == t.RULE_DOWN_WAS_CONFIGURED
    yield Candidate(
        view.component,
        far.get(view.component, ""),
        "link_down",
        "critical",
        rule,
        f"The port is {state.state or 'down'}, and {why}.",
        [state, earlier, view.marks.get("base lid") if is_lid else None],
        {"lid": lid} if is_lid else {},
        ["the far end is switched off or was moved on purpose"],
        error_class="link_down",
    )


def _keeps_lid(view: PortView) -> bool:
    lids = (view.mark("base lid"), view.mark("sm lid"))
    return view.link_type == "infiniband" and all(lid not in _NEVER_ASSIGNED for lid in lids)


def _stuck(view: PortView, siblings: Sequence[PortView], captures: Captures) -> Iterator[Candidate]:
    """Physically up but never made Active, while other ports of the device are."""
    netdev = _netdev_of(view, captures)
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
        f"The port hangs in {state.state}{below}, while {active} other ports of "
        f"{device_words(view.device)} are active.",
        [state, netdev.now.get("link_up") if netdev is not None else None],
        {"active_siblings": active},
        ["the subnet manager does not reach or refuses this port"],
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
            f"The port is {view.now['link_up'].state}; nothing shows whether a partner is expected.",
            evidence=evidence([view.now["link_up"]]),
        )
        for views in captures.by_device().values()
        for view in views
        if not is_switch_port(view.component)
        and not view.was_up
        and not _keeps_lid(view)
        and "poll" in view.words
    ]


def _netdev_of(view: PortView, captures: Captures) -> PortView | None:
    if not view.pci:
        return None
    key: Key = ("pci", view.key[1], view.pci, "net", "")
    return captures.views.get(key)


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
        if all(any(word in view.words for word in _WAITING) for view in linked)
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


def _lost(view: PortView, captures: Captures, far: Mapping[str, str]) -> Iterator[Candidate]:
    """A port that was active and is missing from a later capture of its device by the same tool."""
    state = view.now.get("link_up")
    later = _later_capture(view, captures) if state is not None else ""
    if state is not None and later:
        yield Candidate(
            view.component,
            far.get(view.component, ""),
            "link_down",
            "critical",
            t.RULE_LOST,
            f"The port was active in {state.file} and is missing from {later}, which covers "
            f"the rest of {device_words(view.device)}.",
            [state],
            {},
            ["the host or adapter at one end was taken out of service"],
            error_class="link_down",
        )


def _later_capture(view: PortView, captures: Captures) -> str:
    """The first later file that should list the port and does not, "" when there is none."""
    state = view.now["link_up"]
    scope = (state.counter_text, view.device)
    siblings = captures.covered[state.file].get(scope, set()) - {view.key}
    for file in captures.files[captures.files.index(state.file) + 1 :]:
        there = captures.covered[file].get(scope, set())
        if siblings & there and view.key not in there:
            return file
    return ""
