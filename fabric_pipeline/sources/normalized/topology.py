"""Reader of `topology.json`: nodes, switches and both ends of every link, in the normalized shape."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from fabric_pipeline.model.records import MAX_TEXT, ReadResult, RejectedLine, TopologyPart
from fabric_pipeline.sources.base import SourceFile


class TopologyReader:
    """Reads the normalized topology."""

    format_id: ClassVar[str] = "fabric_topology"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"topology"})

    def score(self, file: SourceFile) -> int:
        """Sure when the object has `nodes` and `links` near its start."""
        head = file.head.lstrip()
        if not head.startswith("{"):
            return 0
        return (
            98
            if '"nodes"' in head
            and ('"links"' in head or '"site"' in head[:4096])
            and '"gpus"' in head
            else 0
        )

    def read(self, file: SourceFile) -> ReadResult:
        """The whole topology; a part of the wrong shape is refused, the rest is kept."""
        result = ReadResult()
        try:
            value = json.loads(file.text)
        except (ValueError, RecursionError) as problem:
            line = getattr(problem, "lineno", None)
            result.rejected.append(
                RejectedLine(line, file.text[:200], f"not readable as JSON: {problem}")
            )
            return result
        part = TopologyPart(site=str(value.get("site") or ""))
        for key, needed in (("nodes", "node"), ("switches", "name"), ("links", "type")):
            getattr(part, key).extend(_objects(value.get(key), key, needed, result))
        result.topology = part
        return result


def _objects(value: Any, key: str, needed: str, result: ReadResult) -> list[dict[str, Any]]:
    kept = []
    for position, item in enumerate(value if isinstance(value, list) else []):
        if isinstance(item, dict) and item.get(needed):
            kept.append(item)
        else:
            rule = f"{key}[{position}] has no {needed!r}"
            result.rejected.append(RejectedLine(None, json.dumps(item)[:MAX_TEXT], rule))
    return kept
