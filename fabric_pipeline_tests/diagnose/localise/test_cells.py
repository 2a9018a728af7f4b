"""Soft slow cells: noise that ignores levels, slowness that ignores lone outliers and keeps edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fabric_pipeline.diagnose.localise.cells import (
    closed,
    median_of_three,
    noise,
    slowness,
    widened,
)
from fabric_pipeline.diagnose.localise.window import Flags, Floats
from fabric_pipeline_tests.diagnose.localise.windows import noisy

NAN = np.nan
DEVIATIONS = arrays(
    float,
    st.tuples(st.integers(1, 3), st.integers(3, 20)),
    elements=st.one_of(st.floats(-2, 4), st.just(NAN)),
)


def test_noise_is_the_spread_of_healthy_cells() -> None:
    assert noise(noisy(6, sigma=0.05)) == pytest.approx(np.full(6, 0.05), rel=0.35)


def test_a_level_shift_is_no_noise() -> None:
    calm, shifted = noisy(6), noisy(6)
    shifted[2, 20:40] += 1.0
    assert noise(shifted)[2] == pytest.approx(noise(calm)[2], rel=0.2)


def test_noise_is_kept_between_bounds() -> None:
    assert (noise(np.zeros((2, 60))) == 0.01).all()
    assert (noise(noisy(2, sigma=3.0)) == 0.12).all()


def test_groups_with_few_cells_take_the_common_noise() -> None:
    mixed = noisy(4, sigma=0.05)
    mixed[3, 4:] = NAN
    assert noise(mixed)[3] == pytest.approx(0.05, rel=0.35)
    assert (noise(np.full((2, 60), NAN)) == 0.12).all(), "unknown is taken to be noisy"


def test_a_slow_stretch_is_slow_and_the_rest_is_not() -> None:
    deviation = noisy(2)
    deviation[0, 20:35] += np.log(2)
    soft = slowness(deviation, noise(deviation))
    assert soft[0, 20:35].min() > 0.9
    assert soft[0, :20].max() < 0.3
    assert soft[1].max() < 0.3


def test_a_lone_outlier_is_no_slow_cell_but_two_in_a_row_are() -> None:
    deviation = noisy(2)
    deviation[0, 30] += 2.0
    deviation[1, 30:32] += 2.0
    soft = slowness(deviation, noise(deviation))
    assert soft[0].max() < 0.3
    assert soft[1, 30:32].min() > 0.9


def test_faster_than_usual_is_not_slow() -> None:
    deviation = noisy(1)
    deviation[0, 20:35] -= 1.0
    assert slowness(deviation, noise(deviation))[0, 20:35].max() == 0.0


def test_unmeasured_cells_are_not_slow() -> None:
    deviation = np.full((1, 20), 1.0)
    deviation[0, ::2] = NAN
    soft = slowness(deviation, np.array([0.02]))
    assert (soft[0, ::2] == 0).all()
    assert (soft[0, 1::2] > 0.9).all(), "measured cells between gaps are still seen"


@settings(max_examples=50)
@given(DEVIATIONS)
def test_slowness_is_a_share(deviation: Floats) -> None:
    soft = slowness(deviation, noise(deviation))
    assert ((soft >= 0) & (soft <= 1)).all()
    assert (soft[np.isnan(deviation)] == 0).all()


def test_median_of_three_drops_a_lone_value_and_keeps_an_edge() -> None:
    rows = np.array([[0, 0, 9, 0, 0], [0, 0, 0, 9, 9], [9, 9, 0, 0, 0], [1, 9, 3, 3, 3]], float)
    smooth = median_of_three(rows)
    assert smooth[0].tolist() == [0, 0, 0, 0, 0]
    assert smooth[1].tolist() == [0, 0, 0, 9, 9]
    assert smooth[2].tolist() == [9, 9, 0, 0, 0]
    assert smooth[3].tolist() == [9, 3, 3, 3, 3], "the first cell has its one neighbour twice"


def test_median_of_three_stands_in_the_other_neighbour_for_a_gap() -> None:
    smooth = median_of_three(np.array([[NAN, 2.0, 3.0, NAN, 5.0, NAN, NAN]]))
    assert np.isnan(smooth[0, [0, 3, 5, 6]]).all()
    assert smooth[0, [1, 2, 4]].tolist() == [3.0, 2.0, 5.0]


@settings(max_examples=40)
@given(DEVIATIONS)
def test_median_of_three_measures_what_was_measured(deviation: Floats) -> None:
    assert (np.isnan(median_of_three(deviation)) == np.isnan(deviation)).all()


def test_widened_reaches_both_ways_and_no_further_than_the_ends() -> None:
    row = np.array([True, False, False, False, False, False, True, False])
    assert np.flatnonzero(widened(row, 1)).tolist() == [0, 1, 5, 6, 7]
    assert widened(row, 0).tolist() == row.tolist()
    both = widened(np.stack([row, ~row]), 2)
    assert both.shape == (2, 8)
    assert np.flatnonzero(row).tolist() == [0, 6], "the input is left alone"


def test_closed_fills_short_holes_only() -> None:
    row = np.zeros(20, dtype=bool)
    row[[3, 4, 7, 8, 14]] = True  # holes of two and of five
    found = np.flatnonzero(closed(row)).tolist()
    assert found == [3, 4, 5, 6, 7, 8, 14]


@settings(max_examples=60)
@given(arrays(bool, st.integers(1, 25)), st.integers(1, 4))
def test_closing_never_clears_a_flag(row: Flags, bins: int) -> None:
    assert closed(row, bins)[row].all()
    assert (closed(closed(row, bins), bins) == closed(row, bins)).all(), "once is enough"
