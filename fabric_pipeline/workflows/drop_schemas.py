"""JSON Schemas of the files of a normalized drop (design section 10), one per file.

For CSV and Parquet a schema describes one row. Columns that are not required may be missing.
"""

from __future__ import annotations

from typing import Any

from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.sources.normalized.counters import STATE_COLUMNS
from fabric_pipeline.workflows.topology_schema import (
    NUMBER,
    TEXT,
    TOPOLOGY_SCHEMA,
    drop_schema,
)

_TIME = {
    "type": "string",
    "description": "ISO 8601; UTC unless an offset stands there or drop.yaml names a timezone",
}
_LINK = {
    "type": "string",
    "description": "Link end in the component grammar, such as gpu5/nvlink-11, mlx5_3/1, leaf-4/port-12",
}


_WHERE = {
    "ts": _TIME,
    "node": TEXT,
    "socket": NUMBER,
    "gpu": {**NUMBER, "description": "Empty for a NIC or switch"},
    "gpu_uuid": TEXT,
    "link_type": {"enum": ["nvlink", "pcie", "infiniband", "roce", "ethernet", "", None]},
    "link": _LINK,
    "lane": {"type": ["string", "number", "null"]},
}
DROP_SCHEMAS: dict[str, dict[str, Any]] = {
    "counters_long": drop_schema(
        "counters.{csv,jsonl,parquet}, long form: one reading a row",
        ["ts", "node", "link", "counter", "value"],
        {**_WHERE, "counter": {"enum": [*sorted(COUNTERS), "state"]}, "value": {"type": ["number", "string"]}},
    ),
    "counters_wide": drop_schema(
        "counters.{csv,jsonl,parquet}, wide form: one column per counter",
        ["ts", "node", "link"],
        {**_WHERE, **dict.fromkeys(COUNTERS, NUMBER), **dict.fromkeys(STATE_COLUMNS[:1], TEXT)},
        description="An empty cell is not measured: it is neither zero nor healthy.",
    ),
    "collectives": drop_schema(
        "collectives.{csv,jsonl}",
        ["run", "op", "duration_us"],
        {
            "run": {"type": "string"}, "model": TEXT, "comm": TEXT, "seq": NUMBER, "op": {"type": "string"}, "bytes": NUMBER,
            "ts": _TIME, "rank": {**NUMBER, "description": "Empty for the whole collective"}, "node": TEXT, "gpu": NUMBER,
            "duration_us": {"type": ["number", "string"]}, "arrival_us": NUMBER, "baseline_us": NUMBER,
        },
    ),
    "runs": drop_schema(
        "runs.{csv,jsonl}",
        ["run", "nodes"],
        {
            "run": {"type": "string"}, "model": TEXT, "nodes": {"type": ["array", "string"], "items": {"type": "string"}},
            "start": _TIME, "end": _TIME, "step_time_ms": NUMBER, "baseline_step_time_ms": NUMBER,
        },
    ),
    "events": drop_schema(
        "events.jsonl",
        ["ts", "kind", "text"],
        {"ts": _TIME, "node": TEXT, "component": TEXT, "kind": {"type": "string"}, "code": NUMBER, "text": {"type": "string"}},
    ),
    "topology": TOPOLOGY_SCHEMA,
    "drop": drop_schema(
        "drop.yaml",
        [],
        {
            "cluster": TEXT,
            "site": TEXT,
            "window": {"type": "object", "properties": {"start": _TIME, "end": _TIME}},
            "timezone": {"type": "string", "description": "IANA name, for times without an offset"},
            "node_pattern": {"type": "string", "description": "Regular expression with named groups rack, node, unit"},
            "files": {"type": "object", "description": "Glob -> node, or {node, time}"},
        },
    ),
}  # fmt: skip
