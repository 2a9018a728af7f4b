"""Records into DuckDB column by column: any text, any size, in order."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from fabric_pipeline.store.columns import DatabaseError, insert_columns
from fabric_pipeline.store.duck import connect

COLUMNS = (
    ("n", "BIGINT"),
    ("order", "VARCHAR"),
    ("share", "DOUBLE"),
    ("at", "TIMESTAMP WITH TIME ZONE"),
    ("names", "VARCHAR[]"),
)


@pytest.fixture
def con() -> Any:
    with connect() as made:
        ddl = ", ".join(f'"{name}" {type_}' for name, type_ in COLUMNS)
        made.execute(f"create table t ({ddl})")
        yield made


def test_rows_come_back_as_they_were(con: Any) -> None:
    rows = [
        (
            1,
            'it\'s; "quoted" --',
            0.1,
            datetime(2031, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
            ["a", "b"],
        ),
        (2, "Zeile\nzwei\0\u202e\U0001f525", float("inf"), None, []),
        (None, None, None, None, None),
        (2**63 - 1, "", -0.0, datetime(1970, 1, 1, tzinfo=UTC), [""]),
    ]
    insert_columns(con, "t", COLUMNS, rows)
    assert con.execute("select * from t").fetchall() == rows


def test_no_row_is_fine(con: Any) -> None:
    insert_columns(con, "t", COLUMNS, [])
    assert con.execute("select count(*) from t").fetchall() == [(0,)]


def test_many_rows_keep_their_order(con: Any) -> None:
    rows = [(n, str(n), None, None, None) for n in range(120_001)]
    insert_columns(con, "t", COLUMNS, rows)
    assert con.execute("select n from t").fetchall() == [(n,) for n in range(120_001)]


def test_half_surrogates_are_replaced_not_refused(con: Any) -> None:
    insert_columns(
        con, "t", COLUMNS, [(1, "a\ud83db", 0.5, None, None), (2, "ok", None, None, None)]
    )
    assert con.execute('select "order" from t order by n').fetchall() == [("a\ufffdb",), ("ok",)]


def test_what_does_not_fit_is_an_error_of_the_database(con: Any) -> None:
    with pytest.raises(DatabaseError):
        insert_columns(con, "t", COLUMNS, [("no number", "x", None, None, None)])
    with pytest.raises(ValueError, match="argument"):
        insert_columns(con, "t", COLUMNS, [(1, "x", None, None, None), (2, "x")])


def test_columns_of_one_text_and_of_none_come_back_as_they_were(con: Any) -> None:
    rows = [(n, "same", None, None, ["a"]) for n in range(3)]
    insert_columns(con, "t", COLUMNS, rows)
    insert_columns(con, "t", COLUMNS, [(7, "half \ud800", None, None, None)])
    assert con.execute("select * from t").fetchall() == [
        *rows,
        (7, "half \ufffd", None, None, None),
    ]
