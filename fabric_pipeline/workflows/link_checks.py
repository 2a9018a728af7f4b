"""After a diagnosis: how do links that were once accused look in this drop, and in which can it not be said.

Writes append-only checks into the ledger; what they mean for an incident is decided in
`incidents.lifecycle`. Judging one link is done in `link_check_verdict`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.model.components import link_type_of, parse_component
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.settings import Settings
from fabric_pipeline.store import lake
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.store.duck import scalar, session
from fabric_pipeline.store.ledger import Ledger, LinkCheck
from fabric_pipeline.workflows import link_checks_sql as sql
from fabric_pipeline.workflows.link_check_verdict import LIMITS, Count, LinkEnd, count_of, judge
from fabric_pipeline.workflows.topology_rows import topology_from_rows

ClusterOf = Callable[[str], str | None]
Seen = tuple[datetime | None, datetime | None]


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


def record_link_checks(
    settings: Settings, drop_id: str, at: datetime, cluster_of: ClusterOf
) -> list[LinkCheck]:
    """Check the links of all incidents this drop may speak about; returns the checks that are new.

    `cluster_of` names the cluster of a drop, None when that is no longer known. A drop may speak about
    incidents of its cluster whose node or switch it knows. Drops that were read before are checked again
    where this one brought something new: an incident accused here for the first time, or a time before a
    fault. So the order in which drops are read does not matter.
    """
    ledger = Ledger(settings.ledger)
    known = _accused(ledger, drop_id, cluster_of)
    if not known:
        return []
    checks = _check_drop(settings, drop_id, known)
    for other, incidents in _to_check_again(settings, ledger, drop_id, cluster_of, known).items():
        checks += _check_drop(settings, other, incidents)
    return ledger.record_link_checks(checks, at)


def _accused(ledger: Ledger, drop_id: str, cluster_of: ClusterOf) -> list[Accused]:
    """Every incident of this drop's cluster that a standing diagnosis of any drop accuses.

    An incident id holds its cluster, so one drop with a known cluster is enough for all its sightings.
    """
    found: dict[str, list[IncidentRecord]] = defaultdict(list)
    for seen in ledger.incidents():
        if seen.record.needs_ticket:
            found[seen.incident_id].append(seen.record)
    wanted = cluster_of(drop_id)
    return [
        _one_accused(records)
        for records in found.values()
        if _is_placed(records[-1], drop_id)
        and wanted in {cluster_of(record.drop) for record in records}
    ]


def _one_accused(records: Sequence[IncidentRecord]) -> Accused:
    newest = max(records, key=lambda record: (_moment(record.last_seen), record.drop))
    erred = {name for record in records for name in record.numbers.get("counts") or {}}
    first = min((r.first_seen for r in records if r.first_seen is not None), default=None)
    return Accused(newest, first, tuple(sorted(erred)), frozenset(r.drop for r in records))


def _is_placed(record: IncidentRecord, drop_id: str) -> bool:
    """False for what can only be told apart inside its drop (see `incidents.build.incident_id`)."""
    if record.drop == drop_id:
        return True
    parsed = parse_component(record.isolated_component)
    is_switch = "/port-" in parsed.interface and link_type_of(parsed.interface) == "infiniband"
    return bool(parsed.node) or is_switch


def _to_check_again(
    settings: Settings,
    ledger: Ledger,
    drop_id: str,
    cluster_of: ClusterOf,
    known: Sequence[Accused],
) -> Mapping[str, list[Accused]]:
    """Drop -> incidents to check there once more because of what this drop has brought."""
    standing = {(check.incident_id, check.drop): check for check in ledger.link_checks()}
    is_accusing = any(drop_id in one.drops for one in known)
    if not is_accusing and not any(_may_change(check) for check in standing.values()):
        return {}
    ends = _last_times(settings)
    own_end, cluster = ends.get(drop_id), cluster_of(drop_id)
    again: dict[str, list[Accused]] = defaultdict(list)
    for other in ends:
        if other == drop_id or cluster_of(other) != cluster:
            continue
        for one in known:
            check = standing.get((one.record.incident_id, other))
            if check is None:
                is_due = drop_id in one.drops and _reaches(ends[other], one.first_seen)
            else:
                brings_past = own_end is not None and _reaches(one.first_seen, own_end)
                is_due = check.verdict == "dirty" and other not in one.drops and brings_past
            if is_due:
                again[other].append(one)
    return again


def _may_change(check: LinkCheck) -> bool:
    """True when more of the link's past could still speak for it."""
    return check.verdict == "dirty" and not check.facts.get("is_accused")


def _reaches(later: datetime | None, earlier: datetime | None) -> bool:
    return later is None or earlier is None or later >= earlier


def _last_times(settings: Settings) -> dict[str, datetime | None]:
    """Last reading of every drop of the lake, from the footers of its files."""
    found: dict[str, datetime | None] = {}
    connection = session()
    try:
        for drop in lake.drops_of(settings.lake, "link_counters"):
            lake.attach(connection, settings.lake, "link_counters", drop)
            found[drop] = scalar(connection, "select max(ts) from link_counters")
    finally:
        connection.close()
    return found


def _check_drop(settings: Settings, drop_id: str, incidents: Sequence[Accused]) -> list[LinkCheck]:
    connection = session()
    try:
        if not lake.attach(connection, settings.lake, "link_counters", drop_id):
            return []
        has_topology = lake.attach(connection, settings.lake, "fabric_topology", drop_id)
        topology = _topology(connection) if has_topology else Topology()
        spoken_of = _spoken_of(connection, topology, drop_id, incidents)
        if not spoken_of:
            return []
        _prepare(connection, topology, spoken_of, drop_id)
        return _judged(connection, settings, drop_id, spoken_of)
    finally:
        connection.close()


def _topology(connection: Any) -> Topology:
    kinds = "('site', 'node', 'switch', 'link')"
    return topology_from_rows(
        connection.execute(
            f"select kind, attributes from fabric_topology where kind in {kinds} order by all"
        ).fetchall()
    )


def _spoken_of(
    connection: Any, topology: Topology, drop_id: str, incidents: Sequence[Accused]
) -> list[Accused]:
    """Incidents whose node or switch occurs in this drop: of others it says nothing, not even a gap."""
    nodes = {
        row[0] for row in connection.execute("select distinct node from link_counters").fetchall()
    }
    devices = {
        row[0]
        for row in connection.execute(
            "select distinct split_part(interface, '/', 1) from link_counters where node = ''"
        ).fetchall()
    }
    nodes |= set(topology.nodes)
    devices |= set(topology.switches)

    def is_known(component: str) -> bool:
        parsed = parse_component(component)
        if parsed.node:
            return parsed.node in nodes
        return parsed.interface.partition("/")[0] in devices

    return [
        one for one in incidents if drop_id in one.drops or any(is_known(end) for end in one.ends)
    ]


def _prepare(
    connection: Any, topology: Topology, incidents: Sequence[Accused], drop_id: str
) -> None:
    """The tables that the check's SQL reads: wanted ends, ends accused here, names by PCI address."""
    end_columns = (("node", "VARCHAR"), ("interface", "VARCHAR"))
    connection.execute(
        "create temp table wanted (incident_id varchar, node varchar, interface varchar)"
    )
    connection.execute("create temp table accused_ends (node varchar, interface varchar)")
    connection.execute("create temp table alias (node varchar, written varchar, interface varchar)")
    wanted = [(one.record.incident_id, *_split(end)) for one in incidents for end in one.ends]
    insert_columns(connection, "wanted", (("incident_id", "VARCHAR"), *end_columns), wanted)
    here = [_split(end) for one in incidents if drop_id in one.drops for end in one.ends]
    insert_columns(connection, "accused_ends", end_columns, here)
    written = connection.execute(
        "select distinct node, interface from link_counters where starts_with(interface, 'pci-')"
    ).fetchall()
    aliases = [
        (node, name, _split(topology.resolve(f"{node}:{name}"))[1]) for node, name in written
    ]
    columns = (("node", "VARCHAR"), ("written", "VARCHAR"), ("interface", "VARCHAR"))
    insert_columns(connection, "alias", columns, aliases)
    for statement in (
        sql.ENDS_SQL, sql.OWN_SQL, sql.RATES_SQL, sql.TRAFFIC_SQL, sql.STATED_SQL,
    ):  # fmt: skip
        connection.execute(statement)


def _judged(
    connection: Any, settings: Settings, drop_id: str, incidents: Sequence[Accused]
) -> list[LinkCheck]:
    ends, counts = _ends(connection), _counts(connection, settings, incidents)
    window = connection.execute("select min(ts), max(ts) from link_counters").fetchone()
    checks = []
    for one in incidents:
        name = one.record.incident_id
        own = ends.get(name, [])
        verdict = judge(
            own,
            counts.get(name, []),
            erred=one.erred,
            fault_type=one.record.fault_type,
            is_accused=drop_id in one.drops,
        )
        start, end = _window(own) if verdict.verdict != "unmeasured" and own else window
        checks.append(
            LinkCheck(
                incident_id=name,
                drop=drop_id,
                component=one.record.isolated_component,
                verdict=verdict.verdict,
                window_start=start,
                window_end=end,
                measured_s=verdict.measured_s,
                facts=verdict.facts,
            )
        )
    return checks


def _ends(connection: Any) -> dict[str, list[LinkEnd]]:
    found: dict[str, list[LinkEnd]] = defaultdict(list)
    for row in lake.read_rows(connection, sql.OWN_ENDS_SQL):
        component = f"{row['node'] or 'unknown'}:{row['interface']}"
        names = LinkEnd.__slots__[1:]
        found[row["incident_id"]].append(LinkEnd(component, **{name: row[name] for name in names}))
    return found


def _counts(
    connection: Any, settings: Settings, incidents: Sequence[Accused]
) -> dict[str, list[Count]]:
    rows = lake.read_rows(connection, sql.COMPARED_SQL, {"least": LIMITS.sibling_least})
    past = _past(connection, settings, incidents, rows)
    found: dict[str, list[Count]] = defaultdict(list)
    for row in rows:
        found[row["incident_id"]].append(count_of(row, past))
    return found


def _past(
    connection: Any,
    settings: Settings,
    incidents: Sequence[Accused],
    rows: Iterable[Mapping[str, Any]],
) -> dict[tuple[str, str, str], float]:
    """Errors per hour before the fault, for counters that have errors to be compared with it."""
    before = {one.record.incident_id: one.first_seen for one in incidents}
    wanted = [
        (row["incident_id"], *_split(row["component"]), row["counter"], before[row["incident_id"]])
        for row in rows
        if row["events"] and before[row["incident_id"]] is not None
    ]
    if not wanted or not lake.attach_all(
        connection, settings.lake, "link_counters", as_name="past"
    ):
        return {}
    columns = (
        ("incident_id", "VARCHAR"), ("node", "VARCHAR"), ("written", "VARCHAR"), ("counter", "VARCHAR"), ("before", "TIMESTAMPTZ"),
    )  # fmt: skip
    connection.execute(
        "create or replace temp table with_errors (incident_id varchar, node varchar, "
        "written varchar, counter varchar, before timestamptz)"
    )
    insert_columns(connection, "with_errors", columns, wanted)
    return {
        (row["incident_id"], row["component"], row["counter"]): row["events"]
        * 3600
        / row["seconds"]
        for row in lake.read_rows(connection, sql.PAST_SQL)
    }


def _window(ends: Sequence[LinkEnd]) -> Seen:
    starts = [end.first_ts for end in ends if end.first_ts is not None]
    stops = [end.last_ts for end in ends if end.last_ts is not None]
    return min(starts, default=None), max(stops, default=None)


def _moment(at: datetime | None) -> float:
    return at.timestamp() if at is not None else 0.0


def _plain(component: str) -> str:
    parsed = parse_component(component)
    return f"{parsed.node or 'unknown'}:{parsed.interface}"


def _split(component: str) -> tuple[str, str]:
    parsed = parse_component(component)
    return parsed.node, parsed.interface
