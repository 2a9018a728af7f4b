"""How a draft speaks of the places in an incident: both ends, port, node, GPU, cable, rack.

Every phrase says so when a thing is not known, and no phrase repeats a name that holds anything but
the characters of names. Filling the catalogue's placeholders happens here as well.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from fabric_pipeline.drafting.forbidden import forbidden
from fabric_pipeline.drafting.sanitise import clean, figure
from fabric_pipeline.incidents.record import IncidentRecord, Place
from fabric_pipeline.model.components import UNKNOWN, device_of, gpu_index, parse_component

# Host, port, cable and serial names as sites write them; anything else is shown in its field only.
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9 ._:/#+()\[\]-]{0,119}$")
_OPEN = re.compile(r"\{(near|far|port|node|gpu|cable|twin)\}")
_STRANGE = "the {what} in the {what} field of this ticket (its name is unlike any {what} name)"
_POINTERS = {
    "near": "the link of this ticket",
    "far": "its far end",
    "port": "the switch port of this ticket",
    "node": "the node of this ticket",
    "gpu": "the GPU or card of this ticket",
    "cable": "the cable of this ticket",
    "twin": "the second link of the same plug",
}
_NO_NODE = "the node of this link (name not known)"
_NO_TWIN = "the second link of the same plug (a twin-port plug carries two)"
_NODE_DEVICES = ("gpu", "pci", "pcie", "mlx", "ib", "roce", "eth", "rdma", "nvlink", "lane")


def name(text: str, what: str) -> str:
    """The name itself if it looks like one, "" when there is none, else a pointer to its field."""
    shown = clean(text, 120)
    if not shown:
        return ""
    plain = _NAME.match(shown) and shown == text.strip() and not forbidden(shown)
    spaced_out = shown.count(" ") > 6
    return shown if plain and not spaced_out else _STRANGE.format(what=what)


def near_end(incident: IncidentRecord) -> str:
    """The blamed component."""
    known = _component(incident.isolated_component, "link")
    return known if known and known != "none" else "the link (not known)"


def far_end(incident: IncidentRecord) -> str:
    """The other end of the link."""
    return _component(incident.far_end, "far end") or "the other end (not known from the topology)"


def port(incident: IncidentRecord) -> str:
    """Switch or NVSwitch port, as it stands in the topology."""
    known = name(incident.fabric_or_switch_port, "port") or _component(incident.far_end, "far end")
    return known or "the switch port at the other end (not known; follow the cable to it)"


def _component(text: str, what: str) -> str:
    """A component id without the word that stands for an unknown node."""
    return name(text.removeprefix(f"{UNKNOWN}:"), what)


def node_name(incident: IncidentRecord) -> str:
    """Node of the blamed end, "" when no source states it."""
    return incident.place.node or parse_component(incident.isolated_component).node


def switch_name(incident: IncidentRecord) -> str:
    """Name of the switch that is the blamed end or holds it, "" when a node holds it or nothing says so.

    A switch of the fabric stands for itself: its name is the cluster's and no node is missing from it.
    """
    part = parse_component(incident.isolated_component)
    device = device_of(part.interface)
    if node_name(incident) or not device or device == UNKNOWN or device.startswith(_NODE_DEVICES):
        return ""
    is_chip = device.startswith("nvswitch") and not incident.place.rack
    is_port = "/port-" in part.interface
    is_whole = part.interface == device and (
        incident.fault_type == "shared_component" or bool(incident.place.rack)
    )
    return device if (is_port or is_whole) and not is_chip else ""


def machine(incident: IncidentRecord) -> str:
    """What a technician walks to: `node n-07`, `switch leaf-2`, or words that say it is not known."""
    switch = switch_name(incident)
    if not switch:
        return _node(node_name(incident))
    known = name(switch, "switch")
    return f"switch {known}" if known == switch else known


def node(incident: IncidentRecord) -> str:
    """`node n-07`: that of the blamed end, or that of the other end of a switch port."""
    if not switch_name(incident):
        return _node(node_name(incident))
    other = incident.far_place.node or parse_component(incident.far_end).node
    return _node(other) if other else f"the nodes behind {machine(incident)}"


def _node(named: str) -> str:
    known = name(named, "node")
    return f"node {known}" if known and known == named else known or _NO_NODE


def gpu(incident: IncidentRecord) -> str:
    """`GPU 5 in slot SXM6`, `network adapter mlx5_6`: the card of the link, whichever end it is at."""
    at_far_end = _card_is_far(incident)
    end = incident.far_end if at_far_end else incident.isolated_component
    place = incident.far_place if at_far_end else incident.place
    interface = parse_component(end).interface
    index = gpu_index(interface)
    if index is not None:
        return f"GPU {index}{_in_slot(place.gpu_slot)}"
    device = name(device_of(interface), "link")
    if not device:
        return "the GPU or card of this link (not known)"
    if not _is_adapter(interface):
        return device
    return f"network adapter {device}{_in_slot(place.slot)}"


def _in_slot(stated: str) -> str:
    """` in slot SXM6`; a name of several words says by itself what it is."""
    slot = name(stated, "slot")
    if not slot:
        return ""
    return f" in {slot}" if " " in slot else f" in slot {slot}"


def _card_is_far(incident: IncidentRecord) -> bool:
    """True for a link that is named by a switch port: the card is at the other end."""
    near, far = (
        parse_component(end).interface for end in (incident.isolated_component, incident.far_end)
    )
    return "/port-" in near and bool(far) and "/port-" not in far


def _is_adapter(interface: str) -> bool:
    device = device_of(interface)
    is_card = interface.endswith(("/pcie", "/1", "/2"))
    return is_card and gpu_index(interface) is None and not device.startswith(("pci", "nvswitch"))


def adapter(incident: IncidentRecord) -> str:
    """Name of the network adapter whose PCIe link this is, "" when it is no adapter's."""
    end = incident.far_end if _card_is_far(incident) else incident.isolated_component
    interface = parse_component(end).interface
    if not interface.endswith("/pcie") or not _is_adapter(interface):
        return ""
    return name(device_of(interface), "link")


def gpu_number(incident: IncidentRecord) -> int | None:
    """Index of the GPU at the blamed end, else of the one that the topology states beside it."""
    named = gpu_index(parse_component(incident.isolated_component).interface)
    return named if named is not None else incident.place.gpu


def own_gpu(incident: IncidentRecord) -> int | None:
    """Index of the GPU at the blamed end; None when that end is an adapter or a switch.

    Slot, serial and UUID of a GPU are stated for the end's own GPU only, never for one beside it.
    """
    named = gpu_index(parse_component(incident.isolated_component).interface)
    place = incident.place
    is_own = bool(place.gpu_slot or place.gpu_serial or place.gpu_uuid)
    return place.gpu if named is None and is_own else named


def twin(incident: IncidentRecord) -> str:
    """The second link of the same twin-port plug, by name where the printed labels tell."""
    known = name(str(incident.numbers.get("plug_twin") or ""), "link")
    return f"{known}, {_POINTERS['twin']}" if known else _NO_TWIN


def cable(incident: IncidentRecord) -> str:
    """`cable C-1042 (aqua MMF, 20 m)`, or words that say no label is known."""
    label = name(incident.cable_id, "cable")
    looks = f" ({look})" if (look := cable_look(incident)) else ""
    return f"cable {label}{looks}" if label else f"the cable of this link (label not known){looks}"


def cable_look(incident: IncidentRecord) -> str:
    """Colour, medium and length of the cable as far as stated, such as `aqua MMF, 20 m`."""
    facts = incident.cable
    words = [facts.colour, facts.medium]
    plain = " ".join(word for word in words if word and name(word, "cable") == word)
    length = "" if facts.length_m is None else f"{figure(facts.length_m)} m"
    return ", ".join(part for part in (plain, length) if part)


def position(place: Place) -> str:
    """Site, row, rack and unit in one phrase, "" when the topology states no rack."""
    return _position(place, [("site", place.site), ("row", place.row)], "")


def way_to(place: Place) -> str:
    """The same with hall, cage and the side of the rack to stand at: how to walk there."""
    halls = [("site", place.site), ("hall", place.hall), ("cage", place.cage), ("row", place.row)]
    return _position(place, halls, name(place.face, "face"))


def _position(place: Place, before: list[tuple[str, str]], face: str) -> str:
    rack = name(place.rack, "rack")
    if not rack:
        return ""
    unit = name(place.unit, "unit")
    parts = [_called(what, text) for what, text in before if name(text, what)]
    parts += [f"rack {rack}", f"unit {unit}" if unit else "unit not known"]
    side = f"at the {face}" if face.casefold() in ("front", "rear", "back") else f"face {face}"
    return ", ".join([*parts, side] if face else parts)


def _called(what: str, text: str) -> str:
    """`hall 2`, and not `hall hall 2` where the name holds the word already."""
    known = name(text, what)
    return known if known.casefold().startswith(what) else f"{what} {known}"


def moment(at: datetime) -> str:
    """A time to the minute in UTC, or as it stands when its zone is not stated."""
    if at.tzinfo is None:
        return f"{at:%Y-%m-%d %H:%M} (time zone not stated)"
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def fill(text: str, incident: IncidentRecord) -> str:
    """The catalogue's text with its placeholders filled; values are never read for placeholders.

    Names that add up to an order with the words around them are replaced by pointers to their fields.
    """
    values = {
        "near": near_end(incident),
        "far": far_end(incident),
        "port": port(incident),
        "node": node(incident),
        "gpu": gpu(incident),
        "cable": cable(incident),
        "twin": twin(incident),
    }
    line = " ".join(text.split())
    filled = _OPEN.sub(lambda hole: values[hole.group(1)], line)
    if not forbidden(filled, own_words=True):
        return filled
    return _OPEN.sub(lambda hole: _POINTERS[hole.group(1)], line)
