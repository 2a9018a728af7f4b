"""Do latencies move with the errors: edges, circular shifts, contrast and free edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fabric_pipeline.diagnose.localise.alignment import (
    contrast,
    edges,
    local_contrast,
    misfit,
    shift_chance,
)
from fabric_pipeline.diagnose.localise.window import Flags, Floats
from fabric_pipeline_tests.diagnose.localise.windows import BURST, flags, noisy

ACTIVE = flags(BURST) > 0.5
NAN = np.nan


def stepped(bins: range = BURST, step: float = 0.7) -> Floats:
    return noisy(1)[0] + step * flags(bins)


def test_edges_that_fit_exactly() -> None:
    found = edges(ACTIVE, stepped(), 0.35)
    assert found.score == found.worst == 1.0
    assert (found.number, found.fitting) == (2, 2)


def test_edges_of_the_opposite_direction() -> None:
    found = edges(ACTIVE, stepped(step=-0.7), 0.35)
    assert found.score == found.worst == -1.0
    assert (found.number, found.fitting) == (2, 0)


def test_one_edge_may_fit_and_the_other_not() -> None:
    found = edges(ACTIVE, stepped(range(20, 60)), 0.35)
    assert (found.number, found.fitting) == (2, 1)
    assert found.worst == pytest.approx(0.0, abs=0.2)
    assert found.score == pytest.approx(0.5, abs=0.1)


def test_an_edge_may_be_off_by_one_bin() -> None:
    assert edges(ACTIVE, stepped(range(21, 36)), 0.35).score == 1.0


@pytest.mark.parametrize("active", [np.zeros(60, dtype=bool), np.ones(60, dtype=bool)])
def test_without_a_visible_edge_the_score_is_neutral(active: Flags) -> None:
    found = edges(active, stepped(), 0.35)
    assert found.number == found.fitting == 0
    assert found.score == found.worst
    assert 0 < found.score < 1


def test_an_edge_in_unmeasured_time_is_not_visible() -> None:
    deviation = stepped()
    deviation[14:21] = NAN
    assert edges(ACTIVE, deviation, 0.35).number == 1


@settings(max_examples=40)
@given(
    arrays(bool, 30),
    arrays(float, 30, elements=st.one_of(st.floats(-3, 3), st.just(NAN))),
    st.sampled_from([2, 5]),
)
def test_edge_scores_are_bounded(active: Flags, deviation: Floats, bins: int) -> None:
    found = edges(active, deviation, 0.3, bins)
    assert -1 <= found.worst <= found.score <= 1
    assert 0 <= found.fitting <= found.number <= np.abs(np.diff(active.astype(int))).sum()


def contrasts_of_all_shifts(active: Flags, deviation: Floats) -> list[float]:
    known = ~np.isnan(deviation)
    found = []
    for shift in range(len(active)):
        moved = np.roll(active, shift)
        during, outside = deviation[moved & known], deviation[~moved & known]
        has_both = len(during) and len(outside)
        found.append(float(during.mean() - outside.mean()) if has_both else -np.inf)
    return found


@given(
    arrays(bool, st.integers(4, 24)),
    st.lists(
        st.one_of(st.integers(-3, 3).map(float), st.floats(-2, 2), st.just(NAN)),
        min_size=24,
        max_size=24,
    ),
)
def test_the_shift_chance_is_that_of_every_shift_tried_by_hand(
    active: Flags, values: list[float]
) -> None:
    deviation = np.array(values[: len(active)])
    chance = shift_chance(active, deviation)
    every = np.array(contrasts_of_all_shifts(active, deviation))
    if np.isinf(every[0]):
        assert chance == 1.0
        return
    least, most = (every >= every[0] + 1e-9).sum(), (every >= every[0] - 1e-9).sum()
    assert max(least, 1) <= round(chance * len(active)) <= most


def test_the_shift_chance_of_one_exact_burst_is_the_smallest_there_is() -> None:
    assert shift_chance(ACTIVE, 0.7 * flags(BURST)) == pytest.approx(1 / 60)
    twice = 0.7 * flags([*BURST, *range(45, 60)])
    assert shift_chance(ACTIVE, twice) == pytest.approx(2 / 60), "it would fit either stretch"


def test_the_shift_chance_is_one_where_nothing_can_be_compared() -> None:
    deviation = stepped()
    assert shift_chance(np.zeros(60, dtype=bool), deviation) == 1.0
    assert shift_chance(np.ones(60, dtype=bool), deviation) == 1.0
    deviation[BURST] = NAN
    assert shift_chance(ACTIVE, deviation) == 1.0


def test_contrast_is_the_step() -> None:
    assert contrast(ACTIVE, stepped()) == pytest.approx(0.7, abs=0.03)
    assert local_contrast(ACTIVE, stepped()) == pytest.approx(0.7, abs=0.03)
    assert contrast(np.ones(60, dtype=bool), stepped()) == 0.0
    assert local_contrast(np.zeros(60, dtype=bool), stepped()) == 0.0


def test_contrast_with_the_bins_close_by_sees_a_broad_slow_time() -> None:
    broad = stepped(range(2, 58))
    assert local_contrast(ACTIVE, broad) == pytest.approx(0.0, abs=0.03)
    slow_far_away = stepped(range(50, 60), -0.7)
    assert local_contrast(ACTIVE, slow_far_away) == pytest.approx(0.0, abs=0.03)


def odds_of(bins: range, gain: float = 3.0) -> Floats:
    return np.where(flags(bins) > 0.5, gain, -gain)


def test_an_exact_fit_has_no_misfit() -> None:
    assert misfit(ACTIVE, odds_of(BURST)) == 0.0


@pytest.mark.parametrize("start", [-1, 0, 1])
@pytest.mark.parametrize("end", [-1, 0, 1])
def test_one_bin_of_slack_is_free(start: int, end: int) -> None:
    assert misfit(ACTIVE, odds_of(range(20 + start, 35 + end))) == 0.0


def test_misfit_grows_with_the_offset() -> None:
    found = [misfit(ACTIVE, odds_of(range(20 + off, 35 + off))) for off in (1, 3, 6, 10)]
    assert found == sorted(found)
    assert found[0] == 0.0
    assert len(set(found)) == len(found)


def test_misfit_counts_per_edge_in_view() -> None:
    """Errors from the first to the last bin have no edge, yet free edges would fit better."""
    assert misfit(np.ones(60, dtype=bool), odds_of(BURST)) > 0
    late = flags(range(20, 60)) > 0.5
    assert misfit(late, odds_of(range(20, 60))) == 0.0
    assert misfit(np.zeros(60, dtype=bool), odds_of(BURST)) == 0.0


@settings(max_examples=50)
@given(arrays(bool, 25), arrays(float, 25, elements=st.floats(-4, 4)))
def test_misfit_is_never_negative(active: Flags, odds: Floats) -> None:
    assert misfit(active, odds) >= 0.0
