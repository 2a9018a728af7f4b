"""pandera schemas made from the table descriptions, run by pandera's Ibis backend inside DuckDB.

Validation here is the independent proof that a table is what it claims to be; refusing single
readings into quarantine happened before. pandera and ibis are imported only when a table is validated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from fabric_pipeline.schemas.table import TIMESTAMP, Column, Table

_MAX_REPORTED = 20


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: where, which, and up to a few values that break it."""

    column: str
    rule: str
    examples: str


def validate(connection: Any, table: Table, relation: str) -> list[Violation]:
    """Check a relation of an open DuckDB connection; [] when it fits its table.

    Rows are checked in DuckDB. The key is checked for duplicates as well.
    """
    import ibis
    from pandera.errors import SchemaErrors

    found = _shape(connection, table, relation)
    is_empty = not connection.execute(f'select 1 from "{relation}" limit 1').fetchall()
    if found or is_empty:
        return (
            found  # the backend takes "no row to judge" for a broken rule, so shape is all there is
        )
    backend = ibis.duckdb.from_connection(connection)
    found = _duplicates(connection, table, relation)
    try:
        pandera_schema(table).validate(backend.table(relation), lazy=True)
    except SchemaErrors as problem:
        found += _violations(problem)
    return found


def pandera_schema(table: Table) -> Any:
    """The pandera (Ibis) schema of a table: exact columns in order, types, nullability, rules."""
    import pandera.ibis as pa

    return pa.DataFrameSchema(
        {column.name: _pandera_column(column) for column in table.columns},
        strict=True,
        name=table.name,
        description=table.description,
    )


def _pandera_column(column: Column) -> Any:
    import ibis.expr.datatypes as dt
    import pandera.ibis as pa

    types = {
        "VARCHAR": dt.String(nullable=True),
        "INTEGER": dt.Int32(nullable=True),
        "BIGINT": dt.Int64(nullable=True),
        "DOUBLE": dt.Float64(nullable=True),
        "BOOLEAN": dt.Boolean(nullable=True),
        TIMESTAMP: dt.Timestamp(timezone="UTC", nullable=True),
    }
    checks = []
    if column.allowed:
        checks.append(pa.Check.isin(list(column.allowed)))
    if column.minimum is not None:
        checks.append(pa.Check.ge(column.minimum))
    if column.maximum is not None:
        checks.append(pa.Check.le(column.maximum))
    if column.pattern:
        checks.append(pa.Check.str_matches(re.compile(column.pattern).pattern))
    dtype = None if column.type == TIMESTAMP else types[column.type]
    return pa.Column(dtype, checks=checks, nullable=column.nullable, description=column.description)


def _violations(problem: Any) -> list[Violation]:
    found: dict[tuple[str, str], list[str]] = {}
    for error in problem.schema_errors:
        column = str(getattr(error.schema, "name", "") or "")
        rule = str(getattr(error.check, "error", None) or error.check or error.reason_code)
        cases = getattr(error, "failure_cases", None)
        found.setdefault((column, rule), []).append(_examples(cases))
    return [Violation(column, rule, "; ".join(texts)) for (column, rule), texts in found.items()]


def _examples(cases: Any) -> str:
    if hasattr(cases, "limit"):
        rows = cases.limit(_MAX_REPORTED).execute().to_dict("records")
        return ", ".join(str(value) for row in rows for value in row.values())[:400]
    return str(cases)[:400]


def _shape(connection: Any, table: Table, relation: str) -> list[Violation]:
    """Columns with their types in order; the only rule that an empty table can break."""
    rows = connection.execute(f'describe select * from "{relation}"').fetchall()
    actual = [(row[0], row[1]) for row in rows]
    expected = [(column.name, column.type) for column in table.columns]
    return (
        []
        if actual == expected
        else [Violation("*", "columns and types as described", str(actual)[:400])]
    )


def _duplicates(connection: Any, table: Table, relation: str) -> list[Violation]:
    keys = ", ".join(f'"{name}"' for name in table.key)
    rows = connection.execute(
        f'select {keys}, count(*) from "{relation}" group by all having count(*) > 1 order by all limit 3'
    ).fetchall()
    if not rows:
        return []
    return [Violation(", ".join(table.key), "key is unique", "; ".join(str(row) for row in rows))]
