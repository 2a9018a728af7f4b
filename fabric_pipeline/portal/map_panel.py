"""What stands beside a map while no link is selected: degraded links worst first, other incidents, silent nodes.

Also the counts and the legend. Values for templates only; markup is theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fabric_pipeline.portal.map_marks import (
    WORDS,
    Box,
    end_words,
    mark,
    reading_words,
    rect,
)
from fabric_pipeline.portal.map_scene import Scene
from fabric_pipeline.portal.svg import Svg, address, element
from fabric_pipeline.workflows.fabric_view_model import Link, NodeView

MOST_LISTED = 40
_MOST_SILENT = 24
_ORDER = ("critical", "warning", "watch", "no_data", "healthy")


def overview(
    scene: Scene, links: Sequence[Link], counts: Mapping[str, int], nodes: Sequence[NodeView]
) -> dict[str, Any]:
    """Context of `_map_list.html`. `links` are the degraded ones shown, `counts` all links by state."""
    silent = [node for node in nodes if node.state == "no_data"]
    return {
        "troubles": [_trouble(scene, link) for link in links[:MOST_LISTED]],
        "troubles_heading": _heading(links),
        "unknown_because": _unknown(scene, counts),
        "left_off": max(0, len(links) - MOST_LISTED),
        "counts": [(s, f"{counts[s]:,} {WORDS[s].lower()}") for s in _ORDER if counts.get(s)],
        "elsewhere": _elsewhere(scene) if len(nodes) == len(scene.view.nodes) else [],
        "silent": [(node.name, scene.node(node)) for node in silent[:_MOST_SILENT]],
        "silent_more": max(0, len(silent) - _MOST_SILENT),
    }


def _heading(links: Sequence[Link]) -> str:
    """How many are degraded, and how many are only watched: those are within what is allowed."""
    watched = sum(link.state == "watch" for link in links)
    degraded = len(links) - watched
    if not degraded:
        return f"{watched:,} link{'' if watched == 1 else 's'} to watch"
    more = f", {watched:,} to watch" if watched else ""
    return f"{degraded:,} degraded link{'' if degraded == 1 else 's'}{more}"


def _unknown(scene: Scene, counts: Mapping[str, int]) -> str:
    """Why no degraded link does not mean that none is, "" where links were measured and judged."""
    if not sum(counts.values()):
        return "No link is stated or measured here."
    if not scene.view.is_judged:
        return "The diagnosis has not run on this drop."
    if set(counts) <= {"no_data"}:
        return "No link shown here was measured."
    return ""


def legend(scene: Scene, is_floor: bool = False) -> list[tuple[Svg, str]]:
    """(sign, words): states, or the steps of the mask, and what a tick is."""
    signs = [
        (_sign(mark(state, 7, 7, 9)), words)
        for state, words in (
            ("critical", "Critical"),
            ("warning", "Warning, dashed"),
            ("watch", "Watch, dotted"),
            ("no_data", "No data"),
        )
    ]
    steps = [(_sign(rect(Box(1, 2, 12, 10), css, 2)), words) for css, words in scene.mask.legend]
    tick = "A stripe is one GPU of a node" if is_floor else "A tick is one NVLink of the GPU above"
    return [*signs, *steps] if steps else [*signs, (_ticks(), tick)]


def _sign(shape: Svg | None) -> Svg:
    attrs = {"class": "map", "viewBox": "0 0 14 14", "aria_hidden": "true"}
    return element("svg", attrs, shape)


def _ticks() -> Svg:
    path = element(
        "path",
        {
            "class": "tick",
            "d": "M1 2h1.5v10h-1.5zM4.500 2h1.5v10h-1.5zM8 2h1.5v10h-1.5zM11.500 2h1.5v10h-1.5z",
        },
    )
    return _sign(path)


def _trouble(scene: Scene, link: Link) -> dict[str, Any]:
    reading = link.worst_reading
    figures = reading_words(link)
    counted = f"{reading.counter.replace('_', ' ')} {figures}" if reading.counter else ""
    return {
        "state": link.state,
        "word": WORDS[link.state],
        "name": link.a.name,
        "far": end_words(link.b) if link.b is not None else "a far end that no source names",
        "component": link.a.component,
        "select": scene.select(link),
        "reading": counted or reading.rule,
        "incidents": [(each, scene.incident(each)) for each in link.incidents[:4]],
    }


def _elsewhere(scene: Scene) -> list[tuple[Any, str]]:
    """Incidents with trouble whose id no link of the fabric carries."""
    carried = {i for link in scene.degraded for i in link.incidents}
    found = [one for one in scene.view.incidents if one.state and one.incident_id not in carried]
    return [
        (one, address("/incidents/", one.incident_id, drop=scene.drop))
        for one in found[:MOST_LISTED]
    ]
