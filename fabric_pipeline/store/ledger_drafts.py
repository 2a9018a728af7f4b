"""Ticket drafts as revisions: the newest revision of a ticket is the current one.

A stored draft never changes. A different draft, or the same draft after another one or after its
incident had vanished, is a new revision and starts without a review.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from pydantic import ValidationError

from fabric_pipeline.errors import BadInputError, NotFoundError
from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.store.ledger_chain import append_link
from fabric_pipeline.store.ledger_file import LedgerFile, utc_text

# A ticket id becomes a folder name in the outbox.
TICKET_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class StoredDraft:
    """One revision as recorded. `intact` is False when its text no longer has the recorded hash.

    `draft` is None only when the stored text cannot be read as a draft at all.
    """

    ticket_id: str
    drop: str
    incident_id: str
    revision: int
    draft_sha256: str
    at: datetime
    retired: bool
    intact: bool
    draft: TicketDraft | None


class LedgerDrafts(LedgerFile):
    """Recording, finding and retiring drafts."""

    def record_draft(self, draft: TicketDraft, at: datetime) -> int:
        """Keep a draft and return its revision; the current draft again keeps its revision."""
        if not TICKET_ID.fullmatch(draft.ticket_id):
            raise BadInputError(
                f"{draft.ticket_id!r} is not a ticket id", "use letters, digits, `.`, `_` and `-`"
            )
        with self.writing() as con:
            current = con.execute(
                "SELECT * FROM current_drafts WHERE ticket_id = ?", [draft.ticket_id]
            ).fetchone()
            if current and current["draft_sha256"] == draft.sha256 and not current["retired"]:
                return int(current["revision"])
            revision = current["revision"] + 1 if current else 1
            append_link(con, "draft", _insert(con, draft, revision, at))
        return int(revision)

    def current_draft(self, ticket_id: str) -> StoredDraft:
        """The newest revision of a ticket; `NotFoundError` when there is no such ticket."""
        with self.reading() as con:
            row = con.execute(
                "SELECT * FROM current_drafts WHERE ticket_id = ?", [ticket_id]
            ).fetchone()
        if row is None:
            raise NotFoundError(f"there is no ticket {ticket_id!r}", "list the tickets first")
        return stored_draft(row)

    def drafts_of_drop(self, drop: str) -> list[StoredDraft]:
        """Current drafts of a drop that are not retired, by ticket id."""
        with self.reading() as con:
            rows = con.execute(
                "SELECT * FROM current_drafts WHERE drop_id = ? AND NOT retired ORDER BY ticket_id",
                [drop],
            ).fetchall()
        return [stored_draft(row) for row in rows]

    def draft_for_evidence(self, ticket_id: str, evidence_sha256: str) -> TicketDraft | None:
        """The newest intact draft of a ticket over exactly this evidence, to be used again."""
        with self.reading() as con:
            rows = con.execute(
                "SELECT *, 0 AS retired FROM drafts WHERE ticket_id = ? AND evidence_sha256 = ? "
                "ORDER BY revision DESC",
                [ticket_id, evidence_sha256],
            ).fetchall()
        found = (stored_draft(row) for row in rows)
        return next((stored.draft for stored in found if stored.intact), None)

    def retire_drafts(
        self, drop: str, keep_ticket_ids: Collection[str], at: datetime, reason: str = ""
    ) -> list[str]:
        """Retire current drafts of a drop that are not among `keep_ticket_ids`; returns their ids.

        A retired draft can neither be reviewed nor published. It stays on record.
        """
        why = reason or "a new diagnosis of the drop no longer finds this incident"
        retired: list[str] = []
        with self.writing() as con:
            rows = con.execute(
                "SELECT ticket_id, revision FROM current_drafts "
                "WHERE drop_id = ? AND NOT retired ORDER BY ticket_id",
                [drop],
            ).fetchall()
            for row in rows:
                if row["ticket_id"] not in keep_ticket_ids:
                    _retire(con, row["ticket_id"], row["revision"], why, at)
                    retired.append(row["ticket_id"])
        return retired


def stored_draft(row: sqlite3.Row) -> StoredDraft:
    """A row of `drafts` (with `retired`) read back and checked against its hash."""
    try:
        draft = TicketDraft.model_validate_json(row["json"])
    except ValidationError:
        draft = None
    return StoredDraft(
        ticket_id=row["ticket_id"],
        drop=row["drop_id"],
        incident_id=row["incident_id"],
        revision=row["revision"],
        draft_sha256=row["draft_sha256"],
        at=datetime.fromisoformat(row["at"]),
        retired=bool(row["retired"]),
        intact=draft is not None and draft.sha256 == row["draft_sha256"],
        draft=draft,
    )


def _insert(con: sqlite3.Connection, draft: TicketDraft, revision: int, at: datetime) -> int:
    cursor = con.execute(
        "INSERT INTO drafts (ticket_id, revision, draft_sha256, drop_id, incident_id, json, drafter, "
        "model, prompt_version, input_tokens, output_tokens, cost_usd, evidence_sha256, at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            draft.ticket_id,
            revision,
            draft.sha256,
            draft.drop,
            draft.incident_id,
            draft.model_dump_json(),
            draft.drafter,
            draft.model,
            draft.prompt_version,
            draft.input_tokens,
            draft.output_tokens,
            draft.cost_usd,
            draft.evidence_sha256,
            utc_text(at),
        ],
    )
    return int(cursor.lastrowid or 0)


def _retire(
    con: sqlite3.Connection, ticket_id: str, revision: int, reason: str, at: datetime
) -> None:
    cursor = con.execute(
        "INSERT INTO retirements (ticket_id, revision, reason, at) VALUES (?, ?, ?, ?)",
        [ticket_id, revision, reason, utc_text(at)],
    )
    append_link(con, "retirement", int(cursor.lastrowid or 0))
