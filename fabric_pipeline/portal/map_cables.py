"""Degraded cables between nodes and switches: who leaves where, in which track, and how each is drawn.

Between two tiers a cable crosses in a track of its own; beside a rack it has a lane of the gutter, above
a card a channel. Healthy cables are bundles and belong to `map_fabric`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fabric_pipeline.portal.map_marks import Box, Point, path, pill_width, rect, rounded
from fabric_pipeline.portal.map_racks import LANE, Column
from fabric_pipeline.portal.map_scene import Drawn, Scene, picked, pill_label
from fabric_pipeline.portal.map_tracks import Tracks
from fabric_pipeline.portal.svg import Svg
from fabric_pipeline.workflows.fabric_view_model import Link

_FIRST_LANE = 8.0
_PORT_PITCH = 9.0


@dataclass(slots=True)
class Cable:
    """One degraded cable. `upper` and `lower` are switches; `lower` is "" when it goes to a rack."""

    link: Link
    band: int
    upper: str
    lower: str
    column: Column | None
    x1: float = 0.0
    x2: float = 0.0
    row: int = 0
    middle: float = 0.0


@dataclass(slots=True)
class Cables:
    """All degraded cables of a map and the bands that they cross in; one band below each tier."""

    cables: list[Cable]
    bands: list[Tracks] = field(default_factory=list)

    def route(
        self, boxes: Mapping[str, Box], tiers: int, feet: Mapping[str, float], scale: float = 1.0
    ) -> None:
        """Deal out ports and tracks; boxes need their x only. `feet` is where cables go down, by link id."""
        for cable in self.cables:
            above = boxes[cable.lower or cable.upper].cx
            cable.x2 = feet.get(cable.link.link_id, above)
        for name, beside in _grouped(self.cables, "upper").items():
            for cable, x in _spread(boxes[name], sorted(beside, key=lambda c: c.x2)):
                cable.x1 = x
        for name, beside in _grouped(self.cables, "lower").items():
            for cable, x in _spread(boxes[name], sorted(beside, key=lambda c: c.x1)):
                cable.x2 = x
        self.bands = [Tracks(scale) for _ in range(tiers)]
        for cable in self.cables:
            wide = pill_width(pill_label(cable.link))
            cable.row, cable.middle = self.bands[cable.band].take(cable.x1, cable.x2, wide)

    def feet(self) -> dict[str, float]:
        """Lanes of the gutters, for cables that go down to a rack."""
        return {
            cable.link.link_id: cable.column.x
            - _FIRST_LANE
            - LANE * cable.column.cables.index(cable.link)
            for cable in self.cables
            if cable.column is not None
        }

    def y_of(self, cable: Cable, top: float) -> float:
        """Middle of a cable's track, when its band begins at `top`."""
        band = self.bands[cable.band]
        return top + 17 * band.scale + band.offset(cable.row)

    def draw(self, scene: Scene, cable: Cable, boxes: Mapping[str, Box]) -> Drawn:
        """The cable with its ends marked, and its pill on its track."""
        upper = boxes[cable.upper]
        y = self.y_of(cable, upper.bottom)
        points: list[Point] = [(cable.x1, upper.bottom), (cable.x1, y), (cable.x2, y)]
        shapes: list[Svg | None] = [rect(upper, "outline", 5)]
        card = cable.column.card_of(cable.link) if cable.column else None
        if cable.lower:
            points.append((cable.x2, boxes[cable.lower].y))
            shapes.append(rect(boxes[cable.lower], "outline", 5))
        elif cable.column is not None and card is not None:
            end = next(end for end in cable.link.ends if end.node == card.node.name)
            port = card.anchor(end.interface)
            channel = card.box.y - 6 - LANE * cable.column.cables_of(card).index(cable.link)
            points += [(cable.x2, channel), (port[0], channel), port]
            shapes += card.highlight(end.interface)
        line = rounded(points, 9)
        drawn = [path(line, "hit"), path(line, "cable"), *shapes]
        return picked(scene, cable.link, drawn, (cable.middle, y))


def cables_of(links: Sequence[Link], columns: Sequence[Column], tiers: Mapping[str, int]) -> Cables:
    """The degraded links that end at a switch above the racks; they are added to their columns' gutters."""
    found = []
    for link in links:
        ends = [end.device for end in link.ends if not end.node and end.device in tiers]
        ends.sort(key=lambda name: tiers[name])
        if not ends:
            continue
        column = next((c for c in columns if c.card_of(link)), None) if len(ends) == 1 else None
        if column is not None:
            column.cables.append(link)
        lower = ends[1] if len(ends) > 1 else ""
        found.append(Cable(link, tiers[ends[0]], ends[0], lower, column))
    return Cables(found)


def _grouped(cables: Sequence[Cable], side: str) -> dict[str, list[Cable]]:
    groups: dict[str, list[Cable]] = defaultdict(list)
    for cable in cables:
        name = cable.upper if side == "upper" else cable.lower
        if name:
            groups[name].append(cable)
    return groups


def _spread(box: Box, beside: Sequence[Cable]) -> list[tuple[Cable, float]]:
    """Places around the middle of a switch's edge."""
    pitch = min(_PORT_PITCH, box.w / (len(beside) + 1))
    first = box.cx - pitch * (len(beside) - 1) / 2
    return [(cable, first + pitch * place) for place, cable in enumerate(beside)]
