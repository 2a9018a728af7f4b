"""Whether what is shown belongs to one reading: missing and older tables, running and stopped runs."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.lake import part_path
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.store.run_mark import at_work, begin
from fabric_pipeline.workflows.drop_progress import CHAIN, drop_progress
from fabric_pipeline_tests.workflows.fabric_lake import Lake, healthy_lake, topology

NOW = datetime(2031, 5, 6, 12, 0, tzinfo=UTC)
LONG_AGO = timedelta(days=3)


def written(settings: Settings, table: str, ago: timedelta) -> None:
    at = (NOW - ago).timestamp()
    os.utime(part_path(settings.lake, table, "d1"), (at, at))


def whole(home: Path, ago: timedelta = LONG_AGO) -> Settings:
    settings = healthy_lake(home).settings
    for place, table in enumerate(CHAIN):
        written(settings, table, ago - timedelta(minutes=place))
    return settings


def test_a_whole_run_is_complete(tmp_path: Path) -> None:
    assert drop_progress(whole(tmp_path), "d1").is_complete


def test_new_readings_under_old_findings_are_a_run_and_later_a_stopped_one(tmp_path: Path) -> None:
    settings = whole(tmp_path)
    written(settings, "link_counters", timedelta(minutes=1))
    with at_work(settings.home, "d1"):
        progress = drop_progress(settings, "d1")
    assert (progress.state, progress.behind) == (
        "running",
        ("spike_detections", "incident_records"),
    )
    later = drop_progress(settings, "d1")
    assert (later.state, later.behind) == ("stopped", progress.behind)


def test_a_copied_home_is_no_run_whatever_its_times_say(tmp_path: Path) -> None:
    settings = whole(tmp_path / "first")
    ledger = Ledger(settings.ledger)
    ledger.claim_drop("d1", tmp_path / "d1", "a" * 64, NOW - LONG_AGO)
    ledger.mark_processed("d1", "a" * 64, NOW - LONG_AGO)
    with at_work(settings.home, "d1"):  # copied while a run held it: its lock stays behind
        shutil.copytree(settings.home, tmp_path / "copy")
    copied = Settings(root=settings.root, home=tmp_path / "copy")
    os.utime(part_path(copied.lake, "link_counters", "d1"))
    assert drop_progress(copied, "d1").is_complete


def test_after_a_kill_tables_of_before_are_named_however_close_they_are(tmp_path: Path) -> None:
    settings = whole(tmp_path)
    ledger = Ledger(settings.ledger)
    ledger.claim_drop("d1", tmp_path / "d1", "a" * 64, NOW - LONG_AGO)
    ledger.mark_processed("d1", "a" * 64, NOW - LONG_AGO)
    for place, table in enumerate(CHAIN):
        written(settings, table, timedelta(seconds=20 + place))
    begin(settings.home, "d1", NOW - timedelta(seconds=10))  # read again right after, and killed
    written(settings, "fabric_topology", timedelta(seconds=5))
    progress = drop_progress(settings, "d1")
    assert (progress.state, progress.behind) == ("stopped", CHAIN[1:])
    (settings.home / ".runs" / "d1.json").write_text(json.dumps({"pid": 1}))  # of another version
    assert drop_progress(settings, "d1").is_complete


def test_files_that_were_copied_in_another_order_are_complete(tmp_path: Path) -> None:
    settings = whole(tmp_path, timedelta(minutes=1))
    for place, table in enumerate(CHAIN):
        written(settings, table, timedelta(seconds=place))
    assert drop_progress(settings, "d1").is_complete


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    settings = Lake(tmp_path).topology(topology()).settings
    written(settings, "fabric_topology", LONG_AGO)
    progress = drop_progress(settings, "d1")
    assert (progress.state, progress.behind) == ("stopped", CHAIN[1:])


def test_the_ledger_outweighs_the_times_of_files_and_knows_what_is_being_read(
    tmp_path: Path,
) -> None:
    settings = whole(tmp_path)
    ledger = Ledger(settings.ledger)
    folder = tmp_path / "d1"
    ledger.claim_drop("d1", folder, "a" * 64, NOW - LONG_AGO)
    written(settings, "link_counters", timedelta(hours=1))
    assert drop_progress(settings, "d1").state == "stopped"
    ledger.mark_processed("d1", "a" * 64, NOW - LONG_AGO)
    assert drop_progress(settings, "d1").is_complete
    ledger.claim_drop("next", tmp_path / "next", "b" * 64, NOW - timedelta(minutes=2))
    assert drop_progress(settings, "d1").unread == ()
    with at_work(settings.home, "next"):
        assert drop_progress(settings, "d1").unread == ("next",)
    assert drop_progress(settings, "d1").unread == ()
