"""The staging tables of one drop: their names and columns, and rows put into them.

A staging table has the columns of its ingest table but for those known only when the whole drop has
been read. Which rows go there is decided in `workflows.staging` and its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fabric_pipeline.model.records import RejectedLine
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.workflows.staged_rows import rejected_row

_ADDED = ("drop", "entry", "file_sha256", "run_nodes")
_INGEST = {
    "staged_readings": "raw_telemetry",
    "staged_timings": "collective_timings",
    "staged_events": "fabric_events",
    "staged_topology": "fabric_topology",
}
COLUMNS: dict[str, list[tuple[str, str]]] = {
    name: [(c.name, c.type) for c in TABLES[table].columns if c.name not in _ADDED]
    for name, table in _INGEST.items()
}


def create_staging_tables(connection: Any) -> None:
    """Make them anew, empty."""
    for name, columns in COLUMNS.items():
        ddl = ", ".join(f'"{column}" {type_}' for column, type_ in columns)
        connection.execute(f"create or replace temp table {name} ({ddl})")


def drop_staging_tables(connection: Any) -> None:
    """Give back what they hold once the ingest tables are made."""
    for name in COLUMNS:
        connection.execute(f"drop table {name}")


def stage(connection: Any, table: str, rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows with the columns of a staging table."""
    insert_columns(connection, table, COLUMNS[table], rows)


def stage_rejected(
    connection: Any, file: SourceFile, head: tuple[str, str], rejected: Sequence[RejectedLine]
) -> None:
    """Insert lines that were refused; `head` is format and parser version."""
    stage(connection, "staged_readings", [rejected_row(file, head, one) for one in rejected])
