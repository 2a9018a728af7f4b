"""The ledger's chain as a list of entries, newest first: what was recorded, when, by whom, about what.

Each entry carries its link of the chain. A link whose row has gone stays in the list and says so. Whether
the chain holds is found out in `verify_ledger`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fabric_pipeline.store.ledger import Ledger

KINDS = {
    "draft": "draft",
    "edit": "edit",
    "review": "review",
    "publication": "publication",
    "retirement": "retirement",
    "repair": "repair",
    "link_check": "link check",
}
ENTRIES_ON_PAGE = 50

_ENTRIES = """
WITH rows AS (
    SELECT 'draft' AS kind, d.seq, d.ticket_id, d.incident_id, d.revision, d.drop_id,
        CASE WHEN e.seq IS NOT NULL THEN e.editor WHEN d.model <> '' THEN d.drafter || ' (' || d.model || ')'
            ELSE d.drafter END AS who,
        CASE WHEN e.seq IS NOT NULL THEN 'text of the edit' ELSE 'worded over drop ' || d.drop_id END AS says, d.draft_sha256 AS sha256, d.at
    FROM drafts d LEFT JOIN edits e ON e.ticket_id = d.ticket_id AND e.revision = d.revision
    UNION ALL SELECT 'edit', seq, ticket_id, '', revision, '', editor, 'over revision ' || base_revision || ': ' || reason,
        draft_sha256, at FROM edits
    UNION ALL SELECT 'review', seq, ticket_id, '', revision, '', reviewer, decision || ': ' || reason, draft_sha256, at FROM reviews
    UNION ALL SELECT 'publication', seq, ticket_id, '', revision, '', reviewer,
        'to ' || outbox_file || ', by review ' || review_seq, draft_sha256, at FROM published
    UNION ALL SELECT 'retirement', seq, ticket_id, '', revision, '', '', reason, '', at FROM retirements
    UNION ALL SELECT 'repair', seq, ticket_id, incident_id, NULL, '', repaired_by,
        action || ' on ' || component || CASE WHEN old_serial <> '' THEN ', ' || old_serial || ' out' ELSE '' END
            || CASE WHEN new_serial <> '' THEN ', ' || new_serial || ' in' ELSE '' END
            || CASE WHEN note <> '' THEN ': ' || note ELSE '' END, '', at FROM repairs
    UNION ALL SELECT 'link_check', seq, '', incident_id, NULL, drop_id, '',
        component || ' is ' || verdict || ' in ' || drop_id, '', at FROM link_checks
), entries AS (
    SELECT c.seq AS number, c.kind, c.row_seq, c.hash, c.prev_hash, c.payload_sha256, r.seq IS NOT NULL AS is_there,
        coalesce(r.ticket_id, '') AS ticket_id, coalesce(nullif(r.incident_id, ''), t.incident_id, '') AS incident_id,
        r.revision, coalesce(nullif(r.drop_id, ''), t.drop_id, '') AS drop_id, coalesce(r.who, '') AS who,
        coalesce(r.says, '') AS says, coalesce(r.sha256, '') AS sha256, r.at
    FROM chain c LEFT JOIN rows r ON r.kind = c.kind AND r.seq = c.row_seq
    LEFT JOIN current_drafts t ON t.ticket_id = r.ticket_id
)
"""
_MATCHING = """
WHERE (:kind = '' OR kind = :kind)
    AND (:about = '' OR ticket_id = :about OR incident_id = :about)
    AND (:who = '' OR instr(lower(who), lower(:who)) > 0)
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One link of the chain with its row. `at` is None when the row has gone, `revision` for repairs."""

    number: int
    kind: str
    row_seq: int
    hash: str
    prev_hash: str
    payload_sha256: str
    is_there: bool
    ticket_id: str
    incident_id: str
    revision: int | None
    drop: str
    who: str
    says: str
    draft_sha256: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class EntriesWanted:
    """Which entries: of a kind of `KINDS`, about a ticket or incident, by a person; "" for all."""

    kind: str = ""
    about: str = ""
    who: str = ""


def ledger_entries(
    ledger: Ledger, wanted: EntriesWanted, *, page: int = 1, most: int = ENTRIES_ON_PAGE
) -> tuple[list[Entry], int]:
    """Entries of one page, the newest first, and how many match in all."""
    values: dict[str, Any] = {"kind": wanted.kind, "about": wanted.about, "who": wanted.who}
    with ledger.reading() as con:
        total = con.execute(f"{_ENTRIES} SELECT count(*) FROM entries {_MATCHING}", values)
        count = int(total.fetchone()[0])
        rows = con.execute(
            f"{_ENTRIES} SELECT * FROM entries {_MATCHING} ORDER BY number DESC LIMIT :most OFFSET :first",
            values | {"most": most, "first": (page - 1) * most},
        ).fetchall()
    return [_entry(tuple(row)) for row in rows], count


def people(ledger: Ledger) -> list[str]:
    """Names of everybody who edited, decided or repaired, in order."""
    with ledger.reading() as con:
        rows = con.execute(
            "SELECT editor FROM edits UNION SELECT reviewer FROM reviews UNION SELECT repaired_by FROM repairs ORDER BY 1"
        ).fetchall()
    return [str(row[0]) for row in rows]


def _entry(row: tuple[Any, ...]) -> Entry:
    *facts, at = row
    facts[6] = bool(facts[6])
    return Entry(*[*facts, datetime.fromisoformat(at) if at else None])
