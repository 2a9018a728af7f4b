"""Runs the statements that count: accepted readings in, the rows of link_counters in order out.

The rules are in `counters_sql`. Readings of a series that simply follow each other, which is nearly all
of a fleet, are counted against the one before; only the other series take the windows of all rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fabric_pipeline.detect.counting import counters_sql


@contextmanager
def counted_links(connection: Any, machines: Mapping[str, str] | None = None) -> Iterator[str]:
    """A SELECT of the rows of link_counters in the order of that table, valid inside the context.

    Needs raw_telemetry, numbered in the order of reading. One row per accepted reading. `machines` tells
    files without a host apart (`model.captures.machines`), none for one machine. Of several instruments
    that read one counter one is counted (see `witnesses_sql`); readings of the others have no increment
    and stand first.
    """
    connection.execute(
        "create or replace temp table counter_catalogue as " + counters_sql.catalogue_sql()
    )
    same = _repeated(connection)
    try:
        for statement in (
            counters_sql.accepted_sql(same),
            counters_sql.combined_sql(same),
            counters_sql.SERIES_SQL,
            counters_sql.LOOKS_SQL,
            *counters_sql.codes_sql(),
            counters_sql.PLACES_SQL,
            counters_sql.others_sql(machines or {}),
        ):
            connection.execute(statement)
        for statement in (
            counters_sql.rows_sql(same, has_others=_has_rows(connection, "count_others")),
            counters_sql.told_sql(same),
            counters_sql.UNTIDY_SQL,
        ):
            connection.execute(statement)
        is_tidy = not _has_rows(connection, "count_untidy")
        if not is_tidy:
            connection.execute(counters_sql.MENDED_SQL)
            connection.execute(counters_sql.MENDED_ROWS_SQL)
            connection.execute("drop view count_told")
            connection.execute("drop table count_rows")
        yield counters_sql.link_counters_sql(is_tidy)
    finally:
        for name in ("count_told", "count_accepted"):
            connection.execute(f"drop view if exists {name}")
        for name in counters_sql.TABLES_MADE:
            connection.execute(f"drop table if exists {name}")
        for statement in counters_sql.forget_codes_sql():
            connection.execute(statement)


def _has_rows(connection: Any, table: str) -> bool:
    return bool(connection.execute(f"select 1 from {table} limit 1").fetchall())


def _repeated(connection: Any) -> dict[str, str]:
    first = connection.execute(counters_sql.FIRST_SQL).fetchall()
    if not first:
        return {}
    said = connection.execute(counters_sql.SAID_SQL, list(first[0])).fetchall()
    return counters_sql.repeated(first[0], said[0])
