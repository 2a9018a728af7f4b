"""`/api/freshness`: what an open page asks now and then, to say that there is something newer.

The page itself decides what to say; nothing is loaded or drawn for this.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from fabric_pipeline.portal.pages import chosen_drop, portal_of
from fabric_pipeline.workflows.drop_progress import drop_progress


def _freshness(request: Request) -> Response:
    """Versions of the newest drop and of the asked one, and whether a run is at work."""
    portal, asked = portal_of(request), chosen_drop(request)
    drops = portal.drops
    newest = drops[0] if drops else ""
    shown = asked if asked in drops else ""
    about = shown or newest
    progress = drop_progress(portal.settings, about) if about else None
    return JSONResponse(
        {
            "newest": newest,
            "shown": portal.views.version(shown) if shown else "",
            "state": progress.state if progress else "",
            "unread": list(progress.unread) if progress else [],
        },
        headers={"cache-control": "no-store"},
    )


ROUTES = [Route("/api/freshness", _freshness)]
