"""Where drops lie on the axis of time, and which incidents need no looking after any more.

Both follow from what was diagnosed and may be written again: they spare a new drop the reading of old
ones. What they mean for the life of an incident is decided in `workflows.followed_links`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from fabric_pipeline.store.ledger_file import LedgerFile, utc_text


@dataclass(frozen=True, slots=True)
class DropSpan:
    """One drop: its cluster (None when no longer known), its first and last reading (UTC)."""

    drop: str
    cluster: str | None
    first: datetime | None
    last: datetime | None


class LedgerSpans(LedgerFile):
    """Recording and asking for spans of drops, and for settled incidents."""

    def record_spans(self, spans: Collection[DropSpan]) -> None:
        """Keep these spans over earlier ones of the same drops."""
        rows = [(one.drop, one.cluster, _text(one.first), _text(one.last)) for one in spans]
        with self.writing() as con:
            con.executemany(
                "INSERT INTO drop_spans (drop_id, cluster, first_ts, last_ts) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (drop_id) DO UPDATE SET cluster = excluded.cluster, "
                "first_ts = excluded.first_ts, last_ts = excluded.last_ts",
                rows,
            )

    def drops_without_span(self, drops: Collection[str]) -> list[str]:
        """Those of the drops whose span was never recorded, in the given order."""
        with self.reading() as con:
            known = {row["drop_id"] for row in con.execute("SELECT drop_id FROM drop_spans")}
        return [drop for drop in drops if drop not in known]

    def spans_of(self, cluster: str | None) -> dict[str, DropSpan]:
        """Drop -> span, of all drops of a cluster, by their last reading."""
        with self.reading() as con:
            rows = con.execute(
                "SELECT * FROM drop_spans WHERE cluster IS ? ORDER BY last_ts, drop_id", [cluster]
            ).fetchall()
        return {row["drop_id"]: _span(row) for row in rows}

    def spans(self) -> dict[str, DropSpan]:
        """Drop -> span, of all drops that have one."""
        with self.reading() as con:
            return {row["drop_id"]: _span(row) for row in con.execute("SELECT * FROM drop_spans")}

    def settle(self, incidents: Mapping[str, datetime]) -> None:
        """Note from when on drops need not be asked about these incidents any more."""
        with self.writing() as con:
            con.executemany(
                "INSERT OR REPLACE INTO settled_incidents (incident_id, from_ts) VALUES (?, ?)",
                [(name, utc_text(at)) for name, at in incidents.items()],
            )

    def settled(self, incident_ids: Collection[str]) -> dict[str, datetime]:
        """Those of the incidents that are settled, and from when on."""
        with self.reading() as con:
            rows = con.execute(
                "SELECT incident_id, from_ts FROM settled_incidents "
                "WHERE incident_id IN (SELECT value FROM json_each(?))",
                [json.dumps(list(incident_ids))],
            ).fetchall()
        return {row["incident_id"]: datetime.fromisoformat(row["from_ts"]) for row in rows}


def _span(row: sqlite3.Row) -> DropSpan:
    return DropSpan(row["drop_id"], row["cluster"], _time(row["first_ts"]), _time(row["last_ts"]))


def _text(at: datetime | None) -> str | None:
    return utc_text(at) if at is not None else None


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
