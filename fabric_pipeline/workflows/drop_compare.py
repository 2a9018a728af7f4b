"""Two drops beside each other: incidents that came, went or got worse, and links that are not the same.

What a link's state is was decided by the fabric view and the ledger; here they are laid side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from fabric_pipeline.errors import NotFoundError, UsageError
from fabric_pipeline.incidents.life_history import SEVERITY_ORDER
from fabric_pipeline.incidents.lifecycle import WORSE_DEGRADATION_FACTOR, WORSE_POINTS, LifeState
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.drop_compare_links import (
    Speeds,
    changed_links,
    changed_speeds,
    silenced_ends,
)
from fabric_pipeline.workflows.drop_compare_model import (
    INCIDENT_CHANGES,
    ChangedIncident,
    DropComparison,
    IncidentChange,
)
from fabric_pipeline.workflows.drop_stages import cluster_of, load_incidents
from fabric_pipeline.workflows.fabric_view_model import FabricView, IncidentView
from fabric_pipeline.workflows.lifecycle import states
from fabric_pipeline.workflows.link_view import find_link
from fabric_pipeline.workflows.present_tables import present_tables

_SPEEDS_SQL = """
select node, interface, counter, arg_max(value, sample) from link_counters
where counter in ('width', 'speed_gbps', 'pcie_gen', 'link_up') and value is not null and scope = 'link' group by node, interface, counter
"""
_ORDER = list(INCIDENT_CHANGES)


def compare_drops(settings: Settings, a: FabricView, b: FabricView) -> DropComparison:
    """What changed from drop `a` to drop `b`. Raises UsageError when both are the same drop."""
    if a.drop == b.drop:
        raise UsageError("a drop is compared with itself", "choose two drops")
    found = DropComparison(a.drop, b.drop, a.window_end, b.window_end)
    found.incidents = _incidents(settings, a, b)
    found.links = changed_links(a, b) + changed_speeds(_speeds(settings, a), _speeds(settings, b))
    found.notes = _notes(settings, a, b)
    return found


def pair_to_compare(
    settings: Settings, views: Sequence[tuple[str, datetime | None]]
) -> tuple[str, str]:
    """The newest drop and the one before it of the same cluster, as (earlier, later).

    `views` are (drop, end of its readings), the one read last first. Raises NotFoundError when no cluster
    has two drops.
    """
    oldest = datetime.min.replace(tzinfo=UTC)
    placed = [
        (drop, end if end is None or end.tzinfo else end.replace(tzinfo=UTC)) for drop, end in views
    ]
    ordered = sorted(placed, key=lambda one: one[1] or oldest, reverse=True)
    clusters = {drop: cluster_of(settings, drop) or "" for drop, _ in ordered}
    for place, (later, _) in enumerate(ordered):
        for earlier, _ in ordered[place + 1 :]:
            if clusters[earlier] == clusters[later]:
                return earlier, later
    raise NotFoundError(
        "there are no two drops of one cluster to compare",
        "run the pipeline on a second drop of the cluster first",
    )


def _incidents(settings: Settings, a: FabricView, b: FabricView) -> list[ChangedIncident]:
    before = {one.incident_id: one for one in a.incidents}
    after = {one.incident_id: one for one in b.incidents}
    records = _records(settings, a.drop), _records(settings, b.drop)
    lives = states(Ledger(settings.ledger))
    found = []
    for name in before.keys() | after.keys():
        old, new = before.get(name), after.get(name)
        shown = new or old
        if shown is None or shown.fault_type in ("nominal", "no_data") or not _is_shown(old, new):
            continue
        life = lives.get(name)
        change, says = _change(old, new, b, life, records[0].get(name), records[1].get(name))
        state, reason = (life.state, life.reason) if life else ("", "")
        found.append(ChangedIncident(change, name, shown.component, old, new, says, state, reason))
    return sorted(found, key=_place)


def _is_shown(old: IncidentView | None, new: IncidentView | None) -> bool:
    """Sympathetic and purely informative records are no change that anybody acts on."""
    return any(one is not None and one.severity != "INFO" for one in (old, new))


def _change(
    old: IncidentView | None,
    new: IncidentView | None,
    b: FabricView,
    life: LifeState | None,
    record: IncidentRecord | None,
    newer: IncidentRecord | None,
) -> tuple[IncidentChange, str]:
    if new is not None and old is not None:
        return _both(old, new, record, newer)
    if new is not None:
        return (
            "reopened" if _was_before(b, life) else "new"
        ), f"{new.severity.lower()}, {new.fault_type.replace('_', ' ')}"
    could_not_tell = life is not None and b.drop in life.unmeasured
    if old is None or could_not_tell or _is_unmeasured(b, old.component):
        return "not_measured", f"{b.drop} has no reading that could tell"
    if life is not None and life.state in ("repaired", "verified"):
        return "repaired", life.state
    return "quiet", f"was {old.severity.lower()}"


def _was_before(b: FabricView, life: LifeState | None) -> bool:
    """True when the fault was seen before the later drop began, in whatever drop."""
    if life is None or life.first_seen is None or b.window_start is None:
        return False
    first, start = (
        at if at.tzinfo else at.replace(tzinfo=UTC) for at in (life.first_seen, b.window_start)
    )
    return first < start


def _both(
    old: IncidentView,
    new: IncidentView,
    record: IncidentRecord | None,
    newer: IncidentRecord | None,
) -> tuple[IncidentChange, str]:
    ranks = [SEVERITY_ORDER.index(one.severity) for one in (old, new)]
    if ranks[0] != ranks[1]:
        says = f"{old.severity.lower()} to {new.severity.lower()}"
        return ("worse" if ranks[1] > ranks[0] else "better"), says
    slower = [one.degradation_pct if one is not None else None for one in (record, newer)]
    if slower[0] is not None and slower[1] is not None:
        says = f"{slower[0]:.1f} % slower to {slower[1]:.1f} %"
        grown = (
            slower[1] - slower[0] >= WORSE_POINTS
            and slower[1] >= WORSE_DEGRADATION_FACTOR * slower[0]
        )
        return ("worse" if grown else "ongoing"), says
    return "ongoing", f"{new.severity.lower()} in both"


def _is_unmeasured(view: FabricView, component: str) -> bool:
    """True when the later drop says nothing of the component: absent from it, or without a reading."""
    try:
        return find_link(view, component).state == "no_data"
    except NotFoundError:
        pass
    node, _, rest = component.partition(":")
    owner = next((one for one in view.nodes if one.name == node), None)
    if owner is None:
        return True
    device = owner.devices.get(rest)
    return (device.state if device is not None else owner.state) == "no_data"


def _records(settings: Settings, drop: str) -> dict[str, IncidentRecord]:
    try:
        return {one.incident_id: one for one in load_incidents(settings, drop)}
    except NotFoundError:
        return {}


def _speeds(settings: Settings, view: FabricView) -> Speeds:
    found: dict[tuple[str, str], dict[str, float]] = {}
    with present_tables(settings, view.drop, ["link_counters"]) as connection:
        for node, interface, counter, value in connection.execute(_SPEEDS_SQL).fetchall():
            found.setdefault((node, interface), {})[counter] = value
    return found


def _place(one: ChangedIncident) -> tuple[int, int, str]:
    shown = one.b or one.a
    worst = -SEVERITY_ORDER.index(shown.severity) if shown else 0
    return _ORDER.index(one.change), worst, one.component


def _notes(settings: Settings, a: FabricView, b: FabricView) -> list[str]:
    notes = []
    clusters = [cluster_of(settings, view.drop) or "" for view in (a, b)]
    if clusters[0] != clusters[1]:
        named = " and ".join(name or "an unnamed one" for name in clusters)
        notes.append(
            f"These drops are of different clusters ({named}): differences may mean nothing."
        )
    for view in (a, b):
        if not view.has_topology:
            notes.append(
                f"Drop {view.drop} states no topology, so cables and serials are not compared."
            )
        if not view.is_judged:
            notes.append(
                f"The diagnosis has not run on drop {view.drop}, so its incidents are not known."
            )
    lost, gained = silenced_ends(a, b)
    if lost or gained:
        notes.append(
            f"{lost:,} link ends lost their data and {gained:,} gained some while the other end of the link was measured in both."
        )
    if a.window_end and b.window_end and a.window_end > b.window_end:
        notes.append(f"Drop {a.drop} ended after {b.drop}: this comparison runs backwards in time.")
    return notes
