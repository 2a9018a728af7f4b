"""The page of the review queue; what it lists is gathered in `queue_list`."""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fabric_pipeline.portal.incident_pages import shown_view
from fabric_pipeline.portal.pages import chosen_drop, page, portal_of
from fabric_pipeline.workflows.dossier_bag import shown
from fabric_pipeline.workflows.queue_list import queue_of


def _queue(request: Request) -> Response:
    return page(
        request,
        "queue.html",
        tab="queue",
        view=shown_view(request, chosen_drop(request)),
        queue=queue_of(portal_of(request).ledger),
        age=_age,
        shown=shown,
    )


def _age(since: datetime) -> str:
    """How long something has waited, in words."""
    minutes = max(0, int((datetime.now(UTC) - since).total_seconds() // 60))
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // 1440} days"


ROUTES = [Route("/queue", _queue)]
