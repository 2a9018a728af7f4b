"""JSON Schemas of the files of a normalized drop (design section 10), one per file.

For CSV and Parquet a schema describes one row. Columns that are not required may be missing.
"""

from __future__ import annotations

from typing import Any

from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.sources.normalized.counters import STATE_COLUMNS

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TIME = {
    "type": "string",
    "description": "ISO 8601; UTC unless an offset stands there or drop.yaml names a timezone",
}
_TEXT = {"type": ["string", "null"]}
_NUMBER = {"type": ["number", "string", "null"]}
_LINK = {
    "type": "string",
    "description": "Link end in the component grammar, such as gpu5/nvlink-11, mlx5_3/1, leaf-4/port-12",
}


def _schema(
    title: str, required: list[str], properties: dict[str, Any], **more: Any
) -> dict[str, Any]:
    return {
        "$schema": _DIALECT,
        "title": title,
        "type": "object",
        "required": required,
        "properties": properties,
        **more,
    }


_WHERE = {
    "ts": _TIME,
    "node": _TEXT,
    "socket": _NUMBER,
    "gpu": {**_NUMBER, "description": "Empty for a NIC or switch"},
    "gpu_uuid": _TEXT,
    "link_type": {"enum": ["nvlink", "pcie", "infiniband", "roce", "ethernet", "", None]},
    "link": _LINK,
    "lane": {"type": ["string", "number", "null"]},
}
_END = {
    "type": "object",
    "properties": {"node": _TEXT, "switch": _TEXT, "port": {"type": ["string", "integer"]}},
    "required": ["port"],
}
_NAMED_LIST = {"type": "array", "items": {"type": ["object", "string"]}}

DROP_SCHEMAS: dict[str, dict[str, Any]] = {
    "counters_long": _schema(
        "counters.{csv,jsonl,parquet}, long form: one reading a row",
        ["ts", "node", "link", "counter", "value"],
        {**_WHERE, "counter": {"enum": [*sorted(COUNTERS), "state"]}, "value": {"type": ["number", "string"]}},
    ),
    "counters_wide": _schema(
        "counters.{csv,jsonl,parquet}, wide form: one column per counter",
        ["ts", "node", "link"],
        {**_WHERE, **dict.fromkeys(COUNTERS, _NUMBER), **dict.fromkeys(STATE_COLUMNS[:1], _TEXT)},
        description="An empty cell is not measured: it is neither zero nor healthy.",
    ),
    "collectives": _schema(
        "collectives.{csv,jsonl}",
        ["run", "op", "duration_us"],
        {
            "run": {"type": "string"}, "model": _TEXT, "comm": _TEXT, "seq": _NUMBER, "op": {"type": "string"}, "bytes": _NUMBER,
            "ts": _TIME, "rank": {**_NUMBER, "description": "Empty for the whole collective"}, "node": _TEXT, "gpu": _NUMBER,
            "duration_us": {"type": ["number", "string"]}, "arrival_us": _NUMBER, "baseline_us": _NUMBER,
        },
    ),
    "runs": _schema(
        "runs.{csv,jsonl}",
        ["run", "nodes"],
        {
            "run": {"type": "string"}, "model": _TEXT, "nodes": {"type": ["array", "string"], "items": {"type": "string"}},
            "start": _TIME, "end": _TIME, "step_time_ms": _NUMBER, "baseline_step_time_ms": _NUMBER,
        },
    ),
    "events": _schema(
        "events.jsonl",
        ["ts", "kind", "text"],
        {"ts": _TIME, "node": _TEXT, "component": _TEXT, "kind": {"type": "string"}, "code": _NUMBER, "text": {"type": "string"}},
    ),
    "topology": _schema(
        "topology.json",
        ["nodes"],
        {
            "site": _TEXT,
            "nodes": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["node"],
                    "properties": {
                        "node": {"type": "string"}, "row": _TEXT, "rack": _TEXT, "unit": {"type": ["integer", "string", "null"]},
                        "serial": _TEXT, "gpus": _NAMED_LIST, "nics": _NAMED_LIST, "nvswitches": _NAMED_LIST, "pcie_switches": _NAMED_LIST,
                    },
                },
            },
            "switches": {"type": "array", "items": {"type": "object", "required": ["name"]}},
            "links": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["type", "a", "b"],
                    "properties": {
                        "id": _TEXT, "type": {"type": "string"}, "a": _END, "b": _END, "cable": _TEXT, "part": _TEXT,
                        "lanes": _NUMBER, "speed_gbps": _NUMBER,
                    },
                },
            },
        },
    ),
    "drop": _schema(
        "drop.yaml",
        [],
        {
            "cluster": _TEXT,
            "site": _TEXT,
            "window": {"type": "object", "properties": {"start": _TIME, "end": _TIME}},
            "timezone": {"type": "string", "description": "IANA name, for times without an offset"},
            "node_pattern": {"type": "string", "description": "Regular expression with named groups rack, node, unit"},
            "files": {"type": "object", "description": "Glob -> node, or {node, time}"},
        },
    ),
}  # fmt: skip
