"""Does error time fit slow time: found where it does, not where it only happens to lie near."""

from __future__ import annotations

import random
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.detect.spikes.series import summarise
from fabric_pipeline.diagnose.correlate import correlate, increments_sql, step_sql
from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.store.duck import session
from fabric_pipeline_tests.detect.telemetry import count, growing, new_connection
from fabric_pipeline_tests.detect.telemetry import series as readings
from fabric_pipeline_tests.diagnose.evidence import components, increments, series, topology

LINK = "n1:gpu3/nvlink-4"
BURST = range(40, 60)
NOWHERE = Topology()


def test_a_burst_in_the_slow_time_is_found() -> None:
    (found,) = correlate([series(BURST)], increments(LINK, BURST), NOWHERE, 30)
    assert (found.run, found.communicator, found.component) == ("r1", "world", LINK)
    assert (found.bins, found.slow_bins, found.error_bins, found.overlap_bins) == (120, 20, 20, 20)
    assert (found.overlap_share, found.covered_share, found.lag_bins) == (1.0, 1.0, 0)
    assert found.effect_pct == pytest.approx(100)
    assert found.p_value == pytest.approx(3 / 120), "only the shifts by at most one bin do as well"
    assert found.in_path == "yes"
    assert found.candidate_rank == 1


@pytest.mark.parametrize("shift", [-1, 1])
def test_clocks_may_differ_by_one_bin(shift: int) -> None:
    errors = [n + shift for n in BURST]
    (found,) = correlate([series(BURST)], increments(LINK, errors), NOWHERE, 30)
    assert (found.overlap_bins, found.lag_bins) == (20, -shift)


def test_a_burst_beside_the_slow_time_does_not_fit() -> None:
    (found,) = correlate([series(BURST)], increments(LINK, range(70, 90)), NOWHERE, 30)
    assert (found.overlap_bins, found.overlap_share, found.p_value) == (0, 0.0, 1.0)
    assert found.effect_pct == pytest.approx(0)


def test_errors_all_the_time_prove_nothing() -> None:
    (found,) = correlate([series(BURST)], increments(LINK, range(120)), NOWHERE, 30)
    assert found.p_value == 1.0
    assert found.effect_pct is None, "there is no time without errors to compare with"


def test_a_short_harmless_burst_covers_little() -> None:
    (found,) = correlate([series(BURST)], increments(LINK, [47, 48]), NOWHERE, 30)
    assert found.overlap_share == 1.0
    assert found.covered_share == pytest.approx(0.1)
    assert found.p_value is not None
    assert found.p_value > 0.15, "a short burst falls into a long slow time easily"


def test_the_chance_counts_all_shifts_that_do_as_well() -> None:
    twice = [*range(10, 20), *range(80, 90)]
    (both,) = correlate([series(twice)], increments(LINK, twice), NOWHERE, 30)
    (one,) = correlate([series(range(10, 20))], increments(LINK, range(10, 20)), NOWHERE, 30)
    assert both.p_value == one.p_value == 3 / 120
    (half,) = correlate([series(twice)], increments(LINK, range(10, 20)), NOWHERE, 30)
    assert half.p_value == 6 / 120, "it would fit either slow time"
    assert half.covered_share == 0.5


@given(st.sets(st.integers(0, 39), min_size=1), st.sets(st.integers(0, 39), min_size=1))
def test_every_shift_is_tried(erring: set[int], slow: set[int]) -> None:
    (found,) = correlate([series(slow, rows=40)], increments(LINK, erring), NOWHERE, 30)
    overlap = {n: len({(bin_ + n) % 40 for bin_ in erring} & slow) for n in range(-1, 41)}
    most = max(overlap[lag] for lag in (0, -1, 1))
    as_good = [max(overlap[n], overlap[n - 1], overlap[n + 1]) >= most for n in range(40)]
    assert found.overlap_bins == most
    assert found.p_value == (pytest.approx(sum(as_good) / 40) if most else 1.0)
    assert str(found.overlap_share) == str(most / len(erring)), "nothing is 0.0, not -0.0"


def test_both_ends_are_one_candidate_named_by_the_louder() -> None:
    far = "n1:nvswitch-2/port-17"
    rows = increments(LINK, range(40, 50)) + increments(far, range(50, 60), delta=11)
    (found,) = correlate([series(BURST)], rows, topology((LINK, far)), 30)
    assert (found.component, found.far_end) == (far, LINK)
    assert found.overlap_bins == 20
    assert components(correlate([series(BURST)], rows, NOWHERE, 30)) == [LINK, far]


def test_a_link_that_no_rank_uses_is_out_of_the_path() -> None:
    rows = increments("n9:gpu3/nvlink-4", BURST)
    assert correlate([series(BURST)], rows, NOWHERE, 30) == []
    (found,) = correlate([series(BURST, nodes=[])], rows, NOWHERE, 30)
    assert found.in_path == "unknown"


def test_a_switch_port_is_in_the_path_of_the_node_behind_it() -> None:
    port, hca = "unknown:leaf-4/port-12", "n2:mlx5_3/1"
    (found,) = correlate([series(BURST)], increments(port, BURST), topology((hca, port)), 30)
    assert (found.in_path, found.far_end) == ("yes", hca)
    (found,) = correlate([series(BURST)], increments(port, BURST), NOWHERE, 30)
    assert found.in_path == "unknown", "no map says where the port leads"


def test_names_by_pci_address_are_the_same_link() -> None:
    gpus = [{"gpu": 3, "pci": "0000:5d:00.0"}]
    known = Topology([TopologyPart(nodes=[{"node": "n1", "gpus": gpus}])])
    rows = increments(LINK, range(40, 50)) + increments(
        "n1:pci-0000:5d:00.0/nvlink-4", range(50, 60)
    )
    (found,) = correlate([series(BURST)], rows, known, 30)
    assert (found.component, found.overlap_bins) == (LINK, 20)


def test_the_stronger_candidate_comes_first() -> None:
    rows = increments("n1:gpu0/nvlink-0", range(55, 75)) + increments("n1:gpu7/nvlink-7", BURST)
    rows += increments("n2:gpu1/nvlink-1", range(90, 95))
    found = correlate([series(BURST)], rows, NOWHERE, 30)
    assert components(found) == ["n1:gpu7/nvlink-7", "n1:gpu0/nvlink-0", "n2:gpu1/nvlink-1"]
    assert [one.candidate_rank for one in found] == [1, 2, 3]
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert all(one.q_value is not None and one.q_value >= (one.p_value or 0) for one in found)


def test_the_best_group_of_a_run_speaks_for_it() -> None:
    groups = [series(range(90, 100), communicator="dp-0"), series(BURST, communicator="dp-1")]
    (found,) = correlate(groups, increments(LINK, BURST), NOWHERE, 30)
    assert found.communicator == "dp-1"


def test_runs_without_slow_time_and_groups_that_only_wait_have_no_candidate() -> None:
    assert correlate([series([])], increments(LINK, BURST), NOWHERE, 30) == []
    waiting = {("r1", "world")}
    assert correlate([series(BURST)], increments(LINK, BURST), NOWHERE, 30, waiting) == []


def test_a_run_of_few_bins_is_not_compared() -> None:
    short = series(range(3, 5), rows=7)
    assert correlate([short], increments(LINK, range(3, 5)), NOWHERE, 30) == []
    assert len(correlate([series(range(3, 5), rows=8)], increments(LINK, [3, 4]), NOWHERE, 30)) == 1


def test_errors_counted_over_a_long_gap_cannot_be_placed() -> None:
    (row,) = increments(LINK, [50])
    assert len(correlate([series(BURST)], [(*row[:3], 150.0, 10.0)], NOWHERE, 30)) == 1
    assert correlate([series(BURST)], [(*row[:3], 151.0, 10.0)], NOWHERE, 30) == []


def test_errors_before_and_after_the_run_are_not_in_it() -> None:
    assert correlate([series(BURST)], increments(LINK, [-50, 300]), NOWHERE, 30) == []


def test_bins_without_a_collective_are_unknown_not_fast() -> None:
    """Collectives every two minutes, counters every five seconds: bins are as wide as can be told."""
    sparse = series(range(10, 20), rows=40, step_s=120)
    samples = range(10 * 24, 20 * 24)  # all five-second samples of the slow time
    (found,) = correlate([sparse], increments(LINK, samples, step_s=5), NOWHERE, 5)
    assert found.bins == 40
    assert (found.overlap_share, found.covered_share) == (1.0, 1.0)


def test_a_pause_of_the_run_is_no_normal_time() -> None:
    """The run stands still from bin 60 to bin 99 while the link goes on counting errors."""
    pausing = series(BURST, rows=120)
    kept = [n for n in range(120) if not 60 <= n < 100]
    pausing.rows = [pausing.rows[n] for n in kept]
    pausing.deviation, pausing.is_slow = pausing.deviation[kept], pausing.is_slow[kept]
    (found,) = correlate([pausing], increments(LINK, range(40, 100)), NOWHERE, 30)
    assert (found.bins, found.error_bins, found.overlap_share) == (80, 20, 1.0)


def test_one_value_per_bin_of_many_collectives() -> None:
    dense = series(range(400, 600), rows=1200, step_s=3)
    (found,) = correlate([dense], increments(LINK, BURST), NOWHERE, 30)
    assert (found.bins, found.slow_bins, found.overlap_bins) == (120, 20, 20)


@settings(max_examples=60, deadline=None)
@given(
    st.sets(st.integers(0, 59), min_size=1, max_size=40),
    st.sets(st.integers(0, 59), min_size=1, max_size=40),
    st.randoms(use_true_random=False),
)
def test_shares_and_chances_are_shares_and_chances(
    slow: set[int], errors: set[int], order: random.Random
) -> None:
    rows = increments(LINK, sorted(errors))
    found = correlate([series(slow, rows=60)], rows, NOWHERE, 30)
    (one,) = found
    assert 0 <= one.overlap_share <= 1
    assert 0 <= one.covered_share <= 1
    assert one.p_value is not None
    assert 1 / 60 <= one.p_value <= 1
    assert one.q_value == pytest.approx(one.p_value)
    exact = max(len({(e + lag) % 60 for e in errors} & slow) for lag in (-1, 0, 1))
    assert one.overlap_bins == exact
    order.shuffle(rows)
    assert correlate([series(slow, rows=60)], rows, NOWHERE, 30) == found


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_independent_bursts_rarely_look_improbable(seed: int) -> None:
    """The chance is a chance: over all shifts of one burst, few reach a small value."""
    rng = np.random.default_rng(seed)
    slow = {int((start + n) % 120) for start in rng.integers(0, 120, 2) for n in range(8)}
    chances = []
    for shift in range(0, 120, 10):
        errors = [(shift + n) % 120 for n in range(10)]
        (one,) = correlate([series(slow)], increments(LINK, errors), NOWHERE, 30)
        chances.append(one.p_value or 1.0)
    assert np.mean(np.array(chances) <= 0.05) <= 0.25


def test_rows_fit_the_table() -> None:
    (found,) = correlate([series(BURST)], increments(LINK, BURST), NOWHERE, 30)
    row = dict(zip(TABLES["straggler_correlations"].column_names, found.row("d1"), strict=True))
    assert (row["node"], row["interface"], row["drop"]) == ("n1", "gpu3/nvlink-4", "d1")
    assert row["p_value"] == found.p_value


def test_only_ends_on_which_a_rule_fired_and_sums_only_where_no_link_tells_more() -> None:
    connection = new_connection()
    sums: dict[str, Any] = {"scope": "gpu_sum", "link_type": "nvlink"}
    rows = readings("crc", growing({5: 9}, 10), interface="gpu1", **sums)
    rows += readings("crc", growing({5: 9}, 10), interface="gpu2", **sums)
    rows += readings("crc_flit", growing({5: 9}, 10), interface="gpu2/nvlink-3")
    rows += readings("crc", growing({5: 9}, 10), interface="gpu2", node="n2", **sums)
    rows += readings("crc", growing({5: 9}, 10), interface="nvswitch-0", scope="switch_sum")
    rows += readings("corrected_bits", growing({5: 9}, 10), interface="mlx5_0/1")
    rows += readings("tx_bytes", growing({5: 9}, 10), interface="mlx5_0/1")
    rows += readings("crc", growing({5: 9}, 10), interface="gpu5", node="n3")  # no rule fired there
    count(connection, rows)
    connection.execute(
        "create temp table spike_detections as select distinct node, interface, counter, ts as start_ts "
        "from link_counters where delta > 0 and node || interface <> 'n3gpu5'"
    )
    found = connection.execute(increments_sql()).fetchall()
    summarise(connection)
    for sql in (increments_sql, step_sql):
        of_all = connection.execute(sql()).fetchall()
        assert connection.execute(sql("error_increments")).fetchall() == of_all
    connection.close()
    assert [row[:2] for row in found] == [("n1", "gpu1"), ("n1", "gpu2/nvlink-3"), ("n2", "gpu2")]


@given(st.lists(st.sampled_from([60.0, 60.0, 59.999871, 30.0, 10.5, 0.0]), max_size=23))
def test_the_usual_step_is_the_tenth_of_all_steps(steps_s: list[float]) -> None:
    with closing(session()) as connection:
        connection.execute(
            "create temp table link_counters as "
            "select unnest(?::double[]) as elapsed_s, 1.0 as delta, 'detected' as error_class",
            [steps_s],
        )
        quantile = "select coalesce(quantile_cont(elapsed_s, 0.1), 0) from link_counters where elapsed_s > 0"
        (expected,) = connection.execute(quantile).fetchall()[0]
        (found,) = connection.execute(step_sql()).fetchall()[0]
    assert found == pytest.approx(expected, rel=1e-12)
