"""The generated fleet goes the whole way, and what is printed is what was measured."""

from __future__ import annotations

import dataclasses
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.fleet_drop import DROP, Fleet, fleet_of, generate, settings_of
from benchmarks.fleet_speed import (
    FLOORS,
    STAGES,
    Cost,
    Measured,
    exponent,
    report,
    run_step,
)
from fabric_pipeline.store import lake
from fabric_pipeline.store.duck import session

SMALL = Fleet(gpus=16, links=4, counters=5, interval_s=60, hours=0.5, noisy=0.2)


def test_a_size_is_met_by_more_gpus() -> None:
    fleet = fleet_of(10**6)
    assert fleet.readings == pytest.approx(10**6, rel=0.05)
    assert fleet_of(10**6, interval_s=10).gpus < fleet.gpus
    assert fleet_of(1).gpus == 8


def test_a_small_fleet_goes_the_whole_way(tmp_path: Path) -> None:
    generate(SMALL, tmp_path)
    costs = {step: run_step(step, tmp_path) for step in (*FLOORS, *STAGES)}
    assert costs["written"].rows == costs["link_counters"].rows == SMALL.readings
    assert costs["spikes"].rows > 0
    assert costs["incidents"].rows > 0
    assert all(cost.rss_mb > 0 for cost in costs.values())
    with closing(session()) as con:
        assert lake.attach(con, settings_of(tmp_path).lake, "link_counters", DROP)
        moving = con.execute(
            "select count(distinct interface || node) filter (delta > 0) * 1.0 / count(distinct interface || node) from link_counters where error_class <> ''"
        ).fetchall()[0][0]
        assert 0 < moving < 0.5
    again = run_step("link_counters", tmp_path)
    assert again.sha256 == costs["link_counters"].sha256


def test_ratios_and_the_exponent_are_of_the_costs() -> None:
    costs = {step: Cost(2.0, 3.0, 100.0) for step in (*FLOORS, *STAGES)}
    small = Measured(SMALL, costs)
    large = Measured(
        dataclasses.replace(SMALL, gpus=160),
        {
            step: dataclasses.replace(cost, cpu_s=20.0, rss_mb=1900.0)
            for step, cost in costs.items()
        },
    )
    assert small.ratio(STAGES, "window") == len(STAGES)
    assert exponent([10, 100, 1000], [3, 30, 300]) == pytest.approx(1)
    text = report([small, large])
    assert "size ^ 1.00" in text
    assert "1900" in text
