"""Links that run narrower or slower than before or than both ends allow.

The comparison with equal links lives in `equals`. Who claims a maximum decides how far it is
believed: a hint on most rows says nothing, a device generation only when the link is far below.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fabric_pipeline.detect.port_state import thresholds as t
from fabric_pipeline.detect.port_state.candidates import DOWNGRADE, Candidate
from fabric_pipeline.detect.port_state.equals import below_equals
from fabric_pipeline.detect.port_state.rate_words import describe, rate_numbers
from fabric_pipeline.detect.port_state.views import Captures, PortView, linked_views
from fabric_pipeline.detect.state_words import moment, since
from fabric_pipeline.model.records import Reading

# who claims a maximum, as readers write it into `Reading.state`
HINT = "tool hint"
GENERATION = "device generation"
_SAYS = {
    HINT: "the tool suggests it for this row",
    GENERATION: "both devices are of a faster generation",
}


def rate_candidates(
    captures: Captures, far: Mapping[str, str], limits: t.PortStateLimits = t.LIMITS
) -> list[Candidate]:
    """Suspected downgrades, before links are merged and common causes are set apart."""
    views = linked_views(captures)
    made = [candidate for view in views for candidate in _below_earlier(view)]
    made += _below_max(views, limits)
    return made + below_equals(views, far, limits)


def _below_earlier(view: PortView) -> Iterator[Candidate]:
    for name, unit in (("speed_gbps", "Gb/s"), ("width", "lanes"), ("lane_gbps", "Gb/s a lane")):
        now, earlier = view.value(name), view.value(name, earlier=True)
        if now is None or earlier is None or now >= earlier:
            continue
        yield Candidate(
            view.component,
            "",
            DOWNGRADE,
            "warning",
            t.RULE_BELOW_EARLIER,
            f"The link {view.component.partition(':')[2]} runs {describe(view)}{since(view.since.get(name))}; {_saw(view, name)} {earlier:g} {unit}.",
            [view.since.get(name), view.now[name], view.before[name]],
            {**rate_numbers(view), f"earlier_{name}": earlier},
            since=view.since.get(name),
        )
        return


def _saw(view: PortView, name: str) -> str:
    when = moment(view.before[name].time)
    return f"on {when} it had" if when else "an earlier capture saw"


def _below_max(views: Sequence[PortView], limits: t.PortStateLimits) -> Iterator[Candidate]:
    low = [(view, top) for view in views if (top := _exceeded(view, limits)) is not None]
    hinted = [view for view, top in low if top.state == HINT]
    # a hint that stands on most rows says what the tool believes of all devices, not of one link
    is_common = len(views) > limits.min_equals and len(hinted) > limits.hint_share * len(views)
    for view, top in low:
        if top.state == HINT and is_common:
            continue
        current = view.now.get(_COUNTERPART[top.counter + "/" + top.scope])
        yield Candidate(
            view.component,
            "",
            DOWNGRADE,
            "warning",
            t.RULE_BELOW_MAX,
            f"The link {view.component.partition(':')[2]} runs {describe(view)}; {top.value:g} "
            f"{'lanes' if top.counter == 'width_max' else 'Gb/s'} would be possible "
            f"({_SAYS.get(top.state, 'both ends report it')}).",
            [current, top],
            {**rate_numbers(view), top.counter: top.value},
            since=view.since.get(current.counter) if current is not None else None,
        )


_COUNTERPART = {
    "width_max/link": "width",
    "width_max/lane": "width",
    "speed_max_gbps/link": "speed_gbps",
    "speed_max_gbps/lane": "lane_gbps",
}


def _exceeded(view: PortView, limits: t.PortStateLimits) -> Reading | None:
    """The stated maximum that the link stays below, None when it reaches what is believed."""
    for most, current in (
        ("speed_max_gbps", "speed_gbps"),
        ("lane_max_gbps", "lane_gbps"),
        ("width_max", "width"),
    ):
        top, now = view.now.get(most), view.value(current)
        if top is None or top.value is None or now is None:
            continue
        ratio = limits.generation_ratio if top.state == GENERATION else 1.0
        if most == "width_max" and top.value > limits.max_cable_lanes:
            continue
        if now < top.value * ratio * 0.999:
            return top
    return None
