"""A part of a fabric as a fabric of its own: one rack with its nodes, switches and their links.

So that a rack is drawn, listed and written as JSON by the same code as the whole.
"""

from __future__ import annotations

import difflib
from dataclasses import replace

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.workflows.fabric_view_model import FabricView, Links


def rack_of(view: FabricView, name: str) -> FabricView:
    """The rack of that name; NotFoundError names those most like it.

    Links that leave the rack belong to it. Incidents are those of its links, nodes and switches.
    """
    racks = [rack for rack in view.racks if rack.name == name]
    switches = [switch for switch in view.switches if switch.rack == name]
    if not name or not (racks or switches):
        raise NotFoundError(f"drop {view.drop} has no rack {name!r}", _near(view, name))
    nodes = [node for rack in racks for node in rack.nodes]
    ports = [
        *(port for node in nodes for port in node.ports()),
        *(p for s in switches for p in s.ports),
    ]
    links = list({id(port.link): port.link for port in ports}.values())
    names = {node.name for node in nodes}
    carried = {incident for link in links for incident in link.incidents}
    incidents = [
        one
        for one in view.incidents
        if one.incident_id in carried or one.component.partition(":")[0] in names
    ]
    return replace(view, racks=racks, switches=switches, links=Links.of(links), incidents=incidents)


def _near(view: FabricView, name: str) -> str:
    names = list(
        dict.fromkeys(
            [rack.name for rack in view.racks if rack.name]
            + [switch.rack for switch in view.switches if switch.rack]
        )
    )
    if not names:
        return "this drop states no racks; show a node: topology --node NODE"
    near = difflib.get_close_matches(name, names, n=5, cutoff=0.5) or names[:5]
    return f"racks there are: {', '.join(near)}" + (" ..." if len(names) > len(near) else "")
