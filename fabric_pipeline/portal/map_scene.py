"""What every layout is handed: the fabric, how it is coloured, and where its parts lead to.

Also the part that all maps draw alike: a degraded link as one group of what can be picked and its pill.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from fabric_pipeline.portal.map_marks import Point, link_words, pill, reading_words
from fabric_pipeline.portal.map_masks import Mask
from fabric_pipeline.portal.map_summary import summary_of
from fabric_pipeline.portal.svg import Svg, address, element, joined, number, title
from fabric_pipeline.workflows.fabric_units import Unit
from fabric_pipeline.workflows.fabric_view_model import FabricView, Link, NodeView, RackView


@dataclass(frozen=True, slots=True)
class Scene:
    """`here` is the address of this map as parts for `address`; `drop` is None for the newest drop.

    `selected` is the component of the selected link, "" for none.
    """

    view: FabricView
    mask: Mask = field(default_factory=Mask)
    drop: str | None = None
    here: tuple[str, ...] = ("/",)
    selected: str = ""

    @property
    def degraded(self) -> list[Link]:
        """Links with trouble, the worst first."""
        return summary_of(self.view).degraded

    @property
    def _kept(self) -> dict[str, str | None]:
        return {"drop": self.drop, "mask": self.mask.name if self.mask.name != "health" else None}

    def select(self, link: Link) -> str:
        """Address of this map with the link selected."""
        return address(*self.here, link=link.a.component, **self._kept)

    def node(self, node: NodeView) -> str:
        """The schematic of a node."""
        return address("/nodes/", node.name, **self._kept)

    def rack(self, rack: RackView) -> str:
        """The map of a rack."""
        return address("/racks/", rack.name, **self._kept)

    def unit(self, unit: Unit) -> str:
        """The map of a scalable unit."""
        return address("/su/", str(unit.number), **self._kept)

    def unit_of(self, nodes: Iterable[NodeView]) -> Unit | None:
        """The scalable unit that all these nodes belong to."""
        known = summary_of(self.view).unit_of
        units = [known.get(node.name) for node in nodes]
        return units[0] if units and all(unit is units[0] for unit in units) else None

    def floor(self) -> str:
        """The whole fabric."""
        return address("/", **self._kept)

    def incident(self, incident_id: str) -> str:
        """The page of an incident."""
        return address("/incidents/", incident_id, drop=self.drop)

    def link_page(self, link: Link) -> str:
        """The page of a link."""
        return address("/links/", link.a.component, drop=self.drop)


class Drawn(NamedTuple):
    """One degraded link: what can be picked of it, and its pill, None where there is no room for one."""

    pick: Svg
    pill: Svg | None


def layered(drawn: Iterable[Drawn]) -> Svg:
    """All links, then all pills, so that no line crosses a pill; each in the order given."""
    links = list(drawn)
    return joined([*(link.pick for link in links), *(link.pill for link in links)])


def picked(
    scene: Scene,
    link: Link,
    shapes: Iterable[Svg | None],
    pill_at: Point | None,
    scale: float = 1.0,
    beside: Iterable[Svg | None] = (),
) -> Drawn:
    """One degraded link, with its pill in the given size; `beside` is drawn with it but not picked."""
    named = {"class": "pick", "href": scene.select(link), "aria_label": link_words(link)}
    pick = element("a", named, *shapes)
    chosen = " selected" if link.a.component == scene.selected else ""
    attrs = {"class": f"link {link.state}{chosen}", "data_link": link.a.component}
    pill_ = element("g", attrs, link_pill(scene, link, pill_at, scale)) if pill_at else None
    told = title(f"{link_words(link)}{_rule(link)}")
    return Drawn(element("g", attrs, told, pick, *beside), pill_)


def link_pill(scene: Scene, link: Link, at: Point, scale: float = 1.0) -> Svg:
    """The pill of a link: its incident, or its reading where no incident stands."""
    if scale != 1.0:
        moved = f"translate({number(at[0])} {number(at[1])}) scale({number(scale)})"
        return element("g", {"transform": moved}, link_pill(scene, link, (0, 0)))
    label = pill_label(link)
    if not link.incidents:
        return pill(at, label, link, scene.link_page(link), f"{label}: page of {link.a.component}")
    said = f"{label}: incident on {link.a.component}"
    return pill(at, label, link, scene.incident(link.incidents[0]), said)


def pill_label(link: Link) -> str:
    """The incident, shortened to what tells it apart, else the counter."""
    if link.incidents:
        more = f" +{len(link.incidents) - 1}" if len(link.incidents) > 1 else ""
        return _shown_id(link.incidents[0]) + more
    return link.worst_reading.counter[:24] or "no incident"


def _shown_id(incident_id: str) -> str:
    return incident_id if len(incident_id) <= 20 else f"{incident_id[:10]}…{incident_id[-8:]}"


def _rule(link: Link) -> str:
    rule = link.worst_reading.rule
    reading = reading_words(link)
    return f". {rule or reading}" if rule or reading else ""
