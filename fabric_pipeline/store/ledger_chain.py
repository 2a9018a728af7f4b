"""The hash chain over drafts, edits, reviews, publications, repairs and link checks, and its verification.

A link is written in the same transaction as its row. The chain shows that a row was edited or
removed later; it cannot stop somebody who may write the file from rewriting all of it, which is why
dossiers keep the head of the chain outside.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator

from fabric_pipeline.store.ledger_file import LedgerFile

GENESIS = "0" * 64
TABLES = {
    "draft": "drafts",
    "retirement": "retirements",
    "review": "reviews",
    "publication": "published",
    "edit": "edits",
    "repair": "repairs",
    "link_check": "link_checks",
}


def append_link(con: sqlite3.Connection, kind: str, row_seq: int) -> str:
    """Chain the row `row_seq` that this transaction has just written; returns the new head."""
    last = con.execute("SELECT seq, hash FROM chain ORDER BY seq DESC LIMIT 1").fetchone()
    seq, prev = (last["seq"] + 1, last["hash"]) if last else (1, GENESIS)
    row = con.execute(f"SELECT * FROM {TABLES[kind]} WHERE seq = ?", [row_seq]).fetchone()
    payload = _payload(row)
    head = _link_hash(seq, kind, row_seq, payload, prev)
    con.execute(
        "INSERT INTO chain (seq, kind, row_seq, payload_sha256, prev_hash, hash) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        [seq, kind, row_seq, payload, prev, head],
    )
    return head


class LedgerChain(LedgerFile):
    """Questions about the chain."""

    def chain_head(self) -> str:
        """Hash of the newest link; 64 zeros for an empty ledger."""
        with self.reading() as con:
            row = con.execute("SELECT hash FROM chain ORDER BY seq DESC LIMIT 1").fetchone()
        return str(row["hash"]) if row else GENESIS

    def chain_length(self) -> int:
        """How many links the chain has."""
        with self.reading() as con:
            return int(con.execute("SELECT count(*) FROM chain").fetchone()[0])

    def verify_chain(self, known_heads: Iterable[str] = ()) -> list[str]:
        """What does not hold, in words; empty when everything does.

        `known_heads` are heads that were kept outside (in dossiers): a ledger that was rewritten or
        cut after one of them no longer contains it.
        """
        with self.reading() as con:
            links = con.execute("SELECT * FROM chain ORDER BY seq").fetchall()
            problems = [*_broken_links(links), *_changed_rows(con, links), *_cut_ends(con)]
        hashes = {GENESIS, *(link["hash"] for link in links)}
        lost = [head for head in known_heads if head not in hashes]
        return problems + [f"the chain no longer contains the known head {head}" for head in lost]


def _payload(row: sqlite3.Row) -> str:
    text = json.dumps(dict(row), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _link_hash(seq: int, kind: str, row_seq: int, payload: str, prev: str) -> str:
    return hashlib.sha256(f"{seq}\n{kind}\n{row_seq}\n{payload}\n{prev}".encode()).hexdigest()


def _broken_links(links: list[sqlite3.Row]) -> Iterator[str]:
    prev = GENESIS
    for place, link in enumerate(links, start=1):
        if link["seq"] != place:
            yield f"chain: link {place} is missing before link {link['seq']}"
            return
        wanted = _link_hash(place, link["kind"], link["row_seq"], link["payload_sha256"], prev)
        if link["prev_hash"] != prev or link["hash"] != wanted:
            yield f"chain: link {place} does not follow from the links before it"
            return
        prev = link["hash"]


def _changed_rows(con: sqlite3.Connection, links: list[sqlite3.Row]) -> Iterator[str]:
    for kind, table in TABLES.items():
        rows = {row["seq"]: row for row in con.execute(f"SELECT * FROM {table} ORDER BY seq")}
        chained = {link["row_seq"]: link for link in links if link["kind"] == kind}
        for seq, link in chained.items():
            if seq not in rows:
                yield f"{table}: row {seq} was removed"
            elif _payload(rows[seq]) != link["payload_sha256"]:
                yield f"{table}: row {seq} ({_about(rows[seq])}) was edited"
        for seq in rows.keys() - chained.keys():
            yield f"{table}: row {seq} ({_about(rows[seq])}) did not come by this program"


def _about(row: sqlite3.Row) -> str:
    is_ticket = "ticket_id" in row.keys()  # noqa: SIM118 (a Row is no mapping)
    return f"ticket {row['ticket_id']}" if is_ticket else f"incident {row['incident_id']}"


def _cut_ends(con: sqlite3.Connection) -> Iterator[str]:
    """SQLite remembers the highest number it gave out, also when the last rows are gone."""
    for table in ("chain", *TABLES.values()):
        given = con.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", [table]).fetchone()
        last = con.execute(f"SELECT coalesce(max(seq), 0) FROM {table}").fetchone()[0]
        if given and given["seq"] > last:
            yield f"{table}: rows {last + 1} to {given['seq']} were removed from its end"
