"""The charts on one clock for a page: what the script draws, and the same in words for everybody else.

Public: `timeline_context` for pages that include `_timeline.html`, and `series_of`, which keeps the
series asked for last. The drawing is done by static/charts.js from `/api/series`.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from math import floor
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request

from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.errors import UsageError
from fabric_pipeline.portal.pages import Portal, portal_of
from fabric_pipeline.workflows.fabric_series import (
    Clock,
    FabricSeries,
    RunSeries,
    Slow,
    Strip,
    load_series,
)
from fabric_pipeline.workflows.fabric_view import view_signature
from fabric_pipeline.workflows.fabric_view_model import FabricView, Link
from fabric_pipeline.workflows.figure_words import moment, number, percent, size_words, span_words

Window = tuple[datetime, datetime]
_KEPT = 24
_MOST_ROWS = 60
# Address of the charts' frame alone, which is asked for by a page that says where it is.
_FRAME = "/timeline"
_MAPS = ("/nodes/", "/racks/")
_kept: OrderedDict[tuple[Any, ...], FabricSeries] = OrderedDict()
_lock = threading.Lock()


def asked_window(request: Request) -> Window | None:
    """The window in the address (`from`, `to`, UTC), None when it is not given whole.

    Raises UsageError for what is no time, or when the end is not after the start.
    """
    texts = [request.query_params.get(name, "").strip() for name in ("from", "to")]
    if not all(texts):
        return None
    start, end = (_time(text) for text in texts)
    if end <= start:
        raise UsageError("the window ends before it starts", "give `from` before `to`, both in UTC")
    return start, end


def series_of(
    portal: Portal,
    view: FabricView,
    link: Link | None,
    window: Window | None,
    among: Sequence[Link] | None = None,
) -> FabricSeries:
    """The series of a drop, computed once until its tables are written again."""
    home = portal.settings.lake
    drawn = None if among is None else tuple(one.link_id for one in among)
    chosen = link.link_id if link else ""
    key = (home, view.drop, view_signature(home, view.drop), chosen, window, drawn)
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    found = load_series(portal.settings, view, link, window, among=among)
    with _lock:
        _kept[key] = found
        while len(_kept) > _KEPT:
            _kept.popitem(last=False)
    return found


def timeline_context(
    request: Request,
    view: FabricView,
    link: Link | None = None,
    *,
    among: Sequence[Link] | None = None,
    incident: str = "",
) -> dict[str, Any]:
    """What `_timeline.html` shows, as its variable `timeline`. `link` is set off and drawn in any case.

    Works without a script too: strips carry their sums, and a table says what fell into slow time. With
    `incident` the strips are those of the links `among`, which it names.
    """
    window = asked_window(request)
    series = series_of(portal_of(request), view, link, None, among)
    about = {"incident": incident} if incident else {}
    clock = series.clock
    first, last = window or ((moment(clock.start), moment(clock.end)) if clock else (None, None))
    return {
        "series": "/api/series?" + urlencode({"drop": view.drop} | _named(link) | about),
        "hidden": _other_fields(request),
        "first": _field(first),
        "last": _field(last),
        "is_narrowed": window is not None,
        "clock": clock,
        "span": span_words(clock.start, clock.end) if clock else "",
        "strips": [
            strip_words(strip, place == series.chosen) | _where_to(request, strip, view.drop)
            for place, strip in enumerate(series.strips)
        ],
        "more_strips": series.more_strips,
        "runs": [(run_key(run), run_title(run)) for run in series.runs],
        "combined": is_combined(series),
        "first_run": first_run(series),
        "is_incident": bool(incident),
        "more_runs": series.more_runs,
        "has_timing": bool(series.runs),
        "rows": _table(series, window) if clock else [],
        "summary": _summary(series),
        "drop": view.drop,
        "link": link.a.component if link else "",
    }  # fmt: skip


def is_combined(series: FabricSeries) -> bool:
    """True when several runs were slow, so that they are shown together against their baselines."""
    return len({run.run for run in series.runs if run.slow}) > 1


def run_key(run: RunSeries) -> str:
    """What stands for a series of a run in an address: the same in every drop and after every reading."""
    text = f"{run.run}\0{run.op}\0{run.bytes}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def first_run(series: FabricSeries) -> str:
    """Which series is drawn where the address names none: that of the slowed run, else all slow ones."""
    if is_combined(series) and not series.lead:
        return "all"
    return run_key(series.runs[0]) if series.runs else ""


def run_title(run: RunSeries) -> str:
    """A series for people: operation, size and run."""
    what = run.op.replace("_", "-") if run.unit_kind == "collective" else "training step"
    return clean(
        " ".join(part for part in (what, size_words(run.bytes), "·", run.run) if part), 120
    )


def strip_words(strip: Strip, is_chosen: bool) -> dict[str, Any]:
    """One strip as the page says it beside the drawing."""
    total = "no timed counter" if strip.total is None else f"{number(strip.total)} errors"
    fit = ""
    if strip.overlap is not None and strip.overlap[1]:
        fit = f"{percent(strip.overlap[0] / strip.overlap[1])} in slow time"
    return {
        "component": strip.component,
        "name": clean(strip.name, 200),
        "state": strip.state,
        "state_word": strip.state.replace("_", " "),
        "total": total,
        "fit": fit,
        "is_culprit": strip.verdict == "responsible",
        "is_chosen": is_chosen,
        "unplaced": number(strip.unplaced) if strip.unplaced else "",
    }


def _where_to(request: Request, strip: Strip, drop: str) -> dict[str, Any]:
    """Where a strip leads: beside a map to the panel of its link there, elsewhere to the page of the link."""
    at = request.query_params.get("at", "") if request.url.path == _FRAME else request.url.path
    if at == "/" or at.startswith(_MAPS):
        mask = request.query_params.get("mask", "")[:40]
        asked = {"drop": drop, "link": strip.component} | ({"mask": mask} if mask else {})
        return {"address": f"{quote(at)}?{urlencode(asked)}", "is_pick": True}
    return {
        "address": f"/links/{quote(strip.component, safe='/:')}?{urlencode({'drop': drop})}",
        "is_pick": False,
    }


def _summary(series: FabricSeries) -> str:
    """What the picture says, in one sentence, for those who do not see it."""
    if series.clock is None:
        return "No reading of this drop carries a time, so nothing can be drawn on a clock."
    slow = sum(len(run.slow) for run in series.runs)
    said = (
        [f"{slow} slow intervals in {len(series.runs)} series of runs"]
        if series.runs
        else ["no timing of runs"]
    )
    said += [
        f"{clean(strip.name, 120)}: {words['total']}"
        + (f", {words['fit']}" if words["fit"] else "")
        for strip in series.strips
        for words in [strip_words(strip, False)]
    ]
    return f"{span_words(series.clock.start, series.clock.end)} UTC. {'; '.join(said)}."


def _table(series: FabricSeries, window: Window | None) -> list[dict[str, Any]]:
    """Slow intervals with the errors of each drawn link in them; last the time that was not slow."""
    clock = series.clock
    if clock is None:
        return []
    spans = [(run, slow) for run in series.runs for slow in run.slow]
    if window is not None:
        low, high = window[0].timestamp(), window[1].timestamp()
        spans = [(run, slow) for run, slow in spans if slow.end > low and slow.start < high]
    spans.sort(key=lambda one: (one[1].start, one[0].run))
    rows = [
        {
            "run": run_title(run),
            "span": span_words(slow.start, slow.end),
            "slower": f"{slow.worst_pct:,.0f} %",
            "late": ", ".join(str(rank) for rank in slow.late_ranks),
            "errors": [_said(_sum(strip, _bins(clock, [slow]))) for strip in series.strips],
        }
        for run, slow in spans[:_MOST_ROWS]
    ]
    calm = sorted(
        set(range(clock.bins))
        - set(_bins(clock, [slow for run in series.runs for slow in run.slow]))
    )
    if any(run.slow for run in series.runs):
        errors = [_said(_sum(strip, calm)) for strip in series.strips]
        rows.append(
            {
                "run": "the rest of the time, no run slow",
                "span": "",
                "slower": "",
                "late": "",
                "errors": errors,
            }
        )
    return rows


def _bins(clock: Clock, spans: Iterable[Slow]) -> Sequence[int]:
    found: set[int] = set()
    for slow in spans:
        first = max(0, floor((slow.start - clock.start) / clock.step_s))
        last = min(clock.bins - 1, floor((slow.end - clock.start) / clock.step_s))
        found.update(range(first, last + 1))
    return sorted(found)


def _sum(strip: Strip, bins: Iterable[int]) -> float | None:
    known = [value for place in bins if (value := strip.errors[place]) is not None]
    return sum(known) if known else None


def _said(value: float | None) -> str:
    return "no data" if value is None else number(round(value))


def _time(text: str) -> datetime:
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            "the window in the address is no time", "write it as 2026-11-20T14:30:00Z"
        ) from None
    return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)


def _field(at: datetime | None) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S") if at else ""


def _named(link: Link | None) -> dict[str, str]:
    return {"link": link.a.component} if link else {}


def _other_fields(request: Request) -> list[tuple[str, str]]:
    """What else stands in the address, so that the form of the window keeps it."""
    return [
        (name, value[:1000])
        for name, value in request.query_params.multi_items()
        if name not in ("from", "to", "panel", "at")
    ][:20]
