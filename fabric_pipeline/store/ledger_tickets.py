"""The list of tickets: each with its current revision, where it stands, and what was lost on the way.

Only reading; reviews and publications are recorded in `ledger_reviews`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from fabric_pipeline.incidents.review import Decision
from fabric_pipeline.incidents.ticket import TICKET_SCHEMA_VERSION
from fabric_pipeline.incidents.ticket_versions import body_of, readable_draft
from fabric_pipeline.store.ledger_changes import why_newer
from fabric_pipeline.store.ledger_file import LedgerFile

TicketState = Literal["awaiting", "approved", "rejected", "published", "superseded"]

_TICKETS = """
SELECT d.*, r.seq AS review_seq, r.decision, r.reviewer, r.reason, r.at AS reviewed_at,
       p.at AS published_at, p.outbox_file
FROM current_drafts AS d
LEFT JOIN reviews AS r ON r.seq = (
    SELECT max(n.seq) FROM reviews AS n WHERE n.ticket_id = d.ticket_id AND n.revision = d.revision
)
LEFT JOIN published AS p ON p.ticket_id = d.ticket_id AND p.revision = d.revision
"""
_STATES = """
SELECT d.ticket_id, r.decision, r.at AS reviewed_at, p.at AS published_at, EXISTS (
    SELECT 1 FROM retirements AS x WHERE x.ticket_id = d.ticket_id AND x.revision = d.revision
) AS retired
FROM (SELECT ticket_id, max(revision) AS revision FROM drafts GROUP BY ticket_id) AS d
LEFT JOIN reviews AS r ON r.seq = (
    SELECT max(n.seq) FROM reviews AS n WHERE n.ticket_id = d.ticket_id AND n.revision = d.revision
)
LEFT JOIN published AS p ON p.ticket_id = d.ticket_id AND p.revision = d.revision
ORDER BY d.ticket_id
"""
# Newest revisions that nobody decided and that still stand, from indexes alone.
_AWAITING = """
SELECT ticket_id, max(revision) AS revision FROM drafts GROUP BY ticket_id
EXCEPT SELECT ticket_id, revision FROM reviews
EXCEPT SELECT ticket_id, revision FROM published
EXCEPT SELECT ticket_id, revision FROM retirements
"""
# The newest earlier revision whose latest review is an approval, and whether it was published.
_LOST_APPROVAL = """
SELECT r.revision, r.reviewer, p.seq IS NOT NULL AS is_published
FROM reviews AS r
LEFT JOIN published AS p ON p.ticket_id = r.ticket_id AND p.revision = r.revision
WHERE r.ticket_id = ? AND r.revision < ? AND (r.decision = 'approved' OR p.seq IS NOT NULL)
    AND r.seq = (SELECT max(n.seq) FROM reviews AS n
                 WHERE n.ticket_id = r.ticket_id AND n.revision = r.revision)
ORDER BY r.revision DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class TicketRow:
    """A ticket's current revision and where it stands.

    `superseded`: its incident is no longer found. `published` is about this revision, not an older
    one. Review fields are empty while the state is `awaiting`. `expired` says which earlier approval
    no longer counts and why; empty when none was lost, and once this revision is decided.
    """

    ticket_id: str
    drop: str
    incident_id: str
    revision: int
    draft_sha256: str
    state: TicketState
    priority: str
    title: str
    link: str
    drafter: str
    drafted_at: datetime
    reviewer: str
    reason: str
    reviewed_at: datetime | None
    published_at: datetime | None
    outbox_file: str
    edited_by: str = ""
    expired: str = ""


class _Told(NamedTuple):
    """What a list says of a draft; empty for one that cannot be read."""

    priority: str = ""
    title: str = ""
    link: str = ""
    edited_by: str = ""


class LedgerTickets(LedgerFile):
    """Where every ticket stands."""

    def tickets(
        self,
        drop: str | None = None,
        *,
        ticket_ids: Collection[str] | None = None,
        incident_ids: Collection[str] | None = None,
    ) -> list[TicketRow]:
        """Every ticket, or those that are asked for, with its revision and state, by ticket id."""
        where, params = "1 = 1", []
        if drop is not None:
            where += " AND d.drop_id = ?"
            params.append(drop)
        for column, names in (("ticket_id", ticket_ids), ("incident_id", incident_ids)):
            if names is not None:
                where += f" AND d.{column} IN (SELECT value FROM json_each(?))"
                params.append(json.dumps(list(names)))
        with self.reading() as con:
            rows = con.execute(f"{_TICKETS} WHERE {where} ORDER BY d.ticket_id", params).fetchall()
            return [_ticket(row, _expired(con, row)) for row in rows]

    def ticket_states(self) -> list[tuple[str, TicketState, str]]:
        """Ticket, state, and when it was published or else decided ("" while it waits), by ticket id.

        From indexes: no draft is read.
        """
        with self.reading() as con:
            rows = con.execute(_STATES).fetchall()
        return [
            (row["ticket_id"], _ticket_state(row), row["published_at"] or row["reviewed_at"] or "")
            for row in rows
        ]

    def undecided_drops(self) -> set[str]:
        """Drops with a ticket that is neither rejected nor published and still stands."""
        with self.reading() as con:
            rows = con.execute(
                f"SELECT DISTINCT t.drop_id FROM ({_TICKETS}) AS t "
                "WHERE NOT t.retired AND t.published_at IS NULL "
                "AND coalesce(t.decision, '') <> 'rejected'"
            ).fetchall()
        return {row["drop_id"] for row in rows}

    def awaiting(self) -> list[TicketRow]:
        """The tickets that wait for a person, by ticket id. What was decided is not read."""
        with self.reading() as con:
            names = [row["ticket_id"] for row in con.execute(_AWAITING)]
        return [row for row in self.tickets(ticket_ids=names) if row.state == "awaiting"]


def _expired(con: sqlite3.Connection, row: sqlite3.Row) -> str:
    if _ticket_state(row) != "awaiting":
        return ""
    lost = con.execute(_LOST_APPROVAL, [row["ticket_id"], row["revision"]]).fetchone()
    if lost is None:
        return ""
    what = "publication" if lost["is_published"] else "approval"
    why = why_newer(con, row["ticket_id"], lost["revision"])
    return f"the {what} of revision {lost['revision']} by {lost['reviewer']} is not of this draft: {why}"


def _ticket(row: sqlite3.Row, expired: str) -> TicketRow:
    told = _told(row["json"])
    return TicketRow(
        ticket_id=row["ticket_id"],
        drop=row["drop_id"],
        incident_id=row["incident_id"],
        revision=row["revision"],
        draft_sha256=row["draft_sha256"],
        state=_ticket_state(row),
        priority=told.priority,
        title=told.title,
        link=told.link,
        drafter=row["drafter"],
        drafted_at=datetime.fromisoformat(row["at"]),
        reviewer=row["reviewer"] or "",
        reason=row["reason"] or "",
        reviewed_at=datetime.fromisoformat(row["reviewed_at"]) if row["reviewed_at"] else None,
        published_at=datetime.fromisoformat(row["published_at"]) if row["published_at"] else None,
        outbox_file=row["outbox_file"] or "",
        edited_by=told.edited_by,
        expired=expired,
    )


def _told(text: str) -> _Told:
    """From a draft of the present schema as it stands; others are read by the model of their version.

    Reading a long list of drafts whole would cost fifty times as much.
    """
    body = body_of(text)
    if body is None:
        return _Told()
    words = body.get("text")
    found = (
        body.get("priority"), words.get("title") if isinstance(words, dict) else None, body.get("link"), body.get("edited_by", ""),
    )  # fmt: skip
    if body.get("schema_version") == TICKET_SCHEMA_VERSION and all(
        isinstance(value, str) for value in found
    ):
        return _Told(*map(str, found))
    draft = readable_draft(body)
    if draft is None:
        return _Told()
    return _Told(draft.priority, draft.text.title, draft.link, draft.edited_by)


def _ticket_state(row: sqlite3.Row) -> TicketState:
    if row["retired"]:
        return "superseded"
    if row["published_at"]:
        return "published"
    decision: Decision = row["decision"] or "awaiting"
    return decision
