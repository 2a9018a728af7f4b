"""Partitions of the lake: what is written is read back, and nothing leaves its folder."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.errors import FabricError, UsageError
from fabric_pipeline.store import lake
from fabric_pipeline.store.duck import connect, scalar


def test_a_partition_is_read_back_as_written(tmp_path: Path) -> None:
    con = connect()
    con.execute("CREATE TABLE mine AS SELECT 'd1' AS \"drop\", i AS n FROM range(3) AS t(i)")
    written = lake.write_table(con, "mine", tmp_path, "link_counters", "d1")
    assert written.rows == 3
    assert lake.attach(con, tmp_path, "link_counters", "d1")
    assert lake.read_rows(con, "SELECT * FROM link_counters ORDER BY n") == [
        {"drop": "d1", "n": 0},
        {"drop": "d1", "n": 1},
        {"drop": "d1", "n": 2},
    ]


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    sql = "SELECT i % 7 AS a, i FROM range(200000) AS t(i) ORDER BY a, i"
    first = lake.write_table(connect(), sql, tmp_path, "t", "d1")
    second = lake.write_table(connect(), sql, tmp_path, "t", "d1")
    assert first.sha256 == second.sha256


def test_a_failed_write_leaves_the_old_rows(tmp_path: Path) -> None:
    con = connect()
    lake.write_table(con, "SELECT 1 AS n", tmp_path, "t", "d1")
    with pytest.raises(Exception, match="Conversion"):
        lake.write_table(con, "SELECT CAST('x' AS INTEGER) AS n", tmp_path, "t", "d1")
    assert lake.attach(con, tmp_path, "t", "d1")
    assert scalar(con, "SELECT n FROM t") == 1
    assert [path.name for path in (tmp_path / "t" / "drop=d1").iterdir()] == ["part.parquet"]


def test_all_drops_together_carry_their_id_and_differing_columns(tmp_path: Path) -> None:
    con = connect()
    lake.write_table(con, "SELECT 1 AS n", tmp_path, "t", "d1")
    lake.write_table(
        con, "SELECT '2026-1' AS \"drop\", 2 AS n, 'x' AS more", tmp_path, "t", "2026-1"
    )
    assert lake.attach_all(con, tmp_path, "t")
    rows = lake.read_rows(con, 'SELECT "drop", n, more FROM t ORDER BY n')
    assert rows == [
        {"drop": "d1", "n": 1, "more": None},
        {"drop": "2026-1", "n": 2, "more": "x"},
    ]
    assert lake.drops_of(tmp_path, "t") == ["2026-1", "d1"]
    assert lake.tables_of(tmp_path) == ["t"]


def test_missing_partitions_are_said_not_raised(tmp_path: Path) -> None:
    con = connect()
    assert not lake.attach(con, tmp_path, "t", "d1")
    assert not lake.attach_all(con, tmp_path, "t")
    assert lake.drops_of(tmp_path, "t") == []
    assert lake.tables_of(tmp_path / "nowhere") == []
    assert not lake.remove(tmp_path, "t", "d1")


def test_a_removed_partition_is_gone(tmp_path: Path) -> None:
    con = connect()
    lake.write_table(con, "SELECT 1 AS n", tmp_path, "t", "d1")
    assert lake.remove(tmp_path, "t", "d1")
    assert lake.drops_of(tmp_path, "t") == []


def test_odd_folder_names_are_paths_not_patterns(tmp_path: Path) -> None:
    home = tmp_path / "o'dd [a-z] *?" / "lake"
    con = connect()
    lake.write_table(con, "SELECT 5 AS n", home, "t", "d1")
    assert lake.attach(con, home, "t", "d1")
    assert lake.attach_all(con, home, "t", as_name="every one")
    assert scalar(con, 'SELECT sum(n) FROM "every one"') == 5


def test_a_view_sees_a_partition_that_was_replaced(tmp_path: Path) -> None:
    con = connect()
    lake.write_table(con, "SELECT 1 AS n", tmp_path, "t", "d1")
    lake.attach(con, tmp_path, "t", "d1")
    lake.write_table(connect(), "SELECT 2 AS n", tmp_path, "t", "d1")
    assert scalar(con, "SELECT n FROM t") == 2


def test_nan_and_null_read_back_as_none_and_python_names_are_not_tables(tmp_path: Path) -> None:
    con = connect()
    assert lake.read_rows(con, "SELECT 'nan'::DOUBLE AS a, NULL AS b") == [{"a": None, "b": None}]
    assert scalar(con, "SELECT 1 WHERE false") is None
    with pytest.raises(Exception, match="does not exist"):
        con.execute("SELECT * FROM tmp_path")


@given(st.text(max_size=120))
def test_only_plain_drop_ids_become_paths(drop: str) -> None:
    root = Path("/lake")
    if lake.DROP_ID.fullmatch(drop):
        assert lake.part_path(root, "t", drop).parent.parent == root / "t"
    else:
        with pytest.raises(UsageError):
            lake.part_path(root, "t", drop)


@pytest.mark.parametrize("drop", ["", ".", "..", "../x", "a/b", "A", "a\n", "a b", "a" * 101, "-a"])
def test_ids_that_could_leave_the_folder_are_refused(drop: str) -> None:
    with pytest.raises(UsageError):
        lake.part_path(Path("/lake"), "t", drop)
    with pytest.raises(UsageError):
        lake.part_path(Path("/lake"), drop or "T", "d1")


def test_what_is_not_kept_after_a_look_leaves_the_old_rows(tmp_path: Path) -> None:
    con = connect()
    lake.write_table(con, "SELECT 1 AS n", tmp_path, "t", "d1")
    with lake.pending_table(con, "SELECT 2 AS n", tmp_path, "t", "d1") as pending:
        lake.attach_file(con, pending.path, "looked_at")
        assert (pending.rows, lake.read_rows(con, "FROM looked_at")) == (1, [{"n": 2}])
    assert [path.name for path in (tmp_path / "t" / "drop=d1").iterdir()] == [lake.PART_FILE]
    assert lake.attach(con, tmp_path, "t", "d1")
    assert lake.read_rows(con, "FROM t") == [{"n": 1}]
    with lake.pending_table(con, "SELECT 3 AS n", tmp_path, "t", "d1") as pending:
        pending.keep()
    assert lake.read_rows(con, "FROM t") == [{"n": 3}]


def rows_of(where: Path) -> list[int]:
    con = connect()
    assert lake.attach(con, where, "t", "d1")
    assert lake.attach_all(con, where, "t", as_name="every")
    rows = [row[0] for row in con.execute("SELECT n FROM t").fetchall()]
    assert [row[0] for row in con.execute("SELECT n FROM every ORDER BY n").fetchall()] == rows
    return rows


def test_parts_take_the_place_of_others_whole_and_killed_ones_are_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    con, folder = connect(), tmp_path / "t" / "drop=d1"
    lake.write_table(con, "SELECT 1 AS n", tmp_path, "t", "d1")
    lake.write_parts(con, ["SELECT 2 AS n", "SELECT 3 AS n"], tmp_path, "t", "d1", {"of": "two"})
    assert rows_of(tmp_path) == [2, 3]
    assert lake.drops_of(tmp_path, "t") == ["d1"]
    assert lake.listing(lake.head_path(tmp_path, "t", "d1"))["said"]["of"] == "two"
    with monkeypatch.context() as patch:
        patch.setattr(lake, "keep_parts", lambda *_: sys.exit())  # as if it were killed there
        with pytest.raises(SystemExit):
            lake.write_parts(con, ["SELECT 4 AS n", "SELECT 5 AS n"], tmp_path, "t", "d1", {})
    assert rows_of(tmp_path) == [2, 3]
    assert len(list(folder.glob("part-*.parquet"))) == 4
    lake.sweep(tmp_path, "d1")
    assert len(list(folder.glob("part-*.parquet"))) == 2
    lake.write_table(con, "SELECT 6 AS n", tmp_path, "t", "d1")
    assert rows_of(tmp_path) == [6]
    lake.sweep(tmp_path, "d1")
    assert [path.name for path in folder.iterdir()] == [lake.PART_FILE]


def test_a_list_of_parts_that_names_anything_else_is_refused(tmp_path: Path) -> None:
    lake.write_parts(connect(), ["SELECT 2 AS n"], tmp_path, "t", "d1", {})
    head = lake.head_path(tmp_path, "t", "d1")
    head.write_text(head.read_text().replace("part-00000-", "../../other/part-00000-"))
    with pytest.raises(FabricError, match="names other files than parts"):
        lake.attach(connect(), tmp_path, "t", "d1")
