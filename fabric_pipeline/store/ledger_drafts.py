"""Ticket drafts as revisions: the newest revision of a ticket is the current one.

A stored draft never changes. A different draft, or the same draft after another one or after its
incident had vanished, is a new revision and starts without a review. What people edit is recorded
in `ledger_edits`.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from fabric_pipeline.errors import BadInputError, GateError, NotFoundError
from fabric_pipeline.incidents.ticket import (
    TICKET_SCHEMA_VERSION,
    TicketDraft,
    content_sha256,
)
from fabric_pipeline.incidents.ticket_versions import body_of, readable_draft
from fabric_pipeline.store.ledger_chain import append_link
from fabric_pipeline.store.ledger_file import LedgerFile, utc_text

# A ticket id becomes a folder name in the outbox.
TICKET_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class StoredDraft:
    """One revision as recorded. `intact` is False when its text no longer has the recorded hash.

    `draft` is the recorded text in the present ticket model, None when it cannot be read as a draft
    at all. A draft of an earlier schema keeps its `schema_version`, and `draft_sha256` stays the
    hash of the text as it was recorded.
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

    @property
    def is_present_schema(self) -> bool:
        """False for a draft that another version of the ticket model wrote."""
        return self.draft is not None and self.draft.schema_version == TICKET_SCHEMA_VERSION


class LedgerDrafts(LedgerFile):
    """Recording, finding and retiring drafts."""

    def record_draft(self, draft: TicketDraft, at: datetime) -> int:
        """Keep a draft of a drafter and return the ticket's current revision.

        No new revision is made by the current draft again, nor by words that a person has edited
        since: the edit stays. `GateError` for words of a person, which `record_edit` keeps.
        """
        if not TICKET_ID.fullmatch(draft.ticket_id):
            raise BadInputError(
                f"{draft.ticket_id!r} is not a ticket id", "use letters, digits, `.`, `_` and `-`"
            )
        with self.writing() as con:
            current = current_row(con, draft.ticket_id)
            if current and not current["retired"] and _is_known(con, current, draft.sha256):
                return int(current["revision"])
            if draft.edited_by:
                raise GateError(
                    f"{draft.ticket_id}: these are words of a person, not of a drafter",
                    "record them as an edit of the current draft",
                )
            revision = current["revision"] + 1 if current else 1
            append_link(con, "draft", insert_draft(con, draft, revision, at))
        return int(revision)

    def current_draft(self, ticket_id: str) -> StoredDraft:
        """The newest revision of a ticket; `NotFoundError` when there is no such ticket."""
        with self.reading() as con:
            row = current_row(con, ticket_id)
        if row is None:
            raise NotFoundError(f"there is no ticket {ticket_id!r}", "list the tickets first")
        return stored_draft(row)

    def drafts_of_ticket(self, ticket_id: str) -> list[StoredDraft]:
        """Every revision of a ticket, oldest first; empty when there is no such ticket."""
        with self.reading() as con:
            rows = con.execute(
                "SELECT d.*, EXISTS (SELECT 1 FROM retirements AS r WHERE r.ticket_id = d.ticket_id "
                "AND r.revision = d.revision) AS retired FROM drafts AS d WHERE d.ticket_id = ? "
                "ORDER BY d.revision",
                [ticket_id],
            ).fetchall()
        return [stored_draft(row) for row in rows]

    def drafts_of_drop(self, drop: str) -> list[StoredDraft]:
        """Current drafts of a drop that are not retired, by ticket id."""
        with self.reading() as con:
            rows = con.execute(
                "SELECT * FROM current_drafts WHERE drop_id = ? AND NOT retired ORDER BY ticket_id",
                [drop],
            ).fetchall()
        return [stored_draft(row) for row in rows]

    def draft_for_evidence(
        self, ticket_id: str, evidence_sha256: str, basis_sha256: str | None = None
    ) -> TicketDraft | None:
        """The newest intact draft of a ticket over exactly this evidence, to be used again.

        With `basis_sha256` also the basis must be the same. Edited words are given while they are
        the current draft and never later: used again they would stand as a drafter's own, and who
        wrote them could approve them. Drafts of an earlier ticket schema are not used again.
        """
        with self.reading() as con:
            rows = con.execute(
                "SELECT d.*, c.seq IS NOT NULL AND c.retired AS retired FROM drafts AS d "
                "LEFT JOIN current_drafts AS c ON c.seq = d.seq "
                "WHERE d.ticket_id = ? AND d.evidence_sha256 = ? AND (NOT EXISTS ("
                "SELECT 1 FROM edits AS e WHERE e.ticket_id = d.ticket_id "
                "AND e.revision = d.revision) OR NOT c.retired) ORDER BY d.revision DESC",
                [ticket_id, evidence_sha256],
            ).fetchall()
        for stored in map(stored_draft, rows):
            fits = stored.intact and stored.is_present_schema and stored.draft is not None
            if fits and basis_sha256 in (None, stored.draft.basis_sha256 if stored.draft else ""):
                return stored.draft
        return None

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

    def retirements_of(self, ticket_id: str) -> list[tuple[int, str, datetime]]:
        """Revision, reason and time of every retirement of a ticket, oldest first."""
        with self.reading() as con:
            rows = con.execute(
                "SELECT revision, reason, at FROM retirements WHERE ticket_id = ? ORDER BY seq",
                [ticket_id],
            ).fetchall()
        return [(row["revision"], row["reason"], datetime.fromisoformat(row["at"])) for row in rows]


def current_row(con: sqlite3.Connection, ticket_id: str) -> sqlite3.Row | None:
    """The newest revision of a ticket with `retired`, or None."""
    row: sqlite3.Row | None = con.execute(
        "SELECT * FROM current_drafts WHERE ticket_id = ?", [ticket_id]
    ).fetchone()
    return row


def stored_draft(row: sqlite3.Row) -> StoredDraft:
    """A row of `drafts` (with `retired`) read back and checked against its hash."""
    body = body_of(row["json"])
    return StoredDraft(
        ticket_id=row["ticket_id"],
        drop=row["drop_id"],
        incident_id=row["incident_id"],
        revision=row["revision"],
        draft_sha256=row["draft_sha256"],
        at=datetime.fromisoformat(row["at"]),
        retired=bool(row["retired"]),
        intact=body is not None and content_sha256(body) == row["draft_sha256"],
        draft=None if body is None else readable_draft(body),
    )


def insert_draft(con: sqlite3.Connection, draft: TicketDraft, revision: int, at: datetime) -> int:
    """Write one revision and return its number in the file; the caller chains it."""
    text = draft.model_dump_json()
    if content_sha256(body_of(text) or {}) != draft.sha256:  # such as a length that is no number
        raise BadInputError(
            f"{draft.ticket_id}: this draft does not read back as it was written",
            "draft it again without values that JSON has no word for",
        )
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
            text,
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


def _is_known(con: sqlite3.Connection, current: sqlite3.Row, draft_sha256: str) -> bool:
    """True for the current draft and for what its edits were made from, back to the drafter's words."""
    found = con.execute(
        "SELECT 1 FROM drafts AS d WHERE d.ticket_id = :ticket AND d.draft_sha256 = :content "
        "AND d.revision >= (SELECT max(m.revision) FROM drafts AS m WHERE m.ticket_id = :ticket "
        "AND NOT EXISTS (SELECT 1 FROM edits AS e WHERE e.ticket_id = m.ticket_id "
        "AND e.revision = m.revision))",
        {"ticket": current["ticket_id"], "content": draft_sha256},
    ).fetchone()
    return found is not None


def _retire(
    con: sqlite3.Connection, ticket_id: str, revision: int, reason: str, at: datetime
) -> None:
    cursor = con.execute(
        "INSERT INTO retirements (ticket_id, revision, reason, at) VALUES (?, ?, ?, ?)",
        [ticket_id, revision, reason, utc_text(at)],
    )
    append_link(con, "retirement", int(cursor.lastrowid or 0))
