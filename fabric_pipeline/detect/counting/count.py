"""Runs the statements that count: accepted readings in, the rows of link_counters in order out.

The rules are in `counters_sql`. Readings of a series that simply follow each other, which is nearly all
of a fleet, are counted against the one before; only the other series take the windows of all rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from fabric_pipeline.detect.counting import counters_sql

Made = TypeVar("Made")


def count_links(
    connection: Any, make: Callable[[str], Made], machines: Mapping[str, str] | None = None
) -> Made:
    """What `make` makes of a SELECT of the rows of link_counters in the order of that table.

    Needs raw_telemetry, numbered in the order of reading. One row per accepted reading. `machines` tells
    files without a host apart (`model.captures.machines`), none for one machine. Of several instruments
    that read one counter one is counted (see `witnesses_sql`); readings of the others have no increment
    and stand first. Texts come as codes (ENUM). `make` runs the SELECT, and may be called a second time
    after that has failed: what it makes must then be made anew.
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
        has_others = _has_rows(connection, "count_others")
        rows = counters_sql.rows_sql(same, has_others=has_others)
        if not has_others and _is_in_time(connection):
            connection.execute(counters_sql.told_sql(same, counters_sql.streamed_rows_sql(rows)))
            try:
                return make(counters_sql.link_counters_sql("streamed"))
            except Exception as problem:  # the database's own, which is not known here
                if counters_sql.TWICE not in str(problem):
                    raise
        return make(counters_sql.link_counters_sql(_kept_way(connection, same, rows)))
    finally:
        _forget(connection)


def _kept_way(connection: Any, same: Mapping[str, str], rows: str) -> str:
    """Keep the rows and mend those that have to be; returns the way to take for the rest."""
    for statement in (
        counters_sql.kept_rows_sql(rows),
        counters_sql.told_sql(same),
        counters_sql.UNTIDY_SQL,
    ):
        connection.execute(statement)
    if not _has_rows(connection, "count_untidy"):
        return "tidy"
    connection.execute(counters_sql.MENDED_SQL)
    connection.execute(counters_sql.MENDED_ROWS_SQL)
    connection.execute("drop view count_told")
    connection.execute("drop table count_rows")
    return "mended"


def _is_in_time(connection: Any) -> bool:
    """True when every series is plain and readings follow each other in time as they were read."""
    if _has_rows(connection, "count_series where not is_plain"):
        return False
    return bool(connection.execute(counters_sql.IN_TIME_SQL).fetchall()[0][0])


def _forget(connection: Any) -> None:
    for name in ("count_told", "count_accepted"):
        connection.execute(f"drop view if exists {name}")
    for name in counters_sql.TABLES_MADE:
        connection.execute(f"drop table if exists {name}")
    for statement in counters_sql.forget_codes_sql():
        connection.execute(statement)


def _has_rows(connection: Any, rows: str) -> bool:
    return bool(connection.execute(f"select 1 from {rows} limit 1").fetchall())


def _repeated(connection: Any) -> dict[str, str]:
    first = connection.execute(counters_sql.FIRST_SQL).fetchall()
    if not first:
        return {}
    said = connection.execute(counters_sql.SAID_SQL, list(first[0])).fetchall()
    return counters_sql.repeated(first[0], said[0])
