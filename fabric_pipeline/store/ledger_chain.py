"""The hash chain over drafts, edits, reviews, publications, repairs and link checks, and its verification.

A link is written in the same transaction as its row. The chain shows that a row was edited or
removed later; it cannot stop somebody who may write the file from rewriting all of it, which is why
dossiers keep the head of the chain outside.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class VerifiedChain:
    """A state of the chain that was verified: its newest link, and the newest row of each table."""

    seq: int
    head: str
    rows: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ChainCheck:
    """Outcome: `problems` in words, the links that were not looked at again, the state that is there."""

    problems: tuple[str, ...]
    trusted_links: int
    state: VerifiedChain


NOTHING_VERIFIED = VerifiedChain(0, GENESIS, {})


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
        """What does not hold, in words; empty when everything does. Every link and every row is read.

        `known_heads` are heads that were kept outside (in dossiers): a ledger that was rewritten or
        cut after one of them no longer contains it.
        """
        with self.reading() as con:
            problems = list(_problems(con, NOTHING_VERIFIED))
            lost = [head for head in known_heads if head != GENESIS and not _has_head(con, head)]
        return problems + [f"the chain no longer contains the known head {head}" for head in lost]

    def verify_since(self, start: VerifiedChain | None) -> ChainCheck:
        """Verify what came after a state that was verified before, or everything without one.

        Rows from before `start` are taken as they were found then: an edit of one of them is found by
        `verify_chain` alone. A chain that no longer holds the head of `start` is verified whole.
        """
        with self.reading() as con:
            if start is None or not _continues(con, start):
                start = NOTHING_VERIFIED
            problems = list(_problems(con, start))
            last = con.execute("SELECT seq, hash FROM chain ORDER BY seq DESC LIMIT 1").fetchone()
            rows = {table: _last_row(con, table) for table in TABLES.values()}
        seq, head = (last["seq"], last["hash"]) if last else (0, GENESIS)
        return ChainCheck(tuple(problems), start.seq, VerifiedChain(int(seq), str(head), rows))


def _payload(row: sqlite3.Row) -> str:
    text = json.dumps(dict(row), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _link_hash(seq: int, kind: str, row_seq: int, payload: str, prev: str) -> str:
    return hashlib.sha256(f"{seq}\n{kind}\n{row_seq}\n{payload}\n{prev}".encode()).hexdigest()


def _problems(con: sqlite3.Connection, start: VerifiedChain) -> Iterator[str]:
    yield from _broken_links(con, start)
    for kind, table in TABLES.items():
        yield from _changed_rows(con, kind, table, start)
    yield from _cut_ends(con)


def _broken_links(con: sqlite3.Connection, start: VerifiedChain) -> Iterator[str]:
    prev = start.head
    links = con.execute("SELECT * FROM chain WHERE seq > ? ORDER BY seq", [start.seq])
    for place, link in enumerate(links, start=start.seq + 1):
        if link["seq"] != place:
            yield f"chain: link {place} is missing before link {link['seq']}"
            return
        wanted = _link_hash(place, link["kind"], link["row_seq"], link["payload_sha256"], prev)
        if link["prev_hash"] != prev or link["hash"] != wanted:
            yield f"chain: link {place} does not follow from the links before it"
            return
        prev = link["hash"]


def _changed_rows(
    con: sqlite3.Connection, kind: str, table: str, start: VerifiedChain
) -> Iterator[str]:
    """Rows of one table beside their links, both in the order of the rows, one at a time."""
    known = start.rows.get(table, 0)
    rows = con.execute(f"SELECT * FROM {table} WHERE seq > ? ORDER BY seq", [known])
    links = con.execute(
        "SELECT row_seq, payload_sha256 FROM chain WHERE kind = ? AND row_seq > ? ORDER BY row_seq",
        [kind, known],
    )
    row, link = next(rows, None), next(links, None)
    while row is not None or link is not None:
        if link is not None and (row is None or link["row_seq"] < row["seq"]):
            yield f"{table}: row {link['row_seq']} was removed"
            link = next(links, None)
        elif row is not None and (link is None or row["seq"] < link["row_seq"]):
            yield f"{table}: row {row['seq']} ({_about(row)}) did not come by this program"
            row = next(rows, None)
        elif row is not None and link is not None:
            if _payload(row) != link["payload_sha256"]:
                yield f"{table}: row {row['seq']} ({_about(row)}) was edited"
            row, link = next(rows, None), next(links, None)


def _has_head(con: sqlite3.Connection, head: str) -> bool:
    return con.execute("SELECT 1 FROM chain WHERE hash = ?", [head]).fetchone() is not None


def _continues(con: sqlite3.Connection, start: VerifiedChain) -> bool:
    row = con.execute("SELECT hash FROM chain WHERE seq = ?", [start.seq]).fetchone()
    return row is not None and row["hash"] == start.head


def _last_row(con: sqlite3.Connection, table: str) -> int:
    return int(con.execute(f"SELECT coalesce(max(seq), 0) FROM {table}").fetchone()[0])


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
