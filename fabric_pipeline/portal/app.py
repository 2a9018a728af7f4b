"""The portal as a Starlette app: routes of all pages, static files, errors as pages, and the guard around it.

`create_app` is the one way in, for the server and for tests. Serving is done in `portal.serve`.
"""

from __future__ import annotations

from types import ModuleType

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from fabric_pipeline.errors import FabricError, GateError, NotFoundError, UnderWayError, UsageError
from fabric_pipeline.portal import (
    audit_pages,
    compare_pages,
    data_pages,
    dossier_pages,
    freshness_pages,
    incident_pages,
    link_pages,
    login_pages,
    map_pages,
    matrix_pages,
    queue_pages,
    search_pages,
    series_pages,
    ticket_pages,
)
from fabric_pipeline.portal.identity import Auth
from fabric_pipeline.portal.pages import STATIC, Portal, page, portal_of
from fabric_pipeline.portal.security import Guard
from fabric_pipeline.settings import Settings

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
# Modules of pages; each names its routes in ROUTES.
PAGES: tuple[ModuleType, ...] = (
    map_pages,
    search_pages,
    link_pages,
    series_pages,
    compare_pages,
    matrix_pages,
    incident_pages,
    queue_pages,
    ticket_pages,
    audit_pages,
    data_pages,
    dossier_pages,
    freshness_pages,
    login_pages,
)
_STATUS: dict[type[FabricError], int] = {
    UnderWayError: 503,
    NotFoundError: 404,
    UsageError: 400,
    GateError: 409,
}


def create_app(
    settings: Settings,
    auth: Auth | None = None,
    *,
    hosts: frozenset[str] = LOOPBACK_NAMES,
    dagster_url: str = "",
) -> Starlette:
    """The app over one home. `hosts` are the names that browsers may use for it."""
    known = auth or Auth()
    app = Starlette(
        routes=routes(),
        middleware=[
            Middleware(Guard, auth=known, hosts=hosts),
            Middleware(GZipMiddleware, minimum_size=1024),
        ],
        exception_handlers={FabricError: _problem, HTTPException: _http_problem},
    )
    app.state.portal = Portal(settings, known, dagster_url)
    return app


def routes() -> list[BaseRoute]:
    """Every address of the portal."""
    return [
        Route("/healthz", _health),
        Mount("/static", StaticFiles(directory=STATIC)),
        *(route for module in PAGES for route in module.ROUTES),
    ]


def _health(request: Request) -> Response:
    drops = portal_of(request).drops
    return JSONResponse({"ok": True, "drops": len(drops)})


def _problem(request: Request, error: Exception) -> Response:
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
    message = error.message if isinstance(error, FabricError) else "something failed"
    remedy = error.remedy if isinstance(error, FabricError) else ""
    return page(request, "problem.html", status=status, message=message, remedy=remedy)


def _http_problem(request: Request, error: Exception) -> Response:
    code = error.status_code if isinstance(error, HTTPException) else 500
    message = "there is no such page" if code == 404 else "this request cannot be answered"
    return page(request, "problem.html", status=code, message=message, remedy="")
