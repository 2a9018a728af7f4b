"""Baselines accuse what their rule says and nothing more, in handmade scenarios of four nodes.

Run `a` uses nodes 0 and 1, run `b` nodes 2 and 3; each has one tensor-parallel group a node and one
data-parallel group a rail, and is slow only where a test says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.baselines import METHODS, Method, best_parameter, outcome_of
from benchmarks.baselines.correlation import pearson_state, z_score_straggler, z_scores
from benchmarks.baselines.errors import link_errors
from benchmarks.baselines.limits import limits, limits_straggler, limits_straggler_state
from benchmarks.baselines.method import accused
from benchmarks.baselines.published import dcgm_health, gcm_check, nvsentinel
from benchmarks.baselines.timing import timing_of
from benchmarks.baselines.voting import latency_only, voting_007, winners
from benchmarks.fleet_window import Observed, observe
from benchmarks.scoring import Answer
from fabric_pipeline.synth.fleet import (
    COUNTERS,
    FleetGroup,
    FleetScenario,
    FleetSpec,
    GuiltyLink,
    Increments,
    StateSpan,
    generate_fleet,
)

BINS, STEP_S = 60, 30.0
EMPTY = generate_fleet(FleetSpec(nodes=4, bins=BINS, step_s=STEP_S, fault="none"), 1)
NEAR, FAR = 0, 1
BAD = range(20, 40)

Errors = tuple[int, int, str, Iterable[int], float]  # link, side, counter, bins, errors in each


def link(link_type: str, node: int, rail: int) -> int:
    """The NIC cable, or the first NVLink or PCIe link, of a GPU."""
    links = EMPTY.links
    place = links.gpu if link_type == "nvlink" else links.rail
    is_it = (links.link_type == link_type) & (links.node_index == node) & (place == rail)
    return int(np.flatnonzero(is_it)[0])


CABLE, OTHER_CABLE = link("infiniband", 0, 3), link("infiniband", 2, 3)
NVLINK, OTHER_NVLINK, PCIE = link("nvlink", 0, 2), link("nvlink", 0, 5), link("pcie", 1, 4)


def increments_of(errors: Sequence[Errors], resets: Iterable[int] = ()) -> Increments:
    """Every sample one step after the last; those in the bins `resets` follow a reset."""
    rows = sorted(
        (2 * link_ + side, COUNTERS.index(counter), bin_, amount)
        for link_, side, counter, bins, amount in errors
        for bin_ in bins
    )
    end, counter, bins, amount = np.array(rows, dtype=float).reshape(-1, 4).T
    at = bins.astype(np.int64)
    elapsed_s = np.full(len(rows), STEP_S)
    is_reset = np.isin(at, list(resets))
    return Increments(
        end.astype(np.int64), counter.astype(np.int64), at, elapsed_s, amount, is_reset
    )


def groups_of() -> list[FleetGroup]:
    def group(run: str, name: str, kind: str, nodes: list[int], rail: int) -> FleetGroup:
        members = np.array(nodes)
        return FleetGroup(run, name, kind, members, rail, 0, BINS, 1000.0, 1 << 27, True)

    groups = []
    for run, nodes in (("a", [0, 1]), ("b", [2, 3])):
        groups += [group(run, f"tp{node}", "tp", [node], -1) for node in nodes]
        groups += [group(run, f"dp{rail}", "dp", nodes, rail) for rail in range(8)]
    return groups


def seen(
    errors: Sequence[Errors],
    slow: Sequence[tuple[str, str]] = (),
    states: Sequence[StateSpan] = (),
    resets: Iterable[int] = (),
) -> Observed:
    """The scenario with these errors, the groups `slow` (run, name) slow in the bins `BAD`."""
    return observe(scenario_of(errors, slow, states, resets))


def scenario_of(
    errors: Sequence[Errors],
    slow: Sequence[tuple[str, str]] = (),
    states: Sequence[StateSpan] = (),
    resets: Iterable[int] = (),
) -> FleetScenario:
    groups = groups_of()
    times_us = 1000.0 * np.exp(np.random.default_rng(1).normal(0, 0.01, (len(groups), BINS)))
    for number, group in enumerate(groups):
        if (group.run, group.name) in slow:
            times_us[number, BAD.start : BAD.stop] *= 1.5
    unknown = np.full(times_us.shape, -1, np.int32)
    return replace(
        EMPTY,
        increments=increments_of(errors, resets),
        states=list(states),
        groups=groups,
        whole_us=times_us,
        pure_us=None,
        late_node=unknown,
        late_gpu=unknown,
        wait_ticks=[],
        throttled=[],
        truth=[],
        confounders=[],
    )


def untimed(errors: Sequence[Errors]) -> Observed:
    scenario = scenario_of(errors)
    return observe(replace(scenario, groups=[], whole_us=np.zeros((0, BINS))))


def named(answers: Sequence[Answer]) -> set[int]:
    return {one.link for one in answers}


LOUD_AND_SLOW: list[Errors] = [
    (CABLE, NEAR, "symbol_error", BAD, 50.0),  # 6000 an hour, its rail is slow meanwhile
    (OTHER_CABLE, NEAR, "symbol_error", BAD, 50.0),  # the same, but nothing is slow there
    (link("infiniband", 1, 3), FAR, "symbol_error", range(5, 10), 50.0),  # at another time
    (link("infiniband", 1, 6), NEAR, "symbol_error", [30], 500.0),  # one sample only
]


@pytest.fixture(scope="module")
def loud() -> Observed:
    return seen(LOUD_AND_SLOW, slow=[("a", "dp3")])


def test_limits_take_two_samples_and_no_timing(loud: Observed) -> None:
    expected = {CABLE, OTHER_CABLE, link("infiniband", 1, 3)}
    assert named(limits(loud, 5000.0)) == expected
    assert named(limits(loud, 7000.0)) == set()


def test_limits_with_straggler_want_a_slow_collective_across_the_link(loud: Observed) -> None:
    assert limits_straggler(loud, 5000.0) == [Answer(CABLE, 0.9)]
    assert limits_straggler_state(loud, 5000.0) == [Answer(CABLE, 0.9)]


@pytest.mark.parametrize(("first", "is_accused"), [(41, True), (42, False)])
def test_straggler_counts_within_two_bins(first: int, is_accused: bool) -> None:
    # The last slow bin is 39.
    observed = seen([(CABLE, NEAR, "rx_errors", range(first, 50), 50.0)], [("a", "dp3")])
    assert named(limits_straggler(observed, 5000.0)) == ({CABLE} if is_accused else set())


def test_lost_width_is_accused_only_where_a_run_is_slow() -> None:
    states = [
        StateSpan(number, NEAR, "width", 4.0, 2.0, BAD.start, BAD.stop)
        for number in (CABLE, OTHER_CABLE)
    ]
    observed = seen([], [("a", "dp3")], states)
    assert named(limits_straggler_state(observed, 5000.0)) == {CABLE}
    assert named(pearson_state(observed, 0.5)) == {CABLE}
    assert limits_straggler(observed, 5000.0) == []


def test_z_score_takes_a_jump_but_no_steady_noise(loud: Observed) -> None:
    assert named(z_score_straggler(loud, 8.0)) == {CABLE}
    steady = seen([(CABLE, NEAR, "symbol_error", range(BINS), 7.0)], [("a", "dp3")])
    assert z_score_straggler(steady, 8.0) == []


def test_z_scores_know_the_past_only() -> None:
    scores = z_scores(np.array([[0.0, 120.0, 0.0, 1200.0, 1200.0]]), 120.0)[0]
    assert scores[1] == pytest.approx(1.0)
    assert scores[3] == pytest.approx((1200 - 40) / 120)
    assert scores[4] < scores[3]


def test_pearson_wants_errors_and_latency_to_rise_together(loud: Observed) -> None:
    (answer,) = pearson_state(loud, 0.5)
    assert answer.link == CABLE
    assert answer.confidence > 0.95


def test_pearson_ignores_a_handful_of_errors() -> None:
    few = seen([(CABLE, NEAR, "symbol_error", [25, 35], 9.0)], [("a", "dp3")])
    assert pearson_state(few, 0.0) == []


def test_latency_only_names_the_loudest_link_of_the_slowest_node() -> None:
    errors: list[Errors] = [
        (NVLINK, FAR, "crc_single_bit", [3], 5.0),
        (OTHER_NVLINK, NEAR, "crc_single_bit", [3], 9.0),
        (OTHER_CABLE, NEAR, "symbol_error", BAD, 50.0),
    ]
    observed = seen(errors, [("a", "tp0")])
    assert named(latency_only(observed, 0.0)) == {OTHER_NVLINK}
    assert latency_only(observed, 0.5) == []


def test_latency_only_names_nothing_without_errors_or_excess() -> None:
    elsewhere: list[Errors] = [(OTHER_CABLE, NEAR, "symbol_error", BAD, 50.0)]
    assert latency_only(seen(elsewhere, [("a", "tp0")]), 0.0) == []
    assert latency_only(seen(elsewhere), 0.0) == []


def test_voting_names_the_loudest_link_of_the_winning_place() -> None:
    errors: list[Errors] = [
        (NVLINK, NEAR, "crc_single_bit", [3], 5.0),
        (OTHER_NVLINK, NEAR, "crc_single_bit", [3], 2.0),
        (CABLE, NEAR, "symbol_error", BAD, 50.0),
    ]
    observed = seen(errors, [("a", "tp0")])
    timing = timing_of(observed)
    assert timing is not None
    (place, share), *_ = winners(timing, 0.3)
    assert timing.window.places[place].name.endswith(": NVLinks")
    (answer,) = voting_007(observed, 0.3)
    assert answer == Answer(NVLINK, 0.5 + share / 2)


def test_voting_splits_a_vote_over_the_path() -> None:
    observed = seen([(CABLE, NEAR, "symbol_error", BAD, 50.0)], [("a", "dp3")])
    assert named(voting_007(observed, 0.3)) == {CABLE}  # two places cross the rail, half each
    assert voting_007(observed, 0.6) == []


DCGM: list[tuple[Errors, bool]] = [
    ((NVLINK, NEAR, "replay", [7], 1.0), True),
    ((NVLINK, FAR, "replay", [7], 1.0), False),  # only the switch counted it
    ((NVLINK, NEAR, "crc_single_bit", [7], 5000.0), False),
    ((NVLINK, NEAR, "crc_single_bit", [7, 8], 3000.0), True),
    ((NVLINK, NEAR, "crc_single_bit", [7, 9], 3000.0), False),  # not in one minute
    ((PCIE, NEAR, "pcie_replay", [7], 8.0), False),
    ((PCIE, NEAR, "pcie_replay", [7], 9.0), True),
    ((CABLE, NEAR, "symbol_error", BAD, 9000.0), False),
]


@pytest.mark.parametrize(("errors", "is_accused"), DCGM)
def test_dcgm_health_as_published(errors: Errors, is_accused: bool) -> None:
    assert named(dcgm_health(seen([errors]))) == ({errors[0]} if is_accused else set())


def test_dcgm_takes_a_reset_for_errors() -> None:
    slowly: list[Errors] = [(PCIE, NEAR, "pcie_replay", range(10, 20), 3.0)]
    assert dcgm_health(seen(slowly)) == []
    assert named(dcgm_health(seen(slowly, resets=[19]))) == {PCIE}


def test_gcm_check_tolerates_no_nvlink_error_of_a_gpu() -> None:
    errors: list[Errors] = [
        (NVLINK, NEAR, "crc_multi_bit", [7], 1.0),
        (OTHER_NVLINK, FAR, "crc_single_bit", BAD, 1.0),
        (PCIE, NEAR, "pcie_replay", BAD, 9.0),
        (CABLE, NEAR, "symbol_error", BAD, 9.0),
    ]
    assert named(gcm_check(seen(errors))) == {NVLINK}


SENTINEL: list[tuple[Errors, bool]] = [
    ((CABLE, NEAR, "symbol_error", range(0, BINS, 2), 4.0), False),  # 120 an hour
    ((CABLE, NEAR, "symbol_error", range(0, BINS, 2), 5.0), True),
    ((CABLE, FAR, "symbol_error", BAD, 50.0), False),  # a port of the leaf
    ((CABLE, NEAR, "rx_errors", BAD, 300.0), False),  # 10 a second
    ((CABLE, NEAR, "rx_errors", BAD, 301.0), True),
    ((CABLE, NEAR, "plr_retry", BAD, 900.0), False),
    ((NVLINK, NEAR, "replay", BAD, 900.0), False),
]


@pytest.mark.parametrize(("errors", "is_accused"), SENTINEL)
def test_nvsentinel_as_published(errors: Errors, is_accused: bool) -> None:
    assert named(nvsentinel(seen([errors]))) == ({errors[0]} if is_accused else set())


def test_rate_of_a_link_folds_ends_and_spreads_long_samples() -> None:
    scenario = scenario_of(
        [
            (NVLINK, NEAR, "crc_single_bit", [10], 6.0),
            (NVLINK, FAR, "replay", [10], 1.0),
            (NVLINK, NEAR, "crc_single_bit", [20], 2.0),
        ]
    )
    scenario.increments.elapsed_s[0] = 3 * STEP_S
    errors = link_errors(scenario)
    (rates,) = errors.per_bin_h(np.array([NVLINK]))
    assert {bin_: rates[bin_] for bin_ in np.flatnonzero(rates)} == {
        8: 240.0, 9: 240.0, 10: 240.0, 20: 240.0,
    }  # fmt: skip
    assert errors.total[NVLINK] == 8.0
    assert errors.over(239.0, 3).tolist() == []  # a long sample is one sample


def test_without_timing_only_rules_on_counters_answer() -> None:
    observed = untimed(LOUD_AND_SLOW)
    answering = {m.name for m in METHODS if m.accuse(observed, m.grid[0] if m.grid else 0.0)}
    assert answering == {"limits", "NVSentinel"}


def test_tuning_takes_the_value_with_the_best_f1() -> None:
    scenario = scenario_of(LOUD_AND_SLOW)
    scenario.truth.append(GuiltyLink(CABLE, 20, 40, np.zeros(BINS, bool), 1.5, "", felt=True))

    def accuse(_: Observed, parameter: float) -> list[Answer]:
        return accused([CABLE] + [OTHER_CABLE] * (parameter != 2.0))

    observed = [observe(scenario)]
    assert best_parameter(Method("probe", accuse, (1.0, 2.0, 3.0), ""), observed) == 2.0
    assert best_parameter(Method("probe", accuse, (), ""), observed) == 0.0


@pytest.mark.parametrize(
    ("silent", "felt", "counts"),
    [("", True, (1, 0, 0)), ("nostate", True, (0, 0, 0)), ("", False, (0, 1, 0))],
)
def test_truth_is_what_was_felt_and_left_a_trace(
    silent: str, felt: bool, counts: tuple[int, int, int]
) -> None:
    scenario = scenario_of([])
    scenario.truth.append(GuiltyLink(CABLE, 20, 40, np.zeros(BINS, bool), 1.5, silent, felt))
    assert outcome_of(observe(scenario), accused([CABLE])).counts(0.5) == counts


def test_methods_are_told_apart_and_answer_any_scenario() -> None:
    assert len({method.name for method in METHODS}) == len(METHODS)
    observed = observe(generate_fleet(FleetSpec(nodes=2, bins=40, fault="nvlink", dirty=True), 5))
    links = range(len(observed.scenario.links.gpu))
    for method in METHODS:
        answers = method.accuse(observed, method.grid[0] if method.grid else 0.0)
        assert all(one.link in links and 0.5 <= one.confidence <= 1.0 for one in answers)
        assert method.accuse(observed, method.grid[0] if method.grid else 0.0) == answers
