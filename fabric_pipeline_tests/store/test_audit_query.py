"""The auditor's query can read the audit file and nothing else, for a limited time."""

from __future__ import annotations

import hashlib
import threading
import time
from pathlib import Path

import duckdb
import pytest

from fabric_pipeline.errors import FabricError, UsageError
from fabric_pipeline.settings import Settings
from fabric_pipeline.store import lake
from fabric_pipeline.store.audit import rebuild_audit
from fabric_pipeline.store.audit_query import query
from fabric_pipeline.store.duck import connect
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline_tests.store.fakes import START, draft, settings


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A warehouse with one draft and one bulk table, never written to by these tests."""
    where = settings(tmp_path_factory.mktemp("audit"))
    Ledger(where.ledger).record_draft(draft(), START)
    lake.write_table(connect(), "SELECT 7 AS n", where.lake, "raw_telemetry", "d1")
    (where.home / "secret.csv").write_text("a\n1\n")
    rebuild_audit(where)
    return where


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT count(*) FROM ledger_drafts", [(1,)]),
        ('SELECT "drop", n FROM raw_telemetry;', [("d1", 7)]),
        ("FROM raw_telemetry SELECT n -- with a remark", [(7,)]),
        ("SELECT 1 /* ; */ ; -- the end", [(1,)]),
        ("WITH one AS (SELECT 1 AS n) SELECT n FROM one", [(1,)]),
        ("VALUES (1), (2) ORDER BY 1 DESC", [(2,), (1,)]),
        ("SELECT ';' AS a, 2 AS a", [(";", 2)]),
        ("SELECT 'é;ü' AS a /* ; é */ ;; -- the end;", [("é;ü",)]),
    ],
)
def test_selects_are_answered(where: Settings, sql: str, rows: list[tuple[object, ...]]) -> None:
    assert query(where, sql).rows == rows


def test_tables_can_be_listed_and_described(where: Settings) -> None:
    assert ("ledger_reviews",) in query(where, "SHOW TABLES").rows
    assert query(where, "DESCRIBE raw_telemetry").rows[0][0] == "n"
    assert query(where, "SUMMARIZE ledger_drafts").rows


def test_long_answers_are_cut_and_say_so(where: Settings) -> None:
    cut = query(where, "SELECT * FROM range(10000000) AS t(i) ORDER BY i", limit=3)
    assert (cut.columns, cut.rows, cut.truncated) == (["i"], [(0,), (1,), (2,)], True)
    assert not query(where, "SELECT * FROM range(3)", limit=3).truncated


OUTSIDE = [
    "SELECT * FROM read_csv('{home}/secret.csv')",
    "SELECT * FROM read_text('{lake}/../secret.csv')",
    "SELECT * FROM '{home}/secret.csv'",
    "SELECT * FROM read_blob('/etc/hostname')",
    "SELECT * FROM glob('{home}/*')",
    "SELECT * FROM 'https://example.org/x.parquet'",
    "SELECT getenv('HOME')",
    "SELECT * FROM draft_of_python",
]
WRITES = [
    "COPY (SELECT 1) TO '{lake}/evil.csv'",
    "COPY ledger_drafts TO '{home}/evil.csv'",
    "WITH x AS (COPY (SELECT 1) TO '{lake}/evil.csv') SELECT * FROM x",
    "SELECT * FROM query('WITH x AS (COPY (SELECT 1) TO ''{lake}/evil.csv'') SELECT * FROM x')",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{lake}/evil.csv'",
    "EXPORT DATABASE '{lake}/evil'",
    "INSERT INTO audit_info VALUES ('a', 'b')",
    "WITH x AS (INSERT INTO audit_info VALUES ('a', 'b') RETURNING 1) SELECT * FROM x",
    "UPDATE ledger_drafts SET draft = ''",
    "DELETE FROM ledger_reviews",
    "CREATE TABLE evil AS SELECT 1",
    "CREATE TEMP TABLE evil AS SELECT 1",
    "DROP TABLE ledger_reviews",
    "ATTACH '{lake}/evil.duckdb'",
    "SET enable_external_access = true",
    "RESET lock_configuration",
    "PRAGMA enable_profiling",
    "CALL force_checkpoint()",
    "INSTALL httpfs",
    "LOAD httpfs",
    "BEGIN",
    "USE memory",
]
NOT_ONE = ["", "  ;  ", "-- nothing", "SELECT 1; SELECT 2", "SELECT 1; DROP TABLE audit_info"]
NONSENSE = [
    "SELEC 1",
    "SELECT 1) AS a, (SELECT 2",
    "SELECT nope FROM audit_info",
    "SELECT * FROM nope",
]


@pytest.mark.parametrize("sql", [*OUTSIDE, *WRITES, *NOT_ONE, *NONSENSE])
def test_everything_else_is_refused_and_leaves_no_trace(where: Settings, sql: str) -> None:
    draft_of_python = [1]
    before = sorted(where.home.rglob("*"))
    content = hashlib.sha256(where.audit.read_bytes()).hexdigest()
    with pytest.raises(UsageError):
        query(where, sql.format(home=where.home, lake=where.lake))
    assert draft_of_python == [1]
    assert sorted(where.home.rglob("*")) == before
    assert hashlib.sha256(where.audit.read_bytes()).hexdigest() == content


def test_the_refusal_says_what_kind_of_statement_it_was(where: Settings) -> None:
    with pytest.raises(UsageError, match="read-only: DELETE is refused"):
        query(where, "DELETE FROM ledger_reviews")
    with pytest.raises(UsageError, match="holds 2 statements"):
        query(where, "SELECT 1; SELECT 2")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(a.range * b.range) FROM range(10000000) AS a, range(10000000) AS b",
        "SELECT * FROM range(100000000000) AS t(i) WHERE i < 0",
    ],
)
def test_a_long_query_is_stopped(where: Settings, sql: str) -> None:
    started = time.monotonic()
    with pytest.raises(FabricError, match=r"longer than 0\.3 s"):
        query(where, sql, timeout_s=0.3)
    assert time.monotonic() - started < 30


def test_limits_have_to_make_sense(where: Settings) -> None:
    for limits in ({"limit": 0}, {"timeout_s": 0.0}):
        with pytest.raises(UsageError, match="above zero"):
            query(where, "SELECT 1", **limits)  # type: ignore[arg-type]


def test_several_threads_may_ask_at_once(where: Settings) -> None:
    answers: list[int] = []

    def ask() -> None:
        answers.append(query(where, "SELECT count(*) FROM raw_telemetry").rows[0][0])

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [1] * 6


def test_a_file_that_is_damaged_is_named(tmp_path: Path) -> None:
    where = settings(tmp_path)
    where.home.mkdir()
    where.audit.write_bytes(b"not a database" * 1000)
    with pytest.raises(FabricError, match="cannot be opened"):
        query(where, "SELECT 1")


def test_a_lake_behind_a_symbolic_link_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    where = settings(tmp_path / "alias")
    lake.write_table(connect(), "SELECT 7 AS n", where.lake, "raw_telemetry", "d1")
    rebuild_audit(where)
    assert query(where, "SELECT n FROM raw_telemetry").rows == [(7,)]


def test_the_file_can_be_opened_without_this_program(where: Settings) -> None:
    with duckdb.connect(str(where.audit), read_only=True) as con:
        assert con.execute("SELECT n FROM raw_telemetry").fetchall() == [(7,)]


def test_a_refusal_counts_lines_of_the_question_and_shows_none_of_ours(where: Settings) -> None:
    with pytest.raises(UsageError) as refused:
        query(where, "SELECT 1,\n nope FROM ledger_drafts", cell_chars=100)
    assert "LINE 2:  nope" in str(refused.value)
    with pytest.raises(UsageError) as memory:
        query(where, "SELECT list(i) FROM range(100000000) AS t(i)", cell_chars=9, memory_mb=64)
    assert "wants more memory" in str(memory.value)
    assert "COLUMNS" not in str(memory.value)
    assert "Possible solutions" not in str(memory.value)


def test_tables_of_a_moved_lake_say_so(tmp_path: Path) -> None:
    where = settings(tmp_path / "before")
    lake.write_table(connect(), "SELECT 7 AS n", where.lake, "raw_telemetry", "d1")
    rebuild_audit(where)
    (tmp_path / "before").rename(tmp_path / "after")
    moved = settings(tmp_path / "after")
    with pytest.raises(UsageError, match="moved or copied"):
        query(moved, "SELECT * FROM raw_telemetry")
