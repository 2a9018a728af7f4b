"""Every address of the portal that can be read, once: what a person opens, and what scripts or people fetch.

The list is by hand, so that somebody decides about each new page; the acceptance tests compare it with the
routes of the app. Addresses fit the home of the portal tests, with one dossier in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.routing import Route

NEW, OLD = "crc-multibit-lane", "missing-data"
LINK, SILENT = "gpu-r11-n03:gpu5/nvlink-11", "gpu-r12-n04:gpu0/nvlink-3"
INCIDENT, TICKET = "INC-8f1e83714874", "T-8f1e83714874"
DOSSIER = f"{INCIDENT}--{NEW}"
SQL = quote("select * from ledger_drafts")


@dataclass(frozen=True, slots=True)
class Visit:
    """One address of one route. `status` is what it answers, `kind` the beginning of its media type."""

    route: str
    address: str
    kind: str = "text/html"
    status: int = 200

    def __str__(self) -> str:
        return self.address


# Pages: whole documents with a head. More than one address where what is inside `main` differs.
PAGES = (
    Visit("/", "/"),
    Visit("/", f"/?link={LINK}"),
    Visit("/", f"/?mask=errors&drop={OLD}"),
    Visit("/su/{number:text}", "/su/1", status=404),  # 8 nodes are no unit; see the limits of 1,000
    Visit("/racks/{rack:text}", "/racks/r11"),
    Visit("/nodes/{node:text}", "/nodes/gpu-r11-n03"),
    Visit("/search", "/search?q=gpu5"),
    Visit("/links/{component:text}", f"/links/{LINK}?drop={NEW}"),
    Visit("/links/{component:text}", f"/links/{SILENT}?drop={OLD}"),
    Visit("/compare", f"/compare?a={NEW}&b={OLD}"),
    Visit("/matrix", "/matrix"),
    Visit("/matrix/p2p", "/matrix/p2p"),
    Visit("/incidents", "/incidents"),
    Visit("/incidents/{incident}", f"/incidents/{INCIDENT}"),
    Visit(
        "/incidents/{incident}/figure/{name:text}", f"/incidents/{INCIDENT}/figure/counts.replay"
    ),
    Visit("/incidents/{incident}/evidence/{name:text}", f"/incidents/{INCIDENT}/evidence/E1"),
    Visit("/queue", "/queue"),
    Visit("/tickets/{ticket}", f"/tickets/{TICKET}"),
    Visit("/tickets/{ticket}/edit", f"/tickets/{TICKET}/edit"),
    Visit("/tickets/{ticket}/print", f"/tickets/{TICKET}/print"),
    Visit("/audit", "/audit"),
    Visit("/data", "/data"),
    Visit("/data/{table}", "/data/ledger_drafts"),
    Visit("/audit/query", f"/audit/query?sql={SQL}"),
    Visit("/dossiers", "/dossiers"),
    Visit("/dossiers/{name}", f"/dossiers/{DOSSIER}"),
    Visit("/login", "/login"),
    Visit("", "/no-such-page", status=404),
)
# What is fetched: parts of pages, data, downloads.
DATA = (
    Visit("/healthz", "/healthz", "application/json"),
    Visit("/api/freshness", "/api/freshness", "application/json"),
    Visit("/map.svg", "/map.svg", "image/svg+xml"),
    Visit("/map.svg", "/map.svg?node=gpu-r11-n03&mask=errors", "image/svg+xml"),
    Visit("/api/series", f"/api/series?drop={NEW}&link={LINK}", "application/json"),
    Visit("/timeline", f"/timeline?drop={NEW}"),
    Visit("/links/{component:text}", f"/links/{LINK}?panel=1"),
    Visit("/api/matrix", "/api/matrix", "application/json"),
    Visit("/api/matrix/p2p", "/api/matrix/p2p", "application/json"),
    Visit("/incidents/{incident}.json", f"/incidents/{INCIDENT}.json", "application/json"),
    Visit("/incidents/{incident}/draft", f"/incidents/{INCIDENT}/draft"),
    Visit(
        "/incidents/{incident}/vendor.zip", f"/incidents/{INCIDENT}/vendor.zip", "application/zip"
    ),
    Visit("/tickets/{ticket}.json", f"/tickets/{TICKET}.json", "application/json"),
    Visit("/tickets/{ticket}/progress", f"/tickets/{TICKET}/progress"),
    Visit("/tickets/{ticket}/payloads/{name}", f"/tickets/{TICKET}/payloads/jira.json", status=409),
    Visit("/audit.csv", "/audit.csv", "text/csv"),
    Visit("/data/{table}.csv", "/data/ledger_drafts.csv", "text/csv"),
    Visit("/audit/query.csv", f"/audit/query.csv?sql={SQL}", "text/csv"),
    Visit("/dossiers/{name}/state", f"/dossiers/{DOSSIER}/state", "application/json"),
    Visit("/evidence/{name}.zip", f"/evidence/{DOSSIER}.zip", "application/zip"),
    Visit("/evidence/{name}/{path:path}", f"/evidence/{DOSSIER}/bag-info.txt", "text/plain"),
)


def readable_routes(app: Starlette) -> set[str]:
    """Paths of all routes that answer GET; files under /static are no routes."""
    return {
        route.path
        for route in app.routes
        if isinstance(route, Route) and "GET" in (route.methods or ())
    }


def written_routes(app: Starlette) -> list[str]:
    """Paths of all routes that take forms."""
    return [
        route.path
        for route in app.routes
        if isinstance(route, Route) and "POST" in (route.methods or ())
    ]
