"""A Dask cluster that somebody else runs: used by its address, left as it was, missed in clear words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fabric_pipeline.engine import dask_map
from fabric_pipeline.engine.choose import open_engine
from fabric_pipeline.engine.dask_engine import DaskEngine
from fabric_pipeline.engine.dask_worker import Versions
from fabric_pipeline.errors import EngineError
from fabric_pipeline.settings import load_settings
from fabric_pipeline_tests.engine.clusters import cluster_in_this_process
from fabric_pipeline_tests.engine.shards import Shard, add_up


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A scheduler and a worker in this process, on TCP and loopback."""
    with cluster_in_this_process() as started:
        yield started


def test_it_is_used_and_left_running(cluster: Any) -> None:
    settings = load_settings(
        {"FABRIC_ENGINE": "dask", "FABRIC_DASK_ADDRESS": cluster.scheduler_address}
    )
    for _ in range(2):
        with open_engine(settings) as engine:
            done = engine.map(add_up, [Shard(4), Shard(7)])
        assert [one.result for one in done] == [add_up(Shard(4)), add_up(Shard(7))]
    assert cluster.scheduler.status.name == "running"
    assert len(cluster.scheduler.workers) == 1
    assert cluster.scheduler.tasks == {}  # nothing is kept for runs that are over


def test_another_version_is_refused_before_any_work(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_map, "versions_here", lambda: Versions("9.9", "3.11", "1.0.0"))
    with (
        DaskEngine(cluster.scheduler_address) as engine,
        pytest.raises(EngineError, match=r"fabric-pipeline 9\.9.*install the same versions"),
    ):
        engine.map(add_up, [Shard(1), Shard(2)])


def test_a_scheduler_that_goes_away_is_said_to_be_lost(cluster: Any) -> None:
    address = cluster.scheduler_address

    def end(moment: Any) -> None:
        if moment.files == 1:
            cluster.close()

    with (
        DaskEngine(address) as engine,
        pytest.raises(EngineError, match=rf"{address} was lost.*\d of 4 were done.*--engine local"),
    ):
        engine.map(add_up, [Shard(1), *(Shard(n, seconds=0.3) for n in range(3))], tell=end)


def test_a_cluster_without_workers_is_waited_for_but_not_for_ever(cluster: Any) -> None:
    cluster.scale(0)
    with (
        DaskEngine(cluster.scheduler_address, wait_s=0.7) as engine,
        pytest.raises(EngineError, match="has had no worker for 1 s -> start some: dask worker"),
    ):
        engine.map(add_up, [Shard(1)])


def test_an_address_where_nobody_answers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabric_pipeline.engine.dask_engine._CONNECT_S", 0.5)
    with (
        DaskEngine("tcp://127.0.0.1:9") as engine,
        pytest.raises(
            EngineError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"
        ) as said,
    ):
        engine.map(add_up, [Shard(1)])
    assert said.value.__cause__ is None  # a run shows its innermost cause, which has to be ours


def test_encryption_without_keys_says_where_they_go() -> None:
    with (
        DaskEngine("tls://127.0.0.1:9") as engine,
        pytest.raises(
            EngineError, match=r"tls://127\.0\.0\.1:9 cannot be used.*certificate and key"
        ),
    ):
        engine.map(add_up, [Shard(1)])
