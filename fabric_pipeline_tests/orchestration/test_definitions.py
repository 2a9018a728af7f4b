"""The asset graph as Dagster loads it: a snapshot of groups, dependencies and checks, and what is on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg
import pytest

from fabric_pipeline.orchestration.pull import hourly_pull
from fabric_pipeline.orchestration.table_metadata import OWNERS
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline_tests.orchestration.runs import definitions

if TYPE_CHECKING:
    from dagster._core.definitions.assets.graph.asset_graph import AssetGraph

SCHEMA = "fits_its_schema"
INGEST, DIAGNOSE, DISPATCH, AUDIT = "ingest", "diagnose", "dispatch", "audit"
# asset -> group, dependencies, checks
GRAPH: dict[str, tuple[str, set[str], set[str]]] = {
    "telemetry_drop": (INGEST, set(), set()),
    "raw_telemetry": (INGEST, {"telemetry_drop"}, {SCHEMA}),
    "quarantined_telemetry": (INGEST, {"telemetry_drop"}, {SCHEMA}),
    "collective_timings": (INGEST, {"telemetry_drop"}, {SCHEMA}),
    "fabric_events": (INGEST, {"telemetry_drop"}, {SCHEMA}),
    "fabric_topology": (INGEST, {"telemetry_drop"}, {SCHEMA}),
    "link_counters": (INGEST, {"raw_telemetry"}, {SCHEMA, "nothing_lost"}),
    "spike_detections": (DIAGNOSE, {"link_counters"}, {SCHEMA}),
    "stragglers": (DIAGNOSE, {"collective_timings"}, {SCHEMA}),
    "straggler_correlations": (
        DIAGNOSE,
        {"link_counters", "collective_timings", "fabric_events", "fabric_topology", "spike_detections", "stragglers"},
        {SCHEMA},
    ),
    "incident_records": (
        DIAGNOSE,
        {
            "link_counters", "fabric_events", "fabric_topology", "spike_detections", "stragglers",
            "straggler_correlations",
        },
        {SCHEMA},
    ),
    "ticket_drafts": (DISPATCH, {"incident_records"}, {SCHEMA, "human_review"}),
    "evidence_dossiers": (DISPATCH, {"incident_records", "ticket_drafts"}, {SCHEMA}),
    "published_tickets": (DISPATCH, {"ticket_drafts"}, {SCHEMA, "ledger_agrees"}),
    "audit_database": (AUDIT, set(TABLES), set()),
}  # fmt: skip
BLOCKING = {"human_review", "nothing_lost", SCHEMA}

RUNNING = dg.DefaultScheduleStatus.RUNNING


@pytest.fixture(scope="module")
def graph() -> AssetGraph:
    return definitions().resolve_asset_graph()


def names(keys: set[dg.AssetKey]) -> set[str]:
    return {key.to_user_string() for key in keys}


def test_groups_dependencies_and_checks(graph: AssetGraph) -> None:
    found = {}
    for node in graph.asset_nodes:
        checks = {key.name for key in graph.get_check_keys_for_assets({node.key})}
        found[node.key.to_user_string()] = (node.group_name, names(set(node.parent_keys)), checks)
    assert found == GRAPH


def test_every_check_belongs_to_an_asset_that_exists(graph: AssetGraph) -> None:
    keys = graph.asset_check_keys
    assert {key.asset_key.to_user_string() for key in keys} <= set(GRAPH)
    blocking = {key.name for key in keys if graph.get(key).blocking}
    assert blocking == BLOCKING


def test_tables_assets_and_dependencies_have_one_spelling(graph: AssetGraph) -> None:
    assert names(set(graph.get_all_asset_keys())) - set(TABLES) == {
        "telemetry_drop",
        "audit_database",
    }
    for name, table in TABLES.items():
        node = graph.get(dg.AssetKey(name))
        assert node.group_name == table.group
        ingested = names(set(node.parent_keys)) == {"telemetry_drop"}
        assert ingested or names(set(node.parent_keys)) == set(table.upstream)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_shows_its_columns_owner_and_kinds(graph: AssetGraph, name: str) -> None:
    node, table = graph.get(dg.AssetKey(name)), TABLES[name]
    assert node.owners == OWNERS
    assert node.kinds == {"duckdb", "parquet", "pandera"}
    assert table.grain in (node.description or "")
    schema = node.metadata["dagster/column_schema"]
    schema = schema if isinstance(schema, dg.TableSchema) else schema.value
    assert [column.name for column in schema.columns] == list(table.column_names)
    for shown, column in zip(schema.columns, table.columns, strict=True):
        assert (shown.type, shown.description) == (column.type.lower(), column.description)
        assert shown.constraints.nullable == column.nullable
        assert shown.constraints.other == list(column.rules())


def test_all_assets_share_the_partitions_of_drops(graph: AssetGraph) -> None:
    partitions = {
        node.partitions_def.name
        for node in graph.asset_nodes
        if isinstance(node.partitions_def, dg.DynamicPartitionsDefinition)
    }
    assert partitions == {"drops"}
    assert all(node.partitions_def is not None for node in graph.asset_nodes)


def test_what_the_jobs_make() -> None:
    made = {
        name: names(set(definitions().resolve_job_def(name).asset_layer.selected_asset_keys))
        for name in ("diagnose_drop", "publish")
    }
    assert made["diagnose_drop"] == set(GRAPH) - {"telemetry_drop", "published_tickets"}
    assert made["publish"] == {"published_tickets", "audit_database"}


def test_sensors_and_schedules_are_on_without_a_click() -> None:
    loaded = definitions()
    sensors = {one.name: one for one in loaded.sensors or []}
    assert set(sensors) == {"drop_sensor", "review_sensor"}
    assert {one.default_status for one in sensors.values()} == {dg.DefaultSensorStatus.RUNNING}
    schedules = {
        one.name: one for one in loaded.schedules or [] if isinstance(one, dg.ScheduleDefinition)
    }
    assert {name: one.cron_schedule for name, one in schedules.items()} == {
        "hourly_drops": "7 * * * *",
        "hourly_pull": "4 * * * *",
        "daily_retention": "41 3 * * *",
    }
    on = {name for name, one in schedules.items() if one.default_status == RUNNING}
    assert on == {"hourly_drops", "daily_retention"}


def test_pulling_is_on_where_a_server_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABRIC_PROMETHEUS_URL", "http://127.0.0.1:9")
    assert hourly_pull().default_status == RUNNING
