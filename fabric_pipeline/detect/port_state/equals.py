"""Links that run slower than their equals, and the groups that make links equal.

Equals are links of the same kind in the same captures: hosts whose names differ only in digits,
switch pairs of the same tiers, or the ports of one host with the same adapter type. Many low links
in one group are another generation of hardware or one setting, never many faults.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabric_pipeline.detect.port_state import thresholds as t
from fabric_pipeline.detect.port_state.candidates import DOWNGRADE, Candidate
from fabric_pipeline.detect.port_state.link_ends import device_words, is_switch_port
from fabric_pipeline.detect.port_state.rate_words import describe, rate_numbers
from fabric_pipeline.detect.port_state.views import Captures, PortView, evidence, linked_views
from fabric_pipeline.model.findings import Finding

_DIGITS = re.compile(r"\d+")
_FAMILY = re.compile(r"^[A-Za-z]+\d*")  # `mlx5` of `mlx5_3/1`
_NAMES_KEPT = 8


@dataclass(frozen=True, slots=True)
class _Link:
    """A linked port with its rate; of two ends that report, the lower one stands for the link."""

    view: PortView
    far_end: str
    total: float
    width: float | None


def below_equals(
    views: Sequence[PortView], far: Mapping[str, str], limits: t.PortStateLimits
) -> list[Candidate]:
    """Links so few of which run this low that each is a fault of its own."""
    made = []
    for group, links in _links(views, far).items():
        usual, agreeing = _usual(links, limits)
        made += [
            _low_link(group, link, usual, agreeing)
            for link in _low(links, usual)
            if _is_outlier(link, links, usual, limits)
        ]
    return made


def _links(views: Sequence[PortView], far: Mapping[str, str]) -> dict[tuple[str, ...], list[_Link]]:
    """Links by group of equals, each link once."""
    by_link: dict[frozenset[str], _Link] = {}
    for view in views:
        total = view.value("speed_gbps")
        if total is None:
            continue
        other = far.get(view.component, "")
        key = frozenset({view.component, other} - {""})
        known = by_link.get(key)
        # the host end names the machine a technician goes to
        is_better = known is not None and (
            (total, is_switch_port(view.component))
            < (known.total, is_switch_port(known.view.component))
        )
        if known is None or is_better:
            by_link[key] = _Link(view, other, total, view.value("width"))
    groups: dict[tuple[str, ...], list[_Link]] = defaultdict(list)
    for link in by_link.values():
        group = _group_of(link)
        if group:
            groups[group].append(link)
    return groups


def _group_of(link: _Link) -> tuple[str, ...]:
    """What a link is compared with; () when nothing is known to be its equal."""
    view = link.view
    if not link.far_end:
        if is_switch_port(view.component):
            return ()
        if view.link_type != "infiniband" and not view.device_type:
            return ()  # network cards of one host differ by nature
        family = _FAMILY.match(view.component.partition(":")[2])
        kind = view.device_type or (family.group(0) if family else "")
        return ("host", view.device, view.link_type, kind)
    stems = sorted(_DIGITS.sub("#", end) for end in (view.component, link.far_end))
    hosts = [stem for stem in stems if not stem.startswith("unknown:")]
    return ("fabric", *(hosts or stems))


def _usual(links: Sequence[_Link], limits: t.PortStateLimits) -> tuple[float, int]:
    """The rate most links of a group run and how many do; (0, 0) without a clear majority."""
    usual, agreeing = Counter(link.total for link in links).most_common(1)[0]
    is_clear = agreeing >= max(limits.min_equals, limits.majority_share * len(links))
    return (usual, agreeing) if is_clear else (0.0, 0)


def _low(links: Sequence[_Link], usual: float) -> list[_Link]:
    return [link for link in links if link.total < usual * 0.999]


def _is_outlier(
    link: _Link, links: Sequence[_Link], usual: float, limits: t.PortStateLimits
) -> bool:
    """True when so few links run this low that each is a fault of its own."""
    lanes = {other.width for other in links if other.total == usual}
    is_narrow = bool(link.width and all(width and link.width < width for width in lanes))
    alike = sum(other.total == link.total for other in links)
    if is_narrow:
        return alike <= max(1, limits.max_narrow_share * len(links))
    return alike <= max(1, min(limits.max_low_links, limits.max_low_share * len(links)))


def lower_alike_findings(
    captures: Captures, far: Mapping[str, str], limits: t.PortStateLimits = t.LIMITS
) -> list[Finding]:
    """Several links of one kind that run lower alike: said, but no fault of single links."""
    made = []
    for links in _links(linked_views(captures), far).values():
        usual, agreeing = _usual(links, limits)
        many = [k for k in _low(links, usual) if not _is_outlier(k, links, usual, limits)]
        if many:
            names = ", ".join(link.view.component for link in many[:_NAMES_KEPT])
            made.append(
                Finding(
                    many[0].view.component,
                    "several_links_lower_alike",
                    "watch",
                    "context",
                    f"{len(many)} links run below the {usual:g} Gb/s of {agreeing} others of their "
                    f"kind ({names}): another generation or setting is likelier than so many "
                    "faults.",
                    evidence=evidence(link.view.now.get("speed_gbps") for link in many),
                    numbers={"links": len(many), "usual_gbps": usual, "equals": agreeing},
                    rules=[t.RULE_BELOW_EQUALS],
                )
            )
    return made


def _low_link(group: tuple[str, ...], link: _Link, usual: float, agreeing: int) -> Candidate:
    view = link.view
    whose = (
        f"ports of {device_words(view.device)}" if group[0] == "host" else "links of the same kind"
    )
    return Candidate(
        view.component,
        link.far_end,
        DOWNGRADE,
        "warning",
        t.RULE_BELOW_EQUALS,
        f"The link {view.component.partition(':')[2]} runs {describe(view)}; {agreeing} {whose} run {usual:g} Gb/s.",
        [view.now.get("speed_gbps"), view.now.get("width")],
        {**rate_numbers(view), "usual_gbps": usual, "equals": agreeing},
        since=view.since.get("speed_gbps"),
    )
