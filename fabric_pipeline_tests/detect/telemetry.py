"""Puts readings and timings into a DuckDB connection the way the ingest step leaves them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from fabric_pipeline.detect.counting.count import count_links
from fabric_pipeline.detect.counting.counters_sql import catalogue_sql
from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.store.duck import connect

START = datetime(2031, 5, 6, 7, 0, 0, tzinfo=UTC)
FILES = ("a.csv", "b.csv", "c.csv")
Row = dict[str, Any]


def at(seconds: float | None) -> datetime | None:
    """A moment after the fixed start; None stays None."""
    return None if seconds is None else START + timedelta(seconds=seconds)


def new_connection() -> Any:
    """A connection with the counter catalogue and the list of files."""
    connection = connect()
    connection.execute("create temp table counter_catalogue as " + catalogue_sql())
    connection.execute("create temp table drop_files (file varchar, file_no integer)")
    files = [(name, number) for number, name in enumerate(FILES)]
    insert_columns(connection, "drop_files", (("file", "VARCHAR"), ("file_no", "INTEGER")), files)
    return connection


def reading(
    counter: str, value: float | None, at_s: float | None = None, line: int = 1, **changes: Any
) -> Row:
    """One accepted reading of NVLink 4 of GPU 3 on node n1."""
    row: Row = {
        "drop": "d1", "file": "a.csv", "file_sha256": "a" * 64, "line": line, "format": "f", "parser_version": "1", "time_text": "",
        "entity_text": "", "counter_text": counter, "value_text": str(value), "node": "n1", "interface": "gpu3/nvlink-4",
        "link_type": "nvlink", "lane": None, "counter": counter, "kind": COUNTERS[counter].kind if counter in COUNTERS else "",
        "scope": "link", "ts": at(at_s), "value": value, "quality": "ok", "gpu_uuid": "", "socket": None, "state": "", "refused_by": None,
    }  # fmt: skip
    return row | changes


def series(
    counter: str, values: Sequence[float], step_s: float = 30.0, line: int = 1, **changes: Any
) -> list[Row]:
    """Readings of one counter at equal steps from the fixed start."""
    return [
        reading(counter, value, number * step_s, line + number, **changes)
        for number, value in enumerate(values)
    ]


def growing(steps: Mapping[int, float], samples: int, first: float = 0.0) -> list[float]:
    """Values of a counter that grows by `steps[i]` at sample i and stands still otherwise."""
    values, total = [], first
    for number in range(samples):
        total += steps.get(number, 0.0)
        values.append(total)
    return values


def count(connection: Any, rows: Iterable[Row]) -> list[Row]:
    """Make link_counters from readings; returns its rows in the order of the pipeline."""
    _fill(connection, "raw_telemetry", list(rows))
    count_readings(connection)
    return rows_of(connection, "link_counters")


def count_readings(connection: Any, machines: Mapping[str, str] | None = None) -> None:
    """Make link_counters from the readings in the connection."""

    def keep(rows: str) -> None:
        made = TABLES["link_counters"].cast_sql(f"({rows})")
        connection.execute(f"create or replace temp table link_counters as {made}")

    count_links(connection, keep, machines)


def put_timings(connection: Any, rows: Iterable[Row]) -> None:
    """Fill collective_timings."""
    _fill(connection, "collective_timings", list(rows))


def timing(seq: int, duration_us: float, at_s: float | None, **changes: Any) -> Row:
    """One whole all-reduce of run r1 on nodes n1 and n2."""
    row: Row = {
        "drop": "d1", "file": "a.csv", "file_sha256": "a" * 64, "line": seq + 2, "run": "r1", "run_nodes": '["n1", "n2"]',
        "communicator": "world", "seq": seq, "op": "all_reduce", "bytes": 1024, "ranks": 16, "rank": None, "node": "", "gpu": None,
        "ts": at(at_s), "duration_us": duration_us, "arrival_us": None, "baseline_us": None, "busbw_gbs": None, "model": "",
        "variant": "", "unit_kind": "collective",
    }  # fmt: skip
    return row | changes


def rows_of(connection: Any, relation: str) -> list[Row]:
    """All rows of a relation as dicts."""
    cursor = connection.execute(f"select * from {relation}")
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _fill(connection: Any, name: str, rows: list[Row]) -> None:
    table = TABLES[name]
    connection.execute(f"create or replace temp table {name} as {table.empty_sql()}")
    columns = [(column.name, column.type) for column in table.columns]
    # The order of reading, as the ingest step numbers it: by file, then by line.
    in_order = sorted(rows, key=lambda row: (row["file"], row["line"] or 0))
    numbered = [{"entry": number} | row for number, row in enumerate(in_order, 1)]
    insert_columns(connection, name, columns, [[r[c] for c, _ in columns] for r in numbered])
