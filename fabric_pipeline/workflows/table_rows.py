"""Writes rows that were made in Python as a table of the lake, checked against its schema.

Tables that SQL makes are written by `workflows.drop_stages` itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.store.duck import session
from fabric_pipeline.workflows.drop_stages import StageResult, write_checked


def write_table(
    settings: Settings, drop_id: str, name: str, rows: Sequence[Sequence[Any]]
) -> StageResult:
    """Write one table of a drop; rows have the order of the table's columns."""
    table = TABLES[name]
    connection = session()
    try:
        connection.execute(f"create temp table {name} as {table.empty_sql()}")
        insert_columns(connection, name, [(c.name, c.type) for c in table.columns], rows)
        return write_checked(connection, settings, name, drop_id)
    finally:
        connection.close()
