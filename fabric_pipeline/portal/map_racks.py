"""Racks as columns of node cards: which form cards have, how columns fill a screen, and their frames.

A rack stands with its highest unit on top, as one sees it. Nodes whose rack nobody states get frames of
their own that say so. Cables are `map_cables`' business.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fabric_pipeline.portal.map_card import Card, CardForm
from fabric_pipeline.portal.map_marks import Box, line_of_text, rect
from fabric_pipeline.portal.map_scene import Scene
from fabric_pipeline.portal.svg import Svg, element, text_width, title
from fabric_pipeline.workflows.fabric_view_model import Link, NodeView, RackView, SwitchView

ASPECT = 1.42  # of the room that a map has on a common screen
MARGIN, HEAD = 20.0, 30.0
LANE = 5.0  # between degraded cables in one gutter
_TRAYS_FROM = 7  # more nodes in one column than this are drawn flat
_GUTTER, _FRAME, _FOOT, _SPACE = 34.0, 8.0, 10.0, 18.0
_DOMAIN_ROW, _DOMAIN_COLUMNS = 20.0, 9


@dataclass(slots=True)
class Column:
    """One rack, or a part of the nodes without one. `cables` are degraded and reach a switch above."""

    rack: RackView
    cards: list[Card]
    domain: list[SwitchView]
    x: float = 0.0
    y: float = 0.0
    strip: int = 0
    cables: list[Link] = field(default_factory=list)

    @property
    def width(self) -> float:
        """Width of the frame."""
        return self.cards[0].form.width + 2 * _FRAME

    @property
    def gutter(self) -> float:
        """Width of the gutter at the left."""
        return _GUTTER + LANE * max(0, len(self.cables) - 2)

    @property
    def height(self) -> float:
        """Height of the frame."""
        cards = sum(card.height + self.gap(card) for card in self.cards)
        rows = -(-len(self.domain) // _DOMAIN_COLUMNS)
        return HEAD + cards + _FOOT + (26 + rows * _DOMAIN_ROW if rows else 0)

    def gap(self, card: Card) -> float:
        """Room above a card: a channel for each degraded cable that reaches it."""
        least = 7 if card.form.is_tray else 12
        return least + LANE * max(0, len(self.cables_of(card)) - 1)

    def cables_of(self, card: Card) -> list[Link]:
        """Degraded cables of one node, the worst first."""
        return [c for c in self.cables if any(end.node == card.node.name for end in c.ends)]

    def card_of(self, link: Link) -> Card | None:
        """The card that an end of this link is on."""
        names = {end.node for end in link.ends if end.node}
        return next((card for card in self.cards if card.node.name in names), None)

    def place(self, y: float) -> None:
        """Put all cards below the top of the frame."""
        self.y = y
        y += HEAD - 6
        for card in self.cards:
            y += self.gap(card)
            card.place(self.x + _FRAME, y)
            y += card.height


def columns_of(
    racks: Sequence[RackView], inside: dict[str, list[Link]], domain: Sequence[SwitchView]
) -> list[Column]:
    """Columns from the left to the right; `inside` are degraded links by the node they are drawn at."""
    parts: list[tuple[RackView, list[NodeView]]] = []
    for rack in racks:
        nodes = rack.nodes[::-1] if all(node.unit for node in rack.nodes) else rack.nodes
        size = len(nodes) if rack.name else max(3, round((len(nodes) / 2.2) ** 0.5))
        parts += [(rack, nodes[at : at + size]) for at in range(0, len(nodes), max(1, size))]
    form = _form(parts)
    return [
        Column(
            rack,
            [Card(node, form, inside.get(node.name, [])) for node in nodes],
            [switch for switch in domain if rack.name and switch.rack == rack.name],
        )
        for rack, nodes in parts
    ]


def place_columns(columns: Sequence[Column], above: float, least: float) -> float:
    """Give every column its strip and its x, so that the map has the shape of a screen; gives the width."""
    if not columns:
        return max(640.0, least)
    gutters = sum(column.gutter for column in columns) / len(columns)
    tallest = max(column.height for column in columns)

    def misfit(per_strip: int) -> float:
        strips = -(-len(columns) // per_strip)
        wide = per_strip * (columns[0].width + gutters) + 2 * MARGIN
        return abs(wide / (above + strips * tallest) / ASPECT - 1) + 0.02 * strips

    # Strips are alike long.
    per_strip = min({-(-len(columns) // strips) for strips in range(1, 9)}, key=misfit)
    slots = [max(c.gutter for c in columns[slot::per_strip]) for slot in range(per_strip)]
    taken: dict[int, float] = defaultdict(lambda: MARGIN)
    for place, column in enumerate(columns):
        column.strip, slot = divmod(place, per_strip)
        column.x = taken[column.strip] + slots[slot]
        taken[column.strip] = column.x + column.width
    used = max(taken.values()) + MARGIN
    height = above + -(-len(columns) // per_strip) * tallest
    width = max(used, least, 640.0, min(height * ASPECT, used * 1.25))
    for column in columns:
        column.x += (width - used) / 2
    return width


def place_strips(columns: Sequence[Column], y: float) -> float:
    """Stack the strips from y on; gives the lower edge."""
    for strip in sorted({column.strip for column in columns}):
        row = [column for column in columns if column.strip == strip]
        for column in row:
            column.place(y)
        y += max(column.height for column in row) + _SPACE
    return y


def rack_frame(scene: Scene, column: Column, boxes: dict[str, Box]) -> Svg:
    """Frame and name of a rack; notes in `boxes` where its NVLink switches are drawn."""
    rack, x, y = column.rack, column.x, column.y
    name = f"Rack {rack.name}" if rack.name else "Rack not stated"
    row = f"Row {rack.row}" if rack.row else ""
    aside = min(text_width(row, 11), column.width * 0.32)
    parts = [
        rect(Box(x, y, column.width, column.height), "rack" if rack.name else "rack unstated", 8),
        line_of_text(x + 14, y + 20, name, "rack-name", size=13.5, width=column.width - 36 - aside),
        line_of_text(
            x + column.width - 14, y + 20, row, "unit", size=11, anchor="end", width=aside
        ),
        *_domain(column, boxes),
    ]
    if not rack.name:
        return element("g", None, *parts)
    said = f"{name}, {row + ', ' if row else ''}{len(rack.nodes)} nodes"
    attrs = {"class": "rack-link", "href": scene.rack(rack)}
    return element("a", attrs, title(said), *parts)


def _domain(column: Column, boxes: dict[str, Box]) -> Iterator[Svg]:
    """NVLink switches that the nodes of a rack share."""
    if not column.domain:
        return
    last = column.cards[-1].box
    yield line_of_text(last.x + 4, last.bottom + 20, "NVLink switches", "unit", size=10)
    room = last.w / _DOMAIN_COLUMNS
    for place, switch in enumerate(column.domain):
        row, at = divmod(place, _DOMAIN_COLUMNS)
        box = Box(last.x + at * room + 2, last.bottom + 26 + row * _DOMAIN_ROW, room - 4, 15)
        boxes[switch.name] = box
        css = "no_data" if switch.state == "no_data" else "healthy"
        label = switch.name.rpartition("-")[2]
        yield element(
            "g",
            None,
            title(switch.name),
            rect(box, f"switch {css}", 3),
            line_of_text(box.cx, box.cy + 3.3, label, "unit", size=9, anchor="middle", width=room - 8),
        )  # fmt: skip


def _form(parts: list[tuple[RackView, list[NodeView]]]) -> CardForm:
    nodes = [node for _, part in parts for node in part]
    widest = max((max(len(n.of_kind("gpu")), len(n.of_kind("nic"))) for n in nodes), default=0)
    columns = min(16, max(4, widest))
    tallest = max((len(part) for _, part in parts), default=0)
    if tallest >= _TRAYS_FROM:
        return CardForm(columns, 62.0 if columns <= 4 else 36.0, is_tray=True)
    room = tallest * 122 + 260
    cell = (room * ASPECT / max(1, len(parts)) - 74) / columns
    has_switches = any(node.of_kind("nvswitch") for node in nodes)
    return CardForm(columns, max(30.0, 216 / columns, min(58.0, cell)), has_switches=has_switches)
