"""Checks of single fields of `topology.json`: numbers that are numbers, lists of devices, names.

A field of the wrong shape is taken out of its object and refused, never guessed; which objects a
topology consists of is said in `topology`.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

from fabric_pipeline.model.records import MAX_TEXT, ReadResult, RejectedLine

MAX_NAME = 300  # characters of a name; a longer text names nothing
PRIORITIES = ("urgent", "high", "normal", "low")
_MAX_DEPTH = 12
_MAX_BITS = 3 * MAX_NAME  # of a whole number that is a name: fewer digits than MAX_NAME
_LARGEST = 2**53  # beyond it JSON numbers are not exact
_WHOLE = ("socket", "gpu", "lanes", "quantity")
_NUMBERS = ("speed_gbps", "length_m")
_DEVICES = ("gpus", "nics", "nvswitches", "pcie_switches", "sockets")
# Fields that name something for a person. Each is optional; null and "" count as not stated.
_PLACE = ("hall", "cage", "row", "rack", "unit", "face", "serial", "asset_tag", "platform")
_DEVICE = ("uuid", "slot", "pci", "pcie_switch", "part_number", "port_label", "model", "hca")
_LINK = ("id", "cable", "part", "medium", "connector", "colour", "cable_serial", "cable_part_number")  # fmt: skip
_SERVICE = ("contact", "schedule", "customer_reference")
_NAMES = (*_PLACE, *_DEVICE, *_LINK, *_SERVICE, "fits")


def refuse(result: ReadResult, place: str, value: Any, rule: str) -> None:
    """Keep what was not taken, with its place (`nodes[3].gpus`) and the rule in words."""
    text = "..." if is_deep(value) else json.dumps(value, default=str)
    result.rejected.append(RejectedLine(None, f"{place}: {text}"[:MAX_TEXT], f"{place} {rule}"))


def is_name(value: Any) -> bool:
    """True for a text or whole number that can name something."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return False
    if isinstance(value, int):
        return value.bit_length() < _MAX_BITS
    return 0 < len(value.strip()) <= MAX_NAME


def is_deep(value: Any, depth: int = _MAX_DEPTH) -> bool:
    """True for nesting that no topology has (and that would exhaust whoever walks through it)."""
    if depth == 0:
        return True
    if isinstance(value, dict):
        return any(is_deep(item, depth - 1) for item in value.values())
    return isinstance(value, list) and any(is_deep(item, depth - 1) for item in value)


def sound_fields(place: str, item: dict[str, Any], result: ReadResult) -> dict[str, Any]:
    """The object without numbers and names that are none; a number written as a text becomes one."""
    kept = dict(item)
    for key in (*_WHOLE, *_NUMBERS):
        if kept.get(key) is None:
            continue
        number = _number(kept[key], is_whole=key in _WHOLE)
        if number is None:
            refuse(result, f"{place}.{key}", kept.pop(key), "is no number of zero or more")
        else:
            kept[key] = number
    for key in _NAMES:
        if kept.get(key) not in (None, "") and not is_name(kept[key]):
            rule = f"is no name of 1 to {MAX_NAME} characters"
            refuse(result, f"{place}.{key}", kept.pop(key), rule)
    return kept


def sound_node(place: str, node: dict[str, Any], result: ReadResult) -> dict[str, Any]:
    """The node with only such devices as have a sound shape."""
    kept = sound_fields(place, node, result)
    for key in _DEVICES:
        devices = kept.get(key)
        if devices is None:
            continue
        if not isinstance(devices, list):
            refuse(result, f"{place}.{key}", kept.pop(key), "is not a list")
            continue
        checked = (
            _device(f"{place}.{key}[{n}]", item, key, result) for n, item in enumerate(devices)
        )
        kept[key] = [device for device in checked if device is not None]
    return kept


def sound_switch(place: str, switch: dict[str, Any], result: ReadResult) -> dict[str, Any]:
    """The switch; `port_labels` is an object of port number to what is printed beside the port."""
    kept = sound_fields(place, switch, result)
    labels = kept.get("port_labels")
    if labels is None:
        return kept
    where = f"{place}.port_labels"
    if not isinstance(labels, dict):
        refuse(result, where, kept.pop("port_labels"), "is not an object of port to label")
        return kept
    kept["port_labels"] = _named_texts(where, labels, result)
    return kept


def sound_service(service: Any, result: ReadResult) -> dict[str, Any]:
    """Contact, schedule, reference and `sla` by priority, as far as they are stated in words."""
    if service is None:
        return {}
    if not isinstance(service, dict) or is_deep(service):
        refuse(result, "service", service, "is not an object of plain fields")
        return {}
    kept = sound_fields("service", service, result)
    sla = kept.get("sla")
    if sla is None:
        return kept
    if not isinstance(sla, dict):
        refuse(result, "service.sla", kept.pop("sla"), "is not an object of priority to text")
        return kept
    for priority in sorted(set(sla) - set(PRIORITIES)):
        refuse(result, f"service.sla.{priority}"[:MAX_NAME], sla[priority], f"is none of the priorities {', '.join(PRIORITIES)}")  # fmt: skip
    known = {key: value for key, value in sla.items() if key in PRIORITIES}
    kept["sla"] = _named_texts("service.sla", known, result)
    return kept


def _named_texts(place: str, texts: dict[str, Any], result: ReadResult) -> dict[str, str]:
    kept = {}
    for key, value in texts.items():
        if value in (None, ""):
            continue
        if is_name(value) and is_name(key):
            kept[key] = str(value)
        else:
            rule = f"is no text of 1 to {MAX_NAME} characters"
            refuse(result, f"{place}.{key}"[:MAX_NAME], value, rule)
    return kept


def _device(place: str, item: Any, key: str, result: ReadResult) -> Any:
    """The device, or None when it is refused. Only GPUs must be objects; others may be a name alone."""
    if isinstance(item, dict):
        return sound_fields(place, item, result)
    if key != "gpus" and is_name(item):
        return item
    refuse(result, place, item, "is not an object")
    return None


def _number(value: Any, *, is_whole: bool) -> float | int | None:
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value[:20])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not (isfinite(value) if isinstance(value, float) else True) or not 0 <= value <= _LARGEST:
        return None
    if is_whole:
        return int(value) if value == int(value) else None
    return value
