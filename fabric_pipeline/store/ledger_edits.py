"""Edits of ticket drafts by people: the new revision and who wrote it, kept in one transaction.

An edit is made of the revision that its editor read. Somebody who was faster makes it void, so no
words are lost. Which fields may be edited is said in `workflows.edit_ticket`.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from fabric_pipeline.errors import GateError, NotFoundError
from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.store.ledger_chain import append_link
from fabric_pipeline.store.ledger_drafts import current_row, insert_draft, stored_draft
from fabric_pipeline.store.ledger_file import LedgerFile, utc_text

# What says who wrote a revision and in which form; it is no change of content by itself.
_AUTHORSHIP = {"edited_by", "schema_version"}


@dataclass(frozen=True, slots=True)
class EditRow:
    """One edit: `revision` was written over `base_revision`; `diff` is a unified diff of both."""

    seq: int
    ticket_id: str
    revision: int
    draft_sha256: str
    base_revision: int
    base_sha256: str
    editor: str
    reason: str
    diff: str
    at: datetime


class LedgerEdits(LedgerFile):
    """Recording and reading edits."""

    def record_edit(
        self,
        ticket_id: str,
        base_sha256: str,
        new_draft: TicketDraft,
        editor: str,
        reason: str,
        diff: str,
        at: datetime,
    ) -> int:
        """Keep a person's revision of the draft with hash `base_sha256`; returns its number.

        `GateError` when that draft is no longer the current one, is retired, when nothing changed,
        or when the new draft speaks of another incident or other evidence. Use
        `workflows.edit_ticket.edit`, which also checks what is written.
        """
        with self.writing() as con:
            base = _base(con, ticket_id, base_sha256)
            _check(base, new_draft, editor.strip())
            revision = int(base["revision"]) + 1
            append_link(con, "draft", insert_draft(con, new_draft, revision, at))
            cursor = con.execute(
                "INSERT INTO edits (ticket_id, revision, draft_sha256, base_revision, base_sha256, "
                "editor, reason, diff, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    ticket_id,
                    revision,
                    new_draft.sha256,
                    base["revision"],
                    base_sha256,
                    editor.strip(),
                    reason.strip(),
                    diff,
                    utc_text(at),
                ],
            )
            append_link(con, "edit", int(cursor.lastrowid or 0))
        return revision

    def edits_of(self, ticket_id: str) -> list[EditRow]:
        """Every edit of a ticket, oldest first."""
        with self.reading() as con:
            rows = con.execute(
                "SELECT * FROM edits WHERE ticket_id = ? ORDER BY seq", [ticket_id]
            ).fetchall()
        return [EditRow(**{**dict(row), "at": datetime.fromisoformat(row["at"])}) for row in rows]

    def editors_of(self, ticket_id: str, revision: int) -> list[str]:
        """People whose words stand in a revision: all who edited it since a drafter wrote it last."""
        with self.reading() as con:
            rows = con.execute(
                "SELECT DISTINCT editor FROM revision_editors WHERE ticket_id = ? AND revision = ? "
                "ORDER BY editor",
                [ticket_id, revision],
            ).fetchall()
        return [row["editor"] for row in rows]


def _base(con: sqlite3.Connection, ticket_id: str, base_sha256: str) -> sqlite3.Row:
    current = current_row(con, ticket_id)
    if current is None:
        raise NotFoundError(f"there is no ticket {ticket_id!r}", "list the tickets first")
    if current["draft_sha256"] != base_sha256:
        raise GateError(
            f"{ticket_id}: draft {base_sha256[:12]} is no longer the current one "
            f"({current['draft_sha256'][:12]}, revision {current['revision']})",
            "read the current draft and make the change in that one",
        )
    if current["retired"]:
        raise GateError(
            f"{ticket_id}: the incident behind this draft is no longer found in its drop",
            "there is nothing to edit",
        )
    return current


def _check(base: sqlite3.Row, new: TicketDraft, editor: str) -> None:
    bound = (base["ticket_id"], base["incident_id"], base["drop_id"], base["evidence_sha256"])
    if bound != (new.ticket_id, new.incident_id, new.drop, new.evidence_sha256):
        raise GateError(
            f"{base['ticket_id']}: an edit keeps the ticket, its incident and its evidence",
            "change the words, not what they are about",
        )
    if new.edited_by != editor:
        raise GateError(
            f"{base['ticket_id']}: the edited draft does not name its editor",
            "name the same person in the draft and in the edit",
        )
    old = stored_draft(base).draft
    if old is not None and old.model_dump(exclude=_AUTHORSHIP) == new.model_dump(
        exclude=_AUTHORSHIP
    ):
        raise GateError(f"{base['ticket_id']}: nothing is changed by this", "no edit was recorded")
