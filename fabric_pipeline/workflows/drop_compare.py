"""Two drops beside each other: incidents that came, went or got worse, and links that are not the same.

What a link's state is was decided by the fabric view and the ledger; here they are laid side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from fabric_pipeline.errors import NotFoundError, UsageError
from fabric_pipeline.settings import Settings
from fabric_pipeline.workflows.drop_compare_incidents import changed_incidents, link_of_component
from fabric_pipeline.workflows.drop_compare_links import (
    Serials,
    Speeds,
    changed_cable_serials,
    changed_links,
    changed_speeds,
    silenced_ends,
)
from fabric_pipeline.workflows.drop_compare_model import DropComparison, LinkComparison
from fabric_pipeline.workflows.drop_compare_rates import counter_changes, link_rates
from fabric_pipeline.workflows.drop_compare_rows import Differing, differing_links
from fabric_pipeline.workflows.fabric_view_model import FabricView
from fabric_pipeline.workflows.ingest_report import cluster_of
from fabric_pipeline.workflows.present_tables import present_tables

_SPEEDS_SQL = """
select node, interface, counter, arg_max(value, sample) from link_counters
where counter in ('width', 'speed_gbps', 'pcie_gen', 'link_up') and value is not null and scope = 'link' group by node, interface, counter
"""
_CABLE_SERIALS_SQL = """
select node, interface, json_extract_string(attributes, '$.cable_serial') as serial from fabric_topology
where kind = 'link' and serial is not null and serial <> ''
"""


def compare_drops(settings: Settings, a: FabricView, b: FabricView) -> DropComparison:
    """What changed from drop `a` to drop `b`. Raises UsageError when both are the same drop."""
    if a.drop == b.drop:
        raise UsageError("a drop is compared with itself", "choose two drops")
    found = DropComparison(a.drop, b.drop, a.window_end, b.window_end)
    differing = differing_links(a, b)
    found.incidents = changed_incidents(settings, a, b)
    found.links = [
        *changed_links(a, b, differing),
        *changed_cable_serials(_cable_serials(settings, a), _cable_serials(settings, b)),
        *changed_speeds(_speeds(settings, a), _speeds(settings, b)),
    ]
    found.notes = _notes(settings, a, b, differing)
    return found


def compare_link(
    settings: Settings, a: FabricView, b: FabricView, component: str, found: DropComparison
) -> LinkComparison:
    """One link in both drops, by either end; NotFoundError when neither drop knows it."""
    links = [link_of_component(view, component) for view in (a, b)]
    near = next((link for link in links if link is not None), None)
    if near is None:
        raise NotFoundError(
            f"neither drop has a link that ends at {component[:200]!r}",
            "choose a link on the map of either drop",
        )
    rates = [
        link_rates(settings, view, {"": link}).get("", {}) if link is not None else {}
        for view, link in zip((a, b), links, strict=True)
    ]
    ends = {end.component for link in links if link is not None for end in link.ends}
    names = {end.name for link in links if link is not None for end in link.ends} | ends
    return LinkComparison(
        near.a.component,
        links[0],
        links[1],
        counter_changes(rates[0], rates[1]),
        [one for one in found.links if one.component in names],
        [one for one in found.incidents if one.component.partition("/lane-")[0] in names],
    )


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


def _speeds(settings: Settings, view: FabricView) -> Speeds:
    found: dict[tuple[str, str], dict[str, float]] = {}
    with present_tables(settings, view.drop, ["link_counters"]) as connection:
        for node, interface, counter, value in connection.execute(_SPEEDS_SQL).fetchall():
            found.setdefault((node, interface), {})[counter] = value
    return found


def _cable_serials(settings: Settings, view: FabricView) -> Serials:
    with present_tables(settings, view.drop, ["fabric_topology"]) as connection:
        rows = connection.execute(_CABLE_SERIALS_SQL).fetchall()
    return {(node, interface): serial for node, interface, serial in rows}


def _notes(settings: Settings, a: FabricView, b: FabricView, differing: Differing) -> list[str]:
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
    lost, gained = silenced_ends(differing)
    if lost or gained:
        notes.append(
            f"{lost:,} link ends lost their data and {gained:,} gained some while the other end of the link was measured in both."
        )
    if a.window_end and b.window_end and a.window_end > b.window_end:
        notes.append(f"Drop {a.drop} ended after {b.drop}: this comparison runs backwards in time.")
    return notes
