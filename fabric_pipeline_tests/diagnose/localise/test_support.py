"""The two-by-two table of error time and slow time: its odds, lags, controls, and unknown routing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.diagnose.localise.cells import noise, slowness
from fabric_pipeline.diagnose.localise.support import (
    LAGS,
    Cells,
    Shifts,
    Support,
    best_support,
    responding_groups,
    shifted,
)
from fabric_pipeline.diagnose.localise.window import LOCAL, Floats
from fabric_pipeline_tests.diagnose.localise.windows import (
    BINS,
    BURST,
    bare_window,
    flags,
    noisy,
)

GROUPS = (0, 1, 2)


def cells_of(
    slow: Iterable[int] = BURST,
    groups: Sequence[int] = GROUPS,
    others_slow: Iterable[int] = (),
    measured: Floats | None = None,
    others: int = 3,
) -> Cells:
    """A run of three groups, `groups` of them slow in `slow`, and a run of `others`, all slow in `others_slow`."""
    deviation = noisy(3 + others)
    deviation[list(groups)] += 0.7 * flags(slow)
    deviation[3:] += 0.7 * flags(others_slow)
    if measured is not None:
        deviation[:, measured < 0.5] = np.nan
    window = bare_window(deviation, [0] * 3 + [1] * others)
    return Cells(window, slowness(deviation, noise(deviation)), window.series.valid)


def support_of(cells: Cells, active: Floats, groups: Sequence[int] = GROUPS) -> Support:
    found = best_support(cells.path(np.array(groups)), Shifts.of(active))
    assert found is not None
    return found


def test_a_fit_has_positive_odds_and_its_table() -> None:
    found = support_of(cells_of(), flags(BURST))
    assert found.llr > 30
    assert found.lag == 0
    assert found.bins == 15
    assert found.slow_active == pytest.approx(45, abs=2)
    assert found.normal_active == pytest.approx(0, abs=2)
    assert found.slow_quiet == pytest.approx(0, abs=3)
    assert found.share_slow > 0.9
    assert found.coverage > 0.9
    assert found.slow_anyway < 0.05


def test_the_table_sums_to_the_measured_cells() -> None:
    """A bin on either side of the errors belongs to neither row."""
    found = support_of(cells_of(), flags(BURST))
    assert found.slow_active + found.normal_active == pytest.approx(3 * 15)
    assert found.slow_quiet + found.normal_quiet == pytest.approx(3 * (60 - 15 - 2))


def test_errors_without_slow_time_have_no_odds() -> None:
    found = support_of(cells_of(slow=[]), flags(BURST))
    assert found.llr < 1
    assert found.share_slow < 0.1


def test_errors_beside_the_slow_time_do_not_fit() -> None:
    """Fewer slow cells than usual are no chance either, so the odds alone do not say which way it is."""
    beside = support_of(cells_of(), flags(range(45, 55)))
    assert beside.share_slow < beside.slow_anyway
    assert beside.coverage < 0.05
    assert beside.llr < support_of(cells_of(), flags(BURST)).llr / 3
    assert beside.signed_odds == -abs(beside.llr)


def test_errors_for_part_of_a_long_slow_time_are_worth_less() -> None:
    exact = support_of(cells_of(), flags(BURST))
    short = support_of(cells_of(range(5, 55)), flags(BURST))
    assert short.slow_anyway > 0.5
    assert short.llr < exact.llr / 3


@pytest.mark.parametrize("lag", [1, -1, 2, -2, 3, -3])
def test_a_clock_that_is_off_is_found_and_priced(lag: int) -> None:
    found = support_of(cells_of(), flags(n - lag for n in BURST))
    assert found.lag == lag
    assert np.flatnonzero(found.active).tolist() == list(BURST)
    assert found.llr < support_of(cells_of(), flags(BURST)).llr


def test_a_further_lag_costs_more() -> None:
    odds = [support_of(cells_of(), flags(n - lag for n in BURST)).llr for lag in range(4)]
    assert odds == sorted(odds, reverse=True)
    assert max(LAGS) == 3, "beyond that the clocks have nothing to do with one another"
    assert support_of(cells_of(), flags(n - 8 for n in BURST)).llr < odds[3]


def test_unknown_bins_are_neither_erring_nor_quiet() -> None:
    active = flags(BURST)
    active[:10] = np.nan
    found = support_of(cells_of(), active)
    assert found.slow_active + found.normal_active == pytest.approx(3 * 15)
    assert found.slow_quiet + found.normal_quiet == pytest.approx(3 * (50 - 15 - 2))
    whole = support_of(cells_of([*BURST, *range(10)]), active)
    assert whole.coverage > 0.9, "slow time while nobody knows is not held against the link"


def test_unmeasured_bins_count_nowhere() -> None:
    measured = np.ones(BINS)
    measured[25:30] = 0.0
    found = support_of(cells_of(measured=measured), flags(BURST))
    assert found.bins == 10
    assert found.slow_active + found.normal_active == pytest.approx(30)
    nothing = cells_of(measured=1 - flags(range(10, 45)))
    assert best_support(nothing.path(np.array(GROUPS)), Shifts.of(flags(BURST))) is None


def test_other_runs_slow_at_the_same_time_lower_the_odds() -> None:
    alone = support_of(cells_of(), flags(BURST))
    few = support_of(cells_of(others_slow=BURST), flags(BURST))
    many = support_of(cells_of(others_slow=BURST, others=30), flags(BURST))
    assert alone.llr > 2 * few.llr > 4 * many.llr, "the more of them, the surer"
    assert many.slow_anyway > 0.8


def test_groups_of_the_same_run_are_no_control() -> None:
    cells = cells_of(groups=(0, 1, 2))
    one = support_of(cells, flags(BURST), groups=(0,))
    assert one.slow_anyway < 0.05
    assert one.llr > 10


def test_odds_per_bin_point_to_the_slow_bins() -> None:
    odds = cells_of().path(np.array(GROUPS)).odds()
    assert (odds[list(BURST)] > 1).all()
    assert (np.delete(odds, list(range(19, 36))) < 0).all()


def test_sums_over_a_path() -> None:
    path = cells_of().path(np.array(GROUPS))
    assert path.cells.tolist() == [3.0] * BINS
    assert path.slow[25] == pytest.approx(3.0, abs=0.1)
    assert path.deviation[25] == pytest.approx(0.7, abs=0.05)


def test_responding_groups_are_those_of_the_hidden_spine() -> None:
    cells = cells_of(groups=(0, 2))
    chosen, price = responding_groups(cells, np.array(GROUPS), Shifts.of(flags(BURST)), 0.25)
    assert chosen.tolist() == [0, 2]
    left_out = len(GROUPS) - 2
    assert price == pytest.approx(2 * np.log(4) + left_out * np.log(1 / 0.75))


def test_without_slow_time_no_group_responds() -> None:
    chosen, price = responding_groups(cells_of([]), np.array(GROUPS), Shifts.of(flags(BURST)), 0.25)
    assert len(chosen) == 0
    assert price == pytest.approx(len(GROUPS) * np.log(1 / 0.75)), "that none crosses it"


def test_erring_quiet_and_neither_at_every_lag() -> None:
    active = flags([5, 6], 12)
    active[11] = np.nan
    found = Shifts.of(active)
    for lag, erring, quiet in zip(LAGS, found.erring, found.quiet, strict=True):
        assert np.flatnonzero(erring).tolist() == [5 + lag, 6 + lag]
        assert np.flatnonzero(quiet).tolist() == [
            n for n in range(11) if not 4 + lag <= n <= 7 + lag
        ]


@given(st.lists(st.booleans(), min_size=8, max_size=8), st.integers(-3, 3))
def test_shifting_moves_and_loses_only_what_leaves(row: list[bool], lag: int) -> None:
    found = shifted(np.array(row), lag)
    for place, flag in enumerate(found):
        source = place - lag
        assert flag == (row[source] if 0 <= source < 8 else False)


def test_cells_that_are_renewed_are_those_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what changed is added up again, in blocks of groups, and nothing else moves."""
    monkeypatch.setattr("fabric_pipeline.diagnose.localise.support._BLOCK", 2)
    window = bare_window(noisy(7), [0, 0, 1, 1, 1, 2, 2])
    window.series.kind[[1, 4]] = LOCAL
    soft, valid = np.clip(noisy(7, sigma=0.5), 0.0, 1.0), noisy(7, seed=9) > 0
    kept = Cells(window, soft, valid)
    soft, valid = soft.copy(), valid.copy()
    soft[3, 5:20], valid[6] = 1.0, True
    kept.renew(soft, valid, np.array([3, 6]))
    fresh = Cells(window, soft, valid)
    for name in ("slow", "valid", "slow_32", "valid_32", "slow_sum", "valid_sum"):
        assert getattr(kept, name).tolist() == getattr(fresh, name).tolist(), name
    assert kept.slowest == fresh.slowest == 1.0
    for groups in (np.array([0, 1]), np.array([2, 3, 4])):
        one, other = kept.path(groups), fresh.path(groups)
        assert one.slow.tolist() == other.slow.tolist()
        assert [c.control_slow.tolist() for c in one.classes] == [
            c.control_slow.tolist() for c in other.classes
        ]


def test_groups_of_the_same_runs() -> None:
    cells = cells_of()
    assert cells.of_runs(np.array([1])).tolist() == [0, 1, 2]
    assert cells.of_runs(np.array([2, 4])).tolist() == [0, 1, 2, 3, 4, 5]
    assert cells.of_runs(np.zeros(0, dtype=np.int64)).tolist() == []
