"""Which rows make a series, what its baseline is, and which rows count as slow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fabric_pipeline.detect.stragglers.evaluate import slow_intervals
from fabric_pipeline.detect.stragglers.series import LatencySeries, latency_series
from fabric_pipeline_tests.detect.telemetry import Row, put_timings, timing


def run(durations: list[float], step_s: float = 10.0, **changes: Any) -> list[Row]:
    return [timing(n, duration, n * step_s, **changes) for n, duration in enumerate(durations)]


def series_of(connection: Any, rows: list[Row]) -> list[LatencySeries]:
    put_timings(connection, rows)
    return latency_series(connection)


def only(connection: Any, rows: list[Row]) -> LatencySeries:
    (found,) = series_of(connection, rows)
    return found


def test_a_steady_run_has_a_learnt_baseline_and_no_slow_row(connection: Any) -> None:
    found = only(connection, run([1000.0, 1010.0] * 10))
    assert (found.baseline_source, found.baseline_us) == ("learnt", 1000.0)
    assert not found.is_slow.any()
    assert found.nodes == ["n1", "n2"]
    assert found.ranks == 16


@pytest.mark.parametrize(("rows", "judged"), [(7, 0), (8, 1)])
def test_too_few_rows_are_not_judged(connection: Any, rows: int, judged: int) -> None:
    assert len(series_of(connection, run([1000.0] * rows))) == judged


def test_rows_without_a_time_or_duration_make_no_series(connection: Any) -> None:
    rows = [timing(n, 1000.0, None) for n in range(20)]
    assert series_of(connection, rows) == []
    rows = run([1000.0] * 20)
    for row in rows[::3]:
        row["duration_us"] = None
    found = only(connection, rows)
    assert len(found.rows) == 13
    assert np.isfinite(found.deviation).all()


def test_compute_and_bandwidth_rows_are_other_matters(connection: Any) -> None:
    for unit_kind in ("compute", "bandwidth"):
        assert series_of(connection, run([1000.0] * 20, unit_kind=unit_kind)) == []


def test_unlike_collectives_are_never_mixed(connection: Any) -> None:
    rows = run([1000.0] * 10) + run([9000.0] * 10, bytes=4096)
    rows += run([5000.0] * 10, op="all_gather") + run([7000.0] * 10, communicator="dp-1")
    rows += run([3000.0] * 10, run="r2") + run([2000.0] * 10, variant="in_place")
    found = series_of(connection, rows)
    assert sorted(one.baseline_us for one in found) == [1000, 2000, 3000, 5000, 7000, 9000]
    assert not any(one.is_slow.any() for one in found)


@pytest.mark.parametrize(
    ("first", "left"),
    [
        ([5000.0], 20),
        ([9000.0, 5000.0, 4000.0, 3000.0, 2000.0], 20),
        ([1500.0], 21),  # within half as long again
        ([2000.0] * 6, 26),  # too long for warm-up: a fault from the first row on
    ],
)
def test_warm_up_rows_are_set_aside(connection: Any, first: list[float], left: int) -> None:
    found = only(connection, run(first + [1000.0] * 20))
    assert len(found.rows) == left
    assert found.baseline_us == 1000


def test_in_a_short_run_a_slow_beginning_is_kept(connection: Any) -> None:
    """Ten rows leave room for two warm-up rows; three slow ones are no warm-up."""
    assert len(only(connection, run([2000.0] * 3 + [1000.0] * 7)).rows) == 10
    assert len(only(connection, run([2000.0] * 2 + [1000.0] * 8)).rows) == 8


def test_a_lone_slow_row_is_no_interval(connection: Any) -> None:
    durations = [1000.0] * 30
    durations[15] = 9000.0
    assert slow_intervals(only(connection, run(durations))) == []
    durations[16] = 9000.0
    assert slow_intervals(only(connection, run(durations))) == [(15, 16)]


def test_two_outliers_near_each_other_are_no_interval(connection: Any) -> None:
    durations = [1000.0] * 30
    durations[14] = durations[18] = 9000.0
    assert slow_intervals(only(connection, run(durations))) == []


def test_two_normal_rows_do_not_end_an_interval_but_three_do(connection: Any) -> None:
    for pause, expected in ((2, [(10, 21)]), (3, [(10, 14), (18, 22)])):
        durations = [1000.0] * 10 + [2000.0] * 5 + [1000.0] * pause + [2000.0] * 5 + [1000.0] * 20
        assert slow_intervals(only(connection, run(durations))) == expected


@pytest.mark.parametrize(("slow_us", "is_slow"), [(1049.0, False), (1051.0, True)])
def test_five_percent_is_noise(connection: Any, slow_us: float, is_slow: bool) -> None:
    found = only(connection, run([1000.0] * 20 + [slow_us] * 10))
    assert bool(found.is_slow.any()) == is_slow


def test_noise_hides_at_most_fifteen_percent(connection: Any) -> None:
    rng = np.random.default_rng(5)
    quiet = list(1000.0 * np.exp(rng.normal(0, 0.10, 40)))
    found = only(connection, run(quiet + [1800.0] * 10))
    assert found.threshold == pytest.approx(np.log1p(0.15))
    assert found.is_slow[-10:].all()


def test_slow_from_the_first_row_on_needs_a_given_baseline(connection: Any) -> None:
    assert not only(connection, run([2000.0] * 30)).is_slow.any()
    found = only(connection, run([2000.0] * 30, baseline_us=1000.0))
    assert found.baseline_source == "given"
    assert len(found.rows) == 30
    assert found.is_slow.all()


def sisters(ranks: int = 16) -> list[Row]:
    return run([1000.0] * 12, run="r2", ranks=ranks) + run([1020.0] * 12, run="r3", ranks=ranks)


def test_sister_runs_give_a_baseline_to_a_run_that_was_always_slow(connection: Any) -> None:
    found = {one.run: one for one in series_of(connection, run([2000.0] * 30) + sisters())}
    assert found["r1"].baseline_source == "sister_run"
    assert found["r1"].baseline_us == pytest.approx(1010 * 1.04)
    assert found["r1"].is_slow.all()
    assert found["r2"].baseline_source == "learnt"


def test_one_sister_or_other_sizes_or_groups_prove_nothing(connection: Any) -> None:
    slow = run([2000.0] * 30)
    others = [
        run([1000.0] * 12, run="r2"),
        sisters(ranks=8),
        [row | {"bytes": 2048} for row in sisters()],
        [row | {"op": "all_gather"} for row in sisters()],
        [row | {"ranks": None} for row in sisters()],
        [row | {"run": "r1", "communicator": row["run"]} for row in sisters()],
    ]
    for rows in others:
        found = series_of(connection, slow + rows)
        (judged,) = [one for one in found if (one.run, one.communicator) == ("r1", "world")]
        assert judged.baseline_source == "learnt"


def test_of_ranks_alone_the_shortest_is_the_communication(connection: Any) -> None:
    rows = [
        timing(n, 1000.0 + 4000.0 * (rank != 2), n * 10.0, rank=rank, node=f"n{rank}", ranks=4)
        for n in range(12)
        for rank in range(4)
    ]
    found = only(connection, rows)
    assert set(found.duration_us) == {1000.0}
    assert found.rows[0]["shortest_rank"] == 2
    assert found.rows[0]["longest_us"] == 5000


def test_whole_durations_and_ranks_are_never_mixed(connection: Any) -> None:
    rows = run([5000.0] * 12)
    for n in (3, 7):
        rows += [timing(n, 1000.0 + rank, n * 10.0, rank=rank) for rank in range(3)]
    found = only(connection, rows)
    assert set(found.duration_us) == {5000.0}
    assert found.rows[3]["rank_rows"] == 3


def test_nodes_of_the_group_come_before_those_of_the_run(connection: Any) -> None:
    assert only(connection, run([1.0] * 8, node="n7")).nodes == ["n7"]
    rows = [row | {"rank": 0, "node": "n9", "run_nodes": "[]"} for row in run([1.0] * 8)]
    assert only(connection, rows).nodes == ["n9"]
