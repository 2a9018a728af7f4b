"""Answers a drafter's questions about the fabric from the lake and the ledger, read-only.

Implements `drafting.lookup.FabricLookup` for one drop; what may be asked is said there. Nothing is read
before the first question, and several threads may ask at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from threading import RLock
from typing import Any

from fabric_pipeline.drafting.assemble import ticket_id
from fabric_pipeline.model.components import Component, device_of
from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.store import lake
from fabric_pipeline.store.duck import session
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.fabric_lookup_sql import COUNTERS_SQL, ERRORS_IN_SQL, SLOW_SQL
from fabric_pipeline.workflows.lookup_fabric import Fabric

# Entries of one answer: a leaf switch has 64 ports, and a model need not read all of them.
MAX_ROWS = 40
_TABLES = (
    "link_counters",
    "stragglers",
    "straggler_correlations",
    "fabric_topology",
    "incident_records",
)
# Qualities after which a count is a lower bound or not sure.
_UNSURE = ("reset", "saturated", "clock_skew", "out_of_order")

Rows = list[dict[str, Any]]


@contextmanager
def lake_lookup(settings: Settings, drop_id: str, ledger: Ledger) -> Iterator[LakeLookup]:
    """The look-up over one drop; its connection is closed at the end.

    Raises UsageError for a text that is no drop id. Tables that the drop has not (yet) give empty answers.
    """
    lookup = LakeLookup(settings, lake.checked_drop(drop_id), ledger)
    try:
        yield lookup
    finally:
        lookup.close()


class LakeLookup:
    """One drop's answers. Rows are plain values, MAX_ROWS at most; the last one then says `left_off`."""

    def __init__(self, settings: Settings, drop_id: str, ledger: Ledger) -> None:
        """Nothing is opened yet."""
        self._settings, self._drop, self._ledger = settings, drop_id, ledger
        self._lock = RLock()
        self._connection: Any = None
        self._read: Fabric | None = None

    def close(self) -> None:
        """Close the connection; a later question opens a new one."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection, self._read = None, None

    def neighbours(self, component: str) -> Rows:
        """Links of the component's device, accused and erring ones first. See `FabricLookup`."""
        with self._lock:
            fabric = self._fabric()
            asked = fabric.resolved(component)
            ends = fabric.beside(asked)
            if device_of(asked.interface) != asked.interface and not fabric.knows(asked):
                return []
            rows = [_neighbour(fabric, end) for end in ends]
        rows.sort(key=lambda row: (not row["is_accused"], -(row["errors"] or 0.0)))
        return _bounded(rows)

    def counters(self, component: str) -> Rows:
        """Counters of one link end, errors first; a lane has the link's counters beside its own.

        Beside the keys of `FabricLookup`: `lane` and `last_value` (of states such as the width).
        """
        with self._lock:
            fabric = self._fabric()
            asked = fabric.resolved(component)
            end = fabric.ends.get(Component(asked.node, asked.interface).id)
            if end is None:
                return []
            near = [name for one in fabric.siblings(asked, end) for name in one.interfaces]
            given = {"node": asked.node, "near": near, "own": end.interfaces, "lane": asked.lane}
            rows = lake.read_rows(self._open(), COUNTERS_SQL, given)
        rows.sort(key=lambda row: COUNTERS[row["counter"]].role != "error")
        return _bounded([_counter(row) for row in rows])

    def shared_components(self, components: Sequence[str]) -> Rows:
        """Parts that at least two of these links share, the one that most share and few others first.

        Beside the keys of `FabricLookup`: `unmeasured_links`, of which no error counter was readable.
        """
        with self._lock:
            fabric = self._fabric()
            asked: dict[str, str] = {}
            for component in components:
                asked.setdefault(fabric.parts.key_of(component), component)
            asked.pop("", None)
            rows = [
                _shared(fabric, part, [asked[key] for key in keys])
                for part, keys in fabric.parts.shared_by(asked).items()
            ]
        rows.sort(key=lambda row: (-len(row["links"]), row["links_in_all"], row["shared"]))
        return _bounded(rows)

    def straggler_timeline(self, component: str) -> Rows:
        """Slow intervals of the runs that cross the link, oldest first; the newest are kept.

        A run crosses it where the diagnosis says so, else where it used a node of the link.
        `errors_in_it` is over both ends, None when neither was measured in that time.
        """
        with self._lock:
            fabric = self._fabric()
            key = fabric.parts.key_of(component)
            if not key:
                return []
            nodes, names = fabric.spelled(key)
            slow = lake.read_rows(self._open(), SLOW_SQL, {"ends": names})
            rows = [row for row in slow if _crosses(row, nodes)]
            left_off, rows = max(0, len(rows) - MAX_ROWS), rows[-MAX_ROWS:]
            errors = self._errors_in(rows, nodes, names)
        kept = ("run", "start", "end", "latency_us", "baseline_us")
        told = [
            {**{name: _plain(row[name]) for name in kept}, "errors_in_it": errors.get(place)}
            for place, row in enumerate(rows)
        ]
        return _with_left_off(told, left_off)

    def earlier_tickets(self, serial: str) -> Rows:
        """Tickets of other drops and repairs with this serial, newest first. See `FabricLookup`."""
        wanted = serial.strip()
        if not wanted:
            return []
        rows = [*self._accused_before(wanted), *self._exchanged(wanted)]
        tickets = self._ledger.tickets(ticket_ids={str(row["ticket_id"]) for row in rows})
        states = {row.ticket_id: row.state for row in tickets}
        rows = [{**row, "state": states.get(row["ticket_id"], "")} for row in rows]
        rows.sort(key=lambda row: row["at"] or "", reverse=True)
        return _bounded(rows)

    def _open(self) -> Any:
        if self._connection is None:
            self._connection = session()
            for name in _TABLES:
                if not lake.attach(self._connection, self._settings.lake, name, self._drop):
                    empty = TABLES[name].empty_sql()
                    self._connection.execute(f"create temp table {name} as {empty}")
        return self._connection

    def _fabric(self) -> Fabric:
        if self._read is None:
            self._read = Fabric(self._open())
        return self._read

    def _errors_in(self, rows: Rows, nodes: list[str], names: list[str]) -> dict[int, float | None]:
        if not rows:
            return {}
        given = {
            "ends": names,
            "nodes": nodes,
            "places": list(range(len(rows))),
            "starts": [row["start"] for row in rows],
            "until": [row["end"] or row["start"] for row in rows],
        }
        return dict(self._open().execute(ERRORS_IN_SQL, given).fetchall())

    def _accused_before(self, serial: str) -> Iterator[dict[str, Any]]:
        """The first sighting of each incident of other drops that accuses this serial."""
        told: set[str] = set()
        for record in self._ledger.accused_with_serial(serial):
            ticket = ticket_id(record)
            if record.drop == self._drop or not record.needs_ticket or ticket in told:
                continue
            told.add(ticket)
            at = record.first_seen or record.last_seen
            yield _told(ticket, "accused", record.isolated_component, at)

    def _exchanged(self, serial: str) -> Iterator[dict[str, Any]]:
        """Repairs that took it out or put it in; a part that was only reseated was neither."""
        for row in self._ledger.repairs(serial=serial):
            repair = row.report
            if repair.old_serial == repair.new_serial:
                continue
            how = "taken_out" if repair.old_serial == serial else "put_in"
            yield _told(repair.ticket_id, how, repair.component, repair.repaired_at)


def _told(ticket: str, how: str, link: str, at: datetime | None) -> dict[str, Any]:
    return {"ticket_id": ticket, "how": how, "link": link, "at": _plain(at)}


def _neighbour(fabric: Fabric, end: str) -> dict[str, Any]:
    link, counted = fabric.topology.link_of(end), fabric.ends.get(end)
    key = fabric.topology.link_key(end)
    stated_type = link.link_type if link else ""
    return {
        "component": end,
        "far_end": fabric.topology.far_end(end),
        "link_type": stated_type or (counted.link_type if counted else ""),
        "cable_id": link.cable_id if link else "",
        "part": link.part if link else "",
        "errors": fabric.errors(key),
        "is_accused": key in fabric.accused,
    }


def _shared(fabric: Fabric, part: tuple[str, str], links: list[str]) -> dict[str, Any]:
    carried = fabric.parts.links_of(part)
    errors = [fabric.errors(key) for key in carried]
    return {
        "shared": part[1],
        "kind": part[0],
        "links": links,
        "links_in_all": len(carried),
        "clean_links": sum(count == 0 for count in errors),
        "unmeasured_links": sum(count is None for count in errors),
    }


def _counter(row: dict[str, Any]) -> dict[str, Any]:
    hours, events = row["measured_hours"], row["events"]
    is_rate = bool(hours) and events is not None and row["steps"] > 0
    return {
        "counter": row["counter"],
        "lane": row["lane"],
        "events": events,
        "first_seen": _plain(row["first_seen"]),
        "last_seen": _plain(row["last_seen"]),
        "per_hour": round(events / hours, 3) if is_rate else None,
        "measured_hours": None if hours is None else round(hours, 3),
        "quality": _quality(row),
        "siblings_median": row["siblings_median"],
        "last_value": row["last_value"],
    }


def _quality(row: dict[str, Any]) -> str:
    """What a reader has to know of the readings, in words."""
    if row["last_value"] is None:
        return "listed without a value: not measured"
    if row["kind"] == "gauge":
        return "a state, not countable"
    if row["events"] is None:
        return "read once, so no growth is known"
    if row["steps"] == 0:
        return "a total since an unknown time, no rate"
    flaws = [name.replace("_", " ") for name in row["qualities"] if name in _UNSURE]
    return f"at least this ({', '.join(flaws)})" if flaws else "ok"


def _crosses(row: dict[str, Any], nodes: Sequence[str]) -> bool:
    if row["in_path"] is not None:
        return bool(row["in_path"] == "yes")
    return bool({*json.loads(row["nodes"])} & ({*nodes} - {""}))


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _bounded(rows: Rows) -> Rows:
    return _with_left_off(rows[:MAX_ROWS], max(0, len(rows) - MAX_ROWS))


def _with_left_off(rows: Rows, number: int) -> Rows:
    """The last row says how many more there are, so that a short list is not taken for the whole."""
    if number and rows:
        rows[-1] = {**rows[-1], "left_off": number}
    return rows
