"""Maps as pages: the fabric, a scalable unit, a rack, a node, and the picture alone as an SVG file.

Each level of zoom is an address of its own and works without scripts; what is drawn where is decided
by the layouts in `map_*`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.portal import paths  # noqa: F401 - gives routes their `text`
from fabric_pipeline.portal.drop_strip import drop_strip
from fabric_pipeline.portal.link_pages import panel_context
from fabric_pipeline.portal.map_fabric import FabricMap
from fabric_pipeline.portal.map_floor import FloorMap
from fabric_pipeline.portal.map_marks import Picture, frame
from fabric_pipeline.portal.map_masks import NAMES, WORDS, load_mask
from fabric_pipeline.portal.map_node import NodeMap
from fabric_pipeline.portal.map_panel import legend, overview
from fabric_pipeline.portal.map_scene import Scene
from fabric_pipeline.portal.map_summary import summary_of
from fabric_pipeline.portal.pages import STATIC, chosen_drop, page, portal_of
from fabric_pipeline.portal.svg import Svg, address, stylesheet
from fabric_pipeline.portal.timeline import timeline_context
from fabric_pipeline.workflows.dossier_bag import shown as printable
from fabric_pipeline.workflows.fabric_units import Unit
from fabric_pipeline.workflows.fabric_view_model import FabricView, Link, NodeView, RackView

# Beyond so many nodes a card each is too small to read; they become cells of a floor plan.
FLOOR_FROM = 41
_MOST_DROPS = 200
_SELECTED = re.compile(r'<g class="link ([a-z_]+)" data-link="([^"]*)"')


def fabric_map(request: Request) -> Response:
    """`/`: the whole fabric."""
    scene = _scene(request, ("/",))
    view = scene.view
    heading = view.site or "Fabric"
    place = f"{len(view.nodes):,} nodes, {len(view.racks):,} racks, {len(view.switches):,} switches, {len(view.links):,} links"
    if not any(rack.name for rack in view.racks):
        place = f"{len(view.nodes):,} nodes, {len(view.links):,} links, no racks stated"
    return _page(request, scene, _whole(scene), heading, place=place, links=scene.degraded)


def unit_map(request: Request) -> Response:
    """`/su/NUMBER`: the racks of one scalable unit with the leaf switches that they share."""
    number = request.path_params["number"]
    scene = _scene(request, ("/su/", number))
    unit = _unit(scene, number)
    racks, links, picture = _unit_picture(scene, unit)
    nodes = [node for rack in racks for node in rack.nodes]
    place = f"{len(nodes)} nodes, {len(racks)} racks, {len(unit.leaves)} leaf switches"
    return _page(request, scene, picture, unit.name, place=place, links=links, nodes=nodes)


def _unit(scene: Scene, number: str) -> Unit:
    unit = next((one for one in summary_of(scene.view).units if str(one.number) == number), None)
    if unit is None:
        raise NotFoundError(
            f"there is no scalable unit {number!r} in this drop",
            "units are read off the cabling: nodes that share their leaf switches",
        )
    return unit


def _unit_picture(scene: Scene, unit: Unit) -> tuple[list[RackView], list[Link], Picture]:
    """Racks, degraded links and map of a unit; a switch above its leaves is there when a link to it is bad."""
    parts = [
        RackView(rack.name, rack.row, [node for node in rack.nodes if node.name in unit.nodes])
        for rack in scene.view.racks
    ]
    racks = [rack for rack in parts if rack.nodes]
    links = [
        link
        for link in scene.degraded
        if any(end.node in unit.nodes or (not end.node and end.device in unit.leaves) for end in link.ends)
    ]  # fmt: skip
    beyond = {end.device for link in links for end in link.ends if not end.node}
    return racks, links, _drawn_racks(scene, racks, links, unit.leaves | beyond)


def rack_map(request: Request) -> Response:
    """`/racks/NAME`: all racks of that name, "" for nodes whose rack nobody states."""
    name = request.path_params["rack"]
    scene = _scene(request, ("/racks/", name))
    racks = [rack for rack in scene.view.racks if rack.name == name]
    if not racks:
        raise NotFoundError(f"there is no rack {name!r} in this drop", "look for it: /search")
    links = _links_of(scene, racks)
    picture = _some(scene, racks, links)
    nodes = [node for rack in racks for node in rack.nodes]
    rows = ", ".join(dict.fromkeys(f"row {rack.row}" for rack in racks if rack.row))
    place = ", ".join(part for part in (rows, f"{len(nodes)} nodes") if part)
    heading = f"Rack {name}" if name else "Rack not stated"
    crumbs = _unit_crumb(scene, nodes)
    return _page(
        request, scene, picture, heading, place=place, links=links, nodes=nodes, crumbs=crumbs
    )


def node_map(request: Request) -> Response:
    """`/nodes/NAME`: what is inside one node."""
    name = request.path_params["node"]
    scene = _scene(request, ("/nodes/", name))
    rack, node = _node(scene.view, name)
    links = [link for link in scene.degraded if any(e.node == name for e in link.ends)]
    picture = NodeMap(scene, node, links).picture()
    crumb = (f"Rack {rack.name}" if rack.name else "Rack not stated", scene.rack(rack))
    crumbs = [*_unit_crumb(scene, [node]), crumb]
    serial = f"serial {node.serial}" if node.serial else "serial not stated"
    place = ", ".join(part for part in (node.unit, serial) if part)
    return _page(
        request, scene, picture, name, place=place, links=links, nodes=[node], crumbs=crumbs
    )


def map_svg(request: Request) -> Response:
    """`/map.svg`: the whole fabric, or `?su=`, `?rack=` or `?node=`, as a file that stands alone."""
    scene = _scene(request, ("/",))
    rack, node = request.query_params.get("rack"), request.query_params.get("node")
    if node is not None:
        _, found = _node(scene.view, node)
        links = [link for link in scene.degraded if any(e.node == node for e in link.ends)]
        picture = NodeMap(scene, found, links).picture()
    elif (unit := request.query_params.get("su")) is not None:
        _, _, picture = _unit_picture(scene, _unit(scene, unit))
    elif rack is not None:
        racks = [one for one in scene.view.racks if one.name == rack]
        picture = _some(scene, racks, _links_of(scene, racks))
    else:
        picture = _whole(scene)
    theme = "light" if request.cookies.get("theme") == "light" else "dark"
    drawn = str(frame(picture, _said(scene), stylesheet(export_css(theme))))
    name = re.sub(r"[^A-Za-z0-9._-]", "_", scene.view.drop)[:80]
    return Response(
        f'<?xml version="1.0" encoding="UTF-8"?>\n{drawn}',
        media_type="image/svg+xml",
        headers={"content-disposition": f'attachment; filename="fabric-{name}.svg"'},
    )


def export_css(theme: str) -> str:
    """The style of a picture that stands alone: the colours of one theme and the sheet of the maps."""
    base = (STATIC / "base.css").read_text(encoding="utf-8")
    found = re.search(rf'\[data-theme="{theme}"\] \{{([^}}]*)\}}', base)
    colours = found.group(1) if found else ""
    sheet = (STATIC / "map_svg.css").read_text(encoding="utf-8")
    plain = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    return f"svg.map {{{colours} background: var(--ground); }}\n{plain}"


def _whole(scene: Scene) -> Picture:
    view = scene.view
    if len(view.nodes) >= FLOOR_FROM:
        return FloorMap(scene, view.racks, view.switches, scene.degraded).picture()
    return FabricMap(scene, view.racks, view.switches, scene.degraded).picture()


def _some(scene: Scene, racks: Sequence[RackView], links: list[Link]) -> Picture:
    """Some racks with the switches that their links lead to."""
    ports = (port for rack in racks for node in rack.nodes for port in node.ports())
    fars = (port.far for port in ports)
    names = {far.device for far in fars if far is not None and not far.node}
    return _drawn_racks(scene, racks, links, names)


def _drawn_racks(
    scene: Scene, racks: Sequence[RackView], links: list[Link], switches: AbstractSet[str]
) -> Picture:
    """Some racks below some of the switches, as a floor plan when cards would be too small."""
    if sum(len(rack.nodes) for rack in racks) >= FLOOR_FROM:
        return FloorMap(scene, racks, [], links).picture()
    shown = [switch for switch in scene.view.switches if switch.name in switches]
    return FabricMap(scene, racks, shown, links).picture()


def _unit_crumb(scene: Scene, nodes: Sequence[NodeView]) -> list[tuple[str, str]]:
    """Name and address of the scalable unit of these nodes, nothing when there is none."""
    unit = scene.unit_of(nodes)
    return [(unit.name, scene.unit(unit))] if unit is not None else []


def _scene(request: Request, here: tuple[str, ...]) -> Scene:
    portal, drop = portal_of(request), chosen_drop(request)
    view = portal.view(drop)
    mask = load_mask(portal.settings, view.drop, request.query_params.get("mask") or "health")
    selected = request.query_params.get("link", "")
    return Scene(view, mask, drop, here, selected)


def _node(view: FabricView, name: str) -> tuple[RackView, NodeView]:
    for rack in view.racks:
        for node in rack.nodes:
            if node.name == name:
                return rack, node
    raise NotFoundError(f"there is no node {name!r} in this drop", "look for it: /search")


def _links_of(scene: Scene, racks: Sequence[RackView]) -> list[Link]:
    names = {node.name for rack in racks for node in rack.nodes}
    return [link for link in scene.degraded if any(end.node in names for end in link.ends)]


def _page(
    request: Request,
    scene: Scene,
    picture: Picture,
    heading: str,
    *,
    links: list[Link],
    place: str = "",
    nodes: Sequence[NodeView] | None = None,
    crumbs: Sequence[tuple[str, str]] = (),
) -> HTMLResponse:
    view, drop, is_whole = scene.view, scene.drop, nodes is None
    component = scene.selected
    mask = scene.mask.name if scene.mask.name != "health" else None
    home = (view.site or "Fabric", scene.floor())
    context: dict[str, Any] = {
        "heading": heading,
        "title": printable(heading),
        "place": printable(place),
        "crumbs": [] if is_whole else [home, *crumbs],
        "picture": _drawn(picture, scene),
        "mask": scene.mask.name,
        "masks": [_mask_entry(scene, name, component) for name in NAMES],
        "overview": address(*scene.here, drop=drop, mask=mask),
        "export": _export(scene, mask),
        "legend": legend(scene, picture.is_floor),
        "notes": [*view.notes, *picture.notes],
        "selected": component,
        **_steps(request, scene),
    }
    link = None
    try:
        panel = panel_context(request, view, component) if component else None
    except NotFoundError as error:  # another drop, or another cluster, may not know the link
        panel = None
        context |= {"selected": "", "notes": [error.message, *context["notes"]], "status": 404}
    if panel is not None:
        context |= panel
        link = panel["l"].link
    else:
        shown = view.nodes if nodes is None else nodes
        counts = (
            summary_of(view).counts if is_whole else Counter(one.state for one in _links(shown))
        )
        context |= overview(scene, links, counts, shown)
    context["timeline"] = _timeline(request, view, link)
    return page(request, "map.html", tab="map", view=view, **context)


def _timeline(request: Request, view: FabricView, link: Link | None) -> dict[str, Any] | None:
    """The charts below the map; none while a drop has not gone through all stages yet."""
    try:
        return timeline_context(request, view, link)
    except NotFoundError:
        return None


def _links(nodes: Sequence[NodeView]) -> list[Link]:
    return list({id(port.link): port.link for node in nodes for port in node.ports()}.values())


def _drawn(picture: Picture, scene: Scene) -> Svg:
    """The picture; the others step back when the selected link is one of those that can be picked."""
    is_there = any(link.a.component == scene.selected for link in scene.degraded)
    return frame(picture, _said(scene), css="map has-selection" if is_there else "map")


def _said(scene: Scene) -> str:
    return f"Map of {scene.view.site or 'the fabric'}, drop {scene.view.drop}, coloured by {WORDS[scene.mask.name].lower()}"


def _mask_entry(scene: Scene, name: str, component: str) -> tuple[str, str, bool]:
    chosen = name if name != "health" else None
    href = address(*scene.here, drop=scene.drop, mask=chosen, link=component)
    return WORDS[name], href, name == scene.mask.name


def _export(scene: Scene, mask: str | None) -> str:
    kinds = {"/su/": "su", "/racks/": "rack", "/nodes/": "node"}
    kind = kinds.get(scene.here[0])
    place = {kind: scene.here[1]} if kind else {}
    return address("/map.svg", drop=scene.view.drop, mask=mask, **place)


def _steps(request: Request, scene: Scene) -> dict[str, Any]:
    """Drops to choose from, and the strip on which they stand in time."""
    drops = portal_of(request).drops
    strip = drop_strip(request, scene.view.drop)
    listed = drops[:_MOST_DROPS]
    return {
        "drops": listed if scene.view.drop in listed else [scene.view.drop, *listed],
        "strip": strip,
    }


ROUTES = [
    Route("/", fabric_map),
    Route("/map.svg", map_svg),
    Route("/su/{number:text}", unit_map),
    Route("/racks/{rack:text}", rack_map),
    Route("/nodes/{node:text}", node_map),
]
