"""What became of each incident from one drop to the next: new, worse, better, repaired, quiet, or not known.

A fault that the later drop does not show is quiet only where the later drop measured what had erred, and
repaired only where a person reported a repair between the two. Everything else is "not measured".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.incidents.life_history import SEVERITY_ORDER
from fabric_pipeline.incidents.lifecycle import (
    WORSE_DEGRADATION_FACTOR,
    WORSE_POINTS,
    LifeState,
    RepairOutcome,
)
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger, LinkCheck
from fabric_pipeline.workflows.drop_compare_model import (
    INCIDENT_CHANGES,
    ChangedIncident,
    IncidentChange,
)
from fabric_pipeline.workflows.drop_compare_rates import (
    LinkRates,
    counter_changes,
    judged,
    link_rates,
    minutes,
)
from fabric_pipeline.workflows.drop_stages import load_incidents
from fabric_pipeline.workflows.fabric_view_model import FabricView, IncidentView, Link
from fabric_pipeline.workflows.lifecycle import states
from fabric_pipeline.workflows.link_view import find_link

_ORDER = list(INCIDENT_CHANGES)
Told = tuple[IncidentChange, str]


@dataclass(slots=True)
class _Known:
    """What both drops and the ledger say of one incident."""

    a: FabricView
    b: FabricView
    life: LifeState | None
    check: LinkCheck | None
    records: tuple[IncidentRecord | None, IncidentRecord | None]
    before: LinkRates = field(default_factory=dict)
    after: LinkRates = field(default_factory=dict)


def changed_incidents(settings: Settings, a: FabricView, b: FabricView) -> list[ChangedIncident]:
    """Every incident of either drop, in the order in which a reader wants them."""
    olds = {one.incident_id: one for one in a.incidents}
    news = {one.incident_id: one for one in b.incidents}
    names = [name for name in olds.keys() | news.keys() if _is_shown(olds.get(name), news.get(name))]  # fmt: skip
    rates = [_rates(settings, view, names, olds, news) for view in (a, b)]
    records = [_records(settings, view.drop) for view in (a, b)]
    ledger = Ledger(settings.ledger)
    lives = states(ledger, names)
    checks = {check.incident_id: check for check in ledger.link_checks(drop=b.drop)}
    found = []
    for name in names:
        old, new = olds.get(name), news.get(name)
        life = lives.get(name)
        known = _Known(
            a, b, life, checks.get(name), (records[0].get(name), records[1].get(name)),
            rates[0].get(name, {}), rates[1].get(name, {}),
        )  # fmt: skip
        change, says = _change(old, new, known)
        component = (new or old or a.incidents[0]).component
        state, reason = (life.state, life.reason) if life else ("", "")
        found.append(ChangedIncident(change, name, component, old, new, says, state, reason))
    return sorted(found, key=_place)


def link_of_component(view: FabricView, component: str) -> Link | None:
    """The link that ends at a component, None when the view knows no such one."""
    try:
        return find_link(view, component)
    except NotFoundError:
        return None


def _is_shown(old: IncidentView | None, new: IncidentView | None) -> bool:
    """Sympathetic and purely informative records are no change that anybody acts on."""
    shown = new or old
    if shown is None or shown.fault_type in ("nominal", "no_data"):
        return False
    return any(one is not None and one.severity != "INFO" for one in (old, new))


def _change(old: IncidentView | None, new: IncidentView | None, known: _Known) -> Told:
    if new is not None and old is not None:
        return _both(old, new, known)
    if new is not None:
        words = f"{new.severity.lower()}, {new.fault_type.replace('_', ' ')}"
        return ("reopened" if _was_before(known.b, known.life) else "new"), words
    assert old is not None  # noqa: S101 - one of the two names it
    return _gone(old, known)


def _both(old: IncidentView, new: IncidentView, known: _Known) -> Told:
    ranks = [SEVERITY_ORDER.index(one.severity) for one in (old, new)]
    if ranks[0] != ranks[1]:
        says = f"{old.severity.lower()} to {new.severity.lower()}"
        return ("worse" if ranks[1] > ranks[0] else "better"), says
    slower = _slower(*known.records)
    counted = judged(counter_changes(known.before, known.after))
    for verdict in ("worse", "better"):
        for told in (slower, counted):
            if told is not None and told[0] == verdict:
                return ("worse" if verdict == "worse" else "better"), told[1]
    said = slower or (counted if counted and counted[0] == "same" else None)
    return "ongoing", said[1] if said else f"{new.severity.lower()} in both"


def _slower(
    before: IncidentRecord | None, after: IncidentRecord | None
) -> tuple[str, str] | None:  # fmt: skip
    """How the latency of collectives over the link changed, None where either drop has no figure."""
    low, high = (one.degradation_pct if one is not None else None for one in (before, after))
    if low is None or high is None:
        return None
    less, more = sorted((low, high))
    is_noise = more - less < WORSE_POINTS or more < WORSE_DEGRADATION_FACTOR * less
    moved = "worse" if high > low else "better"
    return "same" if is_noise else moved, f"{low:.1f} % slower to {high:.1f} %"


def _gone(old: IncidentView, known: _Known) -> Told:
    """The later drop does not show it: is that known, and why?"""
    silent = _silence(old, known)
    if silent:
        return "not_measured", silent
    check, counted = known.check, judged(counter_changes(known.before, known.after))
    if check is not None and check.verdict == "dirty":
        figures = f": {counted[1]}" if counted else ""
        return "better", f"still errs, below what the diagnosis accuses{figures}"
    measured = f"measured clean for {minutes(check.measured_s)}" if check is not None else ""
    if not measured and counted is not None:
        measured = counted[1]
    repair = _repair_between(known)
    if repair is not None:
        done = f"{repair.repair.action} of {repair.repair.repaired_at:%Y-%m-%d %H:%M} UTC"
        return "repaired", f"{done}, then {measured or 'measured'}"
    return "quiet", ", ".join(part for part in (f"was {old.severity.lower()}", measured) if part)


def _silence(old: IncidentView, known: _Known) -> str:
    """Why the later drop cannot tell, "" when it can."""
    name, check = known.b.drop, known.check
    if check is not None and check.verdict == "unmeasured":
        seen = f"{minutes(check.measured_s)} of counters under traffic" if check.measured_s else "no counter under traffic"  # fmt: skip
        return f"{name} has {seen}: it cannot tell"
    if known.life is not None and name in known.life.unmeasured:
        return f"{name} has no reading that could tell"
    if _is_unmeasured(known.b, old.component):
        return f"{name} has no reading that could tell"
    if check is not None and check.verdict == "dirty":
        return ""
    counted = judged(counter_changes(known.before, known.after))
    if counted is None or counted[0] in ("worse", "better", "same"):
        return ""
    if counted[0] == "too_short":
        return f"measured too short to tell: {counted[1]}"
    return counted[1]


def _repair_between(known: _Known) -> RepairOutcome | None:
    """The last repair that was reported between the two drops' data, None without one."""
    start, end = _utc(known.a.window_start), _utc(known.b.window_end)
    if known.life is None or start is None or end is None:
        return None
    done = [
        one
        for one in known.life.repairs
        if start <= (_utc(one.repair.repaired_at) or start) <= end
        and (one.returned_at is None or (_utc(one.returned_at) or end) > end)
    ]
    return done[-1] if done else None


def _was_before(b: FabricView, life: LifeState | None) -> bool:
    """True when the fault was seen before the later drop began, in whatever drop."""
    first, start = _utc(life.first_seen if life else None), _utc(b.window_start)
    return first is not None and start is not None and first < start


def _is_unmeasured(view: FabricView, component: str) -> bool:
    """True when the later drop says nothing of the component: absent from it, or without a reading."""
    link = link_of_component(view, component)
    if link is not None:
        return link.state == "no_data"
    node, _, rest = component.partition(":")
    owner = next((one for one in view.nodes if one.name == node), None)
    if owner is None:
        return True
    device = owner.devices.get(rest)
    return (device.state if device is not None else owner.state) == "no_data"


def _rates(
    settings: Settings,
    view: FabricView,
    names: list[str],
    olds: Mapping[str, IncidentView],
    news: Mapping[str, IncidentView],
) -> dict[str, LinkRates]:
    """Rates of the links of all incidents in one drop, by incident."""
    links = {}
    for name in names:
        one = olds.get(name) or news[name]
        link = link_of_component(view, one.component)
        if link is not None:
            links[name] = link
    return link_rates(settings, view, links)


def _records(settings: Settings, drop: str) -> dict[str, IncidentRecord]:
    try:
        return {one.incident_id: one for one in load_incidents(settings, drop)}
    except NotFoundError:
        return {}


def _utc(at: datetime | None) -> datetime | None:
    return at if at is None or at.tzinfo else at.replace(tzinfo=UTC)


def _place(one: ChangedIncident) -> tuple[int, int, str]:
    shown = one.b or one.a
    worst = -SEVERITY_ORDER.index(shown.severity) if shown else 0
    return _ORDER.index(one.change), worst, one.component
