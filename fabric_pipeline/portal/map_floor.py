"""The floor plan of a large fabric: racks as tiles by row, a cell for each node, switches as two strips above.

Only what is degraded gets cables and pills, the worst first; the rest is grey cells in a few paths, so
that a thousand nodes stay light. Up to some forty nodes are drawn in full by `map_fabric`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import log

from fabric_pipeline.model.components import gpu_index
from fabric_pipeline.portal.map_cables import Cable, cables_of
from fabric_pipeline.portal.map_fabric import switch_tiers
from fabric_pipeline.portal.map_marks import (
    WORDS,
    Box,
    Picture,
    Point,
    boxes_path,
    line_of_text,
    mark,
    path,
    pill_width,
    rect,
    rounded,
)
from fabric_pipeline.portal.map_racks import ASPECT
from fabric_pipeline.portal.map_scene import Drawn, Scene, layered, picked, pill_label
from fabric_pipeline.portal.map_summary import summary_of
from fabric_pipeline.portal.map_tracks import Tracks
from fabric_pipeline.portal.svg import Svg, element, joined, number, title
from fabric_pipeline.workflows.fabric_view_model import (
    TROUBLE,
    Link,
    NodeView,
    RackView,
    SwitchView,
)

# More cables than this cross so often that none can be followed; the list beside the map has them all.
MOST_CABLES = 30
MOST_PILLS = 40
_PITCH = 3.75  # of a GPU within a cell
_CELL = 8 * _PITCH
_COLUMN = 14 * _PITCH
_LEFT, _TOP = 18 * _PITCH, 14.0
_PER_TILE = 8  # nodes in a tile where no rack is stated
_SCREEN = 1040.0


@dataclass(slots=True)
class Tile:
    """A rack on the floor, or some nodes without one."""

    rack: RackView
    nodes: list[NodeView]
    slot: int = 0
    x: float = 0.0
    y: float = 0.0


@dataclass(slots=True)
class Strip:
    """Tiles side by side with the pills of their nodes below."""

    row: str
    tiles: list[Tile]
    tracks: Tracks = field(default_factory=Tracks)
    pills: dict[str, tuple[int, float]] = field(default_factory=dict)
    y: float = 0.0
    foot: float = 0.0


class FloorMap:
    """Lays out many racks."""

    def __init__(
        self,
        scene: Scene,
        racks: Sequence[RackView],
        switches: Sequence[SwitchView],
        links: Sequence[Link],
    ) -> None:
        """`links` are the degraded ones to show, the worst first."""
        self.scene, self.links = scene, links
        self.tiers = switch_tiers([s for s in switches if s.tier != "nvswitch" or not s.rack])
        self.tier_of = {s.name: place for place, tier in enumerate(self.tiers) for s in tier}
        self.cables = cables_of(links, [], self.tier_of)
        self.left_off = len(self.cables.cables) - MOST_CABLES
        self.cables.cables = self.cables.cables[:MOST_CABLES]
        self.is_by_node = scene.here[0] != "/" or not any(rack.name for rack in racks)
        self.strips = self._strips(racks)
        self.boxes: dict[str, Box] = {}
        self.cells: dict[str, Box] = {}
        self.units = summary_of(scene.view).unit_of if scene.here == ("/",) else {}
        self.tile_of = {n.name: (s, t) for s in self.strips for t in s.tiles for n in t.nodes}

    def picture(self) -> Picture:
        """The whole floor."""
        widest = max((len(strip.tiles) for strip in self.strips), default=1)
        self.width = max(_LEFT + widest * _COLUMN + 20, 700.0)
        self.scale = max(1.0, self.width / _SCREEN)
        self._place_switches()
        for strip in self.strips:
            for tile in strip.tiles:
                tile.x = _LEFT + tile.slot * _COLUMN
        self.cables.route(self.boxes, len(self.tiers), self._feet(), self.scale)
        y = self._place_tiers()
        self._deal_pills()
        height = self._place_strips(y)
        body = [
            self._stripes(),
            joined(self._switch_strips()),
            joined(shape for strip in self.strips for shape in self._strip(strip)),
            joined(self._cells()),
            layered(self._degraded()),
        ]
        return Picture(self.width, height + 10, joined(body), self._notes(), is_floor=True)

    # places

    def _strips(self, racks: Sequence[RackView]) -> list[Strip]:
        rows: dict[str, list[Tile]] = defaultdict(list)
        for rack in racks:
            size = _PER_TILE if self.is_by_node else max(1, len(rack.nodes))
            nodes = rack.nodes[::-1] if all(n.unit for n in rack.nodes) else rack.nodes
            rows[rack.row] += [
                Tile(rack, nodes[at : at + size]) for at in range(0, len(nodes), size)
            ]
        per_strip = self._per_strip([len(tiles) for tiles in rows.values()], rows)
        strips = []
        for row, tiles in rows.items():
            for at in range(0, len(tiles), per_strip):
                strips.append(Strip("" if at else row, tiles[at : at + per_strip]))
                for slot, tile in enumerate(strips[-1].tiles):
                    tile.slot = slot
        return strips

    def _per_strip(self, sizes: list[int], rows: dict[str, list[Tile]]) -> int:
        """As many racks side by side as give the map the shape of a screen."""
        self.tallest = max((len(t.nodes) for tiles in rows.values() for t in tiles), default=1)
        longest = max(sizes, default=1)

        def misfit(per_strip: int) -> float:
            strips = sum(-(-size // per_strip) for size in sizes)
            return abs(
                log(self._shape(per_strip, strips, self._cell_height(per_strip, strips)) / ASPECT)
            )

        # Strips of one row are alike long.
        best = min(
            {max(min(4, longest), -(-longest // parts)) for parts in range(1, 17)}, key=misfit
        )
        self.cell_height = self._cell_height(best, sum(-(-size // best) for size in sizes))
        return best

    def _shape(self, per_strip: int, strips: int, cell: float) -> float:
        wide = _LEFT + per_strip * _COLUMN + 20
        pills = (
            25
            * max(1.0, wide / _SCREEN)
            * (1 + min(len(self.links), MOST_PILLS) / max(1, strips) / 5)
        )
        above = 70 * len(self.tiers) * max(1.0, wide / _SCREEN)
        return wide / (
            above + max(1, strips) * (self.tallest * (cell + 2) + 20 + pills * bool(self.links))
        )

    def _cell_height(self, per_strip: int, strips: int) -> float:
        """Cells grow in height where a map would be too flat."""
        least, most = (5.0, 7.0) if self.tallest > _PER_TILE else (8.0, 13.0)
        fitting = (
            c for c in (most, (least + most) / 2) if self._shape(per_strip, strips, c) >= ASPECT
        )
        return next(fitting, least)

    def _place_switches(self) -> None:
        for tier in self.tiers:
            room = (self.width - _LEFT - 20) / len(tier)
            wide = min(room * 0.72, 13 * self.scale)
            for place, switch in enumerate(tier):
                x = _LEFT + room * (place + 0.5) - wide / 2
                self.boxes[switch.name] = Box(x, 0, wide, 9 * self.scale)

    def _place_tiers(self) -> float:
        y = _TOP
        for tier, band in zip(self.tiers, self.cables.bands, strict=True):
            for switch in tier:
                box = self.boxes[switch.name]
                self.boxes[switch.name] = Box(box.x, y, box.w, box.h)
            y += 9 * self.scale + max(26.0 * self.scale, band.height + 26 * self.scale)
        return y

    def _place_strips(self, y: float) -> float:
        for strip in self.strips:
            y += 13 * self.scale if self.units else 0.0
            strip.y = y
            for tile in strip.tiles:
                tile.y = y
                for place, node in enumerate(tile.nodes):
                    at = y + 3 + place * (self.cell_height + 2)
                    self.cells[node.name] = Box(tile.x, at, _CELL, self.cell_height)
            strip.foot = y + self.tallest * (self.cell_height + 2) + 4
            y = strip.foot + 17 * self.scale + strip.tracks.height
        return y

    def _feet(self) -> dict[str, float]:
        """The aisle at the left of each tile, a lane for each cable."""
        lanes: dict[float, int] = defaultdict(int)
        feet = {}
        for cable in self.cables.cables:
            place = next(
                (self.tile_of[e.node] for e in cable.link.ends if e.node in self.tile_of), None
            )
            if place is not None:
                x = place[1].x
                feet[cable.link.link_id] = x - 8 - 3.5 * (lanes[x] % 3)
                lanes[x] += 1
        return feet

    def _deal_pills(self) -> None:
        """Pills of links inside nodes lie below their strip, each in a place of its own."""
        with_cable = {cable.link.link_id for cable in self.cables.cables}
        for strip in self.strips:
            strip.tracks.scale = self.scale
        for link in [one for one in self.links if one.link_id not in with_cable][:MOST_PILLS]:
            place = next((self.tile_of[e.node] for e in link.ends if e.node in self.tile_of), None)
            if place is not None:
                strip, tile = place
                half = pill_width(pill_label(link)) * self.scale / 2
                x = max(half + 4, min(tile.x + _CELL / 2, self.width - half - 4))
                strip.pills[link.link_id] = strip.tracks.take(x, x, half * 2 / self.scale)

    # drawing

    def _stripes(self) -> Svg:
        """The GPUs of a node as stripes of its cell."""
        stripe = element(
            "path", {"class": "cell", "d": f"M.4 0h{_PITCH - 0.9}v40h-{_PITCH - 0.9}z"}
        )
        attrs = {"id": "gpus", "width": _PITCH, "height": 40, "patternUnits": "userSpaceOnUse"}
        return element("defs", None, element("pattern", attrs, stripe))

    def _switch_strips(self) -> Iterator[Svg | None]:
        for tier in self.tiers:
            first = self.boxes[tier[0].name]
            label = f"{tier[0].tier or 'switch'} {len(tier)}"
            yield line_of_text(
                _LEFT - 8, first.bottom, label, "unit", size=8.5 * min(self.scale, 1.5), anchor="end", width=_LEFT - 10
            )  # fmt: skip
            for css in ("healthy", "no_data"):
                found = [s for s in tier if (s.state == "no_data") == (css == "no_data")]
                yield path(boxes_path(self.boxes[s.name] for s in found), f"switch {css}")

    def _strip(self, strip: Strip) -> Iterator[Svg | None]:
        size = 8.5 * self.scale
        middle = (strip.y + strip.foot) / 2 + size / 3
        yield line_of_text(
            _LEFT - 16,
            middle,
            strip.row,
            "rack-name",
            size=11 * self.scale,
            anchor="end",
            width=_LEFT - 20,
        )
        yield from self._brackets(strip)
        for tile in strip.tiles:
            box = Box(tile.x - 3, tile.y, _CELL + 6, strip.foot - tile.y)
            if self.is_by_node:
                yield rect(box, "rack unstated", 3)
                continue
            said = f"Rack {tile.rack.name or 'not stated'}, {len(tile.nodes)} nodes"
            yield element(
                "a",
                {"class": "tile card", "href": self.scene.rack(tile.rack)},
                title(said),
                rect(box, "face", 3),
                line_of_text(tile.x + _CELL / 2, strip.foot + size + 1, tile.rack.name, "unit", size=size, anchor="middle", width=_COLUMN - 4),
            )  # fmt: skip

    def _brackets(self, strip: Strip) -> Iterator[Svg]:
        """Names of the scalable units above the racks side by side that belong to each."""
        owners = [(self.scene.unit_of(tile.nodes), tile) for tile in strip.tiles]
        for unit, run in groupby(owners, key=lambda owner: owner[0]):
            tiles = [tile for _, tile in run]
            if unit is None or not self.units:
                continue
            left, right, y = tiles[0].x - 3, tiles[-1].x + _CELL + 3, strip.y - 3 * self.scale
            size = 8.5 * self.scale
            line = f"M{number(left)} {number(y + 2)}v{number(-2)}H{number(right)}v2"
            yield element(
                "a",
                {"class": "unit-link card", "href": self.scene.unit(unit)},
                title(f"{unit.name}: {len(unit.nodes)} nodes, {len(unit.leaves)} leaf switches"),
                path(line, "wire"),
                line_of_text(left, y - 2.5 * self.scale, unit.name, "unit", size=size, width=right - left),
            )  # fmt: skip

    def _cells(self) -> Iterator[Svg | None]:
        """Cells by class in a few paths; each on its own where there is no rack to lead to."""
        classes = self.scene.mask.nodes(self.scene.view)
        plain = {
            name: "gpus" if css in TROUBLE or css == "healthy" else css
            for name, css in classes.items()
        }
        nodes = {
            node.name: node for strip in self.strips for tile in strip.tiles for node in tile.nodes
        }
        if self.is_by_node:
            for name, node in nodes.items():
                said = f"Node {name}: {WORDS[node.state]}"
                attrs = {"href": self.scene.node(node)}
                yield element(
                    "a", attrs, title(said), rect(self.cells[name], f"cell {plain[name]}")
                )
            return
        groups: dict[str, list[Box]] = defaultdict(list)
        for name in nodes:
            groups[plain[name]].append(self.cells[name])
        for css, boxes in groups.items():
            yield path(boxes_path(boxes), f"cells {css}")

    def _degraded(self) -> Iterator[Drawn]:
        cables = {cable.link.link_id: cable for cable in self.cables.cables}
        for link in self.links:
            name = next((end.node for end in link.ends if end.node in self.cells), None)
            if link.link_id in cables:
                yield self._cable(cables[link.link_id], name)
            elif name is not None:
                yield self._inside(link, name)

    def _cable(self, cable: Cable, name: str | None) -> Drawn:
        upper = self.boxes[cable.upper]
        y = self.cables.y_of(cable, upper.bottom)
        points: list[Point] = [(cable.x1, upper.bottom), (cable.x1, y), (cable.x2, y)]
        shapes: list[Svg | None] = [rect(upper, "solid", 1)]
        if cable.lower:
            points.append((cable.x2, self.boxes[cable.lower].y))
            shapes.append(rect(self.boxes[cable.lower], "solid", 1))
        elif name is not None:
            cell = self.cells[name]
            points += [(cable.x2, cell.cy), (cell.x - 1, cell.cy)]
            shapes += self._marks(cable.link, name)
        line = rounded(points, 6 * self.scale)
        shown = [path(line, "hit"), path(line, "cable"), *shapes]
        return picked(self.scene, cable.link, shown, (cable.middle, y), self.scale)

    def _inside(self, link: Link, name: str) -> Drawn:
        shapes, at = self._marks(link, name), None
        strip, _ = self.tile_of[name]
        room = strip.pills.get(link.link_id)
        if room is not None:
            cell = self.cells[name]
            at = (room[1], strip.foot + 16 * self.scale + strip.tracks.offset(room[0]))
            start = (cell.right + 3 + 2.3 * (len(strip.pills) - room[0]) % 8, cell.cy)
            line = rounded([(cell.right, cell.cy), start, (start[0], at[1]), at], 4)
            shapes.append(path(line, "cable thin"))
        return picked(self.scene, link, shapes, at, self.scale)

    def _marks(self, link: Link, name: str) -> list[Svg | None]:
        """The node's cell outlined, its GPU filled, and the sign of the state beside it."""
        cell = self.cells[name]
        interface = next(end.interface for end in link.ends if end.node == name)
        gpu = gpu_index(interface)
        shapes: list[Svg | None] = [
            rect(Box(cell.x - 1, cell.y - 1, cell.w + 2, cell.h + 2), "outline", 1.5)
        ]
        if gpu is not None and gpu < 8:
            shapes.append(
                rect(Box(cell.x + gpu * _PITCH + 0.2, cell.y, _PITCH - 0.4, cell.h), "solid")
            )
        shapes.append(mark(link.state, cell.right + 7.5, cell.cy, 6.5 * self.scale))
        return shapes

    def _notes(self) -> list[str]:
        notes = ["On a floor plan healthy cables are not drawn; a rack opens with them."]
        if self.left_off > 0:
            notes.append(
                f"{self.left_off} more degraded cables are in the list, not on the floor plan."
            )
        return notes if self.tiers else []
