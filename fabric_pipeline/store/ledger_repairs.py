"""Repairs that people reported and checks of links in later drops; both are appended and chained.

What a repair may say is checked in `workflows.report_repair`, how a link is checked in
`workflows.link_checks`, and what follows from both in `incidents.lifecycle`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fabric_pipeline.store.ledger_chain import append_link
from fabric_pipeline.store.ledger_file import LedgerFile, utc_text


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What a person says was done. `repaired_at` has a time zone; unknown texts are empty."""

    incident_id: str
    ticket_id: str
    component: str
    action: str
    step: int | None
    part: str
    old_serial: str
    new_serial: str
    repaired_by: str
    repaired_at: datetime
    note: str = ""


@dataclass(frozen=True, slots=True)
class RepairRow:
    """A report as recorded, with its number and the time of recording."""

    seq: int
    report: RepairReport
    at: datetime


@dataclass(frozen=True, slots=True)
class LinkCheck:
    """How a link that was once accused looks in a drop.

    `verdict` is clean, dirty or unmeasured, `measured_s` the seconds of counters under traffic. `facts`
    are plain JSON values: what was compared with what.
    """

    incident_id: str
    drop: str
    component: str
    verdict: str
    window_start: datetime | None
    window_end: datetime | None
    measured_s: float
    facts: Mapping[str, Any] = field(default_factory=dict)


class LedgerRepairs(LedgerFile):
    """Recording and listing repairs and link checks."""

    def record_repair(self, report: RepairReport, at: datetime) -> RepairRow:
        """Append one report to the history."""
        with self.writing() as con:
            cursor = con.execute(
                "INSERT INTO repairs (incident_id, ticket_id, component, action, step, part, "
                "old_serial, new_serial, repaired_by, repaired_at, note, at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    report.incident_id,
                    report.ticket_id,
                    report.component,
                    report.action,
                    report.step,
                    report.part,
                    report.old_serial,
                    report.new_serial,
                    report.repaired_by,
                    utc_text(report.repaired_at),
                    report.note,
                    utc_text(at),
                ],
            )
            seq = int(cursor.lastrowid or 0)
            append_link(con, "repair", seq)
        return RepairRow(seq, report, at)

    def repairs(self, incident_id: str | None = None, *, serial: str = "") -> list[RepairRow]:
        """Reported repairs by the time they were done; of one incident, or with this serial out or in."""
        sql, params = "SELECT * FROM repairs WHERE 1 = 1", []
        if incident_id is not None:
            sql += " AND incident_id = ?"
            params.append(incident_id)
        if serial:
            sql += " AND (old_serial = ? OR new_serial = ?)"
            params += [serial, serial]
        with self.reading() as con:
            rows = con.execute(f"{sql} ORDER BY repaired_at, seq", params).fetchall()
        return [_repair(row) for row in rows]

    def record_link_checks(self, checks: Sequence[LinkCheck], at: datetime) -> list[LinkCheck]:
        """Append what is new; a check with the outcome that stands already is not written again.

        Returns the checks that were written.
        """
        written = []
        with self.writing() as con:
            for check in checks:
                values = _check_values(check)
                if not _stands(con, check, values):
                    _append_check(con, check, values, at)
                    written.append(check)
        return written

    def link_checks(
        self,
        *,
        incident_id: str | None = None,
        incident_ids: Collection[str] | None = None,
        drop: str | None = None,
        verdict: str | None = None,
    ) -> list[LinkCheck]:
        """The standing check of each incident in each drop: the newest one counts."""
        sql, params = f"SELECT * FROM ({STANDING_CHECKS}) WHERE 1 = 1", []
        for column, value in (
            ("incident_id", incident_id),
            ("drop_id", drop),
            ("verdict", verdict),
        ):
            if value is not None:
                sql += f" AND {column} = ?"
                params.append(value)
        if incident_ids is not None:
            sql += " AND incident_id IN (SELECT value FROM json_each(?))"
            params.append(json.dumps(list(incident_ids)))
        with self.reading() as con:
            rows = con.execute(f"{sql} ORDER BY seq", params).fetchall()
        return [link_check(row) for row in rows]


STANDING_CHECKS = (
    "SELECT * FROM link_checks AS c WHERE c.seq = (SELECT max(n.seq) FROM link_checks AS n "
    "WHERE n.drop_id = c.drop_id AND n.incident_id = c.incident_id)"
)


def link_check(row: sqlite3.Row) -> LinkCheck:
    """A row of `link_checks` read back."""
    return LinkCheck(
        incident_id=row["incident_id"],
        drop=row["drop_id"],
        component=row["component"],
        verdict=row["verdict"],
        window_start=moment(row["window_start"]),
        window_end=moment(row["window_end"]),
        measured_s=row["measured_s"],
        facts=json.loads(row["facts"]),
    )


def moment(text: str | None) -> datetime | None:
    """A time of the ledger read back."""
    return datetime.fromisoformat(text) if text else None


def _repair(row: sqlite3.Row) -> RepairRow:
    report = RepairReport(
        incident_id=row["incident_id"],
        ticket_id=row["ticket_id"],
        component=row["component"],
        action=row["action"],
        step=row["step"],
        part=row["part"],
        old_serial=row["old_serial"],
        new_serial=row["new_serial"],
        repaired_by=row["repaired_by"],
        repaired_at=datetime.fromisoformat(row["repaired_at"]),
        note=row["note"],
    )
    return RepairRow(row["seq"], report, datetime.fromisoformat(row["at"]))


def _check_values(check: LinkCheck) -> tuple[object, ...]:
    return (
        check.component,
        check.verdict,
        utc_text(check.window_start) if check.window_start else None,
        utc_text(check.window_end) if check.window_end else None,
        float(check.measured_s),
        json.dumps(check.facts, sort_keys=True, ensure_ascii=True),
    )


def _stands(con: sqlite3.Connection, check: LinkCheck, values: tuple[object, ...]) -> bool:
    row = con.execute(
        "SELECT component, verdict, window_start, window_end, measured_s, facts FROM link_checks "
        "WHERE drop_id = ? AND incident_id = ? ORDER BY seq DESC LIMIT 1",
        [check.drop, check.incident_id],
    ).fetchone()
    return row is not None and tuple(row) == values


def _append_check(
    con: sqlite3.Connection, check: LinkCheck, values: tuple[object, ...], at: datetime
) -> None:
    cursor = con.execute(
        "INSERT INTO link_checks (incident_id, drop_id, component, verdict, window_start, "
        "window_end, measured_s, facts, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [check.incident_id, check.drop, *values, utc_text(at)],
    )
    append_link(con, "link_check", int(cursor.lastrowid or 0))
