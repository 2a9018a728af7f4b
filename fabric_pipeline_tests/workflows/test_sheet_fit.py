"""Fitting a ticket to one page: widths are not underestimated, and any ticket finds a fit."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.workflows.sheet_fit import LADDER, fitted
from fabric_pipeline.workflows.sheet_ruler import lines, width_em
from fabric_pipeline.workflows.sheet_text import Cutter, plain
from fabric_pipeline_tests.workflows.full_tickets import longest, shortest, typical

BARS_PT = 59.0


@given(st.text(max_size=200), st.floats(5, 60))
def test_lines_hold_the_whole_text(text: str, room: float) -> None:
    count = lines(text, room)
    assert count >= 1
    assert count * room >= width_em(text.replace(" ", "")) - 1e-6


@given(st.text(min_size=1, max_size=12))
@settings(max_examples=25, deadline=None)
def test_the_longest_ticket_of_any_letters_fits(word: str) -> None:
    _, fit, spare = fitted(longest(word), BARS_PT)
    assert spare >= 0
    assert fit.size_pt >= 7.5


def test_short_tickets_get_large_type_and_lose_nothing() -> None:
    view, fit, _ = fitted(shortest(), BARS_PT)
    assert fit.size_pt == LADDER[0].size_pt
    assert view.shortened == view.left_out == 0
    view, fit, _ = fitted(typical(), BARS_PT)
    assert view.shortened == view.left_out == 0
    assert fit.size_pt < LADDER[0].size_pt


def test_type_shrinks_before_anything_is_cut_and_steps_go_last() -> None:
    sizes = [fit.size_pt for fit in LADDER]
    assert sizes == sorted(sizes, reverse=True)
    assert min(sizes) == 7.5
    uncut = [fit for fit in LADDER if (fit.step, fit.prose, fit.proves) == (400, 600, 400)]
    assert all(fit.summary < 900 for fit in LADDER if fit not in uncut)
    for before, after in itertools.pairwise(LADDER):
        assert after.step <= before.step
        assert after.safety <= before.safety


def test_each_cut_is_counted_once() -> None:
    cut = Cutter()
    assert cut.text("four", 4) == "four"
    assert cut.text("fives", 4) == "fiv…"
    assert cut.text("gone", 0) == ""
    assert cut.text("", 0) == ""
    assert cut.some([1, 2, 3], 2) == ([1, 2], 1)
    assert (cut.shortened, cut.left_out) == (1, 2)
    assert plain("a\u202eb\n c\x1b[0m", 99) == "ab c[0m"
