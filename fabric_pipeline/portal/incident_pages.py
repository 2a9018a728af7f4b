"""Pages of incidents: the list with its filters, one incident whole, a figure asked again, a draft asked for.

What is shown comes from `incident_list` and `incident_view`; whether a draft may be asked for is said in
`draft_request`.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from fabric_pipeline.errors import FabricError, GateError, NotFoundError
from fabric_pipeline.incidents.record import IncidentRecord, Symptom
from fabric_pipeline.portal.csv_answer import attachment
from fabric_pipeline.portal.draft_request import refusal
from fabric_pipeline.portal.drop_strip import compare_address, marks_of
from fabric_pipeline.portal.forms import Form, posted
from fabric_pipeline.portal.incident_links import link_of
from fabric_pipeline.portal.pages import chosen_drop, fragment, page, portal_of
from fabric_pipeline.portal.paths import link_address
from fabric_pipeline.portal.started_runs import runs_of
from fabric_pipeline.workflows.dossier_bag import shown
from fabric_pipeline.workflows.dossier_vendor import packed_bundle
from fabric_pipeline.workflows.drop_axis import drop_before
from fabric_pipeline.workflows.fabric_view_model import FabricView
from fabric_pipeline.workflows.incident_list import (
    GRADES,
    LIVES,
    NO_LIFE,
    ROWS_ON_PAGE,
    STATES,
    Wanted,
    listing,
)
from fabric_pipeline.workflows.incident_view import (
    IncidentView,
    dossier_of,
    incident_view,
    run_evidence,
    run_figure,
)

MAX_TEXT = 200


def shown_view(request: Request, drop: str | None = None) -> FabricView | None:
    """The fabric of a drop for the head of a page, None where it cannot be read: the page goes on.

    Without a drop that of the newest one, which is kept: a large fabric takes seconds to read, and no
    ticket should wait for the map of its drop.
    """
    try:
        return portal_of(request).view(drop)
    except FabricError:
        return None


def _list(request: Request) -> Response:
    ledger, asked = portal_of(request).ledger, request.query_params
    wanted = Wanted(
        severity=asked.get("severity", ""),
        fault=asked.get("fault", ""),
        drop=chosen_drop(request) or "",
        life=asked.get("life", ""),
        text=asked.get("text", "").strip()[:MAX_TEXT],
    )
    found = listing(ledger, wanted)
    rows = found.rows
    number = asked.get("page", "1")
    last = max(1, -(-len(rows) // ROWS_ON_PAGE))
    at = min(int(number[:6]) if number.isascii() and number.isdigit() else 1, last) or 1
    kept = [(name, value) for name, value in asked.items() if name != "page" and value]
    return page(
        request,
        "incidents.html",
        tab="incidents",
        view=shown_view(request, chosen_drop(request)),
        rows=rows[(at - 1) * ROWS_ON_PAGE : at * ROWS_ON_PAGE],
        total=len(rows),
        at=at,
        last=last,
        query=urlencode(kept),
        wanted=wanted,
        choices={"fault": found.faults, "drop": found.drops},
        severities=tuple(STATES),
        lives=(*LIVES, NO_LIFE),
        grades=GRADES,
        shown=shown,
    )


def _incident(request: Request) -> Response:
    return _page_of(request, _view_of(request, request.path_params["incident"]))


def _view_of(request: Request, name: str) -> IncidentView:
    portal = portal_of(request)
    return incident_view(portal.settings, portal.ledger, name, chosen_drop(request))


def _page_of(
    request: Request, incident: IncidentView, *, status: int = 200, problem: str = ""
) -> Response:
    portal, record = portal_of(request), incident.record
    fabric = shown_view(request, chosen_drop(request))
    why_not = refusal(portal.settings, portal.ledger, record, is_found=incident.is_found)
    return page(
        request,
        "incident.html",
        tab="incidents",
        view=fabric,
        status=status,
        incident=incident,
        record=record,
        problem=problem,
        why_no_draft=why_not,
        run=runs_of(portal.settings).of("diagnose", record.drop),
        state="no_data" if record.fault_type == "no_data" else STATES[record.severity],
        grades=GRADES,
        shown=shown,
        ran=None,
        charts="/timeline?" + urlencode({"drop": record.drop, "incident": record.incident_id}),
        symptoms=_by_kind(record),
        **_links(request, link_of(fabric, record), record.drop),
    )


def _links(request: Request, link: str, drop: str) -> dict[str, str]:
    """Where an incident leads: its link, and what changed since the drop before."""
    before = drop_before(marks_of(portal_of(request)), drop)
    changed = compare_address(request, before, drop, link) if before else ""
    if not link:
        return {"link": "", "map_address": "", "link_address": "", "changed_address": changed}
    return {
        "link": link,
        "map_address": "/?" + urlencode({"drop": drop, "link": link}),
        "link_address": link_address(link, drop),
        "changed_address": changed,
    }


def _by_kind(record: IncidentRecord) -> list[tuple[str, list[Symptom]]]:
    """Symptoms of one kind together, in the order of the record."""
    kinds: dict[str, list[Symptom]] = {}
    for one in record.symptoms:
        kinds.setdefault(one.kind, []).append(one)
    return list(kinds.items())


def _json(request: Request) -> Response:
    incident = _view_of(request, request.path_params["incident"])
    life: dict[str, Any] | None = None
    if incident.life is not None:
        life = {"state": incident.life.state, "reason": incident.life.reason}
    return JSONResponse(
        incident.record.model_dump(mode="json")
        | {
            "found": incident.is_found,
            "drops": list(incident.drops),
            "life": life,
            "ticket": incident.ticket.ticket_id if incident.ticket else None,
        }
    )


def _figure(request: Request) -> Response:
    """A figure asked again: a part of the page for the script, else a page of its own."""
    incident = _view_of(request, request.path_params["incident"])
    settings = portal_of(request).settings
    ran = run_figure(settings, incident.record, request.path_params["name"])
    if request.query_params.get("part"):
        return fragment(request, "figure_value.html", ran=ran, shown=shown)
    return page(
        request,
        "figure.html",
        tab="incidents",
        view=shown_view(request, chosen_drop(request)),
        record=incident.record,
        ran=ran,
        shown=shown,
    )


def _evidence(request: Request) -> Response:
    """The rows behind a piece of evidence: a part of the page for the script, else a page of its own."""
    incident = _view_of(request, request.path_params["incident"])
    settings = portal_of(request).settings
    ran = run_evidence(settings, incident.record, request.path_params["name"])
    if request.query_params.get("part"):
        return fragment(request, "evidence_rows.html", ran=ran, shown=shown)
    return page(
        request,
        "evidence.html",
        tab="incidents",
        view=shown_view(request, chosen_drop(request)),
        record=incident.record,
        ran=ran,
        shown=shown,
    )


def _vendor(request: Request) -> Response:
    """The mail bundle for a vendor's return form, made from the dossier; nothing is sent anywhere."""
    incident = _view_of(request, request.path_params["incident"])
    folder = dossier_of(portal_of(request).settings, incident.record)
    if not incident.has_vendor_request:
        raise NotFoundError(
            f"no dossier of {incident.record.incident_id} holds a request to a vendor",
            "one is made with the dossier once a ticket is drafted",
        )
    packed, _ = packed_bundle(folder)
    named = {"content-disposition": attachment(f"{folder.name}-vendor.zip")}
    return Response(packed, media_type="application/zip", headers=named)


def _ask_for_draft(request: Request, form: Form) -> Response:
    portal = portal_of(request)
    name, drop = form.get("incident", ""), form.get("drop") or None
    incident = incident_view(portal.settings, portal.ledger, name, drop)
    record = incident.record
    why_not = refusal(portal.settings, portal.ledger, record, is_found=incident.is_found)
    if why_not:
        return _page_of(request, incident, status=409, problem=why_not)
    if not portal.ledger.drop(record.drop).path:
        raise GateError(f"the folder of drop {record.drop} is not known", "run it by its folder")
    runs_of(portal.settings).ask("diagnose", record.drop)
    asked = urlencode({"drop": record.drop})
    return RedirectResponse(f"/incidents/{quote(record.incident_id)}?{asked}#draft", 303)


def _progress(request: Request) -> Response:
    """Where the run that makes the draft stands, for the script that looks again."""
    incident = _view_of(request, request.path_params["incident"])
    portal, record = portal_of(request), incident.record
    return fragment(
        request,
        "draft_progress.html",
        incident=incident,
        record=record,
        run=runs_of(portal.settings).of("diagnose", record.drop),
        why_no_draft=refusal(portal.settings, portal.ledger, record, is_found=incident.is_found),
        dagster_url=portal.dagster_url,
        shown=shown,
    )


ROUTES = [
    Route("/incidents", _list),
    Route("/incidents/{incident}.json", _json),
    Route("/incidents/{incident}/figure/{name:text}", _figure),
    Route("/incidents/{incident}/evidence/{name:text}", _evidence),
    Route("/incidents/{incident}/vendor.zip", _vendor),
    Route("/incidents/{incident}/draft", _progress),
    Route("/incidents/{incident}", _incident),
    Route("/drafts", posted(_ask_for_draft), methods=["POST"]),
]
