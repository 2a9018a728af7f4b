"""The audit file: what it holds, that it can be swapped under readers, and the export."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

import duckdb
import pytest

from fabric_pipeline.errors import FabricError, NotFoundError, UsageError
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.store import lake
from fabric_pipeline.store.audit import export, rebuild_audit
from fabric_pipeline.store.audit_query import query
from fabric_pipeline.store.duck import connect
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline_tests.store.fakes import (
    START,
    TICKET,
    draft,
    incident,
    later,
    settings,
    sha,
)
from fabric_pipeline_tests.store.workers import leave_a_write_ahead_log, read_in_a_loop, rebuild

LINK = "calc-07:gpu2/nvlink-5"
COUNTERS = (
    "SELECT * REPLACE ('{drop}' AS \"drop\", 'calc-07' AS node, 'gpu2/nvlink-5' AS interface, "
    "'ok' AS quality) FROM empty RIGHT JOIN range({rows}) ON true"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def write_counters(where: Settings, drop: str, rows: int = 3) -> None:
    con = connect()
    con.execute(f"CREATE TABLE empty AS {TABLES['link_counters'].empty_sql()}")
    sql = COUNTERS.format(drop=drop, rows=rows).replace("SELECT *", "SELECT empty.*")
    lake.write_table(con, sql, where.lake, "link_counters", drop)


def fill(where: Settings) -> Ledger:
    """Three drops: accused, measured and clean, accused again; one ticket approved and published."""
    ledger = Ledger(where.ledger)
    for second, drop in enumerate(("d1", "d2", "d3")):
        ledger.claim_drop(drop, f"/in/{drop}", sha(drop), later(second))
        found = [] if drop == "d2" else [incident(drop=drop)]
        ledger.record_incidents(drop, found, later(second))
        write_counters(where, drop)
    ledger.record_draft(draft(), START)
    review = ledger.add_review(TICKET, draft().sha256, "approved", "Mara", "fits", later(1))
    ledger.record_publication(TICKET, draft().sha256, review.seq, "Mara", later(2), "x/ticket.json")
    return ledger


def test_an_empty_warehouse_has_every_table_and_view(home: Path) -> None:
    built = rebuild_audit(settings(home))
    assert built.left_out == {}
    assert set(TABLES) <= set(built.tables)
    for table in built.tables:
        assert query(settings(home), f"SELECT * FROM {table}").columns


def test_bulk_tables_are_views_and_small_ones_copies(home: Path) -> None:
    where = settings(home)
    fill(where)
    built = rebuild_audit(where)
    assert "link_counters" in built.views
    assert built.rows["incident_records"] == 0
    assert built.rows["ledger_incidents"] == 2
    write_counters(where, "d4")
    assert query(where, 'SELECT count(DISTINCT "drop") FROM link_counters').rows == [(4,)]


def test_every_table_view_and_column_is_explained(home: Path) -> None:
    where = settings(home)
    fill(where)
    rebuild_audit(where)
    silent = query(
        where,
        "SELECT table_name FROM duckdb_tables() WHERE comment IS NULL AND database_name = 'audit' "
        "UNION SELECT view_name FROM duckdb_views() "
        "WHERE comment IS NULL AND database_name = 'audit' AND NOT internal",
    )
    assert silent.rows == []
    unexplained = query(
        where,
        "SELECT c.table_name, c.column_name FROM duckdb_columns() AS c "
        "JOIN duckdb_tables() AS t ON t.table_name = c.table_name "
        "WHERE c.comment IS NULL AND c.database_name = 'audit'",
    )
    assert unexplained.rows == []


def test_the_ready_made_views_answer(home: Path) -> None:
    where = settings(home)
    fill(where)
    rebuild_audit(where)
    approved = query(
        where, "SELECT ticket_id, reviewer, component, published_at FROM who_approved_what"
    )
    assert approved.rows == [(TICKET, "Mara", LINK, later(2))]
    evidence = query(where, "SELECT file, line, claims FROM evidence_behind_ticket")
    assert evidence.rows == [("a.csv", 4, ["replay counts rise"])]
    worst = query(where, "SELECT component, drops, gpu_hours_lost FROM worst_links")
    assert worst.rows == [(LINK, 2, 25.0)]
    overview = query(where, 'SELECT "drop", faults, tickets, published FROM drop_overview')
    assert overview.rows == [("d1", 1, 1, 1), ("d2", None, None, None), ("d3", 1, None, None)]
    facts = dict(query(where, "SELECT * FROM audit_info").rows)
    assert facts["chain_problems"] == "none"


def test_a_link_is_back_only_after_a_drop_that_measured_it(home: Path) -> None:
    where = settings(home)
    fill(where)
    rebuild_audit(where)
    back = "SELECT * FROM links_repaired_and_back"
    assert query(where, back).rows == [(LINK, "d1", "d3", 1, 0, 0)]
    lake.remove(where.lake, "link_counters", "d2")
    assert query(where, back).rows == []


def test_quarantine_is_summed_up(home: Path) -> None:
    where = settings(home)
    con = connect()
    con.execute(f"CREATE TABLE refused AS {TABLES['quarantined_telemetry'].empty_sql()}")
    con.execute(
        "INSERT INTO refused BY NAME SELECT 'd1' AS \"drop\", 'a.csv' AS file, n AS line, "
        "'no unit' AS rule FROM range(5, 9) AS t(n)"
    )
    lake.write_table(con, "refused", where.lake, "quarantined_telemetry", "d1")
    rebuild_audit(where)
    rows = query(where, "SELECT rule, refused, first_line, last_line FROM quarantine_summary").rows
    assert rows == [("no unit", 4, 5, 8)]


def test_tables_of_another_version_leave_out_a_view_and_say_so(home: Path) -> None:
    where = settings(home)
    lake.write_table(connect(), "SELECT 1 AS n", where.lake, "quarantined_telemetry", "d1")
    built = rebuild_audit(where)
    assert "file" in built.left_out["quarantine_summary"]
    assert query(where, "SELECT n FROM quarantined_telemetry").rows == [(1,)]


def test_a_broken_partition_leaves_the_old_file_in_place(home: Path) -> None:
    where = settings(home)
    fill(where)
    rebuild_audit(where)
    broken = lake.part_path(where.lake, "fabric_events", "d1")
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"PAR1 and then nothing")
    with pytest.raises(FabricError, match="fabric_events"):
        rebuild_audit(where)
    assert query(where, "SELECT count(*) FROM ledger_drafts").rows == [(1,)]
    assert [path.name for path in where.home.glob(".*.tmp*")] == []


def test_a_log_left_by_a_killed_session_is_not_replayed(home: Path) -> None:
    where = settings(home)
    rebuild_audit(where)
    process = multiprocessing.get_context("spawn").Process(
        target=leave_a_write_ahead_log, args=(where.audit,)
    )
    process.start()
    process.join(30)
    log = where.audit.with_name("audit.duckdb.wal")
    assert log.exists()
    rebuild_audit(where)
    assert not log.exists()
    assert ("stranger",) not in query(where, "SHOW TABLES").rows


def test_readers_and_two_builders_do_not_disturb_each_other(home: Path) -> None:
    where = settings(home)
    fill(where)
    rebuild_audit(where)
    stop, report = home / "stop", home / "report"
    context = multiprocessing.get_context("spawn")
    reader = context.Process(target=read_in_a_loop, args=(home, stop, report))
    builder = context.Process(target=rebuild, args=(home, 2))
    reader.start()
    builder.start()
    wal = where.audit.with_name("audit.duckdb.wal")
    for _ in range(2):
        wal.write_bytes(b"")  # as a session opened for writing leaves it
        rebuild_audit(where)
    builder.join(60)
    time.sleep(0.1)
    stop.touch()
    reader.join(60)
    asked, _, wrong = report.read_text().partition(" ")
    assert (builder.exitcode, wrong) == (0, "")
    assert int(asked) > 0
    assert not wal.exists()


def test_leftovers_of_a_killed_build_are_removed(home: Path) -> None:
    where = settings(home)
    where.home.mkdir(parents=True)
    leftover = where.home / ".audit.duckdb.0123.tmp.wal"
    leftover.touch()
    rebuild_audit(where)
    assert not leftover.exists()


def test_the_export_needs_no_other_file(home: Path) -> None:
    where = settings(home)
    fill(where)
    out = home / "out" / "copy.duckdb"
    built = export(where, out)
    lake.remove(where.lake, "link_counters", "d1")
    assert built.rows["link_counters"] == 9
    with duckdb.connect(str(out), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM link_counters").fetchall() == [(9,)]
        assert len(con.execute("SELECT * FROM links_repaired_and_back").fetchall()) == 1
    with pytest.raises(UsageError, match="exists already"):
        export(where, out)
    assert export(where, out, overwrite=True).rows["link_counters"] == 6


def test_a_missing_file_is_said_to_be_missing(home: Path) -> None:
    with pytest.raises(NotFoundError, match="does not exist"):
        query(settings(home), "SELECT 1")
