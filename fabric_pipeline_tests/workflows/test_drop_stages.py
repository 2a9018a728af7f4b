"""The stages over the lake: same input same bytes, broken tables go nowhere, missing ones are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.duck import session
from fabric_pipeline.store.lake import part_path
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.accounting import table_sha256
from fabric_pipeline.workflows.drop_stages import (
    drop_tables,
    incident_stage,
    ingest_stage,
    load_incidents,
    write_checked,
)
from fabric_pipeline.workflows.ingest_report import load_report
from fabric_pipeline.workflows.timelines import spike_timeline, straggler_timeline
from fabric_pipeline_tests.pipeline_runs import NOW, ROOT, diagnose_without_dagster
from fabric_pipeline_tests.small_drop import BAD_LINKS, write_drop

DROP = "small"
FOUND_AGAIN = [name for name in TABLES if name != "published_tickets"]


def test_the_same_drop_gives_the_same_tables(
    diagnosed_once: Settings, small_drop: Path, tmp_path: Path
) -> None:
    again = Settings(root=ROOT, home=tmp_path / "again")
    diagnose_without_dagster(again, small_drop)
    hashes = {name: table_sha256(diagnosed_once, name, DROP) for name in FOUND_AGAIN}
    assert {name: table_sha256(again, name, DROP) for name in FOUND_AGAIN} == hashes
    assert "" not in hashes.values()


def test_both_bad_links_are_found_and_nothing_else(diagnosed_once: Settings) -> None:
    records = load_incidents(diagnosed_once, DROP)
    assert {record.isolated_component for record in records if record.needs_ticket} == set(
        BAD_LINKS
    )
    for record in records:
        assert record.degradation_pct == pytest.approx(150, abs=1)
        assert record.place.rack == "r1"


def test_the_report_of_reading_is_kept(diagnosed_once: Settings) -> None:
    report = load_report(diagnosed_once, DROP)
    assert [(file.name, file.readings, file.problem) for file in report.files] == [
        ("collectives.csv", 480, ""),
        ("counters.csv", 960, ""),
        ("runs.jsonl", 0, ""),
        ("topology.json", 0, ""),
    ]
    assert report.content_sha256 == Ledger(diagnosed_once.ledger).drop(DROP).content_sha256
    assert (report.cluster, report.problems, report.conflicts) == ("larch", [], [])


def test_a_healthy_drop_has_no_incident_to_act_on(tmp_path: Path) -> None:
    settings = Settings(root=ROOT, home=tmp_path / "warehouse")
    drop = diagnose_without_dagster(settings, write_drop(tmp_path / "calm", faulty=False))
    assert [record for record in load_incidents(settings, drop) if record.needs_ticket] == []
    assert Ledger(settings.ledger).drafts_of_drop(drop) == []


def test_a_fault_that_is_no_longer_found_retires_its_draft(tmp_path: Path) -> None:
    settings, drop = Settings(root=ROOT, home=tmp_path / "warehouse"), tmp_path / "d"
    diagnose_without_dagster(settings, write_drop(drop))
    assert len(Ledger(settings.ledger).drafts_of_drop("d")) == 2
    diagnose_without_dagster(settings, write_drop(drop, faulty=False))
    assert Ledger(settings.ledger).drafts_of_drop("d") == []
    assert {row.state for row in Ledger(settings.ledger).tickets("d")} == {"superseded"}


def test_a_table_that_breaks_its_schema_is_not_written_and_nothing_stale_stays(
    diagnosed: Settings,
) -> None:
    assert table_sha256(diagnosed, "stragglers", DROP)
    connection = session()
    try:
        connection.execute(
            f"create temp table stragglers as {TABLES['stragglers'].empty_sql().replace('where false', '')}"
        )
        result = write_checked(connection, diagnosed, "stragglers", DROP)
    finally:
        connection.close()
    assert (result.rows, result.sha256) == (0, "")
    assert {"run", "interval"} <= {violation.column for violation in result.violations}
    assert not part_path(diagnosed.lake, "stragglers", DROP).exists()


def test_a_missing_table_is_named(diagnosed: Settings) -> None:
    part_path(diagnosed.lake, "link_counters", DROP).unlink()
    with (
        pytest.raises(NotFoundError, match="no table link_counters"),
        drop_tables(diagnosed, DROP, ["raw_telemetry", "link_counters"]),
    ):
        pass
    with pytest.raises(NotFoundError, match="link_counters"):
        incident_stage(diagnosed, DROP, NOW)


@pytest.mark.parametrize("load", [load_incidents, load_report])
def test_a_drop_that_was_never_run_says_so(diagnosed: Settings, load: object) -> None:
    assert callable(load)
    with pytest.raises(NotFoundError, match="drop other") as error:
        load(diagnosed, "other")
    assert "fabric-pipeline run" in error.value.remedy


def test_a_drop_that_was_moved_away_says_so(diagnosed: Settings, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no longer there"):
        ingest_stage(diagnosed, DROP, tmp_path / "gone", NOW)


def test_timelines_show_the_bad_links_and_slow_runs(diagnosed_once: Settings) -> None:
    spikes = spike_timeline(diagnosed_once, DROP)
    assert {name for name, _, _, _ in spikes} == set(BAD_LINKS)
    assert spikes[0][0] == BAD_LINKS[0]  # the busiest first
    assert all(start < end for _, start, end, _ in spikes)
    slow = straggler_timeline(diagnosed_once, DROP)
    assert {name for name, _, _, _ in slow} == {"train-calc-r1-n1 tp-0", "train-calc-r1-n2 tp-0"}
    assert all(grave for _, _, _, grave in slow)
