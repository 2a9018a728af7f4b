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
_MAX_DEPTH = 12
_LARGEST = 2**53  # beyond it JSON numbers are not exact
_WHOLE = ("socket", "gpu", "lanes")
_NUMBERS = ("speed_gbps",)
_DEVICES = ("gpus", "nics", "nvswitches", "pcie_switches", "sockets")


def refuse(result: ReadResult, place: str, value: Any, rule: str) -> None:
    """Keep what was not taken, with its place (`nodes[3].gpus`) and the rule in words."""
    text = "..." if is_deep(value) else json.dumps(value, default=str)
    result.rejected.append(RejectedLine(None, f"{place}: {text}"[:MAX_TEXT], f"{place} {rule}"))


def is_name(value: Any) -> bool:
    """True for a text or whole number that can name something."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return False
    return 0 < len(str(value).strip()) <= MAX_NAME


def is_deep(value: Any, depth: int = _MAX_DEPTH) -> bool:
    """True for nesting that no topology has (and that would exhaust whoever walks through it)."""
    if depth == 0:
        return True
    if isinstance(value, dict):
        return any(is_deep(item, depth - 1) for item in value.values())
    return isinstance(value, list) and any(is_deep(item, depth - 1) for item in value)


def sound_fields(place: str, item: dict[str, Any], result: ReadResult) -> dict[str, Any]:
    """The object without numbers that are none; a number written as a text becomes one."""
    kept = dict(item)
    for key in (*_WHOLE, *_NUMBERS):
        if kept.get(key) is None:
            continue
        number = _number(kept[key], is_whole=key in _WHOLE)
        if number is None:
            refuse(result, f"{place}.{key}", kept.pop(key), "is no number of zero or more")
        else:
            kept[key] = number
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
