"""Pages `/matrix` and `/matrix/p2p`: health of every link, and latency between GPUs, each on one canvas.

The numbers behind a canvas come from `/api/matrix` and `/api/matrix/p2p`; what stands out is in a table on
the page as well, so that nothing depends on a script.
"""

from __future__ import annotations

import threading
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.errors import NotFoundError, UsageError
from fabric_pipeline.portal.matrix_words import counted, share_words, spoken, state_word
from fabric_pipeline.portal.pages import as_json, chosen_drop, page, portal_of
from fabric_pipeline.workflows.fabric_view import view_signature
from fabric_pipeline.workflows.fabric_view_model import LINK_KINDS, STATES, FabricView, Link
from fabric_pipeline.workflows.link_view import find_link
from fabric_pipeline.workflows.matrix_grid import (
    MatrixGrid,
    Section,
    groups_of,
    matrix_grid,
    worst_links,
)
from fabric_pipeline.workflows.pair_matrix import CLASSES, STEPS, PairMatrix, pair_matrix

KIND_NAMES = {
    "nvlink": "NVLink",
    "nic": "Network",
    "pcie": "PCIe",
    "other": "Other",
}
SHARES = ("below 2 %", "2 to 10 %", "10 to 25 %", "25 to 50 %", "50 to 100 %", "100 % and above")
MOST_ROWS = 50
_KEPT = 6
_MOST_NAME = 120


def _matrix(request: Request) -> Response:
    view = portal_of(request).view(chosen_drop(request))
    kind = _kind(request)
    links, total = worst_links(view, kind, MOST_ROWS)
    grid = _grids.grid(request, view, kind)
    chosen = _chosen(request, view)
    shown = [link for link in links if link is not chosen]
    return page(
        request,
        "matrix.html",
        tab="matrix",
        view=view,
        grid=grid,
        kind=kind,
        kinds=_kinds(request, grid),
        states=tuple(reversed(STATES)),
        rows=[*([_row(chosen)] if chosen else []), *(_row(link) for link in shown)],
        chosen=bool(chosen),
        total=total,
        shares=SHARES,
        source=f"/api/matrix?{urlencode({'drop': view.drop, 'kind': kind})}",
        limits=_left_out(grid),
    )


def _chosen(request: Request, view: FabricView) -> Link | None:
    """The link that the address names, None without one and where this drop does not know it."""
    named = request.query_params.get("link", "")
    try:
        return find_link(view, named) if named else None
    except NotFoundError:
        return None


def _api(request: Request) -> Response:
    view = portal_of(request).view(chosen_drop(request))
    kind = _kind(request)
    return _json(_grids.payload(request, view, kind))


def _p2p(request: Request) -> Response:
    view = portal_of(request).view(chosen_drop(request))
    pairs = pair_matrix(portal_of(request).settings, view.drop)
    return page(
        request,
        "matrix_p2p.html",
        tab="matrix",
        view=view,
        pairs=pairs,
        classes=CLASSES,
        steps=_step_words(),
        worst=pairs.worst(MOST_ROWS) if pairs else [],
        clean=clean,
        source=f"/api/matrix/p2p?{urlencode({'drop': view.drop})}",
    )


def _api_p2p(request: Request) -> Response:
    drop = portal_of(request).view(chosen_drop(request)).drop
    pairs = pair_matrix(portal_of(request).settings, drop)
    return _json(as_json(_pair_payload(pairs) if pairs else {"sections": []}))


def _json(text: str) -> Response:
    return Response(text, media_type="application/json")


def _kind(request: Request) -> str:
    kind = request.query_params.get("kind", "")
    if kind and kind not in LINK_KINDS:
        raise UsageError(
            f"there is no kind of link {kind[:40]!r}", f"kinds: {', '.join(LINK_KINDS)}"
        )
    return kind


class _Grids:
    """Grids of the views asked for last and their JSON, made once for each reading of a drop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._grids: OrderedDict[tuple[Path, str, int, str], tuple[MatrixGrid, str]] = OrderedDict()

    def grid(self, request: Request, view: FabricView, kind: str) -> MatrixGrid:
        return self._known(request, view, kind)[0]

    def payload(self, request: Request, view: FabricView, kind: str) -> str:
        return self._known(request, view, kind)[1]

    def _known(self, request: Request, view: FabricView, kind: str) -> tuple[MatrixGrid, str]:
        lake = portal_of(request).settings.lake
        key = (lake, view.drop, view_signature(lake, view.drop), kind)
        with self._lock:  # the page and its data are asked for together: the second one waits
            if key not in self._grids:
                grid = matrix_grid(view, kind)
                self._grids[key] = grid, as_json(_payload(grid))
                while len(self._grids) > _KEPT:
                    self._grids.popitem(last=False)
            self._grids.move_to_end(key)
            return self._grids[key]


_grids = _Grids()


def _payload(grid: MatrixGrid) -> dict[str, Any]:
    levels = {
        0: "measured, no error counted",
        6: "errors counted, no fixed limit",
        7: "no data",
        8: f"{SHARES[0]} of the limit",
        **{step: f"{words} of the limit" for step, words in enumerate(SHARES[1:], 1)},
    }
    return {
        "marks": True,
        "levels": levels,
        "sections": [_section(section) for section in grid.sections],
    }


def _section(section: Section) -> dict[str, Any]:
    plural = "switches" if section.noun == "switch" else "nodes"
    return {
        "noun": section.noun,
        "plural": plural,
        "heads": ["/nodes/" if section.noun == "node" else "", "/links/"],
        "rows": [
            [
                clean(row.name, _MOST_NAME) or "(name not known)",
                section.prefix(row),
                state_word(row.state),
            ]
            for row in section.rows
        ],
        "groups": [[group, names] for group, names in groups_of(section.columns)],
        "open": section.open_rows,
        "cells": b64encode(section.cells).decode(),
        "notes": {str(at): spoken(link) for at, link in section.notes.items()},
    }


def _pair_payload(pairs: PairMatrix) -> dict[str, Any]:
    section = {
        "noun": pairs.noun,
        "plural": f"{pairs.noun}s",
        "heads": ["", ""],
        "rows": [[clean(name, _MOST_NAME), "", ""] for name in pairs.names],
        "groups": [[clean(group, _MOST_NAME), names] for group, names in pairs.groups],
        "open": len(pairs.names),
        "cells": b64encode(pairs.cells).decode(),
        "values": b64encode(pairs.ratios).decode(),
        "notes": {},
    }
    return {
        "marks": False,
        "levels": {0: "as its class", 7: "not measured", **dict(enumerate(_step_words()[1:], 1))},
        "classes": list(CLASSES.values()),
        "sections": [section],
    }


def _step_words() -> list[str]:
    ends = [*STEPS[1:], None]
    later = [
        f"{start:g} to {end:g} times" if end else f"{start:g} times and more"
        for start, end in zip(STEPS, ends, strict=True)
    ]
    return [f"below {STEPS[0]:g} times", *later]


def _kinds(request: Request, grid: MatrixGrid) -> list[Mapping[str, Any]]:
    """Rows of the table of counts, each with the address of the matrix of that kind alone."""
    drop = chosen_drop(request)
    rows: list[Mapping[str, Any]] = []
    for kind, states in grid.counts.items():
        query = urlencode({"kind": kind} | ({"drop": drop} if drop else {}))
        address = f"/matrix?{query}" if kind in LINK_KINDS else ""
        rows.append({"kind": kind, "name": KIND_NAMES[kind], "address": address, "states": states})
    return rows


def _row(link: Link) -> Mapping[str, Any]:
    return {
        "address": f"/links/{quote(link.a.component, safe='')}",
        "name": clean(link.a.name, _MOST_NAME),
        "far": clean(link.b.name, _MOST_NAME) if link.b else "",
        "kind": KIND_NAMES.get(_kind_of(link), "Other"),
        "state": link.state,
        "word": state_word(link.state),
        "share": share_words(link),
        "counted": counted(link),
        "incidents": link.incidents,
    }


def _kind_of(link: Link) -> str:
    return next((kind for kind, names in LINK_KINDS.items() if link.link_type in names), "other")


def _left_out(grid: MatrixGrid) -> list[str]:
    said = []
    for section in grid.sections:
        if section.rows_left_out:
            said.append(
                f"{section.rows_left_out:,} further rows, all better than these, are not drawn."
            )
        if section.columns_left_out:
            said.append(f"{section.columns_left_out:,} further columns are not drawn.")
    return said


ROUTES = [
    Route("/matrix", _matrix),
    Route("/matrix/p2p", _p2p),
    Route("/api/matrix", _api),
    Route("/api/matrix/p2p", _api_p2p),
]
