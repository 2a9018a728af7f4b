"""What expires by policy, what keeps its readings, and what is said of a drop that expired."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from fabric_pipeline.errors import NotFoundError, UsageError
from fabric_pipeline.settings import Settings
from fabric_pipeline.store import lake
from fabric_pipeline.store.audit_query import query
from fabric_pipeline.store.ledger import Ledger, LinkCheck, RepairReport
from fabric_pipeline.store.run_mark import at_work, begin, finish
from fabric_pipeline.workflows.accounting import reading_account
from fabric_pipeline.workflows.drop_axis import drop_marks
from fabric_pipeline.workflows.drop_stages import load_incidents
from fabric_pipeline.workflows.fabric_view import load_fabric_view
from fabric_pipeline.workflows.ingest_report import load_report
from fabric_pipeline.workflows.link_view import load_link
from fabric_pipeline.workflows.retention import READINGS, retain
from fabric_pipeline.workflows.verify_ledger import verify_ledger
from fabric_pipeline_tests.pipeline_runs import NOW, ROOT, copy_home, diagnose_without_dagster
from fabric_pipeline_tests.small_drop import BAD_LINKS, write_drop

LATER = NOW + timedelta(days=100)


@pytest.fixture(scope="module")
def read_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A faulty drop and a newer healthy one of the same cluster."""
    folder = tmp_path_factory.mktemp("read")
    settings = Settings(root=ROOT, home=folder / "home")
    diagnose_without_dagster(settings, write_drop(folder / "old", note="old"), dossiers=True)
    new = write_drop(folder / "new", faulty=False, note="new")
    for file in new.iterdir():
        file.write_text(file.read_text().replace("2024-05-06", "2024-05-07"))
    diagnose_without_dagster(settings, new, NOW + timedelta(days=99))
    return folder


@pytest.fixture
def settings(read_once: Path, tmp_path: Path) -> Settings:
    copy_home(read_once / "home", tmp_path / "home")
    return Settings(root=ROOT, home=tmp_path / "home")


def at_rest(settings: Settings) -> None:
    """Every ticket rejected, every link measured clean for an hour after its last error."""
    ledger = Ledger(settings.ledger)
    for row in ledger.tickets():
        ledger.add_review(row.ticket_id, row.draft_sha256, "rejected", "reviewer-1", "no", NOW)
    checks = []
    for record in load_incidents(settings, "old"):
        if record.needs_ticket and record.last_seen is not None:
            start = record.last_seen + timedelta(hours=1)
            end = start + timedelta(hours=1)
            component = record.isolated_component
            checks.append(
                LinkCheck(record.incident_id, "new", component, "clean", start, end, 3600.0)
            )
    ledger.record_link_checks(checks, NOW)


def test_old_readings_go_once_nothing_open_needs_them_and_the_ledger_says_so(
    settings: Settings,
) -> None:
    at_rest(settings)
    sizes = {
        table: lake.head_path(settings.lake, table, "old").stat().st_size for table in READINGS
    }
    planned = retain(settings, LATER, dry_run=True)
    assert {one.table: one.bytes for one in planned.expired} == sizes
    assert set(lake.drops_of(settings.lake, "link_counters")) == {"new", "old"}
    done = retain(settings, LATER)
    assert [(one.drop, one.table, one.rows, one.sha256) for one in done.expired] == [
        (one.drop, one.table, one.rows, one.sha256) for one in planned.expired
    ]
    assert [lake.drops_of(settings.lake, table) for table in READINGS] == [["new"]] * len(READINGS)
    assert Ledger(settings.ledger).expired("old") == done.expired
    told = query(settings, 'SELECT "drop", table_name, rows, policy FROM ledger_expired').rows
    assert told[0] == (
        "old",
        done.expired[0].table,
        done.expired[0].rows,
        "readings older than 90 days",
    )
    assert verify_ledger(settings).problems == []
    assert retain(settings, LATER).expired == []


def test_what_was_found_stays_and_every_door_says_expired(settings: Settings) -> None:
    at_rest(settings)
    dossiers = sorted((path, path.stat().st_mtime_ns) for path in settings.dossiers.rglob("*"))
    retain(settings, LATER)
    assert (
        sorted((path, path.stat().st_mtime_ns) for path in settings.dossiers.rglob("*")) == dossiers
    )
    assert len(load_incidents(settings, "old")) >= 2
    assert load_report(settings, "old").cluster == "larch"
    expected = (
        r"the readings of drop old expired on 2024-10-16 by policy \(readings older than 90 days\)"
    )
    with pytest.raises(NotFoundError, match=expected):
        reading_account(settings, "old")
    view = load_fabric_view(settings, "old")
    assert "expired on 2024-10-16 by policy" in view.notes[0]
    assert not any("no link end was measured" in note for note in view.notes)
    assert view.window_end is not None
    assert {node.state for node in view.nodes} <= {"no_data", "critical", "warning"}
    with pytest.raises(NotFoundError, match=expected):
        load_link(settings, view, BAD_LINKS[0])
    (mark,) = drop_marks(settings, ["old"])
    assert mark.start is not None and mark.state == "critical"  # noqa: PT018


def test_open_incidents_undecided_tickets_and_runs_keep_their_readings(settings: Settings) -> None:
    kept = {one.drop: one.kept_for for one in retain(settings, LATER, dry_run=True).kept}
    assert kept == {"old": "a ticket of it is not decided or not published"}
    ledger = Ledger(settings.ledger)
    for row in ledger.tickets():
        ledger.add_review(row.ticket_id, row.draft_sha256, "rejected", "reviewer-1", "no", NOW)
    record = next(one for one in load_incidents(settings, "old") if one.needs_ticket)
    repaired = RepairReport(
        record.incident_id, "", record.isolated_component, "other", None, "", "", "", "technician-2", NOW
    )  # fmt: skip
    ledger.record_repair(repaired, NOW)
    (why,) = [one.kept_for for one in retain(settings, LATER, dry_run=True).kept]
    assert why == f"incident {record.incident_id} is repaired"
    clean = (NOW + timedelta(hours=1), NOW + timedelta(hours=2), 3600.0)
    check = LinkCheck(record.incident_id, "new", record.isolated_component, "clean", *clean)
    ledger.record_link_checks([check], NOW)
    assert retain(settings, LATER, dry_run=True).kept == []
    begin(settings.home, "old", LATER)
    (why,) = [one.kept_for for one in retain(settings, LATER, dry_run=True).kept]
    assert why == "a run of it is under way or was cut short"
    finish(settings.home, "old")
    with at_work(settings.home, "old"):
        assert retain(settings, LATER, dry_run=True).expired == []
    assert len(retain(settings, LATER, dry_run=True).expired) == len(READINGS)


def test_the_newest_drop_of_a_cluster_stays_however_old(settings: Settings) -> None:
    much_later = LATER + timedelta(days=1000)
    kept = {one.drop: one.kept_for for one in retain(settings, much_later, dry_run=True).kept}
    assert kept["new"] == "it is the newest drop of its cluster"


def test_a_drop_read_again_has_its_readings_back_and_may_expire_again(
    settings: Settings, read_once: Path
) -> None:
    at_rest(settings)
    retain(settings, LATER)
    diagnose_without_dagster(settings, read_once / "old", LATER)
    assert "expired" not in " ".join(load_fabric_view(settings, "old").notes)
    at_rest(settings)
    assert retain(settings, LATER + timedelta(days=50)).expired == []
    again = retain(settings, LATER + timedelta(days=91)).expired
    assert {one.table for one in again} == set(READINGS)
    assert len(Ledger(settings.ledger).expired("old")) == 2 * len(READINGS)


def test_a_kill_between_the_record_and_the_removal_costs_nothing(settings: Settings) -> None:
    at_rest(settings)
    planned = retain(settings, LATER, dry_run=True).expired
    Ledger(settings.ledger).record_expired(planned)
    retain(settings, LATER)
    assert Ledger(settings.ledger).expired() == planned
    assert lake.drops_of(settings.lake, "raw_telemetry") == ["new"]


def test_the_record_cannot_be_edited_unseen(settings: Settings) -> None:
    at_rest(settings)
    retain(settings, LATER)
    with closing(sqlite3.connect(settings.ledger)) as con:
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            con.execute("UPDATE expired SET rows = 0")
        con.execute("DROP TRIGGER expired_no_update")
        con.execute("UPDATE expired SET rows = 0 WHERE seq = 2")
        con.commit()
    problems = verify_ledger(settings).problems
    assert "expired: row 2 does not follow from the rows before it" in problems


def test_leftovers_and_unpacked_archives_are_cleared_away(settings: Settings) -> None:
    young, old = settings.unpacked / ("a" * 64), settings.unpacked / ("b" * 64)
    for folder, days in ((young, 1), (old, 8)):
        folder.mkdir(parents=True)
        moment = (LATER - timedelta(days=days)).timestamp()
        os.utime(folder, (moment, moment))
    half = lake.part_path(settings.lake, "stragglers", "new").with_name(".0123.tmp")
    half.write_bytes(b"")
    os.utime(half, ((LATER - timedelta(days=2)).timestamp(),) * 2)
    assert retain(settings, LATER, dry_run=True).unpacked == [old.name]
    done = retain(settings, LATER)
    assert (done.unpacked, done.leftovers) == ([old.name], 1)
    assert (young.is_dir(), old.exists(), half.exists()) == (True, False, False)


def test_nothing_is_kept_for_less_than_a_day(settings: Settings) -> None:
    with pytest.raises(UsageError, match="at least one day"):
        retain(settings, LATER, keep_days=0)
