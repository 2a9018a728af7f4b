"""`/compare`: what changed between two drops, counts first, with links to the map of either drop.

Without `a` and `b` it compares the newest drop with the one measured before it in the same cluster; with
`link` that link stands first. What counts as a change is decided in `workflows.drop_compare`.
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
from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.portal.drop_strip import compare_address, marks_of, pair_strip
from fabric_pipeline.portal.pages import Portal, page, portal_of
from fabric_pipeline.portal.paths import link_address
from fabric_pipeline.workflows.drop_axis import drop_after, drop_before
from fabric_pipeline.workflows.drop_compare import compare_drops, compare_link, pair_to_compare
from fabric_pipeline.workflows.drop_compare_model import (
    INCIDENT_CHANGES,
    LINK_CHANGES,
    DropComparison,
    LinkComparison,
)
from fabric_pipeline.workflows.drop_compare_rates import rate_words
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
        pair = _pair(portal, *names) | {k: v for k in ("link",) if (v := asked.get(k, ""))}
        return RedirectResponse("/compare?" + urlencode(pair), 303)
    a, b = (portal.view(name) for name in names)
    found = _kept.comparison(portal, a, b)
    accused = [one for one in found.incidents if one.is_accused]
    watched = [one for one in found.incidents if not one.is_accused]
    focus, no_focus = _focus(portal, a, b, found, asked.get("link", ""))
    return page(
        request,
        "compare.html",
        tab="map",
        view=b,
        c=found,
        focus=focus,
        no_focus=no_focus,
        rate_words=rate_words,
        drops=portal.drops[:_MOST_DROPS],
        strip=pair_strip(request, a.drop, b.drop),
        accused=accused[:MOST_ROWS],
        watched=watched[:MOST_ROWS],
        link_groups=_groups(found),
        tally=_tally(found),
        in_words=in_words(found),
        shown=clean,
        link_address=link_address,
        node_names={node.name for view in (a, b) for node in view.nodes},
        more={
            "accused": max(0, len(accused) - MOST_ROWS),
            "watched": max(0, len(watched) - MOST_ROWS),
        },
        swapped=compare_address(request, found.b, found.a),
    )


def _focus(
    portal: Portal, a: FabricView, b: FabricView, found: DropComparison, link: str
) -> tuple[LinkComparison | None, str]:
    """The link that the reader comes from, and why it cannot be compared where it cannot."""
    if not link:
        return None, ""
    try:
        return compare_link(portal.settings, a, b, link, found), ""
    except NotFoundError as error:
        return None, error.message


def _tally(found: DropComparison) -> list[dict[str, Any]]:
    """How many of each kind, in the order that matters: accused ones large, watched ones beside them."""
    tally: list[dict[str, Any]] = []
    for change, words in INCIDENT_CHANGES.items():
        accused, every = found.accused(change), found.counts.get(change, 0)
        if every:
            tally.append({"change": change, "words": words, "count": accused, "watched": every - accused})  # fmt: skip
    for change, words in LINK_CHANGES.items():
        if change in found.counts:
            tally.append({"change": change, "words": words, "count": found.counts[change], "watched": None})  # fmt: skip
    return tally


def in_words(found: DropComparison) -> str:
    """The comparison in one plain line, for a title or a chat."""
    said = []
    for one in _tally(found):
        kind = one["change"].replace("_", " ")
        if one["watched"] is None or one["count"]:
            said.append(f"{one['count']:,} {kind}")
    return ", ".join(said) or "nothing accused, nothing re-cabled"


def _pair(portal: Portal, a: str, b: str) -> dict[str, str]:
    """The drops to compare where the address does not name both."""
    if b or a:
        marks = marks_of(portal)
        given = b or a
        if all(mark.drop != given for mark in marks):
            return {"a": a or b, "b": b or a}  # the page says that there is no such drop
        others = [mark.drop for mark in marks if mark.drop != given] or [given]
        if b:
            return {"a": drop_before(marks, b) or drop_after(marks, b) or others[0], "b": b}
        return {"a": a, "b": drop_after(marks, a) or drop_before(marks, a) or others[0]}
    ends = [(mark.drop, mark.end) for mark in marks_of(portal)[:_MOST_ASKED]]
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
