"""The simulated farm against what can be worked out by hand, and against itself."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.scale_farm import Farm, simulate


@given(st.integers(1, 60), st.integers(1, 80))
def test_equal_shards_take_as_many_rounds_as_they_need(workers: int, shards: int) -> None:
    done = simulate(Farm(workers), [2.0] * shards)
    assert done.wall_s == pytest.approx(2.0 * -(-shards // workers))
    assert done.efficiency == pytest.approx(shards / (workers * -(-shards // workers)))


@given(st.lists(st.floats(0.1, 50), min_size=1, max_size=60), st.integers(1, 12))
def test_no_farm_beats_its_work_and_none_is_twice_the_best(
    costs: list[float], workers: int
) -> None:
    wall_s = simulate(Farm(workers), costs).wall_s
    least = max(sum(costs) / workers, max(costs))
    assert least - 1e-9 <= wall_s <= least * (2 - 1 / workers) + 1e-9  # Graham's bound


def test_one_worker_pays_every_overhead_of_every_shard() -> None:
    farm = Farm(
        1, start_s=5, handout_s=0.2, gap_s=0.1, in_mb=10, out_mb=4, worker_mb_s=2, store_mb_s=2,
        collect_s=0.5, reduce_s=7,
    )  # fmt: skip
    done = simulate(farm, [3.0] * 10)
    assert done.wall_s == pytest.approx(5 + 10 * (0.2 + 0.1 + 5 + 3 + 2) + 10 * 0.5 + 7)
    assert done.lost_s == 0


def test_many_workers_wait_for_the_driver() -> None:
    done = simulate(Farm(1000, handout_s=0.1), [1.0] * 1000)
    # 1,000 starts of 50 ms one after the other; answers take their turns among and after them.
    assert done.wall_s == pytest.approx(100, abs=1)
    assert done.handout_share > 0.95
    assert done.bottleneck == "handing out"


def test_many_workers_wait_for_the_store() -> None:
    done = simulate(Farm(100, in_mb=100, worker_mb_s=100, store_mb_s=200), [0.5] * 100)
    assert done.wall_s == pytest.approx(100 * 1.0 / 2 + 0.5)  # two transfers at once
    assert done.network_share == pytest.approx(50 / 50.5)
    assert done.bottleneck == "network"


def test_what_is_before_and_after_the_farm_is_added() -> None:
    done = simulate(Farm(10, in_mb=5, send_mb_s=1, reduce_s=100), [1.0] * 10)
    assert (done.send_s, done.farm_s, done.after_s) == pytest.approx((50, 1, 100))
    assert done.wall_s == pytest.approx(151)
    assert done.bottleneck == "collecting and reducing"
    assert simulate(Farm(10, in_mb=5, send_mb_s=1), [1.0] * 10).bottleneck == "sending inputs"


def test_workers_that_start_while_inputs_are_sent_cost_nothing() -> None:
    assert simulate(Farm(1, start_s=3, in_mb=5, send_mb_s=1), [1.0]).wall_s == pytest.approx(6)
    assert simulate(Farm(1, start_s=9, in_mb=5, send_mb_s=1), [1.0]).wall_s == pytest.approx(10)


def test_when_all_are_slow_all_is_slow() -> None:
    slow = simulate(Farm(4, straggler_share=1.0, straggler_factor=3.0), [2.0] * 8)
    assert slow.wall_s == pytest.approx(12)
    assert (slow.compute_s, slow.lost_s) == pytest.approx((16, 32))
    assert slow.efficiency == pytest.approx(16 / 48)


def test_a_share_of_stragglers_is_that_share() -> None:
    done = simulate(Farm(1, straggler_share=0.1, straggler_factor=2.0), [1.0] * 5000)
    assert done.wall_s == pytest.approx(5500, rel=0.02)


def test_deaths_cost_their_shards_again_and_no_result() -> None:
    # With one try of a second and 36 deaths an hour, a shard dies with probability 1 - exp(-0.01).
    calm = simulate(Farm(10), [1.0] * 10_000)
    done = simulate(Farm(10, deaths_per_worker_h=36), [1.0] * 10_000)
    assert done.deaths == pytest.approx(100, rel=0.3)
    assert done.failed == 0
    assert calm.wall_s < done.wall_s < calm.wall_s * 1.02


def test_a_shard_that_always_kills_is_given_up() -> None:
    done = simulate(Farm(2, deaths_per_worker_h=3600e6, restart_s=1.0), [1.0, 1.0])
    assert (done.failed, done.deaths) == (2, 6)


def test_the_same_farm_gives_the_same_times() -> None:
    farm = Farm(
        7, handout_s=0.01, straggler_share=0.2, straggler_factor=4, deaths_per_worker_h=20,
        restart_s=2,
    )  # fmt: skip
    costs = [1 + number % 5 for number in range(200)]
    assert simulate(farm, costs) == simulate(farm, costs)
    assert simulate(farm, costs) != simulate(dataclasses.replace(farm, seed=2), costs)


def test_workers_are_named_when_they_are_busy_and_not_when_most_wait() -> None:
    assert simulate(Farm(4), [1.0] * 400).bottleneck == "workers"
    assert simulate(Farm(100), [1.0] * 10).bottleneck == "too few shards for so many workers"
