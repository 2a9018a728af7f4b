"""Series in, intervals and totals out: exposure, peers, basis, bounds."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from fabric_pipeline.detect.spikes.evaluate import Spike, detect_spikes
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.schemas.validation import validate
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline_tests.detect.telemetry import Row, at, count, growing, reading, series


def spikes_of(connection: Any, rows: list[Row]) -> list[Spike]:
    count(connection, rows)
    return detect_spikes(connection)


def rules(spike: Spike) -> set[str]:
    return {hit.rule_id for hit in spike.hits}


def quiet_links(
    number: int, samples: int, counter: str = "replay", step_s: float = 30.0
) -> list[Row]:
    rows: list[Row] = []
    for link in range(number):
        rows += series(counter, [0] * samples, step_s, interface=f"gpu0/nvlink-{link}")
    return rows


def test_an_interval_has_its_errors_time_and_lines(connection: Any) -> None:
    steps = {20: 30, 21: 40, 22: 30}
    rows = series("replay", growing(steps, 120), line=2) + quiet_links(5, 120)
    (spike,) = spikes_of(connection, rows)
    assert (spike.node, spike.interface, spike.counter) == ("n1", "gpu3/nvlink-4", "replay")
    assert (spike.start_ts, spike.end_ts) == (at(19 * 30), at(22 * 30))
    assert (spike.events, spike.exposure_s) == (100, 90)
    assert spike.rate_per_hour == 4000
    assert (spike.series_events, spike.series_exposure_s) == (100, 119 * 30)
    assert (spike.file, spike.line, spike.last_line) == ("a.csv", 22, 24)
    assert (spike.peers, spike.peer_median_events) == (5, 0)
    assert (spike.error_class, spike.class_basis) == ("detected_retransmitted", "proxy")
    assert (spike.burstiness, spike.is_lower_bound) == ("burst", False)
    assert rules(spike) == {"replay_plain_limit", "unusual_count"}
    assert spike.severity == "warning"


def test_silence_makes_no_row(connection: Any) -> None:
    assert spikes_of(connection, quiet_links(4, 50)) == []
    assert spikes_of(connection, series("replay", [7] * 50)) == [], "an old total is no new error"


def test_a_pause_of_more_than_five_steps_ends_an_interval(connection: Any) -> None:
    found = spikes_of(connection, series("replay", growing({10: 90, 15: 90, 21: 90}, 60)))
    assert [(s.spike, s.events) for s in found] == [(1, 180), (2, 90)]


def test_single_errors_are_told_from_bursts(connection: Any) -> None:
    found = spikes_of(connection, series("recovery", growing({5: 1, 6: 1, 7: 1, 30: 2}, 60)))
    assert [s.burstiness for s in found] == ["isolated", "burst"]


def test_a_gap_counts_as_exposure(connection: Any) -> None:
    values = growing({20: 600}, 40)
    rows = [row for n, row in enumerate(series("replay", values)) if not 10 < n < 20]
    (spike,) = spikes_of(connection, rows)
    assert spike.exposure_s == 300
    assert spike.rate_per_hour == 7200
    assert spike.start_ts == at(300)


def test_silent_peers_make_an_error_surprising(connection: Any) -> None:
    """The same count, once beside silent peers and once beside peers that count as much."""
    own = series("crc_flit", growing({20: 20}, 120))
    (alone,) = spikes_of(connection, own + quiet_links(9, 120, "crc_flit"))
    noisy: list[Row] = []
    for link in range(9):
        values = growing(dict.fromkeys(range(1, 120), 20), 120)
        noisy += series("crc_flit", values, interface=f"gpu0/nvlink-{link}")
    found = spikes_of(connection, own + noisy)
    assert alone.expected_events is not None
    assert alone.surprise is not None
    assert alone.expected_events < 1
    assert alone.surprise > 5
    assert "unusual_count" in rules(alone)
    assert {spike.interface for spike in found} == {f"gpu0/nvlink-{link}" for link in range(9)}
    assert [rules(spike) for spike in found] == [{"persistent_errors"}] * 9


def test_a_link_that_was_bad_all_along_still_stands_out(connection: Any) -> None:
    bad = series("crc_flit", growing(dict.fromkeys(range(1, 120), 5), 120))
    (spike,) = spikes_of(connection, bad + quiet_links(9, 120, "crc_flit"))
    assert {"unusual_count", "persistent_errors"} <= rules(spike)


def test_retrains_far_apart_add_up_within_a_day(connection: Any) -> None:
    step_s = 600.0
    steps = {3: 1, 40: 1, 100: 1}
    found = spikes_of(connection, series("recovery", growing(steps, 200), step_s))
    assert [(s.spike, rules(s)) for s in found] == [(3, {"repeated_retrains"})]
    steps = {3: 1, 80: 1, 160: 1}  # the third is more than 24 h after the first
    found = spikes_of(connection, series("recovery", growing(steps, 200), step_s))
    assert found == []


def test_link_downs_far_apart_add_up_within_half_a_day(connection: Any) -> None:
    for last, expected in ((70, "link_flapping"), (90, "link_down")):
        steps = {3: 1, 30: 1, last: 1}
        rows = series(
            "link_downed", growing(steps, 120), 600.0, interface="mlx5_0/1", link_type="infiniband"
        )
        found = spikes_of(connection, rows)
        assert [rules(s) for s in found] == [{"link_down"}, {"link_down"}, {expected}]


def test_ceilings_are_lower_bounds(connection: Any) -> None:
    rows = series("symbol_error", [65500, 65500, 65535, 65535])
    rows[2]["quality"] = rows[3]["quality"] = "saturated"
    (spike,) = spikes_of(connection, rows)
    assert (spike.events, spike.is_lower_bound) == (35, True)


def test_a_reset_is_no_spike(connection: Any) -> None:
    """What stands there after a reset was counted while links were trained anew (field guide C.4)."""
    fallen = series("crc_flit", [9120, 9120, 14, 14, 14])
    assert spikes_of(connection, fallen + quiet_links(9, 60, "crc_flit")) == []
    erring = series("crc_flit", [9120, 9120, 14, 314, 614])
    (spike,) = spikes_of(connection, erring + quiet_links(9, 60, "crc_flit"))
    assert (spike.events, spike.is_lower_bound) == (614, True)
    assert [(start, end, events) for start, end, events in spike.bursts] == [(at(60), at(120), 600)]


def test_bits_moved_and_pcie_shape_are_taken_from_the_same_end(connection: Any) -> None:
    port: Row = {"interface": "mlx5_0/1", "link_type": "infiniband"}
    rows = series("symbol_error", growing({5: 4}, 20), **port)
    rows += series("rx_bytes", growing(dict.fromkeys(range(1, 20), 1e6), 20), **port)
    rows += series("rx_bytes", growing({3: 1e15}, 20), interface="mlx5_1/1", link_type="infiniband")
    (spike,) = spikes_of(connection, rows)
    assert {hit.rule_id: hit.value for hit in spike.hits} == {"bit_error_rate": "5.0e-07"}
    end: Row = {"interface": "gpu0/pcie", "link_type": "pcie"}
    rows = series("pcie_replay", growing(dict.fromkeys(range(1, 20), 12), 20), **end)
    for counter, value in (("pcie_gen", 3), ("pcie_gen_max", 5), ("width", 16)):
        rows += series(counter, [value] * 3, **end)
    (spike,) = spikes_of(connection, rows)
    assert spike.rate_per_hour == 1440
    (plain,) = [hit for hit in spike.hits if hit.rule_id == "replay_plain_limit"]
    assert (plain.severity, "allows 1860/h" in plain.says) == ("watch", True)


def test_a_snapshot_has_a_total_and_never_a_rate(connection: Any) -> None:
    rows = [reading("crc", 4321, None, line=7)]
    rows += [reading("crc", 0, None, 20 + n, interface=f"gpu3/nvlink-{n + 5}") for n in range(5)]
    (spike,) = spikes_of(connection, rows)
    assert (spike.events, spike.class_basis) == (4321, "snapshot")
    assert (spike.start_ts, spike.end_ts) == (None, None)
    assert (spike.exposure_s, spike.rate_per_hour) == (None, None)
    assert spike.line == 7
    assert rules(spike) == {"snapshot_total", "sibling_outlier"}
    assert spike.severity == "critical"


def test_one_reading_with_a_time_is_a_snapshot_too(connection: Any) -> None:
    (spike,) = spikes_of(connection, [reading("crc", 2000, 0.0)])
    assert spike.rate_per_hour is None
    assert spike.class_basis == "snapshot"


def test_links_that_all_count_alike_do_not_stand_out(connection: Any) -> None:
    rows = [reading("crc", 5000 + n, None, n + 1, interface=f"gpu0/nvlink-{n}") for n in range(8)]
    assert {spike.severity for spike in spikes_of(connection, rows)} == {"watch"}


def test_what_was_not_measured_is_no_sibling(connection: Any) -> None:
    rows = [reading("crc", 500, None, 1)]
    rows += [
        reading("crc", None, None, 2 + n, interface=f"gpu0/nvlink-{n}", quality="not_supported")
        for n in range(8)
    ]
    (spike,) = spikes_of(connection, rows)
    assert spike.peers == 0
    assert rules(spike) == {"snapshot_total"}


def test_two_captures_without_times_judge_growth_or_ceilings_only(connection: Any) -> None:
    still = [reading("crc", 3000, None, 1), reading("crc", 3000, None, 1, file="b.csv")]
    assert spikes_of(connection, still) == []
    grown = [reading("crc", 3000, None, 1), reading("crc", 3002, None, 1, file="b.csv")]
    (spike,) = spikes_of(connection, grown)
    assert (spike.events, spike.severity, spike.is_growth) == (2, "watch", True)
    assert spike.hits[0].value == "2 more, 3002 in total"
    (spike,) = spikes_of(connection, [grown[0], grown[1] | {"value": 9000.0}])
    assert (spike.events, spike.severity) == (6000, "critical")
    full = [
        reading("symbol_error", 65535, None, 1, file=file, quality="saturated")
        for file in ("a.csv", "b.csv")
    ]
    (spike,) = spikes_of(connection, full)
    assert (spike.events, spike.is_lower_bound) == (65535, True)


def test_a_series_with_a_wrong_clock_is_judged_by_its_total(connection: Any) -> None:
    (spike,) = spikes_of(connection, series("crc", [0, 900, 2000], quality="clock_skew"))
    assert (spike.events, spike.rate_per_hour) == (2000, None)


def test_exchanged_gpus_lanes_and_sums_are_judged_apart(connection: Any) -> None:
    rows = series("crc", [0, 5000], gpu_uuid="GPU-a", line=10)
    rows += series("crc", [0, 6000], gpu_uuid="GPU-b", line=20)
    rows += series("crc", [0, 7000], lane=1, scope="lane", line=30)
    rows += series("crc", [0, 8000], scope="gpu_sum", line=40)
    found = spikes_of(connection, rows)
    assert sorted((s.gpu_uuid, s.lane, s.scope, s.events) for s in found if s.lane is None) == [
        ("", None, "gpu_sum", 8000),
        ("GPU-a", None, "link", 5000),
        ("GPU-b", None, "link", 6000),
    ]
    assert [(s.lane, s.scope, s.events) for s in found if s.lane is not None] == [(1, "lane", 7000)]


@pytest.mark.parametrize("seed", range(3))
def test_rows_fit_the_table_and_do_not_depend_on_row_order(connection: Any, seed: int) -> None:
    rows = series("replay", growing({20: 30, 21: 40, 50: 3}, 80))
    rows += series("crc_flit", growing({5: 2}, 80), interface="gpu1/nvlink-0")
    rows += [*quiet_links(3, 80), reading("crc", 4000, None, 1, interface="gpu2/nvlink-1")]
    ordered = spikes_of(connection, rows)
    random.Random(seed).shuffle(rows)  # noqa: S311
    shuffled = spikes_of(connection, rows)
    assert [s.row("d1") for s in ordered] == [s.row("d1") for s in shuffled]
    table = TABLES["spike_detections"]
    connection.execute(f"create or replace temp table spike_detections as {table.empty_sql()}")
    columns = [(column.name, column.type) for column in table.columns]
    insert_columns(connection, table.name, columns, [s.row("d1") for s in ordered])
    assert validate(connection, table, table.name) == []
    stored = connection.execute("select rules from spike_detections").fetchall()
    for hit in (hit for row in stored for hit in json.loads(row[0])):
        assert set(hit) == {"rule_id", "severity", "says", "value", "limit", "source"}


def test_a_lane_that_errs_most_of_the_time_has_whole_links_for_peers(connection: Any) -> None:
    """Lanes are named only where one errs, so the other end of its link was its only peer once."""
    near = growing(dict.fromkeys([*range(20, 45), *range(60, 105)], 300.0), 120)
    far = growing(dict.fromkeys([*range(20, 45), *range(60, 105)], 90.0), 120)
    rows = series("crc_multi_bit", near, lane=1, scope="lane")
    rows += series(
        "crc_multi_bit", far, lane=1, scope="lane", interface="nvswitch-2/port-9", line=200
    )
    for link in range(6):
        rows += series("crc_multi_bit", [0] * 120, interface=f"gpu0/nvlink-{link}")
    found = spikes_of(connection, rows)
    assert {(s.interface, s.lane) for s in found} == {
        ("gpu3/nvlink-4", 1),
        ("nvswitch-2/port-9", 1),
    }
    assert all("unusual_count" in {hit.rule_id for hit in s.hits} for s in found)
    assert sum(s.events for s in found if s.interface == "gpu3/nvlink-4") == 300 * 70
