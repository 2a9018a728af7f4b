"""Timed groups on one clock: bins, rails, kinds, and a baseline brought to the healthy level."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fabric_pipeline.detect.stragglers.series import LatencySeries
from fabric_pipeline.diagnose.localise.groups import (
    TimedGroup,
    centred,
    name_rails,
    on_one_clock,
    timed_group,
)
from fabric_pipeline.diagnose.localise.window import FLAT, LOCAL, RAIL
from fabric_pipeline_tests.diagnose.evidence import START, at, series
from fabric_pipeline_tests.diagnose.localise.windows import STEP_S, fleet, timed

ZERO = START.timestamp()


def group(communicator: str = "dp0", *values: float, **changes: object) -> TimedGroup:
    deviation = np.array(values or (0.0,) * 10, dtype=float)
    made = timed("a", communicator, deviation, ["n1", "n2"])
    return replace(made, **changes)


def test_groups_share_one_clock() -> None:
    late = group("dp1", times_s=ZERO + 150 + STEP_S * np.arange(10))
    found = on_one_clock([group(), late], STEP_S)
    assert found.clock.bins == 15
    assert found.clock.step_s == STEP_S
    assert found.series.valid.sum(axis=1).tolist() == [10, 10]
    assert np.flatnonzero(found.series.valid[1])[0] == 5
    assert abs((found.clock.moment(5) - at(150)).total_seconds()) < 1e-3


def test_a_bin_holds_the_median_of_its_collectives() -> None:
    times_s = ZERO + np.array([0.0, 5.0, 10.0, 31.0, 32.0, 95.0])
    values = np.array([3.0, 1.0, 2.0, 1.0, 2.0, 7.0])
    found = on_one_clock([group("dp0", *values, times_s=times_s)], STEP_S)
    assert found.series.deviation[0, [0, 1, 3]].tolist() == [2.0, 1.5, 7.0]
    assert np.isnan(found.series.deviation[0, 2])


def test_the_order_of_rows_does_not_matter() -> None:
    times_s = ZERO + np.array([0.0, 5.0, 31.0, 62.0])
    values = np.array([3.0, np.nan, 2.0, 1.0])
    one = on_one_clock([group("dp0", *values, times_s=times_s)], STEP_S)
    back = on_one_clock([group("dp0", *values[::-1], times_s=times_s[::-1])], STEP_S)
    assert np.array_equal(one.series.deviation, back.series.deviation, equal_nan=True)


def test_rare_collectives_widen_the_bins_and_a_long_window_is_bounded() -> None:
    rare = group(times_s=ZERO + 120.0 * np.arange(10))
    assert on_one_clock([rare], STEP_S).clock.step_s == 120.0
    long = group(times_s=ZERO + np.array([0.0, *range(1, 9), 1e6]))
    assert on_one_clock([long], STEP_S).clock.bins <= 2001


def test_one_collective_is_one_bin() -> None:
    found = on_one_clock([group("dp0", 0.5)], STEP_S)
    assert found.clock.bins == 1
    assert found.series.deviation.tolist() == [[0.5]]


def test_kinds_by_what_the_traffic_crosses() -> None:
    groups = [
        timed("a", "tp", np.zeros(9), ["n1"]),
        timed("a", "dp", np.zeros(9), ["n1", "n2"], gpus=[3]),
        timed("a", "world", np.zeros(9), ["n1", "n2"]),
        timed("a", "pairs", np.zeros(9), ["n1", "n2"], gpus=[3, 4]),
    ]
    found = on_one_clock(groups, STEP_S)
    assert found.kind.tolist() == [LOCAL, RAIL, FLAT, FLAT]
    assert found.rail.tolist() == [-1, 3, -1, -1]
    assert [groups.tolist() for groups in found.of_node] == [[0, 1, 2, 3], [1, 2, 3]]
    assert found.sizes.tolist() == [1, 2, 2, 2]
    assert found.nodes == ["n1", "n2"]


def test_rails_by_the_number_of_the_communicator() -> None:
    numbered = [group(f"dp{n}") for n in (2, 0, 3, 1)]
    name_rails(numbered)
    assert [one.rail for one in numbered] == [2, 0, 3, 1]


@pytest.mark.parametrize(
    "names",
    [
        ["dp0", "dp1", "dp2"],  # not the number of GPUs of any node
        ["dp1", "dp2", "dp3", "dp4"],  # not from 0
        ["dp0", "dp1", "dp2", "xp3"],  # not one family
        ["a", "b", "c", "d"],
    ],
)
def test_names_that_are_no_rails(names: list[str]) -> None:
    groups = [group(name) for name in names]
    name_rails(groups)
    assert {one.rail for one in groups} == {-1}


def test_groups_of_other_nodes_or_runs_are_no_family() -> None:
    groups = [group(f"dp{n}") for n in range(4)]
    groups[1] = replace(groups[1], run="b")
    name_rails(groups)
    assert {one.rail for one in groups} == {-1}
    groups = [group(f"dp{n}") for n in range(4)]
    groups[1] = replace(groups[1], nodes=["n1", "n3"])
    name_rails(groups)
    assert {one.rail for one in groups} == {-1}


def test_tensor_parallel_groups_without_nodes_stay_inside_theirs() -> None:
    """One for each node of the run, in the order of the run; data-parallel groups are not."""
    inside = [group(f"tp-{n}", nodes=["n7", "n2"]) for n in range(2)]
    across = [group(f"dp-{n}", nodes=["n7", "n2"]) for n in range(2)]
    too_many = [group(f"tp-{n}", nodes=["n7", "n2"], run="other") for n in range(3)]
    found = on_one_clock([*inside, *across, *too_many], STEP_S)
    assert [list(one.nodes) for one in found.groups[:2]] == [["n7"], ["n2"]]
    assert found.kind.tolist() == [LOCAL, LOCAL, *[FLAT] * 5]


def test_named_gpus_outrank_the_number_of_the_communicator() -> None:
    groups = [group(f"dp{n}", gpus=[3 - n]) for n in range(4)]
    name_rails(groups)
    assert [one.rail for one in groups] == [3, 2, 1, 0]


def test_a_learnt_baseline_is_brought_to_the_healthy_level() -> None:
    values = np.array([0.02, 0.03, 0.03, 0.04, 0.7, np.nan])
    assert np.nanmedian(centred(values)[:4]) == pytest.approx(0.0, abs=0.011)
    assert np.isnan(centred(values)[5])
    slow = np.full(10, 0.7)
    assert centred(slow).min() > 0.6, "slow all the time stays slow"
    fast = np.full(10, -0.2)
    assert centred(fast).tolist() == fast.tolist()
    assert np.isnan(centred(np.full(3, np.nan))).all()


def of_ranks(shortest_us: float, **changes: object) -> LatencySeries:
    """Ten collectives of 1 ms, of which the last rank itself needs `shortest_us`."""
    made = series([], rows=10)
    for row in made.rows:
        row |= {"shortest_us": shortest_us, "rank_rows": 8, "latest_node": "n2"}
    return replace(made, **changes)


def test_the_shortest_rank_gives_the_communication_alone() -> None:
    waiting = of_ranks(500.0)
    waiting.rows[4] |= {"shortest_us": 1000.0}
    found = timed_group(waiting)
    assert found.has_ranks
    assert found.deviation[4] == pytest.approx(np.log(2))
    assert np.delete(found.deviation, 4) == pytest.approx(np.zeros(9))
    assert set(found.late_nodes) == {"n2"}
    given = timed_group(replace(waiting, baseline_source="given"))
    assert given.deviation[4] == pytest.approx(0.0), "a given baseline is not learnt anew"


def test_a_late_rank_is_no_slow_communication() -> None:
    """Others wait in the collective, the late rank's own time stays as it was."""
    waiting = of_ranks(500.0, duration_us=np.full(10, 5000.0), deviation=np.full(10, np.log(5)))
    assert timed_group(waiting).deviation == pytest.approx(np.zeros(10))


def test_whole_durations_are_taken_where_few_ranks_are_timed() -> None:
    plain = series([4], rows=10)
    assert timed_group(plain).deviation.tolist() == plain.deviation.tolist()
    assert not timed_group(plain).has_ranks
    few = of_ranks(500.0)
    for row in few.rows[:6]:
        row["rank_rows"] = 1
    assert timed_group(few).deviation.tolist() == few.deviation.tolist()


def test_who_came_last_is_kept_by_bin() -> None:
    found = on_one_clock([timed_group(of_ranks(500.0)), *fleet()], STEP_S)
    assert found.series.late_node[0, 3] == found.node_index["n2"]
    assert found.series.late_node[1, 3] == -1
