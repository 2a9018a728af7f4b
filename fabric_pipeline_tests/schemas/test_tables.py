"""What all tables have in common, and which upstream columns their columns come from."""

from __future__ import annotations

from typing import Any

import pytest

from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.schemas.lineage import column_lineage
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.schemas.table import number, text, whole

NAMES = list(TABLES)
# Columns that a person, a drafter or a clock states; everything else is computed from upstream.
STATED = {
    "incident_records": {"incident_id", "status", "ticket_priority", "action_code", "summary", "evidence_sha256", "record"},
    "ticket_drafts": {
        "ticket_id", "revision", "draft_sha256", "drafter", "drafter_note", "model", "prompt_version", "input_tokens", "output_tokens",
        "effort", "requests", "cache_read_tokens", "cache_write_tokens", "failed_attempts",
        "cost_usd", "title",
    },
    "published_tickets": {"reviewer", "published_at", "outbox_file"},
    "evidence_dossiers": {"path", "manifest_sha256", "files", "chain_head"},
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_table_describes_itself(name: str) -> None:
    table = TABLES[name]
    assert table.name == name
    assert table.group in ("ingest", "diagnose", "dispatch")
    assert table.key[0] == "drop"
    assert set(table.key) <= set(table.column_names)
    assert len(set(table.column_names)) == len(table.columns)
    assert all(column.description for column in table.columns)
    assert set(table.upstream) <= set(NAMES[: NAMES.index(name)]), "data goes one way"


@pytest.mark.parametrize("name", NAMES)
def test_every_computed_column_names_existing_upstream_columns(name: str) -> None:
    table = TABLES[name]
    lineage = column_lineage(table)
    for sources in lineage.values():
        for source, column in sources:
            assert source in table.upstream
            assert column in TABLES[source].column_names
    expected = set(table.column_names) - STATED.get(name, set()) if table.upstream else set()
    assert set(lineage) == expected


@pytest.mark.parametrize("name", NAMES)
def test_sql_of_a_table_has_its_columns_and_types_and_no_row(connection: Any, name: str) -> None:
    table = TABLES[name]
    columns = connection.execute(f"describe {table.empty_sql()}").fetchall()
    assert [row[:2] for row in columns] == [(c.name, c.type) for c in table.columns]
    connection.execute(
        "create or replace temp table shuffled as "
        f'select * exclude ("drop"), 1 as more, "drop" from ({table.empty_sql()})'
    )
    cast = connection.execute(f"describe {table.cast_sql('shuffled')}").fetchall()
    assert [row[:2] for row in cast] == [row[:2] for row in columns]


def test_a_series_of_increments_is_one_key() -> None:
    series = {"node", "interface", "lane", "counter", "gpu_uuid", "scope"}
    assert series < set(TABLES["link_counters"].key)
    assert series < set(TABLES["spike_detections"].key)


def test_link_counters_takes_every_canonical_counter() -> None:
    (counter,) = [c for c in TABLES["link_counters"].columns if c.name == "counter"]
    assert set(counter.allowed) == set(COUNTERS)


def test_rules_are_said_in_words() -> None:
    assert text("a", "A", allowed=("x", "y"), pattern="^.$").rules() == (
        "never empty",
        "one of x, y",
        "matches ^.$",
    )
    assert whole("a", "A", nullable=True, minimum=0, maximum=1.5).rules() == (
        "at least 0",
        "at most 1.5",
    )
    assert number("a", "A", nullable=True).rules() == ("finite",)
