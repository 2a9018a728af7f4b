"""Why a later revision of a ticket exists: new evidence, an edit, a repair, or only new words.

The reasons are read from the revisions themselves. They tell a reviewer why an approval no longer
counts; whether it counts is not decided here.
"""

from __future__ import annotations

import sqlite3
from itertools import pairwise

from fabric_pipeline.incidents.ticket_versions import body_of

_REVISIONS = """
SELECT d.*, e.editor, EXISTS (
    SELECT 1 FROM retirements AS r WHERE r.ticket_id = d.ticket_id AND r.revision = d.revision
) AS was_retired
FROM drafts AS d
LEFT JOIN edits AS e ON e.ticket_id = d.ticket_id AND e.revision = d.revision
WHERE d.ticket_id = ? AND d.revision >= ?
ORDER BY d.revision
"""


def why_newer(con: sqlite3.Connection, ticket_id: str, revision: int) -> str:
    """What came after this revision, each reason once and in order; empty for the newest one."""
    rows = con.execute(_REVISIONS, [ticket_id, revision]).fetchall()
    return ", ".join(dict.fromkeys(_reason(old, new) for old, new in pairwise(rows)))


def _reason(old: sqlite3.Row, new: sqlite3.Row) -> str:
    if new["editor"]:
        return f"edited by {new['editor']}"
    if old["evidence_sha256"] != new["evidence_sha256"]:
        return f"new evidence in drop {new['drop_id']}"
    before, after = (body_of(row["json"]) or {} for row in (old, new))
    if before.get("earlier_repairs", []) != after.get("earlier_repairs", []):
        return "repaired since"
    if old["was_retired"]:
        return "its incident was gone and is found again"
    if before.get("schema_version") != after.get("schema_version"):
        return f"written in ticket schema {after.get('schema_version')}"
    return f"drafted again by {new['drafter']}"
