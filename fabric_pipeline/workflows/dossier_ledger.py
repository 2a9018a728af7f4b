"""What the ledger says of one incident: its drafts, edits, reviews and repairs, each with its chain link.

Read from the ledger in one snapshot, or back from a dossier. Whether the links hold is checked in
`dossier_chain`; the files that people read are made in `dossier_ticket`.
"""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.store.ledger_chain import GENESIS
from fabric_pipeline.store.ledger_chain import TABLES as CHAINED

LEDGER_FILE, CHAIN_FILE = "ledger.json", "chain.csv"
# Links of one dossier; 20,000 are 4 MB. Of a longer stretch only the links of the own rows are kept.
MAX_LINKS = 20_000
_COLUMNS = ("seq", "kind", "row_seq", "payload_sha256", "prev_hash", "hash")
_BY_INCIDENT = ("draft", "repair", "link_check")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Link:
    """One link of the chain, as it stands in the ledger."""

    seq: int
    kind: str
    row_seq: int
    payload_sha256: str
    prev_hash: str
    hash: str


@dataclass(frozen=True, slots=True)
class LedgerFacts:
    """Rows of the ledger by kind, whole and unaltered, with links of the chain.

    `links` reach from the first own row to `head` when `is_gap_free`, else they are those of the own
    rows alone. `observed_at` is when the diagnosis that found the incident was recorded, "" when the
    ledger does not know the incident.
    """

    drop: str
    incident_id: str
    head: str
    observed_at: str
    is_gap_free: bool
    rows: Mapping[str, Sequence[Row]]
    links: Sequence[Link]

    @property
    def recorded_until(self) -> str:
        """Newest time among the recorded facts: the time of the dossier; "" when there is none."""
        times = [str(row["at"]) for rows in self.rows.values() for row in rows]
        return max([self.observed_at, *times])

    def texts(self) -> dict[str, str]:
        """The two files of a dossier that hold all this."""
        facts = {
            "chain_head": self.head,
            "drop": self.drop,
            "incident_id": self.incident_id,
            "observed_at": self.observed_at,
            "is_gap_free": self.is_gap_free,
            "rows": {kind: list(rows) for kind, rows in self.rows.items()},
        }
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows([getattr(link, name) for name in _COLUMNS] for link in self.links)
        text = json.dumps(facts, indent=2, ensure_ascii=False) + "\n"
        return {LEDGER_FILE: text, CHAIN_FILE: out.getvalue()}


def read_ledger(ledger: Ledger, incident_id: str, drop: str) -> LedgerFacts:
    """Everything chained about an incident and its tickets, over all drops, in one snapshot."""
    with ledger.reading() as con:
        rows = {kind: _rows(con, kind, incident_id) for kind in CHAINED}
        own = {(kind, row["seq"]) for kind, found in rows.items() for row in found}
        links, is_gap_free = _links(con, own)
        last = con.execute("SELECT hash FROM chain ORDER BY seq DESC LIMIT 1").fetchone()
        seen = con.execute(
            "SELECT at FROM current_observations WHERE incident_id = ? AND drop_id = ?",
            [incident_id, drop],
        ).fetchone()
    return LedgerFacts(
        drop=drop,
        incident_id=incident_id,
        head=last["hash"] if last else GENESIS,
        observed_at=seen["at"] if seen else "",
        is_gap_free=is_gap_free,
        rows=rows,
        links=links,
    )


def facts_in(data: Path) -> LedgerFacts:
    """The facts of a dossier; raises OSError, ValueError, KeyError or TypeError for another shape."""
    facts = json.loads((data / LEDGER_FILE).read_bytes())
    with (data / CHAIN_FILE).open(encoding="utf-8", newline="") as handle:
        reader = csv.reader(handle, strict=True)
        if tuple(next(reader, [])) != _COLUMNS:
            raise ValueError(f"{CHAIN_FILE}: its columns are not those of the chain")
        links = [Link(int(row[0]), row[1], int(row[2]), *row[3:]) for row in reader]
    rows = {kind: [dict(row) for row in facts["rows"][kind]] for kind in CHAINED}
    if set(facts["rows"]) != set(CHAINED):
        raise ValueError("it names kinds of rows that no ledger has")
    for row in (row for found in rows.values() for row in found):
        datetime.fromisoformat(row["at"])
    return LedgerFacts(
        drop=str(facts["drop"]),
        incident_id=str(facts["incident_id"]),
        head=str(facts["chain_head"]),
        observed_at=str(facts["observed_at"]),
        is_gap_free=bool(facts["is_gap_free"]),
        rows=rows,
        links=links,
    )


def _rows(con: sqlite3.Connection, kind: str, incident_id: str) -> list[Row]:
    table = CHAINED[kind]
    where = (
        "incident_id = ?"
        if kind in _BY_INCIDENT
        else "ticket_id IN (SELECT ticket_id FROM drafts WHERE incident_id = ?)"
    )
    found = con.execute(f"SELECT * FROM {table} WHERE {where} ORDER BY seq", [incident_id])
    return [dict(row) for row in found.fetchall()]


def _links(con: sqlite3.Connection, own: set[tuple[str, int]]) -> tuple[list[Link], bool]:
    """Links from the first own one to the head; those of the own rows alone when they are too many."""
    if not own:
        return [], True
    columns = ", ".join(_COLUMNS)
    one_of = con.execute("SELECT seq, kind, row_seq FROM chain ORDER BY seq")
    first = next((row["seq"] for row in one_of if (row["kind"], row["row_seq"]) in own), None)
    if first is None:
        return [], True
    number = con.execute("SELECT count(*) AS n FROM chain WHERE seq >= ?", [first]).fetchone()["n"]
    found = con.execute(f"SELECT {columns} FROM chain WHERE seq >= ? ORDER BY seq", [first])
    links = (Link(**dict(row)) for row in found)
    if number <= MAX_LINKS:
        return list(links), True
    return [link for link in links if (link.kind, link.row_seq) in own], False
