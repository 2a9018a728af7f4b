"""`/search`: one field for nodes, switches, serials, GUIDs, UUIDs, ports, cables, incidents and tickets.

A question that fits exactly one thing leads straight to it. What fits is found by
`workflows.fabric_search`.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from fabric_pipeline.portal.pages import chosen_drop, page, portal_of
from fabric_pipeline.portal.svg import address
from fabric_pipeline.workflows.fabric_search import KINDS, MOST_PER_KIND, Hit, search
from fabric_pipeline.workflows.fabric_view_model import FabricView

# Longer than any name that is shown in full.
MAX_ASKED = 600
_SHORT_NAME = 40
_HEADINGS = {
    "incident": "Incidents",
    "ticket": "Tickets",
    "node": "Nodes",
    "rack": "Racks",
    "switch": "Switches",
    "device": "GPUs, network devices and chips",
    "link": "Links and cables",
}


def _search(request: Request) -> Response:
    portal, drop = portal_of(request), chosen_drop(request)
    view = portal.view(drop)
    asked = request.query_params.get("q", "").strip()[:MAX_ASKED]
    hits = search(portal.settings, view, asked)
    exact = [hit for hit in hits if hit.is_exact]
    if len(exact) == 1 or len(hits) == 1:
        return RedirectResponse(_leads_to(view, (exact or hits)[0], drop), 303)
    groups = []
    for kind in KINDS:
        found = [hit for hit in hits if hit.kind == kind]
        if found:
            shown = [(hit, _leads_to(view, hit, drop)) for hit in found[:MOST_PER_KIND]]
            groups.append((_HEADINGS[kind], len(found), shown))
    first = next(iter(view.nodes), None)
    return page(
        request,
        "search.html",
        view=view,
        asked=asked,
        groups=groups,
        total=len(hits),
        searched=_searched(view),
        example=first.name if first and len(first.name) <= _SHORT_NAME else "gpu-r11-n03",
    )


def _searched(view: FabricView) -> str:
    """What was looked through, in figures."""
    parts = [
        (len(view.nodes), "nodes"),
        (len(view.switches), "switches"),
        (len(view.links), "links"),
        (len(view.incidents), "incidents"),
    ]
    return ", ".join(f"{count:,} {noun}" for count, noun in parts) + " and all tickets"


def _leads_to(view: FabricView, hit: Hit, drop: str | None) -> str:
    """The page of what was found."""
    if hit.kind == "device":
        return address("/nodes/", hit.node, drop=drop)
    if hit.kind == "switch":
        return _switch(view, hit, drop)
    pages = {"node": "/nodes/", "rack": "/racks/", "incident": "/incidents/", "ticket": "/tickets/"}
    return address(pages.get(hit.kind, "/links/"), hit.key, drop=drop)


def _switch(view: FabricView, hit: Hit, drop: str | None) -> str:
    """A switch has no page of its own: its worst link is selected on the map, else all are listed."""
    for link in view.degraded():
        if any(end.device == hit.key and not end.node for end in link.ends):
            return address("/", link=link.a.component, drop=drop)
    return address("/search", q=f"{hit.key}/port-", drop=drop)


ROUTES = [Route("/search", _search)]
