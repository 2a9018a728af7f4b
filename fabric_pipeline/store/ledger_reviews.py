"""Reviews by people and the publications that rest on them.

Both bind to one revision and the hash of its content. The rules that refuse a review or a
publication stand in the file itself (`migrations/*.sql`); here they only get a readable message.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from fabric_pipeline.errors import GateError, NotFoundError
from fabric_pipeline.incidents.review import ReviewState, Standing
from fabric_pipeline.store.ledger_chain import append_link
from fabric_pipeline.store.ledger_changes import why_newer
from fabric_pipeline.store.ledger_drafts import stored_draft
from fabric_pipeline.store.ledger_file import LedgerFile, utc_text


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """One decision of one person on one revision."""

    seq: int
    ticket_id: str
    revision: int
    draft_sha256: str
    drop: str
    decision: Literal["approved", "rejected"]
    reviewer: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Publication:
    """One published revision; `outbox_file` is relative to the outbox."""

    seq: int
    ticket_id: str
    revision: int
    draft_sha256: str
    drop: str
    review_seq: int
    reviewer: str
    at: datetime
    outbox_file: str


class LedgerReviews(LedgerFile):
    """Recording and reading reviews and publications."""

    def add_review(
        self,
        ticket_id: str,
        draft_sha256: str,
        decision: Literal["approved", "rejected"],
        reviewer: str,
        reason: str,
        at: datetime,
    ) -> ReviewRow:
        """Record a decision on the current draft; anything but the current draft is refused.

        Use `workflows.review_ticket.review`, which also checks who reviews.
        """
        with self.writing() as con:
            current = con.execute(
                "SELECT * FROM current_drafts WHERE ticket_id = ? AND draft_sha256 = ?",
                [ticket_id, draft_sha256],
            ).fetchone()
            if current is None or current["retired"]:
                raise GateError(
                    f"{ticket_id}: {draft_sha256[:12]} is not the current draft of this ticket",
                    "read the newest revision and review that one",
                )
            cursor = con.execute(
                "INSERT INTO reviews (ticket_id, revision, draft_sha256, decision, reviewer, "
                "reason, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    ticket_id,
                    current["revision"],
                    draft_sha256,
                    decision,
                    reviewer.strip(),
                    reason.strip(),
                    utc_text(at),
                ],
            )
            seq = int(cursor.lastrowid or 0)
            append_link(con, "review", seq)
            return _review(_review_rows(con, "r.seq = ?", seq)[0])

    def review_state(self, ticket_id: str, draft_sha256: str) -> ReviewState:
        """Latest decision on the newest revision with this content, and whether it still counts."""
        with self.reading() as con:
            draft = con.execute(
                "SELECT d.*, c.revision AS newest, c.retired FROM drafts AS d "
                "JOIN current_drafts AS c ON c.ticket_id = d.ticket_id "
                "WHERE d.ticket_id = ? AND d.draft_sha256 = ? ORDER BY d.revision DESC LIMIT 1",
                [ticket_id, draft_sha256],
            ).fetchone()
            if draft is None:
                raise NotFoundError(
                    f"ticket {ticket_id!r} has no draft {draft_sha256[:12]!r}",
                    "list the tickets to see the current drafts",
                )
            review = con.execute(
                "SELECT * FROM reviews WHERE ticket_id = ? AND revision = ? "
                "ORDER BY seq DESC LIMIT 1",
                [ticket_id, draft["revision"]],
            ).fetchone()
            why = why_newer(con, ticket_id, draft["revision"])
        return _state(review, _standing(draft), why)

    def review(self, seq: int) -> ReviewRow:
        """One review by its number; `NotFoundError` when there is none."""
        with self.reading() as con:
            rows = _review_rows(con, "r.seq = ?", seq)
        if not rows:
            raise NotFoundError(f"there is no review {seq}", "list the reviews first")
        return _review(rows[0])

    def reviews_after(self, seq: int) -> list[ReviewRow]:
        """Reviews recorded after number `seq` (0 for all), oldest first."""
        with self.reading() as con:
            return [_review(row) for row in _review_rows(con, "r.seq > ?", seq)]

    def reviews_of(self, ticket_id: str) -> list[ReviewRow]:
        """Reviews of all revisions of a ticket, oldest first."""
        with self.reading() as con:
            return [_review(row) for row in _review_rows(con, "r.ticket_id = ?", ticket_id)]

    def record_publication(
        self,
        ticket_id: str,
        draft_sha256: str,
        review_seq: int,
        reviewer: str,
        at: datetime,
        outbox_file: str,
    ) -> Publication:
        """Record a publication; `GateError` unless the latest review of the current draft allows it.

        Use `workflows.publish_ticket.publish_approved`, which writes the outbox files as well.
        """
        with self.writing() as con:
            cursor = con.execute(
                "INSERT INTO published (ticket_id, revision, draft_sha256, review_seq, reviewer, at, "
                "outbox_file) SELECT ?, coalesce((SELECT revision FROM reviews WHERE seq = ?), 0), "
                "?, ?, ?, ?, ?",
                [
                    ticket_id,
                    review_seq,
                    draft_sha256,
                    review_seq,
                    reviewer,
                    utc_text(at),
                    outbox_file,
                ],
            )
            seq = int(cursor.lastrowid or 0)
            append_link(con, "publication", seq)
            return _publication(_publication_rows(con, "p.seq = ?", [seq])[0])

    def publications(
        self, drop: str | None = None, ticket_id: str | None = None
    ) -> list[Publication]:
        """Publications, oldest first, of all tickets or of one drop or ticket."""
        where, params = _narrowed({"d.drop_id": drop, "p.ticket_id": ticket_id})
        with self.reading() as con:
            return [_publication(row) for row in _publication_rows(con, where, params)]


def _narrowed(conditions: dict[str, str | None]) -> tuple[str, list[str]]:
    given = {column: value for column, value in conditions.items() if value is not None}
    return " AND ".join(["1 = 1", *(f"{column} = ?" for column in given)]), list(given.values())


def _review_rows(con: sqlite3.Connection, where: str, value: int | str) -> list[sqlite3.Row]:
    return con.execute(
        "SELECT r.*, d.drop_id FROM reviews AS r JOIN drafts AS d ON d.ticket_id = r.ticket_id "
        f"AND d.revision = r.revision WHERE {where} ORDER BY r.seq",
        [value],
    ).fetchall()


def _publication_rows(
    con: sqlite3.Connection, where: str, params: list[str] | list[int]
) -> list[sqlite3.Row]:
    return con.execute(
        "SELECT p.*, d.drop_id FROM published AS p JOIN drafts AS d ON d.ticket_id = p.ticket_id "
        f"AND d.revision = p.revision WHERE {where} ORDER BY p.seq",
        params,
    ).fetchall()


def _standing(draft: sqlite3.Row) -> Standing:
    if draft["revision"] != draft["newest"]:
        return "outdated"
    if draft["retired"]:
        return "retired"
    stored = stored_draft(draft)
    if not stored.intact:
        return "altered"
    return "current" if stored.is_present_schema else "other_schema"


def _state(review: sqlite3.Row | None, standing: Standing, why: str) -> ReviewState:
    if review is None:
        return ReviewState("awaiting", standing=standing, standing_why=why)
    return ReviewState(
        decision=review["decision"],
        reviewer=review["reviewer"],
        reason=review["reason"],
        at=datetime.fromisoformat(review["at"]),
        seq=review["seq"],
        standing=standing,
        standing_why=why,
    )


def _review(row: sqlite3.Row) -> ReviewRow:
    return ReviewRow(
        seq=row["seq"],
        ticket_id=row["ticket_id"],
        revision=row["revision"],
        draft_sha256=row["draft_sha256"],
        drop=row["drop_id"],
        decision=row["decision"],
        reviewer=row["reviewer"],
        reason=row["reason"],
        at=datetime.fromisoformat(row["at"]),
    )


def _publication(row: sqlite3.Row) -> Publication:
    return Publication(
        seq=row["seq"],
        ticket_id=row["ticket_id"],
        revision=row["revision"],
        draft_sha256=row["draft_sha256"],
        drop=row["drop_id"],
        review_seq=row["review_seq"],
        reviewer=row["reviewer"],
        at=datetime.fromisoformat(row["at"]),
        outbox_file=row["outbox_file"],
    )
