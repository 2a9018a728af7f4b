"""The published JSON Schemas of a drop's files against what is shipped and what is read."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.registry import recognise
from fabric_pipeline.workflows.drop_schemas import DROP_SCHEMAS
from fabric_pipeline_tests.pipeline_runs import ROOT

SHIPPED = sorted((ROOT / "data" / "drops").iterdir())
JSON_TYPES = {
    "string": str, "number": int | float, "integer": int, "object": dict, "array": list,
    "null": type(None),
}  # fmt: skip


def shipped_rows() -> Iterator[tuple[str, Path, dict[str, Any]]]:
    """(schema, file, row) of the first rows of every shipped file."""
    for drop in SHIPPED:
        for path in sorted(drop.iterdir()):
            for row in first_rows(path):
                form = path.stem
                if form == "counters":
                    form = "counters_long" if "counter" in row else "counters_wide"
                yield form, path, row


def first_rows(path: Path, count: int = 5) -> list[dict[str, Any]]:
    if path.suffix == ".yaml":
        return [yaml.safe_load(path.read_text("utf-8"))]
    if path.suffix == ".json":
        return [json.loads(path.read_text("utf-8"))]
    with path.open(encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            return [row for row, _ in zip(csv.DictReader(file), range(count), strict=False)]
        return [json.loads(line) for line, _ in zip(file, range(count), strict=False)]


def fits(value: object, schema: dict[str, Any]) -> bool:
    """Type and enumeration of one value; enough for schemas without references."""
    if "enum" in schema:
        return value in schema["enum"]
    named = schema.get("type", [])
    types = [named] if isinstance(named, str) else named
    return not types or any(isinstance(value, JSON_TYPES[name]) for name in types)


def test_every_shipped_row_fits_its_schema() -> None:
    seen = set()
    for form, path, row in shipped_rows():
        schema = DROP_SCHEMAS[form]
        seen.add(form)
        assert set(schema["required"]) <= set(row), path
        assert set(row) <= set(schema["properties"]), path
        wrong = {k: v for k, v in row.items() if not fits(v, schema["properties"][k])}
        assert wrong == {}, path
    assert seen == set(DROP_SCHEMAS)


def test_parts_of_a_topology_fit_too() -> None:
    schema = DROP_SCHEMAS["topology"]["properties"]
    for drop in SHIPPED:
        (topology,) = first_rows(drop / "topology.json")
        for part in ("nodes", "switches", "links"):
            item = schema[part]["items"]
            for entry in topology[part]:
                assert set(item["required"]) <= set(entry)
                for name, rule in item.get("properties", {}).items():
                    assert name not in entry or fits(entry[name], rule), (drop, part, name)


def test_both_forms_of_counters_name_every_canonical_counter() -> None:
    long = DROP_SCHEMAS["counters_long"]["properties"]["counter"]["enum"]
    assert set(long) == {*COUNTERS, "state"}
    assert set(COUNTERS) <= set(DROP_SCHEMAS["counters_wide"]["properties"])


@pytest.mark.parametrize(
    ("form", "ending", "format_id"),
    [
        ("counters_long", "csv", "fabric_counters"),
        ("counters_wide", "csv", "fabric_counters"),
        ("collectives", "csv", "fabric_collectives"),
        ("runs", "csv", "fabric_runs"),
        ("runs", "jsonl", "fabric_runs"),
        ("events", "jsonl", "fabric_events"),
    ],
)
def test_a_file_with_all_columns_of_a_schema_is_recognised(
    tmp_path: Path, form: str, ending: str, format_id: str
) -> None:
    columns = list(DROP_SCHEMAS[form]["properties"])
    path = tmp_path / f"anything.{ending}"
    text = ",".join(columns) + "\n"
    path.write_text(json.dumps(dict.fromkeys(columns, "")) + "\n" if ending == "jsonl" else text)
    assert recognise(SourceFile(path, path.name)).format_id == format_id
