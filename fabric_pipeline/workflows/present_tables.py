"""The tables of a drop as far as it has come: those that no stage has written yet are there and empty.

For pictures and pages, which show a drop while it is still read; a stage asks `drop_stages.drop_tables`,
which insists. A table that expired is neither: its drop was measured, and nobody may call it without data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.duck import session
from fabric_pipeline.store.lake import attach
from fabric_pipeline.workflows.expired import refuse_expired


@contextmanager
def present_tables(
    settings: Settings, drop_id: str, names: Sequence[str], *, refuses_expired: bool = True
) -> Iterator[Any]:
    """A connection with these tables of one drop under their own names.

    Without `refuses_expired` the caller says by itself that readings are gone.
    """
    connection = session()
    try:
        for name in names:
            if not attach(connection, settings.lake, name, drop_id):
                if refuses_expired:
                    refuse_expired(settings, drop_id, name)
                empty = TABLES[name].empty_sql()
                connection.execute(f"create temp table {name} as {empty}")
        yield connection
    finally:
        connection.close()
