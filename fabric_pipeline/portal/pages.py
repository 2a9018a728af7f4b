"""What all pages share: settings, ledger, the fabric of the chosen drop, templates, and how a page is made.

One `Portal` stands behind an app; routes take it from the request. Everything that a template shows is
escaped; only `portal.svg` makes markup, and it escapes by itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from fabric_pipeline.errors import FabricError, NotFoundError, UnderWayError
from fabric_pipeline.portal.identity import Auth, Visitor
from fabric_pipeline.portal.views import Views
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.store.ledger_tickets import TicketRow
from fabric_pipeline.workflows.dossier_bag import shown
from fabric_pipeline.workflows.drop_progress import drop_progress
from fabric_pipeline.workflows.fabric_view_model import FabricView
from fabric_pipeline.workflows.figure_words import utc
from fabric_pipeline.workflows.freshness import freshness
from fabric_pipeline.workflows.incident_words import (
    component_words,
    confidence_words,
    fault_words,
    time_lost,
)
from fabric_pipeline.workflows.shards import failed_shards

STATIC = Path(__file__).parent / "static"
_URGENCY = {"urgent": 0, "high": 1, "normal": 2, "low": 3}
TABS = (
    ("map", "/", "Map"),
    ("matrix", "/matrix", "Link health"),
    ("incidents", "/incidents", "Incidents"),
    ("queue", "/queue", "Review queue"),
    ("audit", "/audit", "Audit"),
)


@dataclass
class Portal:
    """The portal over one home. `dagster_url` is "" when no Dagster UI is linked."""

    settings: Settings
    auth: Auth = field(default_factory=Auth)
    dagster_url: str = ""
    templates: Environment = field(init=False)
    views: Views = field(init=False)

    def __post_init__(self) -> None:
        """Templates come from the package, escape everything and know no undefined name."""
        self.views = Views(self.settings)
        self.templates = Environment(
            loader=PackageLoader("fabric_pipeline.portal"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.templates.filters["utc"] = utc
        for words in (component_words, confidence_words, fault_words, time_lost):
            self.templates.filters[words.__name__] = words
        self.templates.filters["shown"] = shown

    @property
    def ledger(self) -> Ledger:
        """A fresh handle; it holds no connection open."""
        return Ledger(self.settings.ledger)

    @property
    def drops(self) -> list[str]:
        """Drops that can be shown, the one read last first."""
        return self.views.drops

    def waiting(self) -> list[TicketRow]:
        """Drafts that no person has decided about, most urgent first."""
        return sorted(
            self.ledger.awaiting(), key=lambda row: (_URGENCY.get(row.priority, 9), row.drafted_at)
        )

    def view(self, drop: str | None = None) -> FabricView:
        """The fabric of a drop, else of the one read last; read again when its tables have changed."""
        drops = self.drops
        if drop is None and drops:
            drop = drops[0]
        if drop is not None and drop not in drops and _is_known(self.ledger, drop):
            raise UnderWayError(
                f"drop {drop} is known, but nothing of it can be shown yet: a run is reading it, or "
                "one has failed",
                "look again when the run is over; other drops can be chosen on the map",
            )
        if drop is None or drop not in drops:
            raise NotFoundError(
                f"there is no drop {drop!r}" if drop else "no drop has been read yet",
                "run the pipeline on a drop first: fabric-pipeline run FOLDER",
            )
        return self.views.view(drop)


def _is_known(ledger: Ledger, drop: str) -> bool:
    """True for a drop that a run has begun to read."""
    try:
        return bool(ledger.drop(drop))
    except FabricError:
        return False


def portal_of(request: Request) -> Portal:
    """The portal behind a request."""
    portal: Portal = request.app.state.portal
    return portal


def visitor_of(request: Request) -> Visitor:
    """Who asks, as the guard found out."""
    visitor: Visitor = request.state.visitor
    return visitor


def chosen_drop(request: Request) -> str | None:
    """The drop in the address, None for the newest."""
    return request.query_params.get("drop") or None


def page(
    request: Request,
    template: str,
    *,
    tab: str = "",
    view: FabricView | None = None,
    status: int = 200,
    **context: Any,
) -> HTMLResponse:
    """One whole page with header, freshness and the drafts that wait."""
    portal, visitor = portal_of(request), visitor_of(request)
    theme = request.cookies.get("theme", "")
    drop = chosen_drop(request)
    shared = {
        "tabs": TABS,
        "tab": tab,
        "waiting": portal.waiting() if visitor.is_known else [],
        "view": view,
        **_age(
            portal,
            view if view is not None or not visitor.is_known else portal.views.newest_ready(),
        ),
        "drop": drop,
        "drop_query": f"?{urlencode({'drop': drop})}" if drop else "",
        "static_version": static_version(),
        "theme": theme if theme in ("dark", "light") else "dark",
        "visitor": visitor,
        "dagster_url": portal.dagster_url,
        "path": request.url.path,
    }
    body = portal.templates.get_template(template).render(shared | context)
    return HTMLResponse(body, status)


def _age(portal: Portal, view: FabricView | None) -> dict[str, Any]:
    """How old the data is, whether a run is at work, and which version of the tables the page shows."""
    if view is None:
        return {"fresh": None, "progress": None, "uncounted": [], "shown": "", "newest": ""}
    now, drops = datetime.now(UTC), portal.drops
    return {
        "fresh": freshness(view, now),
        "progress": drop_progress(portal.settings, view.drop),
        "uncounted": failed_shards(portal.settings, view.drop),
        "shown": portal.views.version(view.drop),
        "newest": drops[0] if drops else "",
    }


def fragment(request: Request, template: str, **context: Any) -> HTMLResponse:
    """A part of a page, for a panel that is exchanged in place."""
    return HTMLResponse(portal_of(request).templates.get_template(template).render(context))


@cache
def static_version() -> str:
    """Changes with any static file, so that no browser keeps an older one."""
    digest = hashlib.sha256()
    for path in sorted(STATIC.rglob("*")):
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def as_json(value: Mapping[str, Any] | list[Any]) -> str:
    """JSON that may stand inside an HTML attribute or a data block: no `<`, `>` or `&` in it."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=str)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
