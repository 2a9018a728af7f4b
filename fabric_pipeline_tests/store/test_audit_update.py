"""The audit file that is made from the last one holds the same rows as one that is made from nothing."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.store import lake
from fabric_pipeline.store.audit import rebuild_audit
from fabric_pipeline.store.audit_query import query
from fabric_pipeline.store.duck import connect
from fabric_pipeline.store.ledger import ExpiredTable, Ledger, LinkCheck, RepairReport
from fabric_pipeline_tests.store.fakes import (
    INCIDENT,
    TICKET,
    draft,
    incident,
    later,
    sha,
)
from fabric_pipeline_tests.store.fakes import settings as home_settings

DROPS = ("d1", "d2", "d3")
STEPS = ("read", "gone", "found", "lost", "checked", "repaired", "drafted", "reviewed", "retired", "expired")  # fmt: skip


class Home:
    """A home to which things happen, with a clock of its own."""

    def __init__(self, folder: Path) -> None:
        self.settings = home_settings(folder)
        self.ledger = Ledger(self.settings.ledger)
        self.now = 0

    def happens(self, step: str, drop: str) -> None:
        self.now += 60
        at = later(self.now)
        if step == "read":
            self.ledger.claim_drop(drop, f"/in/{drop}", sha(f"{drop} {self.now}"), at)
            write(self.settings, drop, self.now % 7)
        elif step == "gone":
            shutil.rmtree(lake.part_path(self.settings.lake, "stragglers", drop).parent, True)
        elif step in ("found", "lost"):
            seen = [incident(drop=drop, first_seen=at, last_seen=at)] if step == "found" else []
            self.ledger.record_incidents(drop, seen, at)
        elif step == "checked":
            end = at + timedelta(minutes=40)
            check = LinkCheck(INCIDENT, drop, "c", "clean", at, end, 2400.0)
            self.ledger.record_link_checks([check], at)
        elif step == "repaired":
            self.ledger.record_repair(repair(self.now), at)
        elif step == "drafted":
            self.ledger.record_draft(draft(title=f"Reseat at {self.now}", drop=drop), at)
        elif step == "retired":
            self.ledger.retire_drafts(drop, [], at)
        elif step == "expired":
            gone = ExpiredTable(drop, "link_counters", 1, 2, sha(str(self.now)), "by rule", at)
            self.ledger.record_expired([gone])
        else:
            self.review(at)

    def review(self, at: Any) -> None:
        known = [row for row in self.ledger.tickets() if row.state != "superseded"]
        for row in known:
            self.ledger.add_review(
                row.ticket_id, row.draft_sha256, "rejected", "reviewer-1", "no", at
            )

    def made(self) -> str:
        return str(dict(query(self.settings, "SELECT * FROM audit_info").rows)["made"])


def repair(second: float) -> RepairReport:
    return RepairReport(
        incident_id=INCIDENT, ticket_id=TICKET, component="c", action="swap_cable", step=2, part="cable",
        old_serial="S1", new_serial="S2", repaired_by="technician-2", repaired_at=later(second),
    )  # fmt: skip


def write(where: Settings, drop: str, rows: int) -> None:
    con = connect()
    for table in ("stragglers", "link_counters"):
        empty = f"({TABLES[table].empty_sql()}) AS e"
        con.execute(
            f"CREATE OR REPLACE TABLE one AS SELECT e.* REPLACE ('{drop}' AS \"drop\") "
            f"FROM {empty} RIGHT JOIN range({rows}) ON true"
        )
        lake.write_table(con, "one", where.lake, table, drop)


def contents(audit: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every copied table with its rows in one order, and the words of every table, column and view."""
    with duckdb.connect(str(audit), read_only=True) as con:
        names = [row[0] for row in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        found = {
            name: sorted(con.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr)
            for name in names
            if name != "audit_info"
        }
        for about in (
            "SELECT table_name, comment FROM duckdb_tables()",
            "SELECT view_name, comment, sql FROM duckdb_views() WHERE NOT internal",
            "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE NOT internal",
        ):
            found[about] = sorted(con.execute(about).fetchall(), key=repr)
    return found


@given(
    steps=st.lists(
        st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from(DROPS)), max_size=4), min_size=2, max_size=4
    )
)  # fmt: skip
@settings(
    max_examples=3,
    deadline=None,
    phases=[Phase.generate],  # a shrunk example would take minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_whatever_happened_the_next_file_is_the_one_made_from_nothing(
    tmp_path_factory: pytest.TempPathFactory, steps: list[list[tuple[str, str]]]
) -> None:
    home = Home(tmp_path_factory.mktemp("home"))
    home.happens("read", "d1")
    home.happens("found", "d1")
    rebuild_audit(home.settings)
    for group in steps:
        for step, drop in group:
            home.happens(step, drop)
        rebuild_audit(home.settings)
    renewed = contents(home.settings.audit)
    rebuild_audit(home.settings, anew=True)
    assert renewed == contents(home.settings.audit)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    for step in ("read", "found", "drafted"):
        home.happens(step, "d1")
    rebuild_audit(home.settings)
    return home


def test_a_new_drop_and_a_rerun_replace_their_rows_alone(home: Home) -> None:
    for step, drop in (("read", "d2"), ("read", "d1"), ("lost", "d1"), ("found", "d2")):
        home.happens(step, drop)
    built = rebuild_audit(home.settings)
    assert home.made().startswith("from the file of")
    assert "2 partitions" in home.made()
    renewed = contents(home.settings.audit)
    assert rebuild_audit(home.settings, anew=True).rows == built.rows
    assert home.made().startswith("from nothing")
    assert renewed == contents(home.settings.audit)
    current = query(home.settings, 'SELECT "drop" FROM ledger_incidents WHERE is_current').rows
    assert current == [("d2",)]


def test_a_removed_partition_takes_its_rows_along(home: Home) -> None:
    home.happens("read", "d2")
    rebuild_audit(home.settings)
    home.happens("gone", "d2")
    rebuild_audit(home.settings)
    assert home.made().startswith("from the file of")
    drops = query(home.settings, 'SELECT DISTINCT "drop" FROM stragglers').rows
    assert drops == [("d1",)]


def test_a_first_table_of_its_kind_needs_a_new_file(home: Home) -> None:
    con = connect()
    con.execute(f"CREATE TABLE none AS {TABLES['fabric_events'].empty_sql()}")
    lake.write_table(con, "none", home.settings.lake, "fabric_events", "d1")
    rebuild_audit(home.settings)
    assert home.made().startswith("from nothing")


def test_other_columns_need_a_new_file(home: Home) -> None:
    lake.write_table(connect(), "SELECT 1 AS n", home.settings.lake, "stragglers", "d2")
    rebuild_audit(home.settings)
    assert home.made().startswith("from nothing")
    assert query(home.settings, "SELECT max(n) FROM stragglers").rows == [(1,)]


def test_a_file_that_somebody_wrote_to_is_not_carried_on(home: Home) -> None:
    with duckdb.connect(str(home.settings.audit)) as con:
        con.execute("UPDATE ledger_drafts SET drafter = 'somebody'")
    rebuild_audit(home.settings)
    assert home.made().startswith("from nothing")
    assert query(home.settings, "SELECT DISTINCT drafter FROM ledger_drafts").rows == [("rules",)]


def test_a_ledger_that_lost_rows_is_read_from_its_beginning(home: Home) -> None:
    kept = home.settings.ledger.with_name("backup.sqlite")
    with closing(sqlite3.connect(home.settings.ledger)) as con:
        con.execute("VACUUM INTO ?", [str(kept)])
    home.happens("found", "d2")
    rebuild_audit(home.settings)
    for ending in ("", "-wal", "-shm"):
        Path(f"{home.settings.ledger}{ending}").unlink(missing_ok=True)
    kept.replace(home.settings.ledger)
    rebuild_audit(home.settings)
    assert home.made().startswith("from nothing")
    assert query(home.settings, "SELECT count(*) FROM ledger_incidents").rows == [(1,)]


def test_readers_keep_the_file_they_opened(home: Home) -> None:
    with duckdb.connect(str(home.settings.audit), read_only=True) as con:
        home.happens("read", "d2")
        rebuild_audit(home.settings)
        assert con.execute("SELECT count(*) FROM ledger_drops").fetchall() == [(1,)]
    assert query(home.settings, "SELECT count(*) FROM ledger_drops").rows == [(2,)]


def test_a_view_finds_a_drop_that_lies_in_several_files(home: Home) -> None:
    home.happens("read", "d2")
    con = connect()
    empty = f"({TABLES['link_counters'].empty_sql()}) AS e"
    half = f"SELECT e.* REPLACE ('d2' AS \"drop\") FROM {empty} RIGHT JOIN range(2) ON true"
    lake.write_parts(con, [half, half], home.settings.lake, "link_counters", "d2", {})
    rebuild_audit(home.settings)
    assert home.made().startswith("from the file of")
    rows = query(home.settings, "SELECT count(*) FROM link_counters WHERE \"drop\" = 'd2'").rows
    assert rows == [(4,)]
    home.happens("read", "d3")
    rebuild_audit(home.settings)
    renewed = contents(home.settings.audit)
    rebuild_audit(home.settings, anew=True)
    assert renewed == contents(home.settings.audit)
