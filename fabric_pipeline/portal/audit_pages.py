"""Page `/audit`: the ledger's chain with its verification, its entries as a list and as CSV.

The chain is verified when a person asks for it, and the result is kept with the head that it was found
for. What entries are is decided in `workflows.ledger_entries`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from fabric_pipeline.errors import UsageError
from fabric_pipeline.portal.csv_answer import csv_answer
from fabric_pipeline.portal.forms import Form, posted
from fabric_pipeline.portal.incident_pages import shown_view
from fabric_pipeline.portal.pages import chosen_drop, page, portal_of
from fabric_pipeline.workflows.dossier_bag import shown
from fabric_pipeline.workflows.ledger_entries import (
    ENTRIES_ON_PAGE,
    KINDS,
    EntriesWanted,
    Entry,
    ledger_entries,
    people,
)
from fabric_pipeline.workflows.verify_ledger import LedgerCheck, verify_ledger

_CSV_BATCH = 2_000
_MAX_TEXT = 200
CSV_COLUMNS = (
    "number", "at", "kind", "ticket_id", "incident_id", "revision", "drop", "who", "says",
    "draft_sha256", "payload_sha256", "prev_hash", "hash", "row_is_there",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verified:
    """One verification, with the time at which it ended."""

    check: LedgerCheck
    at: datetime


_VERIFIED: dict[Path, Verified] = {}
_LOCK = threading.Lock()


def page_number(text: str) -> int:
    """The number of a page from an address; 1 for whatever is none."""
    return max(1, int(text[:6])) if text.isascii() and text.isdigit() else 1


def _wanted(request: Request) -> EntriesWanted:
    asked = request.query_params
    kind = asked.get("kind", "")
    if kind and kind not in KINDS:
        raise UsageError(f"there is no kind of entry {kind[:40]!r}", f"kinds: {', '.join(KINDS)}")
    about = asked.get("about", "").strip()[:_MAX_TEXT]
    return EntriesWanted(kind, about, asked.get("who", "").strip()[:_MAX_TEXT])


def _audit(request: Request) -> Response:
    portal, wanted = portal_of(request), _wanted(request)
    ledger = portal.ledger
    at = page_number(request.query_params.get("page", "1"))
    entries, total = ledger_entries(ledger, wanted, page=at)
    kept = [
        (name, value) for name, value in request.query_params.items() if name != "page" and value
    ]
    return page(
        request,
        "audit.html",
        tab="audit",
        view=shown_view(request, chosen_drop(request)),
        entries=entries,
        total=total,
        at=at,
        last=max(1, -(-total // ENTRIES_ON_PAGE)),
        query=urlencode(kept),
        wanted=wanted,
        kinds=KINDS,
        people=people(ledger),
        head=ledger.chain_head(),
        links=ledger.chain_length(),
        verified=_VERIFIED.get(portal.settings.ledger),
        shown=shown,
    )


def _verify(request: Request, form: Form) -> Response:
    settings = portal_of(request).settings
    known = form.get("head", "").strip().lower()
    with _LOCK:  # one at a time: a long chain takes seconds
        check = verify_ledger(settings, [known] if known else [])
        _VERIFIED[settings.ledger] = Verified(check, datetime.now(UTC))
    return RedirectResponse("/audit#chain", 303)


def _csv(request: Request) -> Response:
    wanted = _wanted(request)
    return csv_answer("ledger", CSV_COLUMNS, _csv_rows(request, wanted))


def _csv_rows(request: Request, wanted: EntriesWanted) -> Iterator[list[Any]]:
    ledger, at = portal_of(request).ledger, 1
    while True:
        entries, total = ledger_entries(ledger, wanted, page=at, most=_CSV_BATCH)
        yield from (_csv_row(entry) for entry in entries)
        if at * _CSV_BATCH >= total:
            return
        at += 1


def _csv_row(entry: Entry) -> list[Any]:
    return [
        entry.number, entry.at.isoformat() if entry.at else "", entry.kind, entry.ticket_id, entry.incident_id,
        entry.revision, entry.drop, entry.who, entry.says, entry.draft_sha256, entry.payload_sha256, entry.prev_hash,
        entry.hash, "yes" if entry.is_there else "no",
    ]  # fmt: skip


ROUTES = [
    Route("/audit", _audit),
    Route("/audit.csv", _csv),
    Route("/audit/verify", posted(_verify), methods=["POST"]),
]
