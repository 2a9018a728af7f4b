"""Which incidents a drop may speak about, and which other drops have to be looked at once more for it.

Only drops of the same cluster and incidents that are still followed are considered, so a long history
costs a new drop nothing. Looking at the links is done in `link_checks`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.model.components import link_type_of, parse_component
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.settings import Settings
from fabric_pipeline.store import lake
from fabric_pipeline.store.duck import session
from fabric_pipeline.store.incident_life import lives
from fabric_pipeline.store.ledger import AccusedEnds, DropSpan, Ledger, LinkCheck
from fabric_pipeline.workflows.topology_rows import topology_from_rows

# A fault that was quiet or verified for so long is settled: later drops are not asked about it until a
# diagnosis accuses the link again or a repair is reported. Four times the window in which a return counts
# as "not repaired" (`incidents.lifecycle.RETURN_WINDOW`). Policy value.
FOLLOW = timedelta(days=28)
# So many drops before a fault are the link's own past. Policy value: a day of hourly drops.
PAST_DROPS = 24

ClusterOf = Callable[[str], str | None]
_EVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Accused:
    """An incident that was ever accused: its newest record, when it first erred and in which counters."""

    record: IncidentRecord
    first_seen: datetime | None
    erred: tuple[str, ...]
    drops: frozenset[str]

    @property
    def ends(self) -> list[str]:
        """Component ids of its ends, without lanes."""
        names = [self.record.isolated_component, self.record.far_end]
        return list(dict.fromkeys(_plain(name) for name in names if name and name != "none"))


@dataclass(frozen=True, slots=True)
class Known:
    """Nodes, and devices of switches, that occur in a drop: of others it says nothing, not even a gap."""

    nodes: Collection[str]
    devices: Collection[str]

    def has(self, component: str) -> bool:
        """True when the drop knows the node or the switch of this component."""
        parsed = parse_component(component)
        if parsed.node:
            return parsed.node in self.nodes
        return parsed.interface.partition("/")[0] in self.devices


def spans_of_cluster(
    settings: Settings, ledger: Ledger, drop_id: str, cluster_of: ClusterOf
) -> dict[str, DropSpan]:
    """Spans of the drops that have counters and the cluster of this drop; its own is measured anew.

    Drops that were read before spans were recorded are measured once.
    """
    there = lake.drops_of(settings.lake, "link_counters")
    missing = ledger.drops_without_span(there)
    new = [_span(settings, drop, cluster_of) for drop in dict.fromkeys([drop_id, *missing])]
    ledger.record_spans(new)
    present = {*there, drop_id}
    known = ledger.spans_of(cluster_of(drop_id))
    return {drop: span for drop, span in known.items() if drop in present}


def known_in(connection: Any, topology: Topology) -> Known:
    """What occurs in the drop whose `link_counters` the connection has."""
    nodes = connection.execute("select distinct node from link_counters").fetchall()
    devices = connection.execute(
        "select distinct split_part(interface, '/', 1) from link_counters where node = ''"
    ).fetchall()
    return Known(
        {row[0] for row in nodes} | set(topology.nodes),
        {row[0] for row in devices} | set(topology.switches),
    )


def topology_of_links(connection: Any) -> Topology:
    """The graph of the drop whose `fabric_topology` the connection has."""
    kinds = "('site', 'node', 'switch', 'link')"
    return topology_from_rows(
        connection.execute(
            f"select kind, attributes from fabric_topology where kind in {kinds} order by all"
        ).fetchall()
    )


def followed(
    settings: Settings, ledger: Ledger, drop_id: str, cluster: str | None, own: DropSpan
) -> list[Accused]:
    """Incidents that standing diagnoses of this cluster accuse and that this drop may speak about.

    An incident id holds its cluster, so one drop with a known cluster is enough for all its sightings.
    """
    ends = ledger.standing_ends(ledger.spans_of(cluster))
    here = {one.incident_id for one in ends if one.drop == drop_id}
    placed = [one for one in ends if one.incident_id in here or _is_placed(one)]
    known = _known_by(settings, drop_id)
    names = {
        one.incident_id
        for one in placed
        if one.incident_id in here
        or any(known.has(_plain(end)) for end in (one.component, one.far_end) if _names(end))
    }
    start = own.first or own.last
    settled = ledger.settled(names) if start is not None else {}
    names = {
        name
        for name in names
        if name in here or name not in settled or (start or _EVER) < settled[name]
    }
    found: dict[str, list[IncidentRecord]] = defaultdict(list)
    for record in ledger.accusing_records(names):
        found[record.incident_id].append(record)
    return [_one_accused(records) for records in found.values()]


def to_check_again(
    ledger: Ledger, drop_id: str, spans: Mapping[str, DropSpan], known: Sequence[Accused]
) -> Mapping[str, list[Accused]]:
    """Drop -> incidents to check there once more because of what this drop has brought.

    An incident that is accused here for the first time is looked for in the drops since its first error
    (and not longer before this drop than incidents are followed), a link that was found dirty again when
    this drop shows its past.
    """
    own = spans.get(drop_id)
    again: dict[str, list[Accused]] = defaultdict(list)
    accused_here = [one for one in known if drop_id in one.drops]
    names = [one.record.incident_id for one in accused_here]
    checked = {(check.incident_id, check.drop) for check in ledger.link_checks(incident_ids=names)}
    earliest = own.first - FOLLOW if own is not None and own.first is not None else None
    for one in accused_here:
        for other, span in spans.items():
            is_new = other != drop_id and (one.record.incident_id, other) not in checked
            if is_new and _reaches(span.last, one.first_seen) and _reaches(span.last, earliest):
                again[other].append(one)
    for check, one in _dirty(ledger, known):
        is_other = check.drop in spans and check.drop not in (drop_id, *one.drops)
        brings_past = own is not None and own.last is not None
        if is_other and brings_past and _reaches(one.first_seen, own.last if own else None):
            again[check.drop].append(one)
    return again


def note_settled(ledger: Ledger, known: Sequence[Accused], own: DropSpan) -> None:
    """Settle what has been quiet or verified for longer than incidents are followed."""
    start = own.first or own.last
    if start is None:
        return
    old = [
        one.record.incident_id
        for one in known
        if one.record.last_seen is not None and one.record.last_seen + FOLLOW < start
    ]
    if not old:
        return
    found = lives(ledger, old)
    settled = {
        name: life.state.since + FOLLOW
        for name, life in found.items()
        if life.state.state in ("quiet", "verified")
        and life.state.since is not None
        and life.state.since + FOLLOW <= start
    }
    if settled:
        ledger.settle(settled)


def past_drops(spans: Mapping[str, DropSpan], before: datetime) -> list[DropSpan]:
    """The newest drops that begin before a fault, the newest first."""
    timed = [one for one in spans.values() if one.first is not None and one.first < before]
    timed.sort(key=lambda one: (one.first or _EVER, one.drop), reverse=True)
    return timed[:PAST_DROPS]


def _dirty(ledger: Ledger, known: Sequence[Accused]) -> list[tuple[LinkCheck, Accused]]:
    by_name = {one.record.incident_id: one for one in known}
    checks = ledger.link_checks(incident_ids=list(by_name), verdict="dirty")
    return [(check, by_name[check.incident_id]) for check in checks]


def _span(settings: Settings, drop: str, cluster_of: ClusterOf) -> DropSpan:
    with closing(session()) as connection:
        if not lake.attach(connection, settings.lake, "link_counters", drop):
            return DropSpan(drop, cluster_of(drop), None, None)
        first, last = connection.execute("select min(ts), max(ts) from link_counters").fetchall()[0]
    return DropSpan(drop, cluster_of(drop), first, last)


def _known_by(settings: Settings, drop_id: str) -> Known:
    with closing(session()) as connection:
        if not lake.attach(connection, settings.lake, "link_counters", drop_id):
            return Known((), ())
        has_topology = lake.attach(connection, settings.lake, "fabric_topology", drop_id)
        topology = topology_of_links(connection) if has_topology else Topology()
        return known_in(connection, topology)


def _one_accused(records: Sequence[IncidentRecord]) -> Accused:
    newest = max(records, key=lambda record: (_moment(record.last_seen), record.drop))
    erred = {name for record in records for name in record.numbers.get("counts") or {}}
    first = min((r.first_seen for r in records if r.first_seen is not None), default=None)
    return Accused(newest, first, tuple(sorted(erred)), frozenset(r.drop for r in records))


def _is_placed(one: AccusedEnds) -> bool:
    """False for what can only be told apart inside its drop (see `incidents.build.incident_id`)."""
    parsed = parse_component(one.component)
    is_switch = "/port-" in parsed.interface and link_type_of(parsed.interface) == "infiniband"
    return bool(parsed.node) or is_switch


def _reaches(later: datetime | None, earlier: datetime | None) -> bool:
    return later is None or earlier is None or later >= earlier


def _moment(at: datetime | None) -> float:
    return at.timestamp() if at is not None else 0.0


def _names(component: str) -> bool:
    return bool(component) and component != "none"


def _plain(component: str) -> str:
    parsed = parse_component(component)
    return f"{parsed.node or 'unknown'}:{parsed.interface}"
