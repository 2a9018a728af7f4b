"""The statistics against exact sums: always on the safe side, and close enough to be useful."""

from __future__ import annotations

from math import comb, exp, isclose, lgamma, log, log10

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.detect.spikes.surprise import (
    DISPERSION_K,
    benjamini_hochberg,
    sibling_log10_p,
    surprise_sql,
)
from fabric_pipeline.store.duck import session

_CONNECTION = session()


def surprise(events: float, expected: float, k: float = DISPERSION_K) -> float:
    """The value of the SQL expression."""
    sql = f"select {surprise_sql('$1::double', '$2::double', k)}"
    return float(_CONNECTION.execute(sql, [events, expected]).fetchall()[0][0])


def negative_binomial_tail(count: int, mean: float, k: float) -> float:
    """P(X >= count); terms beyond the sum are below 1e-20 for the means used here."""
    total = 0.0
    for i in range(count, count + 3000):
        log_term = (
            lgamma(i + k) - lgamma(k) - lgamma(i + 1)
            + k * log(k / (k + mean)) + i * log(mean / (k + mean))
        )  # fmt: skip
        total += exp(log_term)
    return total


def binomial_tail(count: int, total: int, share: float) -> float:
    """P(X >= count), exact."""
    return sum(
        comb(total, i) * share**i * (1 - share) ** (total - i) for i in range(count, total + 1)
    )


@pytest.mark.parametrize("mean", [0.05, 0.3, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("count", [1, 2, 5, 8, 13, 30, 60])
@pytest.mark.parametrize("k", [DISPERSION_K, 2.0])
def test_surprise_never_claims_more_than_the_exact_chance(
    mean: float, count: int, k: float
) -> None:
    exact = negative_binomial_tail(count, mean, k)
    claimed = 10 ** -surprise(count, mean, k)
    assert claimed >= exact * (1 - 1e-9)
    assert claimed <= 1.0


def test_surprise_is_useful_where_it_matters() -> None:
    exact = -log10(negative_binomial_tail(40, 0.5, DISPERSION_K))
    assert exact - 2 < surprise(40, 0.5) <= exact


@pytest.mark.parametrize(("events", "expected"), [(0, 0), (0, 5), (5, 5), (3, 7), (1e-9, 0)])
def test_what_is_expected_is_no_surprise(events: float, expected: float) -> None:
    assert surprise(events, expected) == 0.0


def test_more_is_more_surprising_and_nothing_overflows() -> None:
    rising = [surprise(events, 0.05) for events in (1, 2, 8, 100, 1e6, 1e15)]
    assert rising == sorted(rising)
    assert 0 < rising[-1] < float("inf")
    assert surprise(100, 0.05) > surprise(100, 5)


def test_benjamini_hochberg_on_the_textbook_example() -> None:
    """The 15 chances of the 1995 paper: at 0.05 the four smallest are rejected, no other."""
    chances = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]  # fmt: skip
    q_values = benjamini_hochberg([log10(p) for p in chances], len(chances))
    assert [q <= 0.05 for q in q_values] == [True] * 4 + [False] * 11
    assert q_values[0] == pytest.approx(0.0015)
    assert q_values[3] == pytest.approx(0.0095 * 15 / 4)


def test_q_values_know_the_tests_that_showed_nothing() -> None:
    assert benjamini_hochberg([-4.0], 1) == [pytest.approx(1e-4)]
    assert benjamini_hochberg([-4.0], 1000) == [pytest.approx(0.1)]
    assert benjamini_hochberg([-4.0], 10**6) == [1.0]
    assert benjamini_hochberg([], 5) == []


def test_q_values_of_hopeless_chances_stay_numbers() -> None:
    assert benjamini_hochberg([-5000.0, 0.0], 2) == [1e-300, 1.0]


@given(st.lists(st.floats(-300, 0), min_size=1, max_size=30), st.integers(0, 1000))
def test_q_values_keep_the_order_and_never_fall_below_the_chance(
    log10_p: list[float], more: int
) -> None:
    q_values = benjamini_hochberg(log10_p, len(log10_p) + more)
    for p, q in zip(log10_p, q_values, strict=True):
        assert q <= 1.0
        assert q >= 10**p * (1 - 1e-9)
    ranked = [q for _, q in sorted(zip(log10_p, q_values, strict=True))]
    assert ranked == sorted(ranked)


@pytest.mark.parametrize("siblings", [2, 3, 18])
@pytest.mark.parametrize("total", [1, 4, 12, 40])
def test_sibling_chance_is_on_the_safe_side_of_the_exact_one(siblings: int, total: int) -> None:
    for count in range(total + 1):
        exact = binomial_tail(count, total, 1 / siblings)
        claimed = 10 ** sibling_log10_p(count, total, siblings)
        assert claimed >= exact * (1 - 1e-9)
        assert claimed <= max(exact * (total + 1), exact) or claimed == 1.0


def test_all_errors_on_one_of_many_links() -> None:
    assert isclose(sibling_log10_p(40, 40, 18), 40 * log10(1 / 18), rel_tol=1e-9)
    assert sibling_log10_p(45120, 45120, 2) < -13_000


@pytest.mark.parametrize(
    ("count", "total", "siblings"), [(5, 5, 1), (5, 5, 0), (0, 0, 4), (2, 8, 4), (1, 8, 4)]
)
def test_a_fair_share_or_no_sibling_is_no_evidence(count: int, total: int, siblings: int) -> None:
    assert sibling_log10_p(count, total, siblings) == 0.0
