"""What each diagnosis of a drop found, kept as history: new, changed and no longer found.

The newest observation of an incident in a drop is the one that counts. Building an incident record
and judging repeats are done elsewhere.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.store.ledger_file import LedgerFile, utc_text


@dataclass(frozen=True, slots=True)
class AccusedEnds:
    """Which link an incident accuses in a drop: its component, and the other end or ""."""

    drop: str
    incident_id: str
    component: str
    far_end: str


@dataclass(frozen=True, slots=True)
class Observation:
    """One incident as one diagnosis of one drop found it.

    `found` is False for the note that a later diagnosis of the same drop no longer found it; the
    record is then the last one that was found.
    """

    seq: int
    incident_id: str
    drop: str
    found: bool
    record: IncidentRecord
    at: datetime


class LedgerIncidents(LedgerFile):
    """Recording and listing incident observations."""

    def record_incidents(
        self, drop: str, records: Sequence[IncidentRecord], at: datetime
    ) -> list[str]:
        """Keep the outcome of one diagnosis; give all records of the drop, also none at all.

        Returns the ids of incidents that were found before and no longer are. The same records
        again add nothing but the note that the drop was diagnosed.
        """
        with self.writing() as con:
            con.execute(
                "INSERT INTO diagnoses (drop_id, incidents, at) VALUES (?, ?, ?)",
                [drop, len(records), utc_text(at)],
            )
            known = {
                row["incident_id"]: row
                for row in con.execute(
                    "SELECT * FROM current_observations WHERE drop_id = ?", [drop]
                )
            }
            for record in records:
                _observe(con, drop, record, known.get(record.incident_id), at)
            gone = sorted(known.keys() - {record.incident_id for record in records})
            for incident_id in gone:
                _append(con, {**dict(known[incident_id]), "found": 0, "at": utc_text(at)})
        return gone

    def incidents(
        self, drop: str | None = None, *, component: str | None = None, gpu_serial: str = ""
    ) -> list[Observation]:
        """What is currently found, narrowed by drop, component or serial, in order of recording.

        The same incident in several drops is one entry for each drop.
        """
        sql = "SELECT * FROM current_observations WHERE 1 = 1"
        params: list[str] = []
        for column, value in (("drop_id", drop), ("component", component)):
            if value is not None:
                sql += f" AND {column} = ?"
                params.append(value)
        if gpu_serial:
            sql += " AND gpu_serial = ?"
            params.append(gpu_serial)
        with self.reading() as con:
            rows = con.execute(f"{sql} ORDER BY seq", params).fetchall()
        return [_observation(row) for row in rows]

    def accused_with_serial(self, serial: str) -> list[IncidentRecord]:
        """Standing records that accuse a component with this serial of a GPU, an adapter or a cable.

        At either end of the link, in order of recording.
        """
        if not serial:
            return []
        with self.reading() as con:
            rows = con.execute(
                "SELECT o.json FROM current_observations AS o "
                "WHERE o.seq IN (SELECT seq FROM accused_serials WHERE serial = ?) ORDER BY o.seq",
                [serial],
            ).fetchall()
        return [IncidentRecord.model_validate_json(row["json"]) for row in rows]

    def standing_ends(self, drops: Collection[str]) -> list[AccusedEnds]:
        """Ends of the links that standing diagnoses of these drops accuse, without their records."""
        with self.reading() as con:
            rows = con.execute(
                "SELECT a.drop_id, a.incident_id, a.component, a.far_end FROM accused_ends AS a "
                "WHERE a.drop_id IN (SELECT value FROM json_each(?)) AND NOT EXISTS ("
                "SELECT 1 FROM incident_observations AS n WHERE n.drop_id = a.drop_id "
                "AND n.incident_id = a.incident_id AND n.seq > a.seq) ORDER BY a.seq",
                [json.dumps(list(drops))],
            ).fetchall()
        return [AccusedEnds(*row) for row in rows]

    def accusing_records(self, incident_ids: Collection[str]) -> list[IncidentRecord]:
        """Standing records of these incidents that accuse a component, in order of recording."""
        with self.reading() as con:
            rows = con.execute(
                "SELECT json FROM current_observations WHERE needs_ticket = 1 "
                "AND incident_id IN (SELECT value FROM json_each(?)) ORDER BY seq",
                [json.dumps(list(incident_ids))],
            ).fetchall()
        return [IncidentRecord.model_validate_json(row["json"]) for row in rows]

    def incident_history(self, incident_id: str) -> list[Observation]:
        """Every observation of one incident over all drops, the notes of absence included."""
        with self.reading() as con:
            rows = con.execute(
                "SELECT * FROM incident_observations WHERE incident_id = ? ORDER BY seq",
                [incident_id],
            ).fetchall()
        return [_observation(row) for row in rows]


def _observe(
    con: sqlite3.Connection,
    drop: str,
    record: IncidentRecord,
    known: sqlite3.Row | None,
    at: datetime,
) -> None:
    text = record.model_dump_json()
    if known is not None and known["json"] == text:
        return
    _append(
        con,
        {
            "incident_id": record.incident_id,
            "drop_id": drop,
            "found": 1,
            "component": record.isolated_component,
            "gpu_serial": record.place.gpu_serial,
            "needs_ticket": int(record.needs_ticket),
            "evidence_sha256": record.evidence_sha256,
            "json": text,
            "at": utc_text(at),
        },
    )


def _append(con: sqlite3.Connection, values: dict[str, object]) -> None:
    con.execute(
        "INSERT INTO incident_observations (incident_id, drop_id, found, component, gpu_serial, "
        "needs_ticket, evidence_sha256, json, at) VALUES (:incident_id, :drop_id, :found, "
        ":component, :gpu_serial, :needs_ticket, :evidence_sha256, :json, :at)",
        values,
    )


def _observation(row: sqlite3.Row) -> Observation:
    return Observation(
        seq=row["seq"],
        incident_id=row["incident_id"],
        drop=row["drop_id"],
        found=bool(row["found"]),
        record=IncidentRecord.model_validate_json(row["json"]),
        at=datetime.fromisoformat(row["at"]),
    )
