"""The small drop run for real by Dagster: what stops, what is green, what the materialisations say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from fabric_pipeline.orchestration.portal_links import PAGES
from fabric_pipeline.schemas.lineage import column_lineage
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.accounting import table_sha256
from fabric_pipeline.workflows.drop_stages import drop_tables
from fabric_pipeline.workflows.inbox import claim
from fabric_pipeline_tests.orchestration.runs import (
    DROP,
    EVERYTHING,
    assert_nothing_went_out,
    failures,
    materialised,
    run,
    settings_of,
    tickets_of,
    verdicts,
)
from fabric_pipeline_tests.pipeline_runs import NOW
from fabric_pipeline_tests.small_drop import BAD_LINKS

REVIEW = "ticket_drafts:human_review"
MADE = [name for name in TABLES if name != "published_tickets"]


@dataclass(frozen=True)
class RealRuns:
    """The small drop on a fresh home: first everything at once, then the job `diagnose_drop`."""

    settings: Settings
    instance: dg.DagsterInstance
    everything: dg.ExecuteInProcessResult
    drafted_by_everything: tuple[str, ...]
    processed_by_everything: bool
    diagnose: dg.ExecuteInProcessResult

    def shown(self, table: str) -> dg.AssetMaterialization:
        """What Dagster shows of a table that the diagnosis made."""
        (event,) = [
            event
            for event in self.diagnose.get_asset_materialization_events()
            if event.asset_key == dg.AssetKey(table)
        ]
        return event.step_materialization_data.materialization


@pytest.fixture(scope="module")
def runs(small_drop: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealRuns]:
    """Both runs, made once; tests only look."""
    settings = settings_of(tmp_path_factory.mktemp("real") / "warehouse")
    ledger = Ledger(settings.ledger)
    claim(ledger, small_drop, NOW)
    with pytest.MonkeyPatch.context() as patch, dg.DagsterInstance.ephemeral() as instance:
        patch.setenv("FABRIC_HOME", str(settings.home))
        instance.add_dynamic_partitions("drops", [DROP])
        everything = run(EVERYTHING, instance)
        drafted = tuple(tickets_of(settings))
        processed = ledger.drop(DROP).processed_sha256 != ""
        diagnose = run("diagnose_drop", instance)
        yield RealRuns(settings, instance, everything, drafted, processed, diagnose)


def test_a_full_run_stops_behind_the_drafts(runs: RealRuns) -> None:
    assert not runs.everything.success
    assert verdicts(runs.everything)[REVIEW] == (False, "ERROR")
    assert set(failures(runs.everything)) == {"ticket_drafts_human_review"}
    assert len(runs.drafted_by_everything) == 2
    assert "ticket_drafts" in materialised(runs.everything)
    assert "published_tickets" not in materialised(runs.everything)
    assert_nothing_went_out(runs.settings)


def test_a_diagnosis_is_green_and_says_that_drafts_wait(runs: RealRuns) -> None:
    assert runs.diagnose.success
    others = verdicts(runs.diagnose)
    assert others.pop(REVIEW) == (False, "WARN")
    assert {passed for passed, _ in others.values()} == {True}
    assert materialised(runs.diagnose) == {*MADE, "audit_database"}
    assert_nothing_went_out(runs.settings)


def test_a_second_run_keeps_the_drafts_as_they_are(runs: RealRuns) -> None:
    assert tuple(tickets_of(runs.settings)) == runs.drafted_by_everything
    assert {row.revision for row in Ledger(runs.settings.ledger).tickets(DROP)} == {1}


def test_a_drop_counts_as_processed_only_when_it_went_to_the_end(runs: RealRuns) -> None:
    assert not runs.processed_by_everything
    row = Ledger(runs.settings.ledger).drop(DROP)
    assert row.processed_sha256 == row.content_sha256


@pytest.mark.parametrize("table", MADE)
def test_a_materialisation_states_rows_lineage_and_version(runs: RealRuns, table: str) -> None:
    shown = runs.shown(table)
    with drop_tables(runs.settings, DROP, [table]) as connection:
        rows = connection.execute(f"select count(*) from {table}").fetchall()[0][0]
    assert shown.partition == DROP
    assert shown.metadata["dagster/row_count"].value == rows
    version = (shown.tags or {})["dagster/data_version"]
    assert version == table_sha256(runs.settings, table, DROP)[:32]
    lineage = shown.metadata["dagster/column_lineage"].value
    assert isinstance(lineage, dg.TableColumnLineage)
    said = {
        column: {(dep.asset_key.to_user_string(), dep.column_name) for dep in deps}
        for column, deps in lineage.deps_by_column.items()
    }
    assert said == {column: set(deps) for column, deps in column_lineage(TABLES[table]).items()}


def test_every_reading_is_accounted_for(runs: RealRuns) -> None:
    (account,) = [
        one
        for one in runs.diagnose.get_asset_check_evaluations()
        if one.check_name == "nothing_lost"
    ]
    counted = {name: value.value for name, value in account.metadata.items()}
    assert counted == {"read": 960, "accepted": 960, "quarantined": 0, "uncounted": 0}


def test_what_a_person_wants_to_see_first_is_shown(runs: RealRuns) -> None:
    files = runs.shown("raw_telemetry").metadata["files"]
    assert isinstance(files, dg.TableMetadataValue)
    assert [record.data["format"] for record in files.records] == [
        "fabric_collectives",
        "fabric_counters",
        "fabric_runs",
        "fabric_topology",
    ]
    for table in ("spike_detections", "stragglers"):
        assert "data:image/svg+xml;base64" in str(runs.shown(table).metadata["picture"].value)
    incidents = runs.shown("incident_records").metadata["incidents"]
    assert isinstance(incidents, dg.TableMetadataValue)
    found = {record.data["component"]: record.data["fault"] for record in incidents.records}
    assert found == dict.fromkeys(BAD_LINKS, "physical_link_degradation")
    assert runs.shown("ticket_drafts").metadata["drafters"].value == ["rules"]


def test_the_cost_of_each_step_is_shown_and_can_be_compared(runs: RealRuns) -> None:
    shown = runs.shown("raw_telemetry").metadata
    read: dict[str, Any] = {name: value.value for name, value in shown.items()}
    files = runs.shown("raw_telemetry").metadata["files"]
    assert isinstance(files, dg.TableMetadataValue)
    rows: list[Any] = [record.data for record in files.records]
    assert read["readings"] == sum(row["readings"] for row in rows) > 0
    assert read["files_read"] == len(files.records)
    assert read["bytes_read"] > 0
    assert read["readings_per_second"] == pytest.approx(
        read["readings"] / read["seconds"], rel=0.01
    )
    assert read["megabytes_per_second"] > 0
    for table in ("link_counters", "spike_detections", "incident_records", "ticket_drafts"):
        took: Any = runs.shown(table).metadata["seconds"].value
        assert took > 0


def test_tables_lead_back_to_the_page_of_the_portal(runs: RealRuns) -> None:
    for table, page in PAGES.items():
        if table in MADE:
            said = runs.shown(table).metadata["portal"].value
            assert said == f"http://127.0.0.1:8321{page}?drop={DROP}"
    (review,) = [
        one
        for one in runs.diagnose.get_asset_check_evaluations()
        if one.check_name == "human_review"
    ]
    assert review.metadata["portal"].value == f"http://127.0.0.1:8321/queue?drop={DROP}"


def test_dossiers_name_the_run_that_made_them(runs: RealRuns) -> None:
    with drop_tables(runs.settings, DROP, ["evidence_dossiers"]) as connection:
        paths = connection.execute("select path from evidence_dossiers").fetchall()
    assert len(paths) == 2
    for (path,) in paths:
        texts = [
            file.read_text("utf-8")
            for file in Path(path).rglob("*")
            if file.suffix in (".json", ".txt")
        ]
        assert any(runs.diagnose.run_id in text for text in texts)
