"""The map of a fabric or of a rack: racks in place, switches above by tier, healthy cables as faint bundles.

Each degraded cable is drawn on its own by `map_cables`, each degraded link inside a node at its card.
More nodes than fit here are drawn by `map_floor`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from fabric_pipeline.model.components import natural_key
from fabric_pipeline.portal.map_cables import cables_of
from fabric_pipeline.portal.map_marks import Box, Picture, line_of_text, mark, path, rect, sweep
from fabric_pipeline.portal.map_racks import (
    MARGIN,
    Column,
    columns_of,
    place_columns,
    place_strips,
    rack_frame,
)
from fabric_pipeline.portal.map_scene import Drawn, Scene, layered
from fabric_pipeline.portal.svg import Svg, element, joined, number, title
from fabric_pipeline.workflows.fabric_view_model import TROUBLE, Link, RackView, SwitchView

_SWITCH_HEIGHT, _LEAST_BAND = 40.0, 58.0
_MOST_BUNDLES = 320
_TIERS = ("core", "spine", "", "leaf")


class FabricMap:
    """Lays out some racks with the switches that they lead to."""

    def __init__(
        self,
        scene: Scene,
        racks: Sequence[RackView],
        switches: Sequence[SwitchView],
        links: Sequence[Link],
    ) -> None:
        """`links` are the degraded ones to show, the worst first."""
        own = {rack.name for rack in racks if rack.name}
        domain = [s for s in switches if s.tier == "nvswitch" and s.rack in own]
        names = {switch.name for switch in domain}
        self.scene, self.links = scene, links
        self.tiers = switch_tiers([switch for switch in switches if switch.name not in names])
        self.tier_of = {s.name: place for place, tier in enumerate(self.tiers) for s in tier}
        self.columns = columns_of(racks, self._inside(racks), domain)
        self.cables = cables_of(links, self.columns, self.tier_of)
        self.boxes: dict[str, Box] = {}
        self.notes: list[str] = []

    def picture(self) -> Picture:
        """The whole map."""
        widest = max((len(tier) for tier in self.tiers), default=0)
        above = len(self.tiers) * (_SWITCH_HEIGHT + _LEAST_BAND + 20)
        width = place_columns(self.columns, above, widest * 30.0 + 2 * MARGIN)
        self._place_switches(width)
        self.cables.route(self.boxes, len(self.tiers), self.cables.feet())
        y = 12.0
        for tier, band in zip(self.tiers, self.cables.bands, strict=True):
            for switch in tier:
                box = self.boxes[switch.name]
                self.boxes[switch.name] = Box(box.x, y, box.w, _SWITCH_HEIGHT)
            y += _SWITCH_HEIGHT + max(_LEAST_BAND, band.height + 30)
        y = place_strips(self.columns, y)
        body = [
            joined(self._bundles()),
            joined(rack_frame(self.scene, column, self.boxes) for column in self.columns),
            joined(self._switch_boxes()),
            joined(card.draw(self.scene) for column in self.columns for card in column.cards),
            layered(self._degraded()),
        ]
        return Picture(width, y, joined(body), self.notes)

    def _inside(self, racks: Sequence[RackView]) -> dict[str, list[Link]]:
        """Degraded links that are drawn at a node, because no cable leads from it to a switch above."""
        shown = {node.name for rack in racks for node in rack.nodes}
        found: dict[str, list[Link]] = defaultdict(list)
        for link in self.links:
            names = [end.node for end in link.ends if end.node in shown]
            above = any(not end.node and end.device in self.tier_of for end in link.ends)
            if names and not above:
                found[names[0]].append(link)
        return found

    def _place_switches(self, width: float) -> None:
        for tier in self.tiers:
            room = (width - 2 * MARGIN) / len(tier)
            wide = min(room - 8, 108.0)
            for place, switch in enumerate(tier):
                x = MARGIN + room * (place + 0.5) - wide / 2
                self.boxes[switch.name] = Box(x, 0, wide, _SWITCH_HEIGHT)

    def _bundles(self) -> Iterator[Svg | None]:
        """Healthy cables: one curve for each pair of switches and of switch and rack, trunks in gutters."""
        pairs = {
            tuple(sorted((end.device for end in port.link.ends), key=lambda n: self.tier_of[n]))
            for tier in self.tiers
            for switch in tier
            for port in switch.ports
            if len(port.link.ends) == 2 and all(e.device in self.tier_of for e in port.link.ends)
        }
        curves = [
            sweep((self.boxes[a].cx, self.boxes[a].bottom), (self.boxes[b].cx, self.boxes[b].y))
            for a, b in sorted(pairs)
        ]
        reaching = [(column, name) for column in self.columns for name in self._reached(column)]
        if len(curves) + len(reaching) > _MOST_BUNDLES:
            self.notes.append("Healthy cables are too many to draw here.")
            return
        for column, name in reaching:
            box = self.boxes[name]
            curves.append(sweep((box.cx, box.bottom), (column.x - 8, column.y)))
        trunks = [piece for column, _ in reaching for piece in _trunk(column)]
        yield path("".join(curves), "bundle")
        yield path("".join(dict.fromkeys(trunks)), "trunk")

    def _reached(self, column: Column) -> list[str]:
        """Switches above that cables of a rack lead to."""
        fars = [port.far for card in column.cards for port in card.node.ports()]
        names = {far.device for far in fars if far is not None and not far.node}
        return sorted(names & self.tier_of.keys(), key=natural_key)

    def _switch_boxes(self) -> Iterator[Svg]:
        for tier in self.tiers:
            for switch in tier:
                yield _switch_box(switch, self.boxes[switch.name])

    def _degraded(self) -> Iterator[Drawn]:
        """All degraded links in the order of severity, which is the order of the keyboard."""
        cables = {cable.link.link_id: cable for cable in self.cables.cables}
        inside = {
            component: drawn
            for column in self.columns
            for card in column.cards
            for component, drawn in card.overlays(self.scene, self.boxes).items()
        }
        for link in self.links:
            if link.link_id in cables:
                yield self.cables.draw(self.scene, cables[link.link_id], self.boxes)
            elif link.a.component in inside:
                yield inside[link.a.component]


def _switch_box(switch: SwitchView, box: Box) -> Svg:
    is_roomy = box.w > 60
    label = switch.name if box.w > 40 else switch.name.rpartition("-")[2]
    place = " ".join(part for part in (switch.rack, switch.unit) if part)
    under = place or f"{len(switch.ports)} links"
    state = switch.state if switch.state in TROUBLE and box.w > 84 else ""
    css = "no_data" if switch.state == "no_data" else "healthy"
    return element(
        "g",
        {"class": "switch-box"},
        title(f"{switch.name}, {switch.tier or 'switch'}, {len(switch.ports)} links, {under}"),
        rect(box, f"switch {css}", 5),
        mark(state, box.x + 12, box.y + 12, 8),
        line_of_text(
            box.cx, box.y + (17 if is_roomy else 24), label, "name", size=13, anchor="middle", width=box.w - 30 if state else box.w - 6
        ),
        line_of_text(box.cx, box.y + 31, under, "unit", size=11, anchor="middle", width=box.w - 8) if is_roomy else None,
    )  # fmt: skip


def _trunk(column: Column) -> list[str]:
    """Healthy cables beside and above the cards of one rack."""
    gutter = number(column.x - 8)
    pieces = []
    lowest = 0.0
    for card in column.cards:
        last = max((nic.cx for nic in card.nics.values()), default=None)
        if last is not None:
            lowest = card.box.y - 6
            pieces.append(f"M{gutter} {number(lowest)}H{number(last)}")
            pieces += [
                f"M{number(nic.cx)} {number(lowest)}V{number(nic.y)}" for nic in card.nics.values()
            ]
    return [f"M{gutter} {number(column.y)}V{number(lowest)}", *pieces] if pieces else []


def switch_tiers(switches: Sequence[SwitchView]) -> list[list[SwitchView]]:
    """Switches by tier, the highest first; those of an unknown tier above the leaves."""
    rows: dict[str, list[SwitchView]] = defaultdict(list)
    for switch in switches:
        rows[switch.tier].append(switch)
    order = sorted(rows, key=lambda tier: _TIERS.index(tier) if tier in _TIERS else 2)
    return [sorted(rows[tier], key=lambda switch: natural_key(switch.name)) for tier in order]
