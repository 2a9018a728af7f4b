"""JSON Schema of `topology.json`: nodes, devices, switches, links, service facts and spares.

Every field but names and link ends is optional; what is not stated stays unknown on a ticket. The other
files of a drop are in `workflows.drop_schemas`.
"""

from __future__ import annotations

from typing import Any

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TEXT: dict[str, Any] = {"type": ["string", "null"]}
NUMBER: dict[str, Any] = {"type": ["number", "string", "null"]}
_NAME: dict[str, Any] = {"type": ["string", "integer", "null"], "maxLength": 300}


def drop_schema(
    title: str, required: list[str], properties: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """One schema of a drop's file, an object with these properties."""
    return {
        "$schema": DIALECT,
        "title": title,
        "type": "object",
        "required": required,
        "properties": properties,
        **more,
    }


def _says(schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {**schema, "description": description}


def _list_of(required: list[str], properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    item = {"type": "object", "required": required, "properties": properties}
    return {"type": "array", "items": {**item, **more}}


_PLACE = {
    "hall": _NAME,
    "cage": _NAME,
    "row": _NAME,
    "rack": _NAME,
    "unit": _says(_NAME, "Rack unit, the lowest one"),
    "face": _says(_NAME, "Side of the rack at which to stand: front or rear"),
    "serial": _says(_NAME, "Serial of the chassis"),
    "asset_tag": _NAME,
}
_GPUS = {
    "gpu": _says(NUMBER, "Index as the driver counts"),
    "socket": NUMBER,
    "uuid": _NAME,
    "serial": _NAME,
    "part_number": _NAME,
    "slot": _NAME,
    "model": _says(_NAME, "Such as H100 SXM5 80GB; helps to find the catalogue entry"),
    "pci": _NAME,
    "pcie_switch": _NAME,
}
_NICS = {
    "hca": _NAME,
    "socket": NUMBER,
    "pcie_switch": _NAME,
    "slot": _NAME,
    "serial": _NAME,
    "part_number": _NAME,
    "model": _NAME,
    "pci": _NAME,
    "port_label": _says(_NAME, "As printed on the box; it is never derived"),
}
_NAMED_LIST = {"type": "array", "items": {"type": ["object", "string"]}}
_NODES = _list_of(
    ["node"],
    {
        "node": {"type": "string"},
        **_PLACE,
        "platform": _says(_NAME, "Such as HGX H100 8-GPU or GB200 NVL72"),
        "sockets": {"type": "array"},
        "gpus": _list_of([], _GPUS),
        "nics": {
            "type": "array",
            "items": {"type": ["object", "string"], "properties": _NICS},
        },
        "nvswitches": _NAMED_LIST,
        "pcie_switches": _NAMED_LIST,
    },
)
_SWITCHES = _list_of(
    ["name"],
    {
        "name": {"type": "string"},
        "tier": _NAME,
        **_PLACE,
        "slot": _NAME,
        "ports": NUMBER,
        "port_labels": {
            "type": ["object", "null"],
            "description": "Port number -> label as printed",
            "additionalProperties": _NAME,
        },
    },
)
_END = {
    "type": "object",
    "properties": {"node": TEXT, "switch": TEXT, "port": {"type": ["string", "integer"]}},
    "required": ["port"],
}
_LINKS = _list_of(
    ["type", "a", "b"],
    {
        "id": TEXT,
        "type": {"type": "string"},
        "a": _END,
        "b": _END,
        "part": _says(TEXT, "A reference of the parts catalogue, or a part number it lists"),
        "lanes": NUMBER,
        "speed_gbps": NUMBER,
        "cable": _says(TEXT, "Id or label of the cable"),
        "medium": _says(TEXT, "Such as DAC, ACC, AOC, MMF, SMF"),
        "length_m": NUMBER,
        "connector": TEXT,
        "colour": TEXT,
        "cable_serial": TEXT,
        "cable_part_number": TEXT,
    },
)
_SERVICE = {
    "type": ["object", "null"],
    "properties": {
        "contact": _says(_NAME, "A desk or role"),
        "schedule": _NAME,
        "customer_reference": _NAME,
        "sla": {
            "type": ["object", "null"],
            "description": "Service level by ticket priority",
            "properties": dict.fromkeys(("urgent", "high", "normal", "low"), _NAME),
            "additionalProperties": False,
        },
    },
}
_SPARES = _list_of(
    ["part", "location"],
    {
        "part": _says(_NAME, "Part number, or a reference that the catalogue gives a part"),
        "location": _NAME,
        "quantity": NUMBER,
        "fits": _says(_NAME, "Part reference of a link, or platform, that it is a spare for"),
    },
)

TOPOLOGY_SCHEMA: dict[str, Any] = drop_schema(
    "topology.json",
    ["nodes"],
    {
        "site": TEXT,
        "nodes": _NODES,
        "switches": _SWITCHES,
        "links": _LINKS,
        "service": _SERVICE,
        "spares": _SPARES,
    },
)
