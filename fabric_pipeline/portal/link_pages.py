"""`/links/...`: one link as a page of its own, and as the panel that the map exchanges in place.

Public: `panel_context` gives `_link_panel.html` what it shows, so that the map can render the panel with
its page. What is known of a link is read in `workflows.link_view`.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.portal.draft_request import refusal
from fabric_pipeline.portal.drop_strip import compare_address, drop_strip, marks_of
from fabric_pipeline.portal.pages import chosen_drop, fragment, page, portal_of
from fabric_pipeline.portal.paths import link_address
from fabric_pipeline.portal.timeline import timeline_context
from fabric_pipeline.workflows import figure_words, link_words
from fabric_pipeline.workflows.dossier_vendor import has_request
from fabric_pipeline.workflows.drop_axis import drop_before
from fabric_pipeline.workflows.fabric_view_model import LINK_KINDS, FabricView
from fabric_pipeline.workflows.incident_view import dossier_of
from fabric_pipeline.workflows.link_view import load_link
from fabric_pipeline.workflows.link_view_model import LinkView

# Counters that the panel shows before the rest is folded away.
MOST_COUNTERS = 6


def panel_context(request: Request, view: FabricView, component: str) -> dict[str, Any]:
    """What `_link_panel.html` needs for the link at this component; NotFoundError when there is none."""
    link = load_link(portal_of(request).settings, view, component)
    with_errors = [pair for pair in link.counts if pair.has_errors]
    shown = with_errors[:MOST_COUNTERS]
    return {
        "l": link,
        "w": link_words,
        "f": figure_words,
        "shown": clean,
        "counters": shown,
        "more_counters": [pair for pair in link.counts if pair not in shown],
        "siblings": _siblings(link),
        "series_url": "/api/series?" + urlencode({"drop": view.drop, "link": link.component}),
        "page_url": link_address(link.component, view.drop),
        "map_url": "/?" + urlencode({"drop": view.drop, "link": link.component}),
        "matrix_url": _matrix_row(link),
        "vendor_url": _vendor_url(request, link),
        "changed_url": _changed_url(request, link),
        "why_no_draft": _why_no_draft(request, link),
    }


def _matrix_row(link: LinkView) -> str:
    """The cell of this link in the matrix of its kind, of all links where its kind is not known."""
    kinds = [kind for kind, types in LINK_KINDS.items() if link.link.link_type in types]
    asked = {"drop": link.drop} | ({"kind": kinds[0]} if kinds else {})
    return f"/matrix?{urlencode(asked | {'link': link.component})}#chosen"


def _changed_url(request: Request, link: LinkView) -> str:
    """What changed of this link since the drop before, "" for the first drop."""
    before = drop_before(marks_of(portal_of(request)), link.drop)
    return compare_address(request, before, link.drop, link.component) if before else ""


def _vendor_url(request: Request, link: LinkView) -> str:
    """The bundle for the vendor of the accused part, "" while no dossier holds a request."""
    if link.incident is None:
        return ""
    record = link.incident.record
    if not has_request(dossier_of(portal_of(request).settings, record)):
        return ""
    return f"/incidents/{quote(record.incident_id)}/vendor.zip?{urlencode({'drop': record.drop})}"


def _why_no_draft(request: Request, link: LinkView) -> str:
    """Why no draft can be asked for, "" when it can; asked only where the button would stand."""
    incident = link.incident
    if incident is None or incident.ticket is not None:
        return ""
    portal = portal_of(request)
    return refusal(portal.settings, portal.ledger, incident.record, is_found=True)


def _siblings(link: LinkView) -> str:
    """The median of like link ends beside this one, for the counter nearest to its limit."""
    worse = link.counts[0].worse if link.counts else None
    if worse is None or worse.siblings_median is None or not worse.events:
        return ""
    median = figure_words.number(worse.siblings_median)
    return f"Like links beside it counted {median} {worse.counter} in the median, this one {figure_words.number(worse.events)}."


def _link(request: Request) -> Response:
    view = portal_of(request).view(chosen_drop(request))
    is_panel = bool(request.query_params.get("panel"))
    try:
        context = panel_context(request, view, request.path_params["component"])
    except NotFoundError as error:
        if is_panel:
            raise
        return _missing(request, view, error)
    if is_panel:
        return fragment(request, "_link_panel.html", **context)
    charts = timeline_context(request, view, context["l"].link)
    strip = drop_strip(request, view.drop, context["l"].component)
    return page(request, "link.html", tab="map", view=view, timeline=charts, strip=strip, **context)


def _missing(request: Request, view: FabricView, error: NotFoundError) -> Response:
    """A drop that does not know the link, with the way to those that may."""
    return page(
        request,
        "link_missing.html",
        tab="map",
        view=view,
        status=404,
        message=error.message,
        remedy=error.remedy,
        strip=drop_strip(request, view.drop),
        map_url="/?" + urlencode({"drop": view.drop}),
    )


ROUTES = [Route("/links/{component:text}", _link)]
