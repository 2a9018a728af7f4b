"""What was thrown away of old drops by policy: appended before anything is removed, each row over the last.

Which tables expire, and when, is decided in `workflows.retention`.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fabric_pipeline.store.ledger_chain import GENESIS
from fabric_pipeline.store.ledger_file import LedgerFile, utc_text


@dataclass(frozen=True, slots=True)
class ExpiredTable:
    """One table of one drop: how many rows and bytes it had, the hash of its file, by which rule and when."""

    drop: str
    table: str
    rows: int
    bytes: int
    sha256: str
    policy: str
    at: datetime


class LedgerExpired(LedgerFile):
    """Recording and asking for what expired."""

    def record_expired(self, tables: Sequence[ExpiredTable]) -> None:
        """Append to the record. What stands there since the drop was last read is not written again."""
        with self.writing() as con:
            for one in tables:
                if not _stands(con, one):
                    _append(con, one)

    def expired(self, drop: str | None = None, table: str | None = None) -> list[ExpiredTable]:
        """The record in its order, of all drops or of one, and of one table."""
        sql, params = "SELECT * FROM expired WHERE 1 = 1", []
        for column, value in (("drop_id", drop), ("table_name", table)):
            if value is not None:
                sql += f" AND {column} = ?"
                params.append(value)
        with self.reading() as con:
            return [_expired(row) for row in con.execute(f"{sql} ORDER BY seq", params)]

    def expired_problems(self) -> list[str]:
        """Rows of the record that were edited, removed or slipped in; empty when it holds."""
        problems, prev, place = [], GENESIS, 0
        with self.reading() as con:
            given = con.execute("SELECT seq FROM sqlite_sequence WHERE name = 'expired'").fetchone()
            for place, row in enumerate(con.execute("SELECT * FROM expired ORDER BY seq"), start=1):
                if row["seq"] != place or row["prev_hash"] != prev or row["hash"] != _hash(row):
                    problems.append(f"expired: row {place} does not follow from the rows before it")
                    break
                prev = row["hash"]
        if not problems and given and given["seq"] > place:
            problems.append(
                f"expired: rows {place + 1} to {given['seq']} were removed from its end"
            )
        return problems


def _stands(con: sqlite3.Connection, one: ExpiredTable) -> bool:
    found = con.execute(
        "SELECT 1 FROM expired AS e WHERE e.drop_id = ? AND e.table_name = ? AND e.sha256 = ? "
        "AND e.at > coalesce((SELECT d.last_read FROM drops AS d WHERE d.drop_id = e.drop_id), '')",
        [one.drop, one.table, one.sha256],
    ).fetchone()
    return found is not None


def _append(con: sqlite3.Connection, one: ExpiredTable) -> None:
    last = con.execute("SELECT seq, hash FROM expired ORDER BY seq DESC LIMIT 1").fetchone()
    values = {
        "seq": last["seq"] + 1 if last else 1, "drop_id": one.drop, "table_name": one.table, "rows": one.rows, "bytes": one.bytes,
        "sha256": one.sha256, "policy": one.policy, "at": utc_text(one.at), "prev_hash": last["hash"] if last else GENESIS,
    }  # fmt: skip
    values["hash"] = _hash(values)
    names = ", ".join(values)
    marks = ", ".join(f":{name}" for name in values)
    con.execute(f"INSERT INTO expired ({names}) VALUES ({marks})", values)


def _hash(row: sqlite3.Row | dict[str, object]) -> str:
    body = {name: row[name] for name in row.keys() if name != "hash"}  # noqa: SIM118 (a Row is no mapping)
    text = json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _expired(row: sqlite3.Row) -> ExpiredTable:
    at = datetime.fromisoformat(row["at"])
    return ExpiredTable(
        row["drop_id"],
        row["table_name"],
        row["rows"],
        row["bytes"],
        row["sha256"],
        row["policy"],
        at,
    )
