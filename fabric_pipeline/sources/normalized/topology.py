"""Reader of `topology.json`: nodes, switches, both ends of every link, service facts and spares.

A part that has another shape is refused with its place in the file, and the rest is kept, so that one
slip in a hand-written file does not cost the whole map. The checks of single fields are in `topology_fields`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, ClassVar

from fabric_pipeline.model.records import ReadResult, RejectedLine, TopologyPart
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.normalized.topology_fields import (
    MAX_NAME,
    is_deep,
    is_name,
    refuse,
    sound_fields,
    sound_node,
    sound_service,
    sound_switch,
)

_NODE_LIST = re.compile(r'"nodes"\s{0,100}:\s{0,100}\[\s{0,100}\{')
_PARTS = ('"gpus"', '"nics"', '"nvswitches"', '"pcie_switches"', '"links"')


class TopologyReader:
    """Reads the normalized topology."""

    format_id: ClassVar[str] = "fabric_topology"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="the normalized form of a site",
        versions="the first version",
        recognised_by="a JSON object whose list nodes holds objects with a node, beside devices or links",
        gives="nodes, switches, both ends of every link, service facts and spare parts",
        traps=(
            (
                "An entry of another shape is refused with its place in the file (`links[4]`); "
                "the rest of the map is kept."
            ),
            "A link that does not name both its ends is refused.",
            "It measures nothing.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure when an object lists nodes that are named and hold devices or links."""
        head = file.head.lstrip()
        if not head.startswith("{") or '"node"' not in head or not _NODE_LIST.search(head):
            return 0
        return 98 if any(key in head for key in _PARTS) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """The whole topology; a part of the wrong shape is refused, the rest is kept."""
        result = ReadResult()
        try:
            value = json.loads(file.text)
        except (ValueError, RecursionError) as problem:
            line = getattr(problem, "lineno", None)  # one too many when the text ends too early
            line = min(line, len(file.lines)) if line else None
            result.rejected.append(
                RejectedLine(line, file.text[:200], f"not readable as JSON: {problem}")
            )
            return result
        part = TopologyPart(site=_site(value.get("site"), result))
        part.service = sound_service(value.get("service"), result)
        for key, item in _items(value, "spares", result):
            if _is_named(key, item, "part", result) and _is_named(key, item, "location", result):
                part.spares.append(sound_fields(key, item, result))
        for key, item in _items(value, "nodes", result):
            if _is_named(key, item, "node", result):
                part.nodes.append(sound_node(key, item, result))
        for key, item in _items(value, "switches", result):
            if _is_named(key, item, "name", result):
                part.switches.append(sound_switch(key, item, result))
        for key, item in _items(value, "links", result):
            if _is_named(key, item, "type", result) and _has_ends(key, item, result):
                part.links.append(sound_fields(key, item, result))
        result.topology = part
        return result


def _site(site: Any, result: ReadResult) -> str:
    if site in (None, "") or is_name(site):
        return str(site or "")
    refuse(result, "site", site, f"is no name of 1 to {MAX_NAME} characters")
    return ""


def _items(value: dict[str, Any], key: str, result: ReadResult) -> Iterator[tuple[str, Any]]:
    """The entries of a list with their place (`links[4]`), as far as they are objects."""
    entries = value.get(key)
    if entries is not None and not isinstance(entries, list):
        refuse(result, key, entries, "is not a list")
        return
    for position, item in enumerate(entries or []):
        place = f"{key}[{position}]"
        if not isinstance(item, dict):
            refuse(result, place, item, "is not an object")
        elif is_deep(item):
            refuse(result, place, "...", "is nested too deep")
        else:
            yield place, item


def _is_named(place: str, item: dict[str, Any], key: str, result: ReadResult) -> bool:
    name = item.get(key)
    if is_name(name):
        return True
    refuse(result, place, item, f"has no {key!r} of 1 to {MAX_NAME} characters")
    return False


def _has_ends(place: str, item: dict[str, Any], result: ReadResult) -> bool:
    for key in ("a", "b"):
        end = item.get(key)
        names = (end.get("node"), end.get("switch")) if isinstance(end, dict) else ()
        if not any(is_name(name) for name in names):
            refuse(result, place, item, f"end {key!r} names neither a node nor a switch")
            return False
        port = end.get("port") if isinstance(end, dict) else None
        if port is not None and not is_name(port):
            refuse(result, place, item, f"end {key!r} has a port that is no name")
            return False
    return True
