"""Writes a drop folder as a whole, and its answer key outside of it.

Files are first written to a hidden folder beside the target and then renamed into place, so nobody
ever reads half a drop. What the tables hold is worked out elsewhere.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric_pipeline.errors import UsageError
from fabric_pipeline.synth.rows import Layout, Row
from fabric_pipeline.synth.timings import COLLECTIVE_COLUMNS

HEADER_FILE = "drop.yaml"


@dataclass(frozen=True, slots=True)
class DropTables:
    """The content of a drop, file by file, rows in the order in which they are written."""

    header: dict[str, Any]
    topology: dict[str, Any]
    layout: Layout
    counters: list[Row]
    collectives: list[Row]
    runs: list[dict[str, Any]]
    events: list[dict[str, Any]]


def default_answer_key(out: Path) -> Path:
    """Where the key of a drop goes when the caller names no place."""
    return out.parent / "answers" / f"{out.name}.json"


def write_drop(tables: DropTables, out: Path, answer: dict[str, Any], answer_key: Path) -> None:
    """Write the folder `out` and the key; see `generate` for what is refused."""
    out, answer_key = out.absolute(), answer_key.absolute()
    _refuse_bad_places(out, answer_key)
    fresh = out.with_name(f".{out.name}.{os.getpid()}.partial")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    try:
        _write_files(tables, fresh)
        _swap(fresh, out)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    _write_key(answer, answer_key)


def _refuse_bad_places(out: Path, answer_key: Path) -> None:
    if answer_key.resolve().is_relative_to(out.resolve()):
        raise UsageError(
            f"the answer key {answer_key} would lie inside the drop",
            "name a place outside the drop folder",
        )
    occupied = out.exists() and (not out.is_dir() or any(out.iterdir()))
    if occupied and not (out / HEADER_FILE).is_file():
        raise UsageError(
            f"{out} exists and is no drop (it has no {HEADER_FILE})",
            "name a folder that does not exist yet, or an earlier drop to replace",
        )


def _write_files(tables: DropTables, folder: Path) -> None:
    (folder / HEADER_FILE).write_text(_yaml(tables.header), encoding="utf-8")
    (folder / "topology.json").write_text(_topology_text(tables.topology), encoding="utf-8")
    counters = folder / tables.layout.file_name
    if tables.layout.file == "jsonl":
        _write_jsonl(counters, (_without_blanks(row) for row in tables.counters))
    else:
        _write_csv(counters, tables.layout.columns, tables.counters)
    _write_csv(folder / "collectives.csv", COLLECTIVE_COLUMNS, tables.collectives)
    _write_jsonl(folder / "runs.jsonl", tables.runs)
    _write_jsonl(folder / "events.jsonl", tables.events)


def _swap(fresh: Path, out: Path) -> None:
    """Put the fresh folder in place of the old one; the old one is back if that fails."""
    if not out.exists():
        fresh.rename(out)
        return
    old = out.with_name(f".{out.name}.{os.getpid()}.old")
    out.rename(old)
    try:
        fresh.rename(out)
    except OSError:
        old.rename(out)
        raise
    shutil.rmtree(old)


def _write_key(answer: dict[str, Any], answer_key: Path) -> None:
    answer_key.parent.mkdir(parents=True, exist_ok=True)
    fresh = answer_key.with_name(f".{answer_key.name}.{os.getpid()}.partial")
    fresh.write_text(json.dumps(answer, indent=2) + "\n", encoding="utf-8")
    fresh.replace(answer_key)


def _write_csv(path: Path, columns: tuple[str, ...], rows: Iterable[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _write_jsonl(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as handle:
        handle.writelines(_json_line(row) + "\n" for row in rows)


def _without_blanks(row: Row) -> Row:
    return {name: value for name, value in row.items() if value is not None}


def _json_line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _topology_text(topology: dict[str, Any]) -> str:
    """JSON with one node, switch or link per line, so that two versions can be compared."""
    parts = []
    for key, value in topology.items():
        if isinstance(value, list):
            lines = ",\n".join(_json_line(one) for one in value)
            parts.append(f"{_json_line(key)}:[\n{lines}\n]")
        else:
            parts.append(f"{_json_line(key)}:{_json_line(value)}")
    return "{" + ",\n".join(parts) + "}\n"


def _yaml(header: dict[str, Any], indent: str = "") -> str:
    """The header as YAML; strings are quoted as JSON, which every YAML reader accepts."""
    lines = []
    for key, value in header.items():
        if isinstance(value, dict):
            lines.append(f"{indent}{key}:\n{_yaml(value, indent + '  ')}")
        else:
            lines.append(f"{indent}{key}: {_json_line(value)}\n")
    return "".join(lines)
