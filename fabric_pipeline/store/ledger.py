"""The ledger: drops, incidents, drafts, edits, reviews, publications and repairs in one SQLite file.

One class over the parts in `ledger_*`; front doors and workflows import it from here. History is
append-only and chained by hashes, and the file itself refuses an unapproved publication.
"""

from __future__ import annotations

from fabric_pipeline.store.ledger_chain import LedgerChain
from fabric_pipeline.store.ledger_drafts import LedgerDrafts, StoredDraft
from fabric_pipeline.store.ledger_drops import DropClaim, DropRow, LedgerDrops
from fabric_pipeline.store.ledger_edits import EditRow, LedgerEdits
from fabric_pipeline.store.ledger_expired import ExpiredTable, LedgerExpired
from fabric_pipeline.store.ledger_incidents import AccusedEnds, LedgerIncidents, Observation
from fabric_pipeline.store.ledger_repairs import (
    LedgerRepairs,
    LinkCheck,
    RepairReport,
    RepairRow,
)
from fabric_pipeline.store.ledger_reviews import LedgerReviews, Publication, ReviewRow
from fabric_pipeline.store.ledger_spans import DropSpan, LedgerSpans
from fabric_pipeline.store.ledger_tickets import LedgerTickets, TicketRow

__all__ = [
    "AccusedEnds",
    "DropClaim",
    "DropRow",
    "DropSpan",
    "EditRow",
    "ExpiredTable",
    "Ledger",
    "LinkCheck",
    "Observation",
    "Publication",
    "RepairReport",
    "RepairRow",
    "ReviewRow",
    "StoredDraft",
    "TicketRow",
]


class Ledger(
    LedgerDrops,
    LedgerIncidents,
    LedgerDrafts,
    LedgerEdits,
    LedgerReviews,
    LedgerTickets,
    LedgerRepairs,
    LedgerSpans,
    LedgerExpired,
    LedgerChain,
):
    """`Ledger(path)` opens or creates the file. It may be shared by threads and processes."""
