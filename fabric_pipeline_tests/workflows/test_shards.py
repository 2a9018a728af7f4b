"""Shards change nothing but where work is done: same rows, same findings, and a bad one harms no other."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.engine.local import LocalEngine
from fabric_pipeline.portal.app import create_app
from fabric_pipeline.settings import Settings
from fabric_pipeline.store import lake
from fabric_pipeline.store.duck import session
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows import sharded_counters
from fabric_pipeline.workflows.accounting import reading_account, table_sha256
from fabric_pipeline.workflows.drop_stages import ingest_stage, link_counters_stage, load_incidents
from fabric_pipeline.workflows.shards import NodeRange, failed_shards, node_ranges
from fabric_pipeline.workflows.summary import summarise
from fabric_pipeline_tests.halls import (
    DROP,
    NODES,
    READINGS_OF_A_NODE,
    Losing,
    diagnosed,
    judged,
    rows_sha256,
    write_hall,
)
from fabric_pipeline_tests.pipeline_runs import NOW, ROOT, diagnose_without_dagster
from fabric_pipeline_tests.portal.serving import ask, served
from fabric_pipeline_tests.small_drop import START


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hall(tmp_path_factory.mktemp("halls") / DROP)


@pytest.fixture(scope="module")
def whole(hall: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return diagnosed(tmp_path_factory.mktemp("whole"), hall, 10**6)


@pytest.fixture(scope="module")
def by_nodes(hall: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return diagnosed(tmp_path_factory.mktemp("nodes"), hall, 1)


@pytest.mark.parametrize("most", [3 * READINGS_OF_A_NODE + 1])
def test_any_number_of_shards_gives_the_same_rows_and_findings(
    hall: Path, whole: Settings, by_nodes: Settings, tmp_path: Path, most: int
) -> None:
    assert judged(by_nodes) == judged(whole)
    cut = diagnosed(tmp_path, hall, most)
    assert len(lake.parts_of(cut.lake, "link_counters", DROP)) > 1
    assert rows_sha256(cut, "link_counters") == rows_sha256(whole, "link_counters")
    assert judged(cut) == judged(whole)
    accused = {one.isolated_component for one in load_incidents(cut, DROP) if one.needs_ticket}
    assert accused == {"calc-04:gpu0/nvlink-1"}
    assert reading_account(cut, DROP) == reading_account(whole, DROP)
    assert reading_account(cut, DROP).balances


def test_workers_of_a_cluster_leave_the_same_bytes(
    hall: Path, by_nodes: Settings, tmp_path: Path
) -> None:
    spread = diagnosed(tmp_path, hall, 1, engine="dask", dask_workers=2)
    assert judged(spread) == judged(by_nodes)
    here, there = (table_sha256(one, "link_counters", DROP) for one in (by_nodes, spread))
    assert here == there  # of the list of parts with their hashes


def test_a_rerun_finds_its_shards_again(by_nodes: Settings) -> None:
    before = judged(by_nodes), table_sha256(by_nodes, "link_counters", DROP)
    result = sharded_counters.count_in_shards(by_nodes, DROP, lambda _: None)
    assert result.figures["shards_found_again"] == result.figures["shards"] == len(NODES) + 1
    assert (judged(by_nodes), table_sha256(by_nodes, "link_counters", DROP)) == before


def test_what_grew_is_counted_and_the_rest_is_found_again(hall: Path, tmp_path: Path) -> None:
    drop = shutil.copytree(hall, tmp_path / DROP)
    settings = diagnosed(tmp_path / "home", drop, 1)
    with (drop / "b.csv").open("a", encoding="utf-8") as out:
        out.write(
            f"{(START + timedelta(hours=1)).isoformat()},calc-06,nvlink,gpu0/nvlink-0,replay,9\n"
        )
    ingest_stage(settings, DROP, drop, NOW)
    figures = link_counters_stage(settings, DROP).figures
    # The hash of its file stands in every reading: all nodes of that file are counted anew.
    assert (figures["shards"], figures["shards_found_again"]) == (8, 5)


def test_one_bad_shard_is_told_the_rest_is_judged_and_the_next_run_makes_it_whole(
    hall: Path, whole: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharded_counters, "open_engine", lambda _: Losing(5))
    settings = diagnosed(tmp_path, hall, 1)
    (failed,) = failed_shards(settings, DROP)
    assert failed.nodes == NodeRange("calc-04", "calc-04")
    account = reading_account(settings, DROP)
    assert account.balances
    assert account.uncounted == READINGS_OF_A_NODE
    (summary,) = summarise(settings, [DROP]).drops
    assert summary.problems[0] == (
        "nodes calc-04 could not be counted (its worker was killed 3 times): their links are unknown; run the drop again"
    )
    with session() as connection:
        assert lake.attach(connection, settings.lake, "link_counters", DROP)
        nodes = connection.execute("select distinct node from link_counters order by 1").fetchall()
    assert [node for (node,) in nodes] == ["", *(node for node in NODES if node != "calc-04")]
    assert not [one for one in load_incidents(settings, DROP) if one.needs_ticket]
    assert not ledger_says_processed(settings)
    with served(create_app(settings)) as url:
        assert (
            "nodes calc-04: their links are unknown until the drop is run again"
            in ask(url, "/").text
        )
    monkeypatch.setattr(sharded_counters, "open_engine", lambda _: LocalEngine())
    diagnose_without_dagster(settings, hall)
    assert ledger_says_processed(settings)
    assert judged(settings) == judged(whole)


def ledger_says_processed(settings: Settings) -> bool:
    return bool(Ledger(settings.ledger).drop(DROP).processed_sha256)


def test_readings_that_changed_on_disk_are_not_counted(hall: Path, tmp_path: Path) -> None:
    settings = Settings(root=ROOT, home=tmp_path, shard_readings=1)
    ingest_stage(settings, DROP, hall, NOW)
    link_counters_stage(settings, DROP)
    part = lake.parts_of(settings.lake, "raw_telemetry", DROP)[3]
    part.write_bytes(part.read_bytes()[:-200])
    result = sharded_counters.count_in_shards(settings, DROP, lambda _: None)
    (failed,) = result.failed
    assert (failed.part, failed.nodes) == (3, NodeRange("calc-02", "calc-02"))
    assert "not those that were written" in failed.problem
    assert result.figures["shards_found_again"] == len(NODES)


counts = st.lists(st.integers(1, 50), min_size=1, max_size=40)


@given(counts, st.integers(1, 120))
def test_ranges_hold_every_node_once_in_order(readings: list[int], most: int) -> None:
    nodes = [(f"n{number:03d}", count) for number, count in enumerate(readings)]
    ranges = node_ranges(nodes, most)
    held = [[n for n in nodes if one.first <= n[0] <= one.last] for one in ranges]
    assert [node for part in held for node in part] == nodes
    assert all(len(part) == 1 or sum(count for _, count in part) <= most for part in held)
