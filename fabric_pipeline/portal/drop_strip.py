"""The strip of drops in time: every drop a link to the same page at that time, with gaps and what each found.

Public: `drop_strip` for pages that show one drop, and `pair_strip` for the comparison of two, both for
`_drop_strip.html`. Marks are kept until a table of their drop is written again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request

from fabric_pipeline.portal.drop_layout import Axis, Bar, Gap, axis_of
from fabric_pipeline.portal.pages import Portal, portal_of
from fabric_pipeline.portal.svg import Svg, element, title
from fabric_pipeline.workflows.drop_axis import DropMark, drop_after, drop_before, drop_marks
from fabric_pipeline.workflows.fabric_view import view_signature
from fabric_pipeline.workflows.figure_words import utc

# What is kept of an address when another drop is chosen: not the window, which is of one drop's time.
KEPT_FIELDS = ("link", "mask", "kind")
_MOST_FIELD = 1000
_MOST_KEPT = 2000
_LANE, _TOP, _FOOT = 26, 4, 16
# Labels of times stand this far apart, in percent of the axis, on a wide and on a narrow screen.
_WIDE_LABEL, _NARROW_LABEL = 9.0, 30.0
_GAP_LABEL = 7.0
_GLYPHS = {
    "critical": "M0 -5L5 4.500H-5Z",
    "warning": "M0 -5L5 0L0 5L-5 0Z",
    "watch": "M-3.500 0a3.500 3.500 0 1 0 7 0a3.500 3.500 0 1 0 -7 0Z",
    "no_data": "M-4 -4H4V4H-4Z",
    "healthy": "M-2.500 0a2.500 2.500 0 1 0 5 0a2.500 2.500 0 1 0 -5 0Z",
}
Href = Callable[[str], str]
_kept: OrderedDict[tuple[Any, str], tuple[int, DropMark]] = OrderedDict()
_lock = threading.Lock()


def drop_strip(request: Request, drop: str, link: str = "") -> dict[str, Any]:
    """The variable `strip` of a page that shows this drop; marks lead to the same page at their time.

    `link` is the component that a page is about whose address does not have it as a field.
    """
    marks = _of_cluster(marks_of(portal_of(request)), drop)
    before, after = drop_before(marks, drop), drop_after(marks, drop)

    def href(name: str) -> str:
        return at_drop(request, name)

    return _strip(marks, [("", drop, href)]) | {
        "earlier": (before, href(before)) if before else None,
        "later": (after, href(after)) if after else None,
        "changed": compare_address(request, before, drop, link) if before else "",
        "compare": compare_address(request, None, drop, link),
    }


def pair_strip(request: Request, a: str, b: str) -> dict[str, Any]:
    """The same for the comparison of two drops: one row to choose the earlier, one for the later."""
    marks = _of_cluster(marks_of(portal_of(request)), b)
    rows: list[tuple[str, str, Href]] = [
        ("Earlier", a, lambda name: compare_address(request, name, b)),
        ("Later", b, lambda name: compare_address(request, a, name)),
    ]
    return _strip(marks, rows) | {"earlier": None, "later": None, "changed": "", "compare": ""}


def compare_address(request: Request, a: str | None, b: str | None, link: str = "") -> str:
    """Where two drops are compared; the chosen link is kept. Without `a` it is the drop before `b`."""
    named = link or request.query_params.get("link", "")[:_MOST_FIELD]
    asked = {name: value for name, value in (("a", a), ("b", b), ("link", named)) if value}
    return "/compare?" + urlencode(asked)


def at_drop(request: Request, drop: str) -> str:
    """The same page at another drop, with the chosen link and mask."""
    asked = {
        name: value[:_MOST_FIELD]
        for name in KEPT_FIELDS
        if (value := request.query_params.get(name, ""))
    }
    # The path as it was sent: a name in it may hold anything.
    path = request.scope.get("raw_path", b"").decode("ascii", "replace") or request.url.path
    return f"{path.partition('?')[0]}?{urlencode({'drop': drop} | asked)}"


def marks_of(portal: Portal) -> list[DropMark]:
    """A mark of every drop that can be shown, the one read last first."""
    lake, drops = portal.settings.lake, portal.drops
    signatures = {drop: view_signature(lake, drop) for drop in drops}
    with _lock:
        known = {
            drop: _kept[lake, drop][1]
            for drop in drops
            if _kept.get((lake, drop), (0,))[0] == signatures[drop]
        }
    fresh = [drop for drop in drops if drop not in known]
    found = drop_marks(portal.settings, fresh) if fresh else []
    with _lock:
        for mark in found:
            _kept[lake, mark.drop] = (signatures[mark.drop], mark)
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    known |= {mark.drop: mark for mark in found}
    return [known[drop] for drop in drops]


def _of_cluster(marks: Sequence[DropMark], drop: str) -> list[DropMark]:
    cluster = next((mark.cluster for mark in marks if mark.drop == drop), "")
    return [mark for mark in marks if mark.cluster == cluster]


def _strip(marks: Sequence[DropMark], rows: Sequence[tuple[str, str, Href]]) -> dict[str, Any]:
    axis = axis_of(marks, *(chosen for _, chosen, _ in rows))
    untimed = [mark.drop for mark in marks if mark.start is None]
    _, _, href = rows[-1]
    return {
        "is_shown": len(axis.bars) > 1 or bool(untimed and axis.bars),
        "picture": _picture(axis, rows) if axis.bars else None,
        "has_rows": len(rows) > 1,
        "lanes": axis.lanes,
        "untimed": [(name, href(name)) for name in untimed[:12]],
        "before": axis.before,
        "after": axis.after,
        "under": axis.under,
    }


def _picture(axis: Axis, rows: Sequence[tuple[str, str, Href]]) -> Svg:
    height = axis.lanes * _LANE + _TOP
    parts = [_hatch(), *(_gap(gap, len(rows) * height) for gap in axis.gaps)]
    for n, (label, chosen, href) in enumerate(rows):
        marks = [_mark(bar, bar.mark.drop == chosen, href(bar.mark.drop), label) for bar in axis.bars]  # fmt: skip
        place = {"x": 0, "y": n * height, "width": "100%", "height": height, "class": "row"}
        parts.append(element("svg", place, *marks))
    foot = len(rows) * height + _FOOT - 4
    parts += [*_times(axis, foot), *_gap_words(axis, len(rows) * height)]
    box = {"class": "drop-axis", "width": "100%", "height": len(rows) * height + _FOOT}
    return element("svg", box | {"role": "group", "aria-label": "Drops by the time of their data"}, *parts)  # fmt: skip


def _hatch() -> Svg:
    line = element("path", {"d": "M-1 7L7 -1M-1 1L1 -1M5 7L7 5", "class": "hatching"})
    box = {"id": "drop-gap", "width": 6, "height": 6, "patternUnits": "userSpaceOnUse"}
    return element("defs", None, element("pattern", box, line))


def _mark(bar: Bar, is_chosen: bool, href: str, row: str) -> Svg:
    mark, top = bar.mark, bar.lane * _LANE + _TOP
    said = f"{row + ': ' if row else ''}{mark.drop}, {span_of(mark)}, {found_words(mark)}{', shown now' if is_chosen else ''}"
    where = {"x": _percent(bar.left), "width": _percent(bar.width)}
    middle = {"x": _percent(bar.left + bar.width / 2), "y": top + 8, "class": "glyph"}
    attrs = {"href": href, "class": f"drop {mark.state}", "aria-label": said, "aria-current": "true" if is_chosen else None}  # fmt: skip
    parts = [
        title(said),
        element("rect", where | {"y": top - 2, "height": _LANE - 2, "rx": 4, "class": "hit"}),
        element("rect", where | {"y": top + 15, "height": 5, "rx": 2.5, "class": "bar"}),
        element("svg", middle, element("path", {"d": _GLYPHS[mark.state]})),
    ]
    if mark.silent:
        parts.append(element("rect", where | {"y": top + 15, "height": 5, "rx": 2.5, "class": "silent"}))  # fmt: skip
    return element("a", attrs, *parts)


def _gap(gap: Gap, height: float) -> Svg:
    where = {"x": _percent(gap.left), "width": _percent(gap.width), "y": _TOP, "height": height - _TOP}  # fmt: skip
    cut = ", drawn shorter than it was" if gap.is_cut else ""
    words = f"no drop for {duration(gap.start, gap.end)}: {utc(gap.start)} to {utc(gap.end)}{cut}"
    return element("rect", where | {"class": "gap"}, title(words))


def _gap_words(axis: Axis, height: float) -> list[Svg]:
    middle = height / 2 + _TOP + 2
    return [
        element(
            "text",
            {"x": _percent(gap.left + gap.width / 2), "y": middle, "class": "gap-words wide"},
            f"{'⋯ ' if gap.is_cut else ''}{duration(gap.start, gap.end)}{' ⋯' if gap.is_cut else ''}",
        )
        for gap in axis.gaps
        if gap.width >= _GAP_LABEL
    ]


def _times(axis: Axis, foot: float) -> list[Svg]:
    """The time at which each drop starts, where there is room; the day where it changes."""
    texts: list[Svg] = []
    last = {"wide": -100.0, "narrow": -100.0}
    day = ""
    for bar in sorted(axis.bars, key=lambda bar: bar.left):
        if bar.mark.start is None or bar.left - last["wide"] < _WIDE_LABEL or bar.left > 95:
            continue
        today = f"{bar.mark.start:%Y-%m-%d}"
        words = f"{bar.mark.start:%H:%M}" if today == day else f"{today} {bar.mark.start:%H:%M}"
        is_narrow = bar.left - last["narrow"] < _NARROW_LABEL
        css = "time wide" if is_narrow else "time"
        texts.append(element("text", {"x": _percent(bar.left), "y": foot, "class": css}, words))
        # A label with a day takes twice the room of one without.
        last["wide"] = bar.left + (0.0 if today == day else 5.0)
        if not is_narrow:
            last["narrow"] = bar.left
        day = today
    return texts


def span_of(mark: DropMark) -> str:
    """The time of a drop in words."""
    if mark.start is None or mark.end is None:
        return "without a time"
    same = mark.start.date() == mark.end.date()
    return f"{utc(mark.start, '%Y-%m-%d %H:%M')} to {utc(mark.end, '%H:%M' if same else '%Y-%m-%d %H:%M')} UTC"


def found_words(mark: DropMark) -> str:
    """What a drop found, in words; that nothing was found is said only of a drop that was judged."""
    if not mark.is_judged:
        return "not diagnosed"
    said = [
        f"{count} {word}"
        for count, word in (
            (mark.critical, "critical"),
            (mark.warning, "warning"),
            (mark.watch, "watched"),
        )
        if count
    ]
    silent = [f"{mark.silent} record{'s' if mark.silent > 1 else ''} of missing data"]
    return ", ".join([*(said or ["nothing found"]), *(silent if mark.silent else [])])


def duration(start: datetime, end: datetime) -> str:
    """A length of time in its two largest units."""
    minutes = max(0, round((end - start).total_seconds() / 60))
    days, hours = minutes // 1440, minutes % 1440 // 60
    if days:
        return f"{days} d {hours} h" if hours and days < 10 else f"{days} d"
    rest = minutes % 60
    return (f"{hours} h {rest} min" if rest else f"{hours} h") if hours else f"{rest} min"


def _percent(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") + "%"
