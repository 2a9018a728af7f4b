"""Small signs that all maps share: boxes, lines with round corners, state marks, pills, the frame.

A state is told by shape as well as by colour: triangle critical, diamond warning, circle watch, hatch no
data. Where things go is decided by the layouts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fabric_pipeline.portal.svg import Svg, cut, element, joined, number, text_width, title
from fabric_pipeline.workflows.fabric_view_model import End, Link

WORDS = {
    "critical": "Critical", "warning": "Warning", "watch": "Watch", "healthy": "Healthy", "no_data": "No data",
}  # fmt: skip
PILL_HEIGHT = 20.0
_PILL_TEXT = 11.0
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on a map."""

    x: float
    y: float
    w: float
    h: float

    @property
    def cx(self) -> float:
        """Middle from left to right."""
        return self.x + self.w / 2

    @property
    def cy(self) -> float:
        """Middle from top to bottom."""
        return self.y + self.h / 2

    @property
    def right(self) -> float:
        """Right edge."""
        return self.x + self.w

    @property
    def bottom(self) -> float:
        """Lower edge."""
        return self.y + self.h


@dataclass(slots=True)
class Picture:
    """A finished map: its size, what is on it, and sentences about what it leaves out.

    `is_floor`: nodes are cells with a stripe for each GPU, too small for anything else.
    """

    width: float
    height: float
    body: Svg
    notes: list[str] = field(default_factory=list)
    is_floor: bool = False


def rect(box: Box, css: str, radius: float = 0) -> Svg:
    """A rectangle, with round corners if asked."""
    return element(
        "rect",
        {"class": css, "x": box.x, "y": box.y, "width": box.w, "height": box.h, "rx": radius or None},
    )  # fmt: skip


def line_of_text(
    x: float, y: float, said: str, css: str, *, size: float = 11, width: float = 0, anchor: str = ""
) -> Svg:
    """Text on its base line, cut to `width` when that is given."""
    shown = cut(said, width, size) if width else said
    attrs = {"class": css, "x": x, "y": y, "font_size": size, "text_anchor": anchor or None}
    return element("text", attrs, shown)


def path(d: str, css: str) -> Svg | None:
    """A path, None for an empty one."""
    return element("path", {"class": css, "d": d}) if d else None


def boxes_path(boxes: Iterable[Box]) -> str:
    """Many rectangles as one path: a map of thousands stays light."""
    return "".join(
        f"M{number(b.x)} {number(b.y)}h{number(b.w)}v{number(b.h)}h{number(-b.w)}z" for b in boxes
    )


def rounded(points: Sequence[Point], radius: float = 8) -> str:
    """A line along straight pieces with round corners."""
    kept = [point for n, point in enumerate(points) if n == 0 or point != points[n - 1]]
    if len(kept) < 2:
        return ""
    d = f"M{number(kept[0][0])} {number(kept[0][1])}"
    for before, corner, after in zip(kept, kept[1:], kept[2:], strict=False):
        bend = min(radius, _length(before, corner) / 2, _length(corner, after) / 2)
        start, end = _towards(corner, before, bend), _towards(corner, after, bend)
        d += (
            f"L{number(start[0])} {number(start[1])}"
            f"Q{number(corner[0])} {number(corner[1])} {number(end[0])} {number(end[1])}"
        )
    return f"{d}L{number(kept[-1][0])} {number(kept[-1][1])}"


def sweep(start: Point, end: Point) -> str:
    """A curve that leaves and arrives upright."""
    middle = (start[1] + end[1]) / 2
    return (
        f"M{number(start[0])} {number(start[1])}C{number(start[0])} {number(middle)} "
        f"{number(end[0])} {number(middle)} {number(end[0])} {number(end[1])}"
    )


def mark(state: str, x: float, y: float, size: float = 9) -> Svg | None:
    """The sign of a state around a point; none for healthy."""
    half = size / 2
    if state == "critical":
        d = f"M{number(x)} {number(y - half)}l{number(half)} {number(size)}h{number(-size)}z"
    elif state == "warning":
        d = f"M{number(x)} {number(y - half)}l{number(half)} {number(half)}l{number(-half)} {number(half)}l{number(-half)} {number(-half)}z"
    elif state == "watch":
        return element("circle", {"class": "mark watch", "cx": x, "cy": y, "r": half * 0.8})
    elif state == "no_data":
        return rect(Box(x - half, y - half, size, size), "mark hatch")
    else:
        return None
    return element("path", {"class": f"mark {state}", "d": d})


def pill_width(label: str) -> float:
    """Room that a pill takes."""
    return text_width(label, _PILL_TEXT) + 30


def pill(at: Point, label: str, link: Link, href: str, aria: str) -> Svg:
    """A label on a degraded link around a point, leading to its incident."""
    width = pill_width(label)
    box = Box(at[0] - width / 2, at[1] - PILL_HEIGHT / 2, width, PILL_HEIGHT)
    return element(
        "a",
        {"class": f"pill {link.state}", "href": href, "aria_label": aria},
        rect(box, "face", PILL_HEIGHT / 2),
        mark(link.state, box.x + 12, at[1], 8),
        line_of_text(box.x + 21, at[1] + 4, label, "pill-text", size=_PILL_TEXT),
    )


def end_words(end: End) -> str:
    """One end in words, with its node."""
    return f"{end.interface} of {end.node}" if end.node else end.interface


def link_words(link: Link) -> str:
    """Both ends and the state, as one sentence for a reader who does not see the map."""
    far = end_words(link.b) if link.b is not None else "an unknown far end"
    reading = link.worst_reading
    counted = f", {reading.counter} {reading_words(link)}" if reading.counter else ""
    return f"{WORDS[link.state]}: {end_words(link.a)} to {far}{counted}"


def reading_words(link: Link) -> str:
    """The worst reading with its limit, such as `64,268 per hour, limit 1,000`."""
    reading = link.worst_reading
    if reading.value is None:
        return ""
    limit = f", limit {amount(reading.limit)}" if reading.limit is not None else ""
    least = "at least " if reading.is_lower_bound else ""
    return f"{least}{amount(reading.value)} {reading.unit}{limit}"


def amount(value: float | None) -> str:
    """A figure for people: thousands with commas, small ones with their power of ten."""
    if value is None:
        return "unknown"
    if value != 0 and abs(value) < 0.01:
        return f"{value:.2g}"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:,.1f}"


def definitions() -> Svg:
    """The hatch of what is not known."""
    stripes = element("path", {"class": "stripe", "d": "M0 5l5-5M-1 1l2-2M4 6l2-2"})
    pattern = element(
        "pattern", {"id": "hatch", "width": 5, "height": 5, "patternUnits": "userSpaceOnUse"}, stripes
    )  # fmt: skip
    return element("defs", None, pattern)


def frame(picture: Picture, label: str, *extra: Svg, css: str = "map") -> Svg:
    """The whole SVG element, named for readers who do not see it."""
    attrs = {
        "class": css,
        "xmlns": "http://www.w3.org/2000/svg",
        "viewBox": f"0 0 {number(picture.width)} {number(picture.height)}",
        "role": "group",
        "aria_label": label,
    }
    return element("svg", attrs, *extra, definitions(), picture.body)


def with_title(css: str, said: str, *parts: Svg | None) -> Svg:
    """A group that tells a pointer what it is."""
    return element("g", {"class": css}, title(said), joined(parts))


def _length(a: Point, b: Point) -> float:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


def _towards(corner: Point, other: Point, by: float) -> Point:
    dx, dy = other[0] - corner[0], other[1] - corner[1]
    length = max((dx * dx + dy * dy) ** 0.5, 1e-9)
    return corner[0] + dx / length * by, corner[1] + dy / length * by
