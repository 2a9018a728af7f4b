"""Files of a ticket for other places: the sheet to print, and payloads for outside systems.

Payloads are given only of an approved text, and never sent. Once a ticket is published they are the
files of the outbox, byte for byte.
"""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from fabric_pipeline.errors import GateError, NotFoundError
from fabric_pipeline.incidents.review import verdict
from fabric_pipeline.portal.pages import portal_of
from fabric_pipeline.portal.ticket_view import readable
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.outbox_payloads import Release, outbox_files
from fabric_pipeline.workflows.outbox_sheet import Sheet
from fabric_pipeline.workflows.publish_ticket import TICKET_FILE
from fabric_pipeline.workflows.ticket_sheet import approval_of, sheet_of

NAMES = {
    "ticket.json": "application/json",
    "jira.json": "application/json",
    "servicenow.json": "application/json",
    "pagerduty.json": "application/json",
    "ticket.txt": "text/plain; charset=utf-8",
    "sheet.html": "text/html; charset=utf-8",
}
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


def sheet(request: Request) -> Response:
    """The technician's sheet of the current revision, with the bar unless it is approved."""
    portal = portal_of(request)
    html = sheet_of(portal.settings, portal.ledger, request.path_params["ticket"])
    return HTMLResponse(html, headers={"content-security-policy": sheet_policy(html)})


def sheet_policy(html: str) -> str:
    """The policy of the sheet alone: its own style by its hash, its own fonts, no script, nothing loaded."""
    digests = [
        base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        for style in _STYLE.findall(html)[:1]
    ]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    return (
        f"default-src 'none'; style-src {allowed}; font-src data:; form-action 'none'; frame-ancestors 'none'; "
        "base-uri 'none'"
    )


def payload(request: Request) -> Response:
    """One file for an outside system, as an attachment; `GateError` unless exactly this is approved."""
    portal = portal_of(request)
    ticket, name = request.path_params["ticket"], request.path_params["name"]
    if name not in NAMES:
        raise NotFoundError(f"a ticket has no file {name!r}", f"it has: {', '.join(NAMES)}")
    content = _content(portal.settings, portal.ledger, ticket, name)
    told = {"content-disposition": f'attachment; filename="{ticket}-{name}"'}
    return Response(content, media_type=NAMES[name], headers=told)


def _content(settings: Settings, ledger: Ledger, ticket: str, name: str) -> bytes:
    stored = ledger.current_draft(ticket)
    state = ledger.review_state(ticket, stored.draft_sha256)
    may_go, why = verdict(state)
    approval = approval_of(stored, state)
    if not may_go or approval is None:
        raise GateError(
            f"{ticket}: {why}", "files for other systems are made of approved text only"
        )
    problems = ledger.verify_chain()
    if problems:
        raise GateError(f"the ledger was changed from outside: {problems[0]}", "see the audit page")
    published = [
        one for one in ledger.publications(ticket_id=ticket) if one.revision == stored.revision
    ]
    if published:
        path = settings.outbox / ticket / name
        if not path.is_file():
            raise NotFoundError(f"{name} is not in the outbox", "it was taken away from there")
        return path.read_bytes()
    if name == TICKET_FILE:
        raise GateError(f"{ticket} is approved but not published yet", "its file tells when it was")
    sheet_facts = Sheet(
        draft=readable(stored),
        draft_sha256=stored.draft_sha256,
        revision=stored.revision,
        approval=approval,
        portal_url=settings.portal_url,
    )
    return outbox_files(Release(sheet_facts, approval, datetime.now(UTC)))[name]
