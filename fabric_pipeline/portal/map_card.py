"""One node as a card: network ports above, GPUs, a tick for every NVLink, NVSwitches below.

A card knows where each of its link ends is drawn, so that cables can reach them. Rooms for pills of
links inside the node are at its foot. Where cards stand is decided by `map_fabric`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from fabric_pipeline.model.components import nvlink_index
from fabric_pipeline.portal.map_marks import (
    PILL_HEIGHT,
    WORDS,
    Box,
    Point,
    boxes_path,
    line_of_text,
    mark,
    path,
    pill_width,
    rect,
    rounded,
)
from fabric_pipeline.portal.map_scene import Drawn, Scene, picked, pill_label
from fabric_pipeline.portal.svg import Svg, element, joined, number, text_width, title
from fabric_pipeline.workflows.fabric_view_model import (
    TROUBLE,
    Device,
    Link,
    NodeView,
    Port,
    rank,
)

MAX_PILLS = 6
_ROW = PILL_HEIGHT + 4
_PAD = 12.0
_ROOMY_SWITCH = 62.0
_TRAY_ROWS = (4.0, 11.0, 28.0, 38.0, 39.0)
_CARD_ROWS = (28.0, 43.0, 69.0, 84.0, 105.0)
_PLAIN_ROWS = (28.0, 43.0, 69.0, 84.0, 91.0)
TRAY_NAME, _TRAY_PILLS = 136.0, 286.0  # at the left, and at the right of a tray


@dataclass(frozen=True, slots=True)
class CardForm:
    """Measures that all cards of a map share.

    `is_tray`: flat, with the name at the left. `has_switches`: with a row for NVSwitches.
    """

    columns: int
    cell: float
    is_tray: bool = False
    has_switches: bool = True

    @property
    def width(self) -> float:
        """Width of a card."""
        return (
            self.columns * self.cell + 2 * _PAD + (TRAY_NAME + _TRAY_PILLS if self.is_tray else 0)
        )

    @property
    def rows(self) -> tuple[float, float, float, float, float]:
        """Tops of NICs, GPUs, ticks and NVSwitches, and the height without pills."""
        return _TRAY_ROWS if self.is_tray else _CARD_ROWS if self.has_switches else _PLAIN_ROWS

    @property
    def heights(self) -> tuple[float, float, float]:
        """Heights of NICs, GPUs and ticks."""
        return (5, 16, 7) if self.is_tray else (9, 24, 12)


@dataclass(slots=True)
class Card:
    """A node at a place; `inside` are degraded links drawn at it, the worst first."""

    node: NodeView
    form: CardForm
    inside: list[Link]
    at: Point = (0, 0)
    gpus: dict[str, Box] = field(default_factory=dict)
    nics: dict[str, Box] = field(default_factory=dict)
    nvswitches: dict[str, Box] = field(default_factory=dict)
    ticks: dict[str, Box] = field(default_factory=dict)

    @property
    def height(self) -> float:
        """Height with the rooms for pills."""
        rows = len(self._pill_rows())
        if self.form.is_tray:
            return max(self.form.rows[4], 16 + _ROW * rows)
        return self.form.rows[4] + _ROW * rows + (4 if rows else 0)

    @property
    def box(self) -> Box:
        """The whole card."""
        return Box(*self.at, self.form.width, self.height)

    def place(self, x: float, y: float) -> None:
        """Put the card and all its parts somewhere."""
        self.at = (x, y)
        left = x + _PAD + (TRAY_NAME if self.form.is_tray else 0)
        tops, heights, cell = self.form.rows, self.form.heights, self.form.cell
        columns = self._columns()
        for name, column in columns.items():
            self.gpus[name] = Box(left + column * cell + 3, y + tops[1], cell - 6, heights[1])
            self._place_ticks(name, y + tops[2], heights[2])
        wide = min(16.0, cell - 10)
        for name, column in self._nic_columns(columns).items():
            middle = left + (column + 0.5) * cell
            self.nics[name] = Box(middle - wide / 2, y + tops[0], wide, heights[0])
        if not self.form.is_tray:
            self._place_nvswitches(left, y + tops[3])

    def anchor(self, interface: str) -> Point:
        """Where a cable meets a network port, or the foot of any other link end."""
        device, _, _ = interface.partition("/")
        if device in self.nics:
            return self.nics[device].cx, self.nics[device].y
        tick = self.ticks.get(interface)
        found = tick or self.gpus.get(device) or self.nvswitches.get(device)
        if found is None:
            return self.at[0] + self.form.width / 2, self.at[1] + self.form.rows[4] - 6
        return found.cx, found.bottom if tick else found.y

    def draw(self, scene: Scene) -> Svg:
        """The card as a link to the node's schematic."""
        node, box = self.node, self.box
        return element(
            "a",
            {"class": f"card {node.state}", "href": scene.node(node)},
            title(f"Node {node.name}{_where(node)}: {WORDS[node.state]}"),
            rect(box, "face", 5),
            rect(Box(box.x, box.y + 6, 3, box.h - 12), f"bar {node.state}") if node.state in TROUBLE else None,
            *self._header(),
            *self._devices(scene),
            rect(box, "hatch", 5) if node.state == "no_data" else None,
        )  # fmt: skip

    def overlays(self, scene: Scene, beyond: Mapping[str, Box]) -> dict[str, Drawn]:
        """The degraded links drawn at this node, by their component.

        `beyond` are switches of the rack that such a link may end at.
        """
        rooms = {link.link_id: room for row in self._pill_rows() for link, room in row}
        return {link.a.component: self._overlay(scene, link, rooms, beyond) for link in self.inside}

    def highlight(self, interface: str) -> list[Svg | None]:
        """Marks on the parts that a link end belongs to."""
        device, _, _ = interface.partition("/")
        tick = self.ticks.get(interface)
        wide = Box(tick.cx - 1.6, tick.y - 1, 3.2, tick.h + 3) if tick else None
        parts = [self.gpus.get(device), self.nvswitches.get(device)]
        nic = self.nics.get(device)
        return [
            *(rect(part, "outline", 4) for part in parts if part),
            rect(nic, "solid", 1.5) if nic else None,
            rect(wide, "solid", 1) if wide else None,
        ]

    def _overlay(
        self, scene: Scene, link: Link, rooms: dict[str, Point], beyond: Mapping[str, Box]
    ) -> Drawn:
        own = [end for end in link.ends if end.node == self.node.name]
        start = self.anchor(own[0].interface)
        shapes = [shape for end in own for shape in self.highlight(end.interface)]
        shapes += [
            rect(beyond[e.device], "outline", 3)
            for e in link.ends
            if not e.node and e.device in beyond
        ]
        stem = self._stem(link)
        at = rooms.get(link.link_id)
        if at is not None:
            line = rounded([*self._leader(own[0].interface, start), *self._to_pill(at)], 4)
            shapes.append(path(line, "cable thin"))
        return picked(scene, link, [stem, *shapes], at)

    def _leader(self, interface: str, start: Point) -> list[Point]:
        """From a link end down to the foot of the card, between the GPUs and not across them."""
        foot = self.at[1] + self.form.rows[4] - (1 if self.form.is_tray else 2)
        if interface in self.ticks:
            return [start, (start[0], foot)]
        top = self.at[1] + self.form.rows[1] - 3
        aside = start[0] + self.form.cell / 2
        return [(start[0], min(start[1], top)), (start[0], top), (aside, top), (aside, foot)]

    def _to_pill(self, at: Point) -> list[Point]:
        foot = self.at[1] + self.form.rows[4] - (1 if self.form.is_tray else 2)
        bend = self._pills_left - 6 if self.form.is_tray else at[0]
        return [(bend, foot), (bend, at[1]), at]

    def _stem(self, link: Link) -> Svg | None:
        """PCIe between a network port and its GPU."""
        if link.link_type != "pcie":
            return None
        box = self.gpus.get(link.a.device)
        if box is None:
            return None
        return path(f"M{number(box.cx)} {number(box.y - 9)}v9", "cable")

    @property
    def _pills_left(self) -> float:
        """Where the room for pills begins on a tray."""
        return self.at[0] + self.form.width - _TRAY_PILLS

    def _pill_rows(self) -> list[list[tuple[Link, Point]]]:
        """Pills at the foot or at the right of a tray, packed so that none touches another."""
        if self.form.is_tray:
            return self._pills_of_tray()
        rows: list[list[tuple[Link, Point]]] = []
        ends: list[float] = []
        left, right = self.at[0] + 8, self.at[0] + self.form.width - 8
        shown = sorted(self.inside[:MAX_PILLS], key=lambda link: self.anchor(link.a.interface)[0])
        for link in shown:
            half = pill_width(pill_label(link)) / 2
            x = max(left + half, min(self.anchor(link.a.interface)[0], right - half))
            row = next((n for n, end in enumerate(ends) if end + 6 <= x - half), len(rows))
            if row == len(rows):
                rows.append([])
                ends.append(0.0)
            ends[row] = x + half
            y = self.at[1] + self.form.rows[4] + _ROW * row + PILL_HEIGHT / 2 + 2
            rows[row].append((link, (x, y)))
        return rows

    def _pills_of_tray(self) -> list[list[tuple[Link, Point]]]:
        """Two pills in a row."""
        rows: list[list[tuple[Link, Point]]] = []
        x = y = 0.0
        for place, link in enumerate(self.inside[:MAX_PILLS]):
            half = pill_width(pill_label(link)) / 2
            if place % 2 == 0:
                x, y = self._pills_left, self.at[1] + 19.5 + _ROW * len(rows)
                rows.append([])
            rows[-1].append((link, (x + half, y)))
            x += 2 * half + 6
        return rows

    def _columns(self) -> dict[str, int]:
        return {
            device.name: n for n, device in enumerate(self.node.of_kind("gpu")[: self.form.columns])
        }

    def _nic_columns(self, gpus: dict[str, int]) -> dict[str, int]:
        """Each network port above the GPU that shares its PCIe switch, else in the next free column."""
        beside = {
            str(device.facts.get("pcie_switch")): gpus[device.name]
            for device in self.node.of_kind("gpu")
            if device.facts.get("pcie_switch") and device.name in gpus
        }
        free = list(range(self.form.columns))
        found: dict[str, int] = {}
        for nic in self.node.of_kind("nic"):
            wanted = beside.get(str(nic.facts.get("pcie_switch")), -1)
            column = wanted if wanted in free else (free[0] if free else -1)
            if column >= 0:
                free.remove(column)
                found[nic.name] = column
        return found

    def _place_ticks(self, gpu: str, y: float, height: float) -> None:
        ports = self.node.devices[gpu].ports_of("nvlink")
        box = self.gpus[gpu]
        pitch = box.w / max(18, len(ports))
        for place, port in enumerate(ports):
            index = nvlink_index(port.end.interface)
            slot = index if index is not None and index < max(18, len(ports)) else place
            self.ticks[port.end.interface] = Box(
                box.x + slot * pitch + pitch * 0.2, y, pitch * 0.6, height
            )

    def _place_nvswitches(self, left: float, y: float) -> None:
        switches = self.node.of_kind("nvswitch")
        if switches:
            room = self.form.columns * self.form.cell / len(switches)
            for place, switch in enumerate(switches):
                self.nvswitches[switch.name] = Box(left + place * room + 3, y, room - 6, 15)

    def _header(self) -> list[Svg | None]:
        node, box, tray = self.node, self.box, self.form.is_tray
        x, y = box.x + _PAD, box.y + (17 if tray else 19)
        state = mark(node.state, x + 4, y - 4) if node.state in TROUBLE else None
        start = x + (14 if state else 0)
        unit = "no data" if node.state == "no_data" else node.unit
        aside = TRAY_NAME if tray else min(text_width(unit, 11), box.w * 0.3)
        room = (TRAY_NAME if tray else box.w - aside - 2 * _PAD - 6) - (start - x)
        at = (x, y + 14, "") if tray else (box.right - _PAD, y, "end")
        return [
            state,
            line_of_text(start, y, node.name, "name", size=12.5 if tray else 13.5, width=room),
            line_of_text(at[0], at[1], unit, "unit", size=11, anchor=at[2], width=aside + 1) if unit else None,
        ]  # fmt: skip

    def _devices(self, scene: Scene) -> list[Svg | None]:
        faces: dict[str, list[Box]] = defaultdict(list)
        for name, box in self.gpus.items():
            faces[f"gpu {_face(self.node.devices[name])}"].append(box)
        for name, box in self.nics.items():
            faces[f"nic {scene_css(scene, self.node.devices[name].ports_of('nic'))}"].append(box)
        for name, box in self.nvswitches.items():
            faces[f"gpu {_face(self.node.devices[name])}"].append(box)
        for port in self.node.ports():
            tick = self.ticks.get(port.end.interface)
            if tick is not None:
                faces[f"tick {_plain(scene.mask.css(port))}"].append(tick)
        stems = "".join(
            f"M{number(nic.cx)} {number(nic.bottom)}V{number(self.at[1] + self.form.rows[1])}"
            for nic in self.nics.values()
        )
        shapes = [path(boxes_path(boxes), css) for css, boxes in faces.items()]
        return [path(stems, "wire"), *shapes, *self._labels()]

    def _labels(self) -> list[Svg | None]:
        size = 9.5 if self.form.is_tray else 12
        indices = [
            line_of_text(box.cx, box.cy + size * 0.36, name.removeprefix("gpu"), "index", size=size, anchor="middle", width=box.w)
            for name, box in self.gpus.items()
        ]  # fmt: skip
        switches = [
            line_of_text(box.cx, box.cy + 3.8, _switch_label(name, box.w), "unit", size=min(11.5, box.w / 6), anchor="middle", width=box.w - 4)
            for name, box in self.nvswitches.items()
        ]  # fmt: skip
        return [joined(indices), joined(switches), *self._others()]

    def _others(self) -> list[Svg | None]:
        """Names of what was measured in a node of which neither GPU nor port is known."""
        if self.gpus or self.nics:
            return []
        names = ", ".join(self.node.devices)
        y = self.at[1] + self.form.rows[1] + 12
        x = self.at[0] + _PAD + (TRAY_NAME if self.form.is_tray else 0)
        room = self.form.columns * self.form.cell
        return [line_of_text(x, y, names, "unit", size=11, width=room)] if names else []


def _switch_label(name: str, width: float) -> str:
    """`NVSwitch 2`, and `NVS 2` where that would be cut."""
    return name.replace("nvswitch-", "NVSwitch " if width >= _ROOMY_SWITCH else "NVS ")


def scene_css(scene: Scene, ports: list[Port]) -> str:
    """The class of a part with several link ends: its worst, hatched when it has none."""
    if not ports:
        return "no_data"
    if scene.mask.name == "health":
        return _plain(max((port.state for port in ports), key=rank))
    return _plain(scene.mask.css(ports[0]))


def _plain(css: str) -> str:
    """Trouble is drawn on top, so that it can be picked; below, its place is grey."""
    return "healthy" if css in TROUBLE else css


def _face(device: Device) -> str:
    own = device.reading.state if device.reading else ""
    return own if own in TROUBLE else "no_data" if device.state == "no_data" else "healthy"


def _where(node: NodeView) -> str:
    said = [f"rack {node.rack}" if node.rack else "", node.unit]
    return "".join(f", {part}" for part in said if part)
