"""`/api/series`: the charts of one drop as JSON, small enough to fetch with every page; `/timeline`: their frame.

Bounded by the number of bins, runs and strips. The tag changes when a table of the drop is written
again, so that a browser asks and mostly gets 304.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.portal.incident_links import implicated
from fabric_pipeline.portal.pages import (
    Portal,
    chosen_drop,
    fragment,
    portal_of,
    static_version,
)
from fabric_pipeline.portal.timeline import (
    asked_window,
    first_run,
    run_key,
    run_title,
    series_of,
    timeline_context,
)
from fabric_pipeline.workflows.fabric_series import FabricSeries, RunSeries, Strip
from fabric_pipeline.workflows.fabric_view import view_signature
from fabric_pipeline.workflows.fabric_view_model import FabricView, Link
from fabric_pipeline.workflows.incident_view import incident_view
from fabric_pipeline.workflows.link_view import find_link


def series_json(series: FabricSeries) -> dict[str, Any]:
    """The series as the script reads them. Times are seconds since 1970, latency in ms, null is no data."""
    clock = series.clock
    return {
        "drop": series.drop,
        "clock": clock and {"start": clock.start, "step": clock.step_s, "bins": clock.bins, "native": clock.native_s},
        "runs": [_run(run) for run in series.runs],
        "first": first_run(series),
        "strips": [_strip(strip, place == series.chosen) for place, strip in enumerate(series.strips)],
        "chosen": series.chosen,
    }  # fmt: skip


def _series(request: Request) -> Response:
    portal = portal_of(request)
    view = portal.view(chosen_drop(request))
    tag = _tag(request, portal, view)
    headers = {"etag": tag, "cache-control": "private, no-cache", "vary": "cookie, authorization"}
    if request.headers.get("if-none-match", "").removeprefix("W/") == tag:
        return Response(status_code=304, headers=headers)
    link, among, _ = _drawn(request, view)
    found = series_of(portal, view, link, asked_window(request), among)
    body = json.dumps(series_json(found), separators=(",", ":"), allow_nan=False)
    return Response(body, media_type="application/json", headers=headers)


def _timeline(request: Request) -> Response:
    """The charts' part of a page: for a map whose panel was exchanged in place, and for an incident."""
    view = portal_of(request).view(chosen_drop(request))
    link, among, incident = _drawn(request, view)
    context = timeline_context(request, view, link, among=among, incident=incident)
    return fragment(request, "_timeline.html", timeline=context)


def _drawn(
    request: Request, view: FabricView
) -> tuple[Link | None, list[Link] | None, str]:  # fmt: skip
    """The link that is set off, the links that are drawn (None for the degraded ones), and the incident."""
    asked, portal = request.query_params, portal_of(request)
    named, incident = asked.get("link"), asked.get("incident", "")
    link = find_link(view, named) if named else None
    if not incident:
        return link, None, ""
    record = incident_view(portal.settings, portal.ledger, incident, view.drop).record
    among = implicated(view, record)
    return link or (among[0] if among else None), among, incident


def _tag(request: Request, portal: Portal, view: FabricView) -> str:
    signature = view_signature(portal.settings.lake, view.drop)
    text = f"{view.drop} {signature} {static_version()} {request.url.query}"
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:20]}"'


def _run(run: RunSeries) -> dict[str, Any]:
    return {
        "key": run_key(run),
        "title": run_title(run),
        "p50": _short(run.p50),
        "p99": _short(run.p99),
        "baseline": run.baseline_ms and float(f"{run.baseline_ms:.4g}"),
        "worst": run.worst_pct and round(run.worst_pct),
        "slow": [[round(s.start, 1), round(s.end, 1), round(s.worst_pct), s.groups] for s in run.slow],
    }  # fmt: skip


def _strip(strip: Strip, is_chosen: bool) -> dict[str, Any]:
    said: dict[str, Any] = {
        "name": clean(strip.name, 200),
        "state": strip.state,
        "errors": _short(strip.errors),
        "total": strip.total,
    }
    if is_chosen and strip.multi is not None:
        said["multi"] = _short(strip.multi)
    return said


def _short(values: Sequence[float | None]) -> list[float | int | None]:
    """Four digits are more than a pixel shows; whole numbers without a point."""
    return [None if one is None else _digits(one) for one in values]


def _digits(value: float) -> float | int:
    short = float(f"{value:.4g}")
    return int(short) if short == int(short) else short


ROUTES = [Route("/api/series", _series), Route("/timeline", _timeline)]
