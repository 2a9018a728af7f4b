"""Validation of a whole table: DuckDB looks for rows that break a rule, pandera judges and names them.

Both are made from the same `Table`. One pass of SQL covers every row of a bulk table in a fraction of
the time that one query per rule takes; where it suspects a row, pandera sees that row and a sample of the
others. The tests show that SQL misses nothing pandera finds, so a table without suspicion needs neither
pandera nor pandas, which are imported only here.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from math import inf, isnan
from typing import Any

from fabric_pipeline.schemas.table import Column, Table

_SAMPLE_ROWS = 200
_WITNESSES = 5
_FINITE = "finite"
_TEXT_RULES = ("isin", "str_matches")
# What Python calls no blank; the database's own sign for it knows the blanks of ASCII alone.
_BACKSLASH_S = r"\S"
_NOT_BLANK = r"[^\t-\r\x1c-\x20\x85\pZ]"


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: where, which, and a few values that break it."""

    column: str
    rule: str
    examples: str


@dataclass(frozen=True, slots=True)
class _Rule:
    column: str
    name: str  # as pandera calls it
    holds_sql: str


def validate(connection: Any, table: Table, relation: str) -> list[Violation]:
    """Check a relation of an open DuckDB connection; [] when it fits its table.

    Covers columns with types in order, nullability, values, patterns and the uniqueness of the key,
    over all rows.
    """
    found = _shape(connection, table, relation)
    if found:
        return found
    broken = _broken_rules(connection, table, relation)
    judged = _judged_by_pandera(connection, table, relation, broken) if broken else []
    return judged + _duplicates(connection, table, relation)


@cache
def pandera_schema(table: Table) -> Any:
    """The pandera schema of a table: exact columns, nullability and rules (types are DuckDB's).

    Made once for each table, because making it costs as much as judging a small table by it.
    """
    import pandera.pandas as pa

    columns = {
        column.name: pa.Column(
            None,
            checks=_pandera_checks(column),
            nullable=column.nullable,
            description=column.description,
        )
        for column in table.columns
    }
    return pa.DataFrameSchema(columns, strict=True, name=table.name, description=table.description)


def _pandera_checks(column: Column) -> list[Any]:
    import pandera.pandas as pa

    checks = []
    if column.allowed:
        checks.append(pa.Check.isin(list(column.allowed)))
    if column.minimum is not None:
        checks.append(pa.Check.ge(column.minimum))
    if column.maximum is not None:
        checks.append(pa.Check.le(column.maximum))
    if column.pattern:
        checks.append(pa.Check.str_matches(column.pattern))
    if column.type == "DOUBLE":  # pandas has one sign for NaN and NULL: NaN is found by SQL alone
        checks.append(pa.Check(lambda values: values.abs() != inf, name=_FINITE, error=_FINITE))
    return checks


def _rules(table: Table) -> list[_Rule]:
    rules = []
    for column in table.columns:
        name = f'"{column.name}"'
        if not column.nullable:
            rules.append(_Rule(column.name, "not_nullable", f"{name} is not null"))
        if column.allowed:
            values = ", ".join(_literal(value) for value in column.allowed)
            rules.append(_Rule(column.name, "isin", f"{name} in ({values})"))
        if column.minimum is not None:
            rules.append(
                _Rule(column.name, "greater_than_or_equal_to", f"{name} >= {column.minimum!r}")
            )
        if column.maximum is not None:
            rules.append(
                _Rule(column.name, "less_than_or_equal_to", f"{name} <= {column.maximum!r}")
            )
        if column.pattern:  # pandera matches at the start of the text
            pattern = _literal(f"^(?:{column.pattern.replace(_BACKSLASH_S, _NOT_BLANK)})")
            rules.append(_Rule(column.name, "str_matches", f"regexp_matches({name}, {pattern})"))
        if column.type == "DOUBLE":  # a minimum alone lets NaN pass, DuckDB sorts it above all
            rules.append(_Rule(column.name, _FINITE, f"isfinite({name})"))
    return rules


def _broken_rules(connection: Any, table: Table, relation: str) -> list[_Rule]:
    """Rules that at least one row breaks.

    Rules of texts are asked of the few different texts in a column, those of numbers of the least and the
    greatest in it, all of them in one pass over all rows.
    """
    rules = _rules(table)
    of_texts = [rule for rule in rules if rule.name in _TEXT_RULES]
    found = _broken_bounds(connection, table, relation)
    for name in dict.fromkeys(rule.column for rule in of_texts):
        # Kept, because a rule asked of a subquery is asked of every row before the texts are made few.
        connection.execute(
            f'create or replace temp table texts_of_column as select distinct "{name}" from "{relation}"'
        )
        for rule in of_texts:
            if rule.column == name and _count(
                connection, f"from texts_of_column where {_breaks(rule)}"
            ):
                found.add((name, rule.name))
    if of_texts:
        connection.execute("drop table texts_of_column")
    return [rule for rule in rules if (rule.column, rule.name) in found]


def _broken_bounds(connection: Any, table: Table, relation: str) -> set[tuple[str, str]]:
    """Rules on NULL and on numbers that a column breaks; DuckDB holds NaN greater than every number."""
    numbers = [
        c
        for c in table.columns
        if c.type == "DOUBLE" or c.minimum is not None or c.maximum is not None
    ]
    asked = ["count(*)"]
    asked += [f'count("{column.name}")' for column in table.columns]
    asked += [f'min("{column.name}"), max("{column.name}")' for column in numbers]
    rows, *said = connection.execute(f'select {", ".join(asked)} from "{relation}"').fetchall()[0]
    filled, bounds = said[: len(table.columns)], said[len(table.columns) :]
    broken = {
        (column.name, "not_nullable")
        for column, present in zip(table.columns, filled, strict=True)
        if not column.nullable and present < rows
    }
    for column, least, most in zip(numbers, bounds[::2], bounds[1::2], strict=True):
        broken |= {(column.name, rule) for rule in _out_of_bounds(column, least, most)}
    return broken


def _out_of_bounds(column: Column, least: Any, most: Any) -> list[str]:
    if least is None:
        return []
    # A column of nothing but NaN has it as its least too.
    is_nan, broken = isinstance(most, float) and isnan(most), []
    if column.minimum is not None and least < column.minimum:
        broken.append("greater_than_or_equal_to")
    if column.maximum is not None and (is_nan or most > column.maximum):
        broken.append("less_than_or_equal_to")
    if column.type == "DOUBLE" and (is_nan or most == inf or least == -inf):
        broken.append(_FINITE)
    return broken


def _count(connection: Any, rows: str) -> int:
    return int(connection.execute(f"select count(*) {rows}").fetchall()[0][0])


def _breaks(rule: _Rule) -> str:
    """A NULL breaks only the rule against NULL."""
    if rule.name == "not_nullable":
        return f"not ({rule.holds_sql})"
    return f'"{rule.column}" is not null and not ({rule.holds_sql})'


def _judged_by_pandera(
    connection: Any, table: Table, relation: str, broken: list[_Rule]
) -> list[Violation]:
    from pandera.errors import SchemaErrors

    parts = [f'(select * from "{relation}" limit {_SAMPLE_ROWS})']
    parts += [
        f'(select * from "{relation}" where {_breaks(rule)} limit {_WITNESSES})' for rule in broken
    ]
    frame = connection.execute(" union all ".join(parts)).df()
    found: dict[tuple[str, str], list[str]] = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            pandera_schema(table).validate(frame, lazy=True)
    except SchemaErrors as problem:
        for case in problem.failure_cases.to_dict("records"):
            found.setdefault((str(case["column"]), str(case["check"])), []).append(
                str(case["failure_case"])
            )
    named = {(column, rule.partition("(")[0]) for column, rule in found}
    violations = [
        Violation(c, rule, ", ".join(dict.fromkeys(texts))[:400])
        for (c, rule), texts in found.items()
    ]
    # A rule that SQL saw broken and pandera did not is itself worth an alarm.
    violations += [
        Violation(r.column, r.name, "found by SQL alone")
        for r in broken
        if (r.column, r.name) not in named
    ]
    return violations


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
    if table.is_bulk and _rises(connection, table, relation):
        return []
    rows = connection.execute(
        f'select {keys}, count(*) from "{relation}" group by all having count(*) > 1 order by all limit 3'
    ).fetchall()
    if not rows:
        return []
    return [Violation(", ".join(table.key), "key is unique", "; ".join(str(row) for row in rows))]


def _rises(connection: Any, table: Table, relation: str) -> bool:
    """True when each row's key is above that of the row before it, so that none can be there twice.

    One pass that keeps nothing. A table in another order is no fault; it is looked at more closely.
    """
    nullable = {column.name for column in table.columns if column.nullable}
    steps, breaks, befores = [], [], []
    for at, name in enumerate(table.key):
        steps.append(f'"{name}", lag("{name}") over () as before_{at}')
        befores.append(f"before_{at}")
        if at == len(table.key) - 1:
            breaks.append(f'coalesce("{name}" <= before_{at}, true)')
        else:
            differs = "is distinct from" if name in nullable else "<>"
            breaks.append(f'"{name}" {differs} before_{at}')
    # Nearly every row goes on with the key of the one before; only the others are compared whole.
    key = ", ".join(f'"{name}"' for name in table.key)
    rows = f'from (select {", ".join(steps)}, row_number() over () as place from "{relation}") where place > 1'
    falls = f"coalesce(row({key}) <= row({', '.join(befores)}), true)"
    return _count(connection, f"{rows} and ({' or '.join(breaks)}) and {falls}") == 0


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
