"""Charts on one clock: bins, gaps, errors that are counted once, latency without start-up, slow intervals."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.workflows.fabric_series import MOST_BINS, FabricSeries, load_series
from fabric_pipeline.workflows.fabric_view import load_fabric_view
from fabric_pipeline.workflows.link_view import find_link
from fabric_pipeline_tests.workflows.fabric_lake import START, Lake, incident, topology
from fabric_pipeline_tests.workflows.test_link_view import FAR, LINK, NEAR, readings


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path).topology(topology()).spikes().incidents(incident(1, LINK, "CRITICAL"))


def drawn(
    settings: Settings, link: str = "", window: tuple[datetime, datetime] | None = None
) -> FabricSeries:
    view = load_fabric_view(settings)
    return load_series(settings, view, find_link(view, link) if link else None, window)


def timing(lake: Lake, seq: int, duration_us: float, **changes: Any) -> list[Any]:
    given = {
        "entry": seq, "run": "r1", "run_nodes": "[]", "communicator": "dp-0", "seq": seq, "op": "all_reduce", "bytes": 1024,
        "ts": START + timedelta(seconds=30 * seq), "duration_us": duration_us, "unit_kind": "collective", "baseline_us": 1000.0,
    }  # fmt: skip
    return lake._row("collective_timings", **(given | changes))


def test_errors_fall_into_the_bin_before_their_reading(lake: Lake) -> None:
    lake.write("link_counters", readings(lake, NEAR, "replay", [0.0, 8.0, 0.0]))
    series = drawn(lake.settings)
    assert series.clock is not None
    assert (series.clock.step_s, series.clock.start) == (30, START.timestamp())
    assert [strip.errors for strip in series.strips] == [[0.0, 8.0, 0.0]]
    assert series.strips[0].total == 8.0


def test_both_ends_add_up_and_a_lane_is_not_counted_twice(lake: Lake) -> None:
    rows = readings(lake, NEAR, "replay", [4.0]) + readings(lake, FAR, "replay", [2.0])
    lane = readings(lake, NEAR, "replay", [3.0], lane=0, scope="lane")
    lake.write("link_counters", rows + lane)
    assert drawn(lake.settings).strips[0].errors == [6.0]
    alone = readings(lake, NEAR, "crc_multi_bit", [5.0], lane=0, scope="lane", error_class="corrected_multi")  # fmt: skip
    lake.write("link_counters", rows + lane + alone)
    strip = drawn(lake.settings, LINK).strips[0]
    assert (strip.errors, strip.multi) == ([11.0], [5.0])


def test_a_gap_between_readings_is_no_data_and_its_errors_have_no_place(lake: Lake) -> None:
    rows = readings(lake, NEAR, "replay", [1.0, 1.0, 1.0, 1.0])
    columns = TABLES["link_counters"].column_names
    places = [columns.index(name) for name in ("ts", "elapsed_s", "delta")]
    rows[-1][places[0]] += timedelta(seconds=300)
    rows[-1][places[1]], rows[-1][places[2]] = 330.0, 70.0
    lake.write("link_counters", rows)
    strip = drawn(lake.settings).strips[0]
    assert strip.errors[:3] == [1.0, 1.0, 1.0]
    assert set(strip.errors[3:]) == {None}
    assert (strip.unplaced, strip.total) == (70.0, 73.0)


def test_a_long_interval_is_spread_evenly(lake: Lake) -> None:
    other = readings(lake, FAR, "replay", [0.0] * 4)
    rows = readings(
        lake, NEAR, "replay", [12.0], elapsed_s=120.0, ts=START + timedelta(seconds=120)
    )
    lake.write("link_counters", other + rows[1:])
    assert drawn(lake.settings).strips[0].errors == [3.0, 3.0, 3.0, 3.0]


def test_an_end_without_error_counters_is_hatched(lake: Lake) -> None:
    lake.write("link_counters", readings(lake, ("ada-01", "gpu0/nvlink-1"), "replay", [0.0, 0.0]))
    strip = drawn(lake.settings).strips[0]
    assert (strip.errors, strip.total) == ([None, None], None)


def test_totals_without_times_give_no_clock(lake: Lake) -> None:
    rows = readings(lake, NEAR, "replay", [9.0], ts=None, elapsed_s=None, delta=None)
    lake.write("link_counters", rows)
    series = drawn(lake.settings)
    assert series.clock is None
    assert [strip.name for strip in series.strips] == [LINK]


def test_start_up_is_left_out_and_slow_time_is_marked(lake: Lake) -> None:
    durations = [9000.0, 8000.0, *[1000.0] * 10, 3000.0, 3000.0, *[1000.0] * 6]
    lake.write("collective_timings", [timing(lake, n, us) for n, us in enumerate(durations)])
    slow = {
        "run": "r1", "communicator": "dp-0", "op": "all_reduce", "bytes": 1024, "interval": 1, "kind": "whole_collective", "shape": "transient",
        "start_ts": START + timedelta(seconds=360), "end_ts": START + timedelta(seconds=395), "collectives": 2, "latency_us": 3000.0,
        "baseline_us": 1000.0, "deviation_pct": 200.0, "baseline_source": "learnt", "late_ranks": "[7, 3]", "late_nodes": "[]", "nodes": "[]",
        "lost_s": 1.0, "line": 1, "last_line": 2,
    }  # fmt: skip
    start, end = (START + timedelta(seconds=at) for at in (390, 420))
    again = slow | {
        "communicator": "dp-1",
        "start_ts": start,
        "end_ts": end,
        "deviation_pct": 250.0,
    }
    lake.write("stragglers", [lake._row("stragglers", **one) for one in (slow, again)])
    run = drawn(lake.settings).runs[0]
    assert run.p99[:3] == [None, None, 1.0]
    assert max(value for value in run.p99 if value is not None) == 3.0
    assert run.baseline_ms == 1.0
    found = run.slow[0]
    assert len(run.slow) == 1
    assert (found.start - START.timestamp(), found.end - START.timestamp()) == (360, 420)
    assert (found.worst_pct, found.groups, found.late_ranks) == (250.0, 2, (3, 7))


def test_ranks_alone_give_the_time_of_the_communication(lake: Lake) -> None:
    rows = [timing(lake, n, 1000.0 + 500 * rank, rank=rank, entry=2 * n + rank) for n in range(8) for rank in range(2)]  # fmt: skip
    lake.write("collective_timings", rows)
    assert drawn(lake.settings).runs[0].p50 == [1.0] * 7  # the last two share the last bin


def test_the_chosen_link_is_drawn_even_when_it_is_healthy(lake: Lake) -> None:
    quiet = "bob-01:gpu0/nvlink-0"
    lake.write("link_counters", readings(lake, NEAR, "replay", [1.0]) + readings(lake, ("bob-01", "gpu0/nvlink-0"), "replay", [0.0]))  # fmt: skip
    series = drawn(lake.settings, quiet)
    assert [strip.name for strip in series.strips] == [quiet, LINK]
    assert (series.chosen, series.strips[0].errors) == (0, [0.0])
    assert drawn(lake.settings, LINK).chosen == 0


def test_a_week_stays_bounded_and_a_window_brings_it_finer(lake: Lake) -> None:
    week = readings(lake, NEAR, "replay", [1.0] * 20_000)
    lake.write("link_counters", week)
    whole = drawn(lake.settings)
    assert whole.clock is not None
    assert whole.clock.bins <= MOST_BINS
    assert sum(value or 0.0 for value in whole.strips[0].errors) == pytest.approx(20_000)
    part = drawn(lake.settings, window=(START + timedelta(hours=1), START + timedelta(hours=2)))
    assert part.clock is not None
    assert (part.clock.step_s, part.clock.bins) == (30, 120)
    assert sum(value or 0.0 for value in part.strips[0].errors) == pytest.approx(120)
