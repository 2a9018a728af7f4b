"""Pages of the evidence dossiers: the list, one dossier with its files, verifying, and downloads.

Files go out as attachments with a fixed type and are never shown by the browser. Verifying runs beside the
server, in `dossier_checks`.
"""

from __future__ import annotations

from datetime import datetime
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from fabric_pipeline.portal.csv_answer import attachment
from fabric_pipeline.portal.dossier_checks import checks_of
from fabric_pipeline.portal.forms import Form, posted
from fabric_pipeline.portal.incident_pages import shown_view
from fabric_pipeline.portal.pages import chosen_drop, page, portal_of
from fabric_pipeline.workflows.dossier_bag import shown
from fabric_pipeline.workflows.dossier_files import (
    blocks,
    dossier,
    dossier_file,
    dossier_listing,
    dossier_path,
    dossiers,
    zipped,
)
from fabric_pipeline.workflows.figure_words import utc

_TYPES = {
    ".json": "application/json",
    ".csv": "text/csv; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".sql": "text/plain; charset=utf-8",
}
_OTHER = "application/octet-stream"


def _list(request: Request) -> Response:
    settings = portal_of(request).settings
    return page(
        request,
        "dossiers.html",
        tab="audit",
        view=shown_view(request, chosen_drop(request)),
        dossiers=dossiers(settings),
        checks=checks_of(settings),
        shown=shown,
        when=_when,
    )


def _when(text: str) -> str:
    """A time of a bag as people write it; what is no time stays as it stands there."""
    try:
        return utc(datetime.fromisoformat(text))
    except ValueError:
        return shown(text)


def _dossier(request: Request) -> Response:
    settings, name = portal_of(request).settings, request.path_params["name"]
    return page(
        request,
        "dossier.html",
        tab="audit",
        view=shown_view(request, chosen_drop(request)),
        one=dossier(settings, name),
        files=dossier_listing(settings, name),
        check=checks_of(settings).of(name),
        address=lambda path: f"/evidence/{quote(name)}/{quote(path)}",
        shown=shown,
    )


def _verify(request: Request, form: Form) -> Response:
    settings, name = portal_of(request).settings, form.get("name", "")
    checks_of(settings).ask(name, dossier_path(settings, name))
    return RedirectResponse(f"/dossiers/{quote(name)}#check", 303)


def _state(request: Request) -> Response:
    """Whether a verification that was asked for has ended."""
    check = checks_of(portal_of(request).settings).of(request.path_params["name"])
    return JSONResponse({"is_over": check is None or check.is_over})


def _file(request: Request) -> Response:
    settings = portal_of(request).settings
    name, path = request.path_params["name"], request.path_params["path"]
    with dossier_file(settings, name, path) as (_, size):
        length = str(size)
    last = path.rpartition("/")[2]
    kind = _TYPES.get(f".{last.rpartition('.')[2].lower()}", _OTHER)
    return StreamingResponse(
        blocks(settings, name, path),
        headers={
            "content-type": kind,
            "content-length": length,
            "content-disposition": attachment(last),
            # Without it the answer would be packed, and its announced length would be wrong.
            "content-encoding": "identity",
        },
    )


def _zip(request: Request) -> Response:
    settings, name = portal_of(request).settings, request.path_params["name"]
    dossier_path(settings, name)
    return StreamingResponse(
        zipped(settings, name),
        headers={
            "content-type": "application/zip",
            "content-disposition": attachment(f"{name}.zip"),
            "content-encoding": "identity",
        },
    )


ROUTES = [
    Route("/dossiers", _list),
    Route("/dossiers/verify", posted(_verify), methods=["POST"]),
    Route("/dossiers/{name}", _dossier),
    Route("/dossiers/{name}/state", _state),
    Route("/evidence/{name}.zip", _zip),
    Route("/evidence/{name}/{path:path}", _file),
]
