"""The history of every incident that was ever accused, read from the ledger for `incidents.lifecycle`.

One pass over observations, standing link checks and repairs; no record is parsed whole. The audit file
and the command line both ask here.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from fabric_pipeline.incidents.life_history import Check, History, Repair, Sighting
from fabric_pipeline.incidents.lifecycle import LifeState, life_of
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.store.ledger_file import LedgerFile
from fabric_pipeline.store.ledger_repairs import STANDING_CHECKS, moment

_SIGHTINGS = """
SELECT incident_id, drop_id, json_extract(json, '$.first_seen') AS first_seen,
    json_extract(json, '$.last_seen') AS last_seen, json_extract(json, '$.severity') AS severity,
    json_extract(json, '$.degradation_pct') AS degradation_pct,
    json_extract(json, '$.numbers.max_rate_per_hour') AS rate,
    json_extract(json, '$.numbers.counts') AS counts
FROM current_observations WHERE needs_ticket = 1
"""
_ACCUSED = """
SELECT incident_id, component, seq FROM incident_observations WHERE needs_ticket = 1
"""


@dataclass(slots=True)
class IncidentLife:
    """One incident: the component it was last known by, its history and its state."""

    component: str
    history: History
    state: LifeState = field(init=False)

    def __post_init__(self) -> None:
        """The state follows from the history."""
        self.state = life_of(self.history)


def lives(
    ledger: LedgerFile, incident_ids: Collection[str] | None = None
) -> dict[str, IncidentLife]:
    """Incident id -> its life, for all that were ever accused, or for those of them that are named.

    Links to watch have no life of their own: nobody is asked to repair them.
    """
    with ledger.reading() as con:
        accused = _narrowed(
            con, _ACCUSED, incident_ids, " GROUP BY incident_id HAVING seq = max(seq)"
        )
        components = {row["incident_id"]: row["component"] for row in accused}
        sightings = _grouped(con, _SIGHTINGS, _sighting, incident_ids)
        checks = _grouped(
            con, f"SELECT * FROM ({STANDING_CHECKS}) WHERE 1 = 1", _check, incident_ids
        )
        repairs = _grouped(con, "SELECT * FROM repairs WHERE 1 = 1", _repair, incident_ids)
    return {
        name: IncidentLife(
            components[name],
            History(tuple(sightings[name]), tuple(checks[name]), tuple(repairs[name])),
        )
        for name in sorted(components)
    }


def sighting_of(record: IncidentRecord) -> Sighting:
    """An accusing record as a sighting, the same as it will be read back from the ledger."""
    counts = record.numbers.get("counts") or {}
    return Sighting(
        drop=record.drop,
        first_seen=record.first_seen,
        last_seen=record.last_seen,
        severity=record.severity,
        degradation_pct=record.degradation_pct,
        rate_per_hour=record.numbers.get("max_rate_per_hour"),
        events=sum(counts.values()) if counts else None,
    )


def _grouped(
    con: sqlite3.Connection, sql: str, made: Any, incident_ids: Collection[str] | None
) -> Any:
    found: dict[str, list[Any]] = defaultdict(list)
    for row in _narrowed(con, sql, incident_ids):
        found[row["incident_id"]].append(made(row))
    return found


def _narrowed(
    con: sqlite3.Connection, sql: str, incident_ids: Collection[str] | None, ending: str = ""
) -> sqlite3.Cursor:
    """The SELECT, which ends in a condition, for the named incidents alone."""
    if incident_ids is None:
        return con.execute(f"{sql}{ending}")
    named = json.dumps(list(incident_ids))
    return con.execute(
        f"{sql} AND incident_id IN (SELECT value FROM json_each(?)){ending}", [named]
    )


def _sighting(row: sqlite3.Row) -> Sighting:
    counts = json.loads(row["counts"]) if row["counts"] else {}
    return Sighting(
        drop=row["drop_id"],
        first_seen=moment(row["first_seen"]),
        last_seen=moment(row["last_seen"]),
        severity=row["severity"],
        degradation_pct=row["degradation_pct"],
        rate_per_hour=row["rate"],
        events=sum(counts.values()) if counts else None,
    )


def _check(row: sqlite3.Row) -> Check:
    facts = json.loads(row["facts"])
    return Check(
        drop=row["drop_id"],
        verdict=row["verdict"],
        start=moment(row["window_start"]),
        end=moment(row["window_end"]),
        measured_s=row["measured_s"],
        last_error=moment(facts.get("last_error_at")),
        is_accused=bool(facts.get("is_accused")),
    )


def _repair(row: sqlite3.Row) -> Repair:
    at = moment(row["repaired_at"])
    if at is None:
        raise ValueError(f"repair {row['seq']} has no time")
    return Repair(row["seq"], row["action"], row["step"], at)
