"""Confounders: they look like trouble and must not be a bad link."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from fabric_pipeline.synth import Scenario
from fabric_pipeline.synth.confounders import (
    BenignBursts,
    Congestion,
    CounterReset,
    LostSamples,
    MissingNode,
    SlowCompute,
)
from fabric_pipeline.synth.rows import Layout
from fabric_pipeline_tests.synth.conftest import Written, small_scenario
from fabric_pipeline_tests.synth.drop_reading import (
    counter_rows,
    counter_series,
    growth,
    timings,
    within,
)

Write = Callable[[Scenario], Written]


def test_harmless_bursts_count_errors_and_slow_nothing(write: Write) -> None:
    written = write(small_scenario(BenignBursts(links=6, spare_nodes=(2,))))
    series = counter_series(written.path)
    (bursts,) = written.answer["confounders"]
    assert len(bursts["links"]) == 6
    for link in bursts["links"]:
        node, interface = link["near_end"].split(":", 1)
        assert node != "gpu-r11-n03"
        steps = growth(series[node, interface, "crc_single_bit"])
        assert steps
        assert all(within(time, link["periods"]) for time in steps)
    assert max(t.ratio for t in timings(written.path) if t.seq > 2) < 1.1


def test_reset_falls_to_zero_and_stays_there(write: Write) -> None:
    written = write(small_scenario(CounterReset(0, 6, 11.0)))
    values = counter_series(written.path)["gpu-r11-n01", "gpu6/nvlink-4", "crc_single_bit"]
    before = [value for time, value in values.items() if time < "2026-11-20T06:11"]
    after = [value for time, value in values.items() if time >= "2026-11-20T06:11"]
    assert min(before) > 100
    assert set(after) == {0}
    (reset,) = written.answer["confounders"]
    assert reset["first_sample_after"] == "2026-11-20T06:11:00Z"


def test_silent_node_leaves_no_row_but_stays_in_topology_and_runs(write: Write) -> None:
    written = write(small_scenario(MissingNode(1)))
    silent = "gpu-r11-n02"
    assert silent not in {row.get("node") for row in counter_rows(written.path)}
    assert silent not in {t.node for t in timings(written.path)}
    assert {"dp-3", "tp-0"} <= {t.comm for t in timings(written.path)}
    assert silent in (written.path / "topology.json").read_text()
    assert silent in (written.path / "runs.jsonl").read_text()
    leaf = counter_series(written.path)["", "leaf-0/port-2", "rx_errors"]
    assert leaf  # the switch still sees its side of the cable


def test_lost_samples_leave_gaps_but_keep_first_and_last(write: Write) -> None:
    plants = BenignBursts(links=6), LostSamples(share=0.3, gaps=((0, 6.0, 9.0),))
    written = write(small_scenario(*plants, layout=Layout("wide", "jsonl", quiet_every=10)))
    series = counter_series(written.path)
    ends = {"2026-11-20T06:00:00Z", "2026-11-20T06:20:00Z"}
    assert all(ends <= set(values) for values in series.values())
    longest = max(len(values) for values in series.values())
    assert 20 < longest < 38
    gap = [f"2026-11-20T06:0{minute}:{second}Z" for minute in (6, 7, 8) for second in ("00", "30")]
    for (node, _, _), values in series.items():
        if node == "gpu-r11-n01":
            assert not set(gap) & set(values)


def test_late_rank_has_the_shortest_duration_and_clean_links(write: Write) -> None:
    written = write(small_scenario(SlowCompute(0, 3, ((5, 15),))))
    (slow,) = written.answer["confounders"]
    assert slow["slowed"] == {"llama-a": ["tp-0", "dp-3"]}
    rows = [t for t in timings(written.path) if t.rank is not None and t.comm == "tp-0"]
    late = [t for t in rows if within(t.time, slow["periods"])]
    assert late
    for seq in {t.seq for t in late}:
        group = [t for t in rows if t.seq == seq]
        shortest = min(group, key=lambda t: t.duration_us)
        assert (shortest.node, shortest.gpu) == ("gpu-r11-n01", "3")
        assert shortest.arrival_us == max(t.arrival_us or 0.0 for t in group)
        ends = [t.duration_us + (t.arrival_us or 0.0) for t in group]
        assert max(ends) - min(ends) < 1.0
    changing = {key for key, values in counter_series(written.path).items() if growth(values)}
    assert {name for _, _, name in changing} <= {"tx_bytes", "rx_bytes", "tx_wait"}


def test_congestion_makes_a_whole_rail_wait_without_errors(write: Write) -> None:
    written = write(small_scenario(Congestion(6, ((5, 12),))))
    series = counter_series(written.path)
    waits = {
        link: sum(growth(values).values())
        for (_, link, name), values in series.items()
        if name == "tx_wait"
    }
    rail = {link for link in waits if link.startswith(("mlx5_10/", "leaf-6/port-"))}
    slow = {link for link, ticks in waits.items() if ticks > 1e8}
    assert slow == {link for link in rail if link in ("mlx5_10/1", *_rail_ports(6))}
    (answer,) = written.answer["confounders"]
    rows = [
        t for t in timings(written.path) if t.comm == "dp-6" and within(t.time, answer["periods"])
    ]
    assert median(t.ratio for t in rows if t.rank is None) > 1.4


def _rail_ports(rail: int) -> list[str]:
    return [f"leaf-{rail}/port-{node + 1}" for node in range(3)]
