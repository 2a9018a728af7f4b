"""After a diagnosis: how do links that were once accused look in this drop, and in which can it not be said.

Writes append-only checks into the ledger; what they mean for an incident is decided in
`incidents.lifecycle`. Judging one link is done in `link_check_verdict`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from fabric_pipeline.model.components import parse_component
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.settings import Settings
from fabric_pipeline.store import lake
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.store.duck import session
from fabric_pipeline.store.ledger import DropSpan, Ledger, LinkCheck
from fabric_pipeline.workflows import link_checks_sql as sql
from fabric_pipeline.workflows.followed_links import (
    Accused,
    ClusterOf,
    followed,
    known_in,
    note_settled,
    past_drops,
    spans_of_cluster,
    to_check_again,
    topology_of_links,
)
from fabric_pipeline.workflows.link_check_verdict import LIMITS, Count, LinkEnd, count_of, judge

Seen = tuple[datetime | None, datetime | None]
Spans = Mapping[str, DropSpan]


def record_link_checks(
    settings: Settings, drop_id: str, at: datetime, cluster_of: ClusterOf
) -> list[LinkCheck]:
    """Check the links of all incidents this drop may speak about; returns the checks that are new.

    `cluster_of` names the cluster of a drop, None when that is no longer known. A drop may speak about
    followed incidents of its cluster whose node or switch it knows. Drops that were read before are checked
    again where this one brought something new: an incident accused here for the first time, or a time before
    a fault. So the order in which drops are read does not matter.
    """
    ledger = Ledger(settings.ledger)
    spans = spans_of_cluster(settings, ledger, drop_id, cluster_of)
    own = spans[drop_id]
    known = followed(settings, ledger, drop_id, own.cluster, own)
    if not known:
        return []
    checks = _check_drop(settings, drop_id, known, spans)
    for other, incidents in to_check_again(ledger, drop_id, spans, known).items():
        checks += _check_drop(settings, other, incidents, spans)
    written = ledger.record_link_checks(checks, at)
    note_settled(ledger, known, own)
    return written


def _check_drop(
    settings: Settings, drop_id: str, incidents: Sequence[Accused], spans: Spans
) -> list[LinkCheck]:
    connection = session()
    try:
        if not lake.attach(connection, settings.lake, "link_counters", drop_id):
            return []
        has_topology = lake.attach(connection, settings.lake, "fabric_topology", drop_id)
        topology = topology_of_links(connection) if has_topology else Topology()
        known = known_in(connection, topology)
        spoken_of = [
            one for one in incidents if drop_id in one.drops or any(map(known.has, one.ends))
        ]
        if not spoken_of:
            return []
        _prepare(connection, topology, spoken_of, drop_id)
        return _judged(connection, settings, drop_id, spoken_of, spans)
    finally:
        connection.close()


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
    connection: Any, settings: Settings, drop_id: str, incidents: Sequence[Accused], spans: Spans
) -> list[LinkCheck]:
    ends, counts = _ends(connection), _counts(connection, settings, incidents, spans)
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
    connection: Any, settings: Settings, incidents: Sequence[Accused], spans: Spans
) -> dict[str, list[Count]]:
    rows = lake.read_rows(connection, sql.COMPARED_SQL, {"least": LIMITS.sibling_least})
    past = _past(connection, settings, incidents, rows, spans)
    found: dict[str, list[Count]] = defaultdict(list)
    for row in rows:
        found[row["incident_id"]].append(count_of(row, past))
    return found


def _past(
    connection: Any,
    settings: Settings,
    incidents: Sequence[Accused],
    rows: Iterable[Mapping[str, Any]],
    spans: Spans,
) -> dict[tuple[str, str, str], float]:
    """Errors per hour before the fault, for counters that have errors to be compared with it.

    Over the newest drops of the cluster that begin before it.
    """
    before = {one.record.incident_id: one.first_seen for one in incidents}
    wanted: list[tuple[Any, ...]] = []
    drops: dict[str, None] = {}
    for row in rows:
        moment = before[row["incident_id"]]
        past = past_drops(spans, moment) if row["events"] and moment is not None else []
        if past:
            end = _split(row["component"])
            wanted.append((row["incident_id"], *end, row["counter"], past[-1].first, moment))
            drops |= {one.drop: None for one in past}
    if not wanted or not lake.attach_drops(
        connection, settings.lake, "link_counters", sorted(drops), as_name="past"
    ):
        return {}
    columns = (
        ("incident_id", "VARCHAR"), ("node", "VARCHAR"), ("written", "VARCHAR"), ("counter", "VARCHAR"), ("since", "TIMESTAMPTZ"),
        ("before", "TIMESTAMPTZ"),
    )  # fmt: skip
    connection.execute(
        "create or replace temp table with_errors (incident_id varchar, node varchar, "
        "written varchar, counter varchar, since timestamptz, before timestamptz)"
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


def _split(component: str) -> tuple[str, str]:
    parsed = parse_component(component)
    return parsed.node, parsed.interface
