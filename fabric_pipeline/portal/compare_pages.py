"""`/compare`: what changed between two drops, as tables with links to the map of either drop.

Without `a` and `b` it compares the newest drop with the one before it of the same cluster. What counts as
a change is decided in `workflows.drop_compare`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.portal.link_words import link_address
from fabric_pipeline.portal.pages import Portal, page, portal_of
from fabric_pipeline.workflows.drop_compare import compare_drops, pair_to_compare
from fabric_pipeline.workflows.drop_compare_model import (
    INCIDENT_CHANGES,
    LINK_CHANGES,
    DropComparison,
)
from fabric_pipeline.workflows.drop_window import window_end
from fabric_pipeline.workflows.fabric_view import view_signature
from fabric_pipeline.workflows.fabric_view_model import FabricView

MOST_ROWS = 200
_MOST_DROPS = 300
_KEPT = 6
# Among the drops read last; older pairs are chosen by name.
_MOST_ASKED = 40


def _compare(request: Request) -> Response:
    portal, asked = portal_of(request), request.query_params
    names = (asked.get("a", ""), asked.get("b", ""))
    if not all(names):
        return RedirectResponse("/compare?" + urlencode(_pair(portal, *names)), 303)
    a, b = (portal.view(name) for name in names)
    found = _kept.comparison(portal, a, b)
    accused = [one for one in found.incidents if one.is_accused]
    watched = [one for one in found.incidents if not one.is_accused]
    return page(
        request,
        "compare.html",
        tab="incidents",
        view=b,
        c=found,
        drops=portal.drops[:_MOST_DROPS],
        accused=accused[:MOST_ROWS],
        watched=watched[:MOST_ROWS],
        link_groups=_groups(found),
        incident_words=INCIDENT_CHANGES,
        link_words=LINK_CHANGES,
        shown=clean,
        link_address=link_address,
        more={
            "accused": max(0, len(accused) - MOST_ROWS),
            "watched": max(0, len(watched) - MOST_ROWS),
        },
        swapped="/compare?" + urlencode({"a": found.b, "b": found.a}),
    )


def _pair(portal: Portal, a: str, b: str) -> dict[str, str]:
    """The drops to compare where the address does not name both."""
    drops = portal.drops
    if b and not a:
        others = [drop for drop in drops if drop != b]
        before = drops[drops.index(b) + 1 :] if b in drops else []
        return {"a": (before or others or [b])[0], "b": b}
    if a:
        return {"a": a, "b": next((drop for drop in drops if drop != a), a)}
    ends = [(drop, window_end(portal.settings, drop)) for drop in drops[:_MOST_ASKED]]
    earlier, later = pair_to_compare(portal.settings, ends)
    return {"a": earlier, "b": later}


def _groups(found: DropComparison) -> list[dict[str, Any]]:
    """Differences of links by kind, the kinds in the order that matters, each with its first rows."""
    groups = []
    for change, words in LINK_CHANGES.items():
        rows = found.links_of(change)
        if rows:
            kept, more = rows[:MOST_ROWS], max(0, len(rows) - MOST_ROWS)
            links = sum(one.links for one in rows)
            groups.append(
                {"change": change, "words": words, "rows": kept, "more": more, "all": links}
            )
    return groups


class _Kept:
    """Comparisons asked for last; made again when a table of either drop or the ledger is written."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: OrderedDict[tuple[Any, ...], DropComparison] = OrderedDict()

    def comparison(self, portal: Portal, a: FabricView, b: FabricView) -> DropComparison:
        lake, ledger = portal.settings.lake, portal.settings.ledger
        written = ledger.stat().st_mtime_ns if ledger.is_file() else 0
        key = (
            lake,
            a.drop,
            view_signature(lake, a.drop),
            b.drop,
            view_signature(lake, b.drop),
            written,
        )
        with self._lock:
            if key in self._found:
                return self._found[key]
        found = compare_drops(portal.settings, a, b)
        with self._lock:
            self._found[key] = found
            while len(self._found) > _KEPT:
                self._found.popitem(last=False)
        return found


_kept = _Kept()

ROUTES = [Route("/compare", _compare)]
