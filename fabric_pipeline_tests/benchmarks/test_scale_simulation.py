"""What is said about a large fleet follows from what was measured, and the page says what the program prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from benchmarks.scale_cases import CASES, NETWORKS, WORKERS, Case, case, farm_only, outcomes
from benchmarks.scale_chart import chart
from benchmarks.scale_costs import costs_of
from benchmarks.scale_farm import Farm, simulate
from benchmarks.scale_measure import MEASURED
from benchmarks.scale_simulation import report, time_words, validated
from fabric_pipeline_tests.pipeline_runs import ROOT

NETWORK = NETWORKS[1]


@pytest.fixture(scope="module")
def measured() -> dict[str, list[dict[str, Any]]]:
    read: dict[str, list[dict[str, Any]]] = json.loads(MEASURED.read_text(encoding="utf-8"))
    return read


def made_up() -> dict[str, list[dict[str, Any]]]:
    """Measurements of a machine on which everything is a straight line."""
    shapes = [(50_000, 1000), (50_000, 1000), (200_000, 2000), (400_000, 9000), (100_000, 7000)]
    shards = [
        {
            "readings": readings, "series": series, "noisy": 0.02, "cpu_s": 0.5 + 2e-6 * readings + 1e-6 * series, "peak_mb": 300.0,
            "in_mb": readings * 5e-6, "out_mb": readings * 4e-6, "driver_cpu_s": {"spikes": 0.1, "incidents": 3e-5 * series},
        }
        for readings, series in shapes
    ]  # fmt: skip
    engine = [
        {
            "workers": number, "tasks": 1000, "driver_cpu_s": 5.0, "wall_s": 8.0 / number, "cluster_start_s": 2.0, "first_tasks_s": 1.0,
        }
        for number in (1, 2)
    ]  # fmt: skip
    transfer = [{"store": "s3 on loopback", "mb": 100, "collect_cpu_s": 0.2}]
    worked = [{"wall_s": 4.0, "cpu_s": 1.0}] * 4
    real = [{"workers": 2, "farm_s": 8.0, "shards": worked, "sha256": "a" * 64}]
    return {"shards": shards, "engine": engine, "transfer": transfer, "real": real}


def test_lines_go_through_what_lies_on_them() -> None:
    costs = costs_of(made_up())
    assert (costs.shard_s, costs.reading_s, costs.shard_series_s) == pytest.approx(
        (0.5, 2e-6, 1e-6)
    )
    assert (costs.driver_s, costs.driver_series_s) == pytest.approx((0.1, 3e-5))
    assert costs.driver_reading_s == pytest.approx(0, abs=1e-12)
    assert (costs.in_bytes, costs.out_bytes) == pytest.approx((5, 4))
    assert (costs.handout_s, costs.gap_s, costs.start_s) == pytest.approx((0.005, 0.003, 3))
    assert costs.move_s_per_mb == pytest.approx(0.002)
    assert set(costs.spread) == {1.0}


def test_no_cost_is_below_nothing() -> None:
    falling = made_up()
    for number, one in enumerate(falling["shards"]):
        one["cpu_s"] = 9.0 - number
    costs = costs_of(falling)
    assert min(costs.shard_s, costs.shard_series_s, costs.reading_s) >= 0
    assert costs.of_shard(10**6, 10**9) > 0


def test_cases_are_the_fleet_cut_into_a_thousand() -> None:
    assert [one.readings for one in CASES] == [2_160_000_000, 12_960_000_000]
    assert case("x", 1, 60) == Case("x", 540_000_000, 60, 1)
    assert (CASES[0].per_shard, CASES[0].series_per_shard) == (2_160_000, 9000)
    assert (CASES[1].per_shard, CASES[1].series_per_shard) == (12_960_000, 216_000)


def test_one_worker_takes_the_sum_of_what_was_measured() -> None:
    costs = costs_of(made_up())
    done = outcomes(costs, CASES[0], NETWORK)[0]
    shard_s = 0.5 + 2e-6 * 2_160_000 + 1e-6 * 9000
    move_s_per_mb = 1 / (NETWORK.worker_gbit_s * 125) + 0.002
    in_mb, out_mb = 2.16 * 5, 2.16 * 4
    each_s = shard_s + 0.005 + 0.003 + (in_mb + out_mb) * move_s_per_mb
    before_s, after_s = 1000 * in_mb * move_s_per_mb, 1000 * out_mb * move_s_per_mb
    driver_s = 0.1 + 3e-5 * 9_000_000
    assert done.compute_s == pytest.approx(1000 * shard_s)
    assert done.wall_s == pytest.approx(before_s + 1000 * each_s + after_s + driver_s)


def test_more_workers_are_never_slower_and_never_better_than_their_number() -> None:
    runs = outcomes(costs_of(made_up()), CASES[1], NETWORK)
    assert [run.workers for run in runs] == list(WORKERS)
    walls = [run.wall_s for run in runs]
    assert walls == sorted(walls, reverse=True)
    assert all(run.efficiency <= 1 for run in runs)
    assert runs[-1].bottleneck == "collecting and reducing"


def test_the_farm_alone_leaves_out_what_the_driver_does_around_it() -> None:
    farm = Farm(4, start_s=9, in_mb=5, send_mb_s=1, collect_s=1, reduce_s=100, handout_s=0.1)
    assert simulate(farm_only(farm), [1.0] * 4).wall_s == pytest.approx(1 + 0.05 * 4 + 0.05)


def test_a_real_run_is_set_beside_the_simulation_of_its_own_shards() -> None:
    ((workers, shards, real, said, error, cpu_s, _),) = validated(made_up(), costs_of(made_up()))
    assert (workers, shards, real, cpu_s) == (2, 4, "8.0", "4.0")
    assert (said, error) == ("8.0", "+0.3%")


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (99, "99 s"), (120, "2 min"), (5400, "90 min"), (9000, "2.5 h")]
)  # fmt: skip
def test_durations_are_said_in_words(seconds: float, words: str) -> None:
    assert time_words(seconds) == words


def test_the_page_shows_what_the_program_prints(
    measured: dict[str, list[dict[str, Any]]],
) -> None:
    page = (ROOT / "docs" / "scale.md").read_text("utf-8")
    said = report(measured)
    missing = [line for line in said.splitlines() if line.startswith("|") and line not in page]
    assert missing == [], (
        "run python -m benchmarks.scale_simulation and put its tables into the page"
    )


def test_the_simulation_was_close_to_real_runs(measured: dict[str, list[dict[str, Any]]]) -> None:
    for run in measured["real"]:
        costs = costs_of(measured)
        farm = Farm(run["workers"], handout_s=costs.handout_s, gap_s=costs.gap_s)
        said = simulate(farm, [one["wall_s"] for one in run["shards"]])
        assert said.wall_s == pytest.approx(run["farm_s"], rel=0.1)
    assert len({run["sha256"] for run in measured["real"]}) == 1
    assert {run["workers"] for run in measured["real"]} == {1, 2}


def test_the_picture_is_what_the_program_draws(
    measured: dict[str, list[dict[str, Any]]],
) -> None:
    costs = costs_of(measured)
    drawn = chart({what.name: outcomes(costs, what, NETWORK) for what in CASES})
    assert drawn == Path(ROOT / "docs" / "pictures" / "scale.svg").read_text("utf-8")
    texts = [one.text for one in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314
    assert all(what.name in texts for what in CASES)
    assert "1,000" in texts
