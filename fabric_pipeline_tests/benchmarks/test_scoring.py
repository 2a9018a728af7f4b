"""Figures of the benchmark from handmade outcomes."""

from __future__ import annotations

import pytest

from benchmarks.scoring import (
    Answer,
    Figures,
    Outcome,
    brier,
    calibration_error,
    false_accusations,
    figures,
    interval,
    reliability,
    sampling_error,
    share_interval,
    shortened,
    stated,
)


def outcome(
    guilty: set[int], answers: dict[int, float], untraceable: frozenset[int] = frozenset()
) -> Outcome:
    named = [Answer(link, confidence) for link, confidence in answers.items()]
    return Outcome("nvlink", frozenset(guilty), untraceable, named)


def test_an_answer_counts_from_the_threshold_on() -> None:
    one = outcome({1, 2}, {1: 0.7, 2: 0.69, 3: 0.9, 4: 0.5})
    assert one.counts(0.7) == (1, 1, 1)
    assert one.counts(0.5) == (2, 2, 0)


def test_links_that_nobody_knows_are_wrong_each() -> None:
    one = Outcome("none", frozenset(), frozenset(), [Answer(-1, 0.9), Answer(-1, 0.9)])
    assert one.counts(0.5) == (0, 2, 0)


def test_a_link_without_a_trace_is_neither_missed_nor_wrong() -> None:
    silent = outcome(set(), {7: 0.9}, untraceable=frozenset({7}))
    assert silent.counts(0.5) == (0, 0, 0)
    assert not silent.is_quiet


def test_shortened_outcomes_give_the_same_counts() -> None:
    one = outcome({1, 2}, {1: 0.9, **dict.fromkeys(range(10, 500), 0.9)})
    short = shortened(one)
    assert short.counts(0.5) == one.counts(0.5) == (1, 490, 1)
    assert short.answers == [Answer(1, 0.9)]


def test_figures_are_of_summed_counts() -> None:
    found = figures([outcome({1}, {1: 0.9, 5: 0.9}), outcome({2}, {}), outcome({3}, {3: 0.8})])
    assert found == Figures(found=2, wrong=1, missed=1)
    assert [found.precision, found.recall, found.f1] == pytest.approx([2 / 3] * 3)


def test_figures_of_nothing_are_one() -> None:
    assert figures([]) == Figures(0, 0, 0)
    assert (Figures(0, 0, 0).precision, Figures(0, 0, 0).recall, Figures(0, 0, 0).f1) == (1, 1, 1)


def test_false_accusations_look_at_quiet_scenarios_only() -> None:
    quiet = [outcome(set(), {4: 0.9, 5: 0.9}), outcome(set(), {4: 0.6}), outcome(set(), {})]
    others = [outcome({1}, {9: 0.9}), outcome(set(), {9: 0.9}, untraceable=frozenset({7}))]
    assert false_accusations(quiet + others, 0.7) == (1, 3)
    assert false_accusations(quiet + others, 0.5) == (2, 3)


def test_the_bootstrap_holds_the_figure_and_is_the_same_again() -> None:
    outcomes = [outcome({1}, {1: 0.9}) for _ in range(30)] + [outcome({1}, {}) for _ in range(10)]
    low, high = interval(outcomes, lambda one: one.recall)
    assert 0.55 < low < 0.75 < high < 0.9
    assert (low, high) == interval(outcomes, lambda one: one.recall)
    assert interval(outcomes[:5], lambda one: one.recall) == (1.0, 1.0)


def test_a_share_without_hits_still_has_an_upper_bound() -> None:
    low, high = share_interval(0, 300)
    assert low == 0.0
    assert high == pytest.approx(0.0126, abs=1e-4)
    assert share_interval(0, 0) == (0.0, 1.0)


def test_reliability_by_tenths() -> None:
    pairs = [(0.91, True), (0.95, False), (1.0, True), (0.05, False)]
    low, high = reliability(pairs)
    assert low == pytest.approx((0, 0.05, 0.0, 1))
    assert high == pytest.approx((9, 2.86 / 3, 2 / 3, 3))


def test_calibration_error_weighs_bins_by_number() -> None:
    pairs = [(0.85, True)] * 6 + [(0.85, False)] * 4 + [(0.15, False)] * 10
    assert calibration_error(pairs) == pytest.approx((10 * 0.25 + 10 * 0.15) / 20)
    assert brier([(0.8, True), (0.4, False)]) == pytest.approx((0.04 + 0.16) / 2)
    assert (calibration_error([]), brier([])) == (0.0, 0.0)


def test_chance_alone_gives_few_links_a_calibration_error() -> None:
    few, many = [(0.75, True)] * 20, [(0.75, True)] * 2000
    mean, most = sampling_error(few)
    # The mean distance of a binomial share of 20 from its chance of 0.75.
    assert mean == pytest.approx(0.077, abs=0.006)
    assert mean < most < 0.25
    assert sampling_error(many)[0] < 0.015
    assert sampling_error([(1.0, True), (0.0, False)]) == (0.0, 0.0)
    assert sampling_error([]) == (0.0, 0.0)


def test_stated_confidences_come_from_all_scenarios() -> None:
    first, second = outcome({1}, {}), outcome(set(), {})
    first.weighed, second.weighed = [(0.9, True)], [(0.1, False)]
    assert stated([first, second]) == [(0.9, True), (0.1, False)]
