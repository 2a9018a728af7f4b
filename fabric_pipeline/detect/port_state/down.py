"""Ports that are down, or vanished between two captures; ports that only wait are in `waiting`.

A polling port proves nothing by itself: unused ports poll. It is accused only when an earlier
capture saw it active, a topology names its peer, or it still holds the LID or had the carrier of a
former session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fabric_pipeline.detect.port_state import thresholds as t
from fabric_pipeline.detect.port_state.candidates import Candidate
from fabric_pipeline.detect.port_state.link_ends import device_words
from fabric_pipeline.detect.port_state.views import Captures, PortView, keeps_lid, netdev_of
from fabric_pipeline.detect.port_state.waiting import WAITING, stuck_candidates
from fabric_pipeline.detect.state_words import moment, since, up_or_down
from fabric_pipeline.model.components import UNKNOWN
from fabric_pipeline.model.records import Reading


def down_candidates(captures: Captures, far: Mapping[str, str]) -> list[Candidate]:
    """Suspected faults of ports that do not carry traffic; `far` maps a port to its far end."""
    made: list[Candidate] = []
    for views in captures.by_device().values():
        for view in views:
            if view.is_up:
                made += _lost(view, captures, far)
            elif any(word in view.words for word in WAITING):
                made += stuck_candidates(view, views, captures)
            elif "disab" not in view.words:
                made += _down(view, far, netdev_of(view, captures))
    return made


def _down(view: PortView, far: Mapping[str, str], netdev: PortView | None) -> Iterator[Candidate]:
    state, expected = view.now.get("link_up"), _why_expected(view, far, netdev)
    if state is None or expected is None:
        return
    began = view.since.get("link_up", state)
    yield Candidate(
        view.component,
        far.get(view.component, ""),
        "link_down",
        "critical",
        expected.rule,
        f"The port {view.component.partition(':')[2]} is {up_or_down(state)}{since(began)}, and {expected.words}.",
        [began, state, expected.shown_by],
        expected.numbers,
        ["the far end has no power or was moved on purpose"],
        error_class="link_down",
        since=began,
    )


@dataclass(frozen=True, slots=True)
class _Expected:
    """What shows that a port was or should be linked."""

    rule: str
    words: str
    shown_by: Reading | None = None
    numbers: dict[str, Any] = field(default_factory=dict)


def _why_expected(
    view: PortView, far: Mapping[str, str], netdev: PortView | None
) -> _Expected | None:
    if view.was_up:
        earlier = view.before["link_up"]
        when = moment(earlier.time)
        words = f"it was active on {when}" if when else "an earlier capture saw it active"
        return _Expected(t.RULE_DOWN_AFTER_ACTIVE, words, earlier)
    if view.component in far:
        words = f"the topology links it to {far[view.component].removeprefix(f'{UNKNOWN}:')}"
        return _Expected(t.RULE_DOWN_KNOWN_PEER, words)
    if keeps_lid(view):
        lid = int(view.mark("base_lid"))
        words = f"it still holds LID {lid} from the time when it was active"
        return _Expected(
            t.RULE_DOWN_WAS_CONFIGURED, words, view.marks.get("base_lid"), {"lid": lid}
        )
    ups = int(netdev.mark("carrier_up_count")) if netdev is not None else 0
    if netdev is not None and ups:
        words = f"its interface {netdev.component} had a carrier {ups} times before"
        shown = netdev.marks.get("carrier_up_count")
        return _Expected(t.RULE_DOWN_HAD_CARRIER, words, shown, {"carrier_ups": ups})
    return None


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
            f"The port {view.component.partition(':')[2]} was active in {state.file} and is missing from "
            f"{later}, which covers the rest of {device_words(view.device)}.",
            [state],
            {},
            ["the host or adapter at one end was taken out of service"],
            error_class="link_down",
            since=_first_of(later, captures),
        )


def _first_of(file: str, captures: Captures) -> Reading | None:
    """The first timed reading of a capture: when it was first seen that something is missing from it."""
    read = (reading for view in captures.views.values() for reading in view.now.values())
    timed = [(one.time, one) for one in read if one.file == file and one.time is not None]
    return min(timed, key=lambda pair: pair[0])[1] if timed else None


def _later_capture(view: PortView, captures: Captures) -> str:
    """The first later file that should list the port and does not, "" when there is none."""
    state = view.now["link_up"]
    scope = (view.tool, view.device)
    siblings = captures.covered[state.file].get(scope, set()) - {view.key}
    for file in captures.files[captures.files.index(state.file) + 1 :]:
        there = captures.covered[file].get(scope, set())
        if siblings & there and view.key not in there:
            return file
    return ""
