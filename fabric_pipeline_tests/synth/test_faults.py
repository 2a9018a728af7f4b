"""Planted link faults: errors at both ends, and slow collectives in the same sample intervals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from fabric_pipeline.synth import Scenario
from fabric_pipeline.synth.effects import Plant
from fabric_pipeline.synth.faults import MarginalIbCable, MultiBitCrcLane, PcieReplayStorm
from fabric_pipeline.synth.rows import Layout
from fabric_pipeline.synth.states import LinkFlap, WidthDowngrade
from fabric_pipeline_tests.synth.conftest import Written, small_scenario
from fabric_pipeline_tests.synth.drop_reading import (
    bin_start,
    counter_rows,
    counter_series,
    growth,
    parse,
    timings,
    within,
)

Write = Callable[[Scenario], Written]
PERIODS = ((4.0, 8.0), (13.0, 16.0))


def ends_of(written: Written) -> tuple[tuple[str, str], tuple[str, str]]:
    near, far = (written.fault[side].split(":", 1) for side in ("near_end", "far_end"))
    return (near[0], near[1]), ("" if far[0] == "unknown" else far[0], far[1])


def ratios(drop: Path, comms: set[str], periods: list[list[str]]) -> tuple[float, float]:
    """Median slowdown of whole collectives inside and outside the periods, warm-up left out."""
    rows = [t for t in timings(drop) if t.rank is None and t.comm in comms and t.seq > 2]
    inside = [t.ratio for t in rows if within(t.time, periods)]
    outside = [t.ratio for t in rows if not within(t.time, periods)]
    return median(inside), median(outside)


@pytest.mark.parametrize(
    ("plant", "near_counters", "far_counters", "comm"),
    [
        (
            MultiBitCrcLane(1, 5, 11, 1, PERIODS),
            ("crc_multi_bit", "crc_single_bit", "replay", "recovery"),
            ("crc_multi_bit", "replay", "recovery"),
            "tp-1",
        ),
        (
            MarginalIbCable(1, 2, PERIODS),
            ("crc_single_bit", "symbol_error", "packet_seq_err", "plr_retry"),
            ("crc_single_bit", "plr_retry"),
            "dp-2",
        ),
        (PcieReplayStorm(0, 1, PERIODS), ("pcie_replay",), ("aer_correctable",), "dp-1"),
    ],
)
def test_error_fault_shows_at_both_ends_and_in_latency_in_the_same_bins(
    write: Write,
    plant: Plant,
    near_counters: tuple[str, ...],
    far_counters: tuple[str, ...],
    comm: str,
) -> None:
    written = write(small_scenario(plant))
    series = counter_series(written.path)
    periods = written.fault["periods"]
    for end, names in zip(ends_of(written), (near_counters, far_counters), strict=True):
        for name in names:
            steps = growth(series[(*end, name)])
            assert steps, (end, name)
            assert all(within(time, periods) and step > 0 for time, step in steps.items())
    assert written.fault["slowed"] == {"llama-a": [comm]}
    inside, outside = ratios(written.path, {comm}, periods)
    assert inside > 1.4
    assert outside == pytest.approx(1.0, abs=0.02)
    whole = [t for t in timings(written.path) if t.comm == comm and t.rank is None]
    for time in growth(series[(*ends_of(written)[0], near_counters[0])]):
        at_that_time = [t.ratio for t in whole if bin_start(t.time) == time]
        assert at_that_time
        assert min(at_that_time) > 1.4


def test_crc_fault_names_its_lane_and_only_where_errors_are(write: Write) -> None:
    written = write(small_scenario(MultiBitCrcLane(1, 5, 11, 1, PERIODS)))
    with_lane = [row for row in counter_rows(written.path) if "lane" in row]
    assert {(row["node"], row["link"], row["lane"]) for row in with_lane} == {
        (*ends_of(written)[0], "1"),
        (*ends_of(written)[1], "1"),
    }
    assert {row["counter"] for row in with_lane} == {"crc_multi_bit", "crc_single_bit"}


def test_trouble_inside_a_node_makes_it_late_for_the_groups_between_nodes(write: Write) -> None:
    written = write(small_scenario(MultiBitCrcLane(1, 5, 11, 1, PERIODS)))
    late = [
        t
        for t in timings(written.path)
        if t.comm == "dp-0" and t.rank is not None and within(t.time, written.fault["periods"])
    ]
    assert late
    for rank in late:
        pair = [t for t in late if t.seq == rank.seq]
        shortest = min(pair, key=lambda t: t.duration_us)
        assert shortest.node == "gpu-r11-n02"
    other_job = [t.ratio for t in timings(written.path) if t.run == "olmo-b" and t.seq > 2]
    assert max(other_job) < 1.1


def test_flap_counts_downs_at_both_ends_and_leaves_events(write: Write) -> None:
    written = write(small_scenario(LinkFlap(0, 7, (5.1, 12.2), down_s=70)))
    series = counter_series(written.path)
    for end in ends_of(written):
        assert sum(growth(series[(*end, "link_downed")]).values()) == 2
        assert min(series[(*end, "link_up")].values()) == 0
    events = (written.path / "events.jsonl").read_text()
    assert events.count('"link_down"') == events.count('"link_up"') == 2
    inside, outside = ratios(written.path, {"dp-7"}, written.fault["periods"])
    assert inside > 3 > 1.05 > outside


@pytest.mark.parametrize("interface", ["mlx5_6/pcie", "mlx5_6/1", "gpu4/nvlink-3"])
def test_width_downgrade_shows_in_state_and_in_no_error_counter(
    write: Write, interface: str
) -> None:
    written = write(small_scenario(WidthDowngrade(0, 4, interface, 1, PERIODS)))
    series = counter_series(written.path)
    for end in ends_of(written):
        if (*end, "width") in series:
            steps = growth(series[(*end, "width")])
            assert len(steps) == 4
            speeds = series[(*end, "speed_gbps")].values()
            assert min(speeds) < max(speeds)
    assert (*ends_of(written)[0], "width") in series
    comm = "tp-0" if "nvlink" in interface else "dp-4"
    inside, outside = ratios(written.path, {comm}, written.fault["periods"])
    assert inside > 1.5 > 1.05 > outside


def test_wide_form_says_down_in_words(write: Write) -> None:
    scenario = small_scenario(LinkFlap(0, 7, (5.1,), down_s=70), layout=Layout("wide"))
    written = write(scenario)
    near = ends_of(written)[0]
    states = [
        (parse(row["ts"]).minute, row["state"])
        for row in counter_rows(written.path)
        if (row.get("node"), row["link"]) == near and row["state"] == "down"
    ]
    assert {minute for minute, _ in states} <= {5, 6}
    assert states
