"""Shards on a real Dask cluster on loopback: the same results, deaths of workers, and nothing left behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import dask
import psutil  # type: ignore[import-untyped]
import pytest

from fabric_pipeline.engine.base import Done
from fabric_pipeline.engine.dask_engine import DaskEngine
from fabric_pipeline.engine.local import LocalEngine
from fabric_pipeline.model.progress import Moment
from fabric_pipeline_tests.engine.shards import Shard, Sum, add_up, limits


@pytest.fixture(scope="module")
def engine() -> Iterator[DaskEngine]:
    """Two workers for all tests of this file."""
    with DaskEngine(workers=2) as opened:
        opened.map(limits, [0, 1])
        yield opened


def results(done: list[Done[Sum]]) -> list[tuple[int, Sum | None, str]]:
    return [(one.number, one.result, one.problem) for one in done]


def test_results_and_problems_are_those_of_one_process_in_the_same_order(
    engine: DaskEngine,
) -> None:
    items = [Shard(9, rows=50_000), Shard(3), Shard(5, rows=-1), Shard(2, rows=0), Shard(1)]
    with LocalEngine() as local:
        alone = local.map(add_up, items)
    shared = engine.map(add_up, items)
    assert results(shared) == results(alone)
    assert [one.problem for one in shared if one.is_failed] == [
        "shard 5 has -1 rows -> count again",
        "ZeroDivisionError: nothing to divide; report this fault",
    ]
    assert {one.tries for one in shared} == {1}  # what fails by itself is not tried again
    assert all("127.0.0.1" in one.worker for one in shared)


def test_work_is_done_by_all_workers_at_once(engine: DaskEngine) -> None:
    done = engine.map(add_up, [Shard(number, seconds=0.05) for number in range(8)])
    assert len({one.worker for one in done}) == 2
    assert [one.result.number for one in done if one.result] == list(range(8))


def test_progress_counts_shards_to_the_end(engine: DaskEngine) -> None:
    told: list[Moment] = []
    engine.map(add_up, [Shard(1), Shard(2), Shard(3)], words="adding", tell=told.append)
    assert {moment.work for moment in told} == {"adding"}
    assert [moment.files for moment in told] == [0, 1, 2, 3]
    assert {moment.of_files for moment in told} == {3}
    assert told[-1].words == "adding, 3 of 3 shards done on 2 threads of Dask on this machine"


def test_nothing_to_do_starts_nothing() -> None:
    with DaskEngine(workers=1) as idle:
        before = psutil.Process().children(recursive=True)
        assert idle.map(add_up, []) == []
        assert psutil.Process().children(recursive=True) == before


def test_a_worker_keeps_to_its_part_of_the_machine(engine: DaskEngine) -> None:
    (done,) = engine.map(limits, [0])
    assert done.result is not None
    threads, _, spill = done.result
    assert threads == "1"
    assert Path(spill).parent.name.startswith("fabric-pipeline-dask-")
    assert "FABRIC_THREADS" not in os.environ  # the limits are those of workers


def test_everything_listens_on_loopback_alone(engine: DaskEngine) -> None:
    here = psutil.Process()
    listening = [
        connection.laddr.ip
        for process in (here, *here.children(recursive=True))
        for connection in process.net_connections()
        if connection.status == psutil.CONN_LISTEN
    ]
    assert len(listening) >= 3
    assert set(listening) == {"127.0.0.1"}


def test_a_killed_worker_costs_a_try_and_no_result(engine: DaskEngine, tmp_path: Path) -> None:
    items = [Shard(number, deaths=int(number == 2), marks=str(tmp_path)) for number in range(6)]
    done = engine.map(add_up, items)
    assert [one.result for one in done] == [add_up(Shard(number)) for number in range(6)]
    assert [one.tries for one in done] == [1, 1, 2, 1, 1, 1]


def test_a_shard_that_kills_every_worker_is_a_problem_and_the_rest_completes(
    engine: DaskEngine, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    items = [Shard(number, deaths=99 * (number == 1), marks=str(tmp_path)) for number in range(5)]
    done = engine.map(add_up, items)
    assert [one.is_failed for one in done] == [False, True, False, False, False]
    assert "workers died while they worked on this shard" in done[1].problem
    assert done[1].tries == len(list(tmp_path.iterdir())) == 4
    assert {one.tries for one in done if not one.is_failed} <= {1, 2}
    assert "Shard(" not in capfd.readouterr().err  # items are not for logs


def test_a_worker_that_died_comes_back_and_is_never_given_up(engine: DaskEngine) -> None:
    done = engine.map(add_up, [Shard(number, seconds=0.2) for number in range(10)])
    assert len({one.worker for one in done}) == 2
    # By default Dask looks 15 s after a death, and takes a worker away that is starting again just then.
    wait_s = dask.utils.parse_timedelta(dask.config.get("distributed.deploy.lost-worker-timeout"))
    assert wait_s > 86400
