"""Pages of one ticket: reading it with its origins and history, editing, deciding, reporting a repair.

Each form is handed to the workflow that the command line uses; what is refused comes back with what was
typed. The gate stands there and in the ledger, not here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from fabric_pipeline.errors import FabricError, GateError, NotFoundError, UsageError
from fabric_pipeline.portal import ticket_files
from fabric_pipeline.portal.forms import Form, moment, person, posted
from fabric_pipeline.portal.incident_pages import shown_view
from fabric_pipeline.portal.pages import Portal, fragment, page, portal_of
from fabric_pipeline.portal.started_runs import runs_of
from fabric_pipeline.portal.ticket_edit_form import (
    Clash,
    changes,
    clashes,
    entries,
    merged,
    typed_fields,
)
from fabric_pipeline.portal.ticket_groups import badge, badge_of
from fabric_pipeline.portal.ticket_view import readable, standing_of, ticket_view
from fabric_pipeline.portal.word_diff import Change, changes_between
from fabric_pipeline.store.ledger import StoredDraft
from fabric_pipeline.workflows.dossier_bag import shown
from fabric_pipeline.workflows.edit_fields import fields_of
from fabric_pipeline.workflows.edit_ticket import edit
from fabric_pipeline.workflows.report_repair import RepairWords, report_repair
from fabric_pipeline.workflows.review_ticket import review

MIN_REASON = 8
# Words of the command line in messages that the forms show, and what the forms call them.
_OPTIONS = {
    "--by has to name": "say by name", "--old-serial": "the serial taken out", "--new-serial": "the serial put in",
    "--action other --note WHAT": "something else, with a note", "--action other": "something else",
    "--note": "a note", "add --step": "choose it by its step",
}  # fmt: skip
_NO_TEXT: Mapping[str, str] = {}


def _ticket(request: Request) -> Response:
    return _page_of(request)


def _page_of(
    request: Request,
    *,
    status: int = 200,
    form: str = "",
    problem: FabricError | None = None,
    typed: Mapping[str, str] = _NO_TEXT,
) -> Response:
    """The page; `form` names the form that was refused, `typed` what stood in it."""
    portal, name = portal_of(request), request.path_params["ticket"]
    asked = request.query_params.get("revision", "")
    revision = int(asked[:6]) if asked.isascii() and asked.isdigit() and not form else None
    ticket = ticket_view(portal.settings, portal.ledger, name, revision)
    return page(
        request,
        "ticket.html",
        tab="queue",
        view=shown_view(request),
        status=status,
        ticket=ticket,
        draft=ticket.draft,
        standing=ticket.standing,
        row=ticket.row,
        form=form,
        problem=_in_words(problem) if problem else "",
        typed=typed,
        remarks=_remarks(request),
        files=ticket_files.NAMES,
        min_reason=MIN_REASON,
        badge=badge,
        badge_of=badge_of,
        shown=shown,
        dagster=_dagster(portal, ticket.stored.drop),
    )


def _dagster(portal: Portal, drop: str) -> dict[str, str]:
    """Addresses in the Dagster UI: the drafts of the drop, the gate's check, the published table."""
    if not portal.dagster_url:
        return {}
    base = f"{portal.dagster_url.rstrip('/')}/assets"
    partition = quote(drop, safe="")
    return {
        "drafts of this drop": f"{base}/ticket_drafts?view=partitions&partition={partition}",
        "check human_review": f"{base}/ticket_drafts?view=checks&checkDetail=human_review",
        "published tickets": f"{base}/published_tickets?view=partitions&partition={partition}",
    }


def _json(request: Request) -> Response:
    portal, name = portal_of(request), request.path_params["ticket"]
    ticket = ticket_view(portal.settings, portal.ledger, name)
    return JSONResponse(
        ticket.draft.model_dump(mode="json")
        | {
            "draft_sha256": ticket.stored.draft_sha256,
            "revision": ticket.stored.revision,
            "state": ticket.row.state,
            "may_be_published": ticket.standing.verdict.may_publish,
            "why": ticket.standing.verdict.why,
            "editors": ticket.notes.editors,
            "warnings": ticket.notes.warnings,
            "life": ticket.life.state if ticket.life else None,
        }
    )


def _progress(request: Request) -> Response:
    """Where publishing stands, for the script that looks again."""
    portal, name = portal_of(request), request.path_params["ticket"]
    current = portal.ledger.current_draft(name)
    rows = portal.ledger.tickets(current.drop)
    return fragment(
        request,
        "ticket_progress.html",
        row=next(one for one in rows if one.ticket_id == name),
        ticket_id=name,
        standing=standing_of(portal.settings, portal.ledger, current),
        files=ticket_files.NAMES,
        dagster=_dagster(portal, current.drop),
        dagster_url=portal.dagster_url,
        shown=shown,
    )


def _review(request: Request, form: Form) -> Response:
    portal, name = portal_of(request), request.path_params["ticket"]
    who, decision = person(request, form, "reviewer"), form.get("decision", "")
    reason, read = form.get("reason", "").strip(), form.get("draft_sha256", "")
    try:
        if len(reason) < MIN_REASON:
            raise UsageError(
                f"the reason has fewer than {MIN_REASON} characters",
                "say what you looked at, in words that an auditor understands",
            )
        if not read:
            raise UsageError("the form does not say which draft was read", "load the page again")
        done = review(portal.ledger, name, read, decision, who, reason, datetime.now(UTC))
    except (UsageError, GateError) as error:
        return _refused(request, "review", error, form)
    if done.decision == "approved":
        runs_of(portal.settings).ask("publish", done.drop)
    return _back(name, "#standing")


def _repaired(request: Request, form: Form) -> Response:
    portal, name = portal_of(request), request.path_params["ticket"]
    step, _, action = form.get("action", "").rpartition(":")
    try:
        said = RepairWords(
            action=action,
            by=person(request, form, "by"),
            step=int(step[:4]) if step.isascii() and step.isdigit() else None,
            part=form.get("part", ""),
            old_serial=form.get("old_serial", ""),
            new_serial=form.get("new_serial", ""),
            repaired_at=moment(form.get("repaired_at", "")),
            note=form.get("note", ""),
        )
        done = report_repair(portal.ledger, name, said, datetime.now(UTC))
    except NotFoundError:
        raise
    except FabricError as error:
        return _refused(request, "repaired", error, form)
    _REMARKS[str(portal.ledger.path), name, done.row.seq] = done.remarks
    return _back(name, f"?repair={done.row.seq}#repaired")


def _edit_form(request: Request) -> Response:
    portal, name = portal_of(request), request.path_params["ticket"]
    stored = portal.ledger.current_draft(name)
    return _edit_page(request, stored, fields_of(readable(stored)))


def _edit(request: Request, form: Form) -> Response:
    portal, name = portal_of(request), request.path_params["ticket"]
    ledger = portal.ledger
    current = ledger.current_draft(name)
    read = form.get("draft_sha256", "")
    base = next((one for one in ledger.drafts_of_ticket(name) if one.draft_sha256 == read), current)
    typed = typed_fields(form, readable(base))
    mine = changes(typed, readable(base))
    try:
        if not read:
            raise UsageError("the form does not say which draft was read", "load the page again")
        if not mine:
            raise UsageError("nothing is changed by this", "change a field, or go back")
        edit(
            ledger, name, read, mine, person(request, form, "editor"),
            form.get("reason", ""), datetime.now(UTC),
        )  # fmt: skip
    except (UsageError, GateError) as error:
        current = ledger.current_draft(name)
        if read in ("", current.draft_sha256):
            return _edit_page(request, current, typed, problem=error, typed=form)
        draft = readable(current)
        return _edit_page(
            request,
            current,
            merged(mine, readable(base), draft),
            status=409,
            problem=error,
            typed=form,
            found=clashes(mine, readable(base), draft),
            meanwhile=[
                one for one in changes_between(readable(base), draft) if one.field not in mine
            ],
            is_conflict=True,
        )
    return _back(name, "#edits")


def _edit_page(
    request: Request,
    stored: StoredDraft,
    fields: Mapping[str, Any],
    *,
    status: int = 0,
    problem: FabricError | None = None,
    typed: Mapping[str, str] = _NO_TEXT,
    found: Sequence[Clash] = (),
    meanwhile: Sequence[Change] = (),
    is_conflict: bool = False,
) -> Response:
    return page(
        request,
        "ticket_edit.html",
        tab="queue",
        view=shown_view(request),
        status=status or (_status(problem) if problem else 200),
        stored=stored,
        draft=readable(stored),
        groups=entries(fields),
        problem=_in_words(problem) if problem else "",
        typed=typed,
        clashes=found,
        meanwhile=meanwhile,
        is_conflict=is_conflict,
        shown=shown,
    )


def _refused(request: Request, form: str, error: FabricError, typed: Form) -> Response:
    return _page_of(request, status=_status(error), form=form, problem=error, typed=typed)


def _status(error: FabricError) -> int:
    return 409 if isinstance(error, GateError) else 400


def _back(name: str, more: str) -> Response:
    return RedirectResponse(f"/tickets/{quote(name)}{more}", 303)


def _in_words(error: FabricError) -> str:
    """The message for a reader of the page, who knows no options of a command."""
    told = [one for one in (error.message, error.remedy) if one]
    text = ". ".join(f"{one[:1].upper()}{one[1:]}" for one in told) + "."
    for option, said in _OPTIONS.items():
        text = text.replace(option, said)
    return f"{text[:1].upper()}{text[1:]}"


def _remarks(request: Request) -> tuple[str, ...]:
    """What should be read about a repair just reported; kept in memory, for the page after the form."""
    number = request.query_params.get("repair", "")
    if not (number.isascii() and number.isdigit() and len(number) < 10):
        return ()
    ledger = str(portal_of(request).ledger.path)
    return _REMARKS.get((ledger, request.path_params["ticket"], int(number)), ())


_REMARKS: dict[tuple[str, str, int], tuple[str, ...]] = {}

ROUTES = [
    Route("/tickets/{ticket}.json", _json),
    Route("/tickets/{ticket}/progress", _progress),
    Route("/tickets/{ticket}/print", ticket_files.sheet),
    Route("/tickets/{ticket}/payloads/{name}", ticket_files.payload),
    Route("/tickets/{ticket}/edit", _edit_form),
    Route("/tickets/{ticket}/edit", posted(_edit), methods=["POST"]),
    Route("/tickets/{ticket}/review", posted(_review), methods=["POST"]),
    Route("/tickets/{ticket}/repaired", posted(_repaired), methods=["POST"]),
    Route("/tickets/{ticket}", _ticket),
]
