"""Which drops are known, under which id, and whether their content was read before.

An id belongs to a path; a content belongs to the drop that has it now, so that the same bytes under
a second name are not diagnosed twice. Reading the files is not done here.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.store.ledger_file import LedgerFile, utc_text

MAX_ID = 100
ClaimState = Literal["new", "unchanged", "changed", "duplicate_of"]


@dataclass(frozen=True, slots=True)
class DropClaim:
    """What the ledger says about a drop that is about to be read.

    `owner` is the drop to work on: `drop_id` itself, or for `duplicate_of` the drop that has the
    same content already. `processed` is True once this content went through the pipeline, so an
    `unchanged` drop whose run was cut short is not forgotten.
    """

    drop_id: str
    state: ClaimState
    owner: str
    content_sha256: str
    processed: bool


@dataclass(frozen=True, slots=True)
class DropRow:
    """One known drop; times are UTC."""

    drop_id: str
    name: str
    path: str
    content_sha256: str
    first_seen: datetime
    last_read: datetime
    processed_sha256: str


def slug(name: str) -> str:
    """A name as a drop id: small ASCII letters, digits, `.`, `_`, `-`; never empty."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9._-]+", "-", plain).strip("-._")[:MAX_ID].rstrip("-._") or "drop"


class LedgerDrops(LedgerFile):
    """Claiming and listing drops."""

    def claim_drop(
        self, name: str, path: Path | str, content_sha256: str, at: datetime
    ) -> DropClaim:
        """Register a drop before it is read. See `DropClaim` for the answer.

        A known path keeps its id for ever; content that goes A, B, A is `changed` each time.
        """
        place = _storable(os.path.abspath(path))  # noqa: PTH100 (resolve() would follow links)
        with self.writing() as con:
            known = con.execute("SELECT * FROM drops WHERE path = ?", [place]).fetchone()
            if known and known["content_sha256"] == content_sha256:
                _touch(con, known["drop_id"], content_sha256, at)
                return _claim(known, "unchanged", content_sha256)
            owner = con.execute(
                "SELECT * FROM drops WHERE content_sha256 = ? ORDER BY first_seen, drop_id LIMIT 1",
                [content_sha256],
            ).fetchone()
            if owner:
                _note(con, owner["drop_id"], place, content_sha256, "duplicate_of", at)
                mine = known["drop_id"] if known else owner["drop_id"]
                return _claim(owner, "duplicate_of", content_sha256, mine)
            if known:
                _change(con, known["drop_id"], content_sha256, at)
                _note(con, known["drop_id"], place, content_sha256, "changed", at)
                drop_id = known["drop_id"]
                return DropClaim(drop_id, "changed", drop_id, content_sha256, processed=False)
            return _register(con, name, place, content_sha256, at)

    def mark_processed(self, drop_id: str, content_sha256: str, at: datetime) -> None:
        """Note that this content went through the pipeline to its end."""
        with self.writing() as con:
            done = con.execute(
                "UPDATE drops SET processed_sha256 = ?, last_read = ? WHERE drop_id = ?",
                [content_sha256, utc_text(at), drop_id],
            )
            if not done.rowcount:
                raise _unknown(drop_id)

    def drop(self, drop_id: str) -> DropRow:
        """One drop by its id; `NotFoundError` when there is none."""
        with self.reading() as con:
            row = con.execute("SELECT * FROM drops WHERE drop_id = ?", [drop_id]).fetchone()
        if row is None:
            raise _unknown(drop_id)
        return _drop_row(row)

    def drops(self) -> list[DropRow]:
        """All drops in the order in which they were first seen."""
        with self.reading() as con:
            rows = con.execute("SELECT * FROM drops ORDER BY first_seen, drop_id").fetchall()
        return [_drop_row(row) for row in rows]


def _register(
    con: sqlite3.Connection, name: str, place: str, content_sha256: str, at: datetime
) -> DropClaim:
    drop_id = _free_id(con, name, place)
    con.execute(
        "INSERT INTO drops (drop_id, name, path, content_sha256, first_seen, last_read) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        [drop_id, _storable(name), place, content_sha256, utc_text(at), utc_text(at)],
    )
    _note(con, drop_id, place, content_sha256, "new", at)
    return DropClaim(drop_id, "new", drop_id, content_sha256, processed=False)


def _free_id(con: sqlite3.Connection, name: str, place: str) -> str:
    """The slug; when another path has it, the slug with as much of the path's hash as it takes."""
    digest = hashlib.sha256(place.encode()).hexdigest()
    candidate = slug(name)
    for length in (8, 16, 32, 64):
        if not con.execute("SELECT 1 FROM drops WHERE drop_id = ?", [candidate]).fetchone():
            return candidate
        candidate = f"{slug(name)[: MAX_ID - 1 - length]}-{digest[:length]}"
    return candidate


def _storable(text: str) -> str:
    """A path or name with its bytes that are not UTF-8 spelt out, as SQLite needs it."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _touch(con: sqlite3.Connection, drop_id: str, content_sha256: str, at: datetime) -> None:
    con.execute(
        "UPDATE drops SET content_sha256 = ?, last_read = ? WHERE drop_id = ?",
        [content_sha256, utc_text(at), drop_id],
    )


def _change(con: sqlite3.Connection, drop_id: str, content_sha256: str, at: datetime) -> None:
    """New content: nothing of it is processed, even when it is what was processed long ago, because
    a run over the content in between may have written tables meanwhile.
    """
    _touch(con, drop_id, content_sha256, at)
    con.execute("UPDATE drops SET processed_sha256 = '' WHERE drop_id = ?", [drop_id])


def _note(
    con: sqlite3.Connection, drop_id: str, place: str, sha256: str, state: str, at: datetime
) -> None:
    last = con.execute(
        "SELECT drop_id, content_sha256, state FROM drop_reads WHERE path = ? "
        "ORDER BY seq DESC LIMIT 1",
        [place],
    ).fetchone()
    if last and tuple(last) == (drop_id, sha256, state):
        return  # a folder that is watched asks again every few seconds
    con.execute(
        "INSERT INTO drop_reads (drop_id, path, content_sha256, state, at) VALUES (?, ?, ?, ?, ?)",
        [drop_id, place, sha256, state, utc_text(at)],
    )


def _claim(row: sqlite3.Row, state: ClaimState, sha256: str, drop_id: str = "") -> DropClaim:
    processed = row["processed_sha256"] == sha256
    return DropClaim(drop_id or row["drop_id"], state, row["drop_id"], sha256, processed)


def _drop_row(row: sqlite3.Row) -> DropRow:
    return DropRow(
        drop_id=row["drop_id"],
        name=row["name"],
        path=row["path"],
        content_sha256=row["content_sha256"],
        first_seen=datetime.fromisoformat(row["first_seen"]),
        last_read=datetime.fromisoformat(row["last_read"]),
        processed_sha256=row["processed_sha256"],
    )


def _unknown(drop_id: str) -> NotFoundError:
    return NotFoundError(
        f"drop {drop_id!r} is not in the ledger", "list the known drops, or run it by its folder"
    )
