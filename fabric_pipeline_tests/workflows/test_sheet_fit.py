"""Fitting a ticket to one page: widths are not underestimated, and any ticket finds a fit."""

from __future__ import annotations

import itertools
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.workflows.sheet_blocks import body_blocks
from fabric_pipeline.workflows.sheet_fit import fitted
from fabric_pipeline.workflows.sheet_height import PAGE_HEIGHT, body_pt, columns, pieces
from fabric_pipeline.workflows.sheet_model import Fit
from fabric_pipeline.workflows.sheet_plans import PLANS, SIZES, SMALL, Place, whole
from fabric_pipeline.workflows.sheet_ruler import lines, width_em
from fabric_pipeline.workflows.sheet_text import Cutter, plain
from fabric_pipeline_tests.workflows.full_tickets import (
    EXAMPLES,
    example,
    longest,
    shortest,
    typical,
)

# Both bars, and two lines of small print.
BARS_PT = 59 + 22.0


@given(st.text(max_size=200), st.floats(5, 60))
def test_lines_hold_the_whole_text(text: str, room: float) -> None:
    count = lines(text, room)
    assert count >= 1
    assert count * room >= width_em(text.replace(" ", "")) - 1e-6


@given(st.text(min_size=1, max_size=12))
@settings(max_examples=15, deadline=None)
def test_the_longest_ticket_of_any_letters_fits(word: str) -> None:
    _, fit, spare = fitted(longest(word), BARS_PT)
    assert spare >= 0
    assert fit.size_pt >= 7.5


def test_short_tickets_get_large_type_and_lose_nothing() -> None:
    view, fit, _ = fitted(shortest(), BARS_PT)
    assert fit.size_pt == SIZES[0]
    assert view.shortened == view.left_out == 0
    view, fit, _ = fitted(typical(), BARS_PT)
    assert view.shortened == view.left_out == 0
    assert fit.size_pt < SIZES[0]


def test_type_shrinks_before_anything_is_cut() -> None:
    for draft in (shortest(), typical(), longest(), *map(example, EXAMPLES)):
        view, fit, _ = fitted(draft, BARS_PT)
        assert fit.size_pt == SMALL or view.shortened == view.left_out == 0
    assert SIZES[-1] == SMALL == 7.5


def test_the_order_of_cutting_leaves_the_work_to_the_last() -> None:
    """No plan gives more than the one before, and the work is whole while anything else can go."""
    full = whole(SMALL)
    firsts: dict[tuple[Place, str], int] = {}
    for number, (before, after) in enumerate(itertools.pairwise((full, *PLANS))):
        for place, old, new in zip(Place, before, after, strict=True):
            for field in fields(Fit):
                more, less = getattr(old, field.name), getattr(new, field.name)
                assert less <= more, (number, place, field.name)
                if less < more:
                    firsts.setdefault((place, field.name), number)
    order = [
        firsts[key]
        for key in (
            (Place.RETURN, "records"), (Place.WHY, "records"), (Place.WHY, "claims"),
            (Place.WHY, "asides"), (Place.STEPS, "proves"), (Place.BRING, "tools"), (Place.BRING, "fact"),
        )
    ]  # fmt: skip
    assert order == sorted(order)
    work = {
        (Place.BEFORE, "prose"), (Place.BEFORE, "safety"), (Place.STEPS, "step"), (Place.TEST, "prose"),
        (Place.TEST, "criterion"), (Place.TEST, "criteria"), (Place.ROLLBACK, "prose"),
    }  # fmt: skip
    assert min(firsts[key] for key in work) > order[-1]


def test_every_block_has_its_place() -> None:
    """A block that `sheet_blocks` gets one day needs a place here, else no sheet would show it."""
    fit = whole(SMALL)[Place.WHY]
    for draft in (shortest(), typical()):
        assert len(list(body_blocks(draft, fit, Cutter()))) == len(Place) - 1


@pytest.mark.parametrize("bars_pt", [BARS_PT, BARS_PT + 30])
def test_what_is_left_over_is_given_back(bars_pt: float) -> None:
    """Less than 2 % of the page is free where something was cut."""
    for fault in EXAMPLES:
        view, _, spare = fitted(example(fault), bars_pt)
        assert view.left_out > 0
        assert 0 <= spare < 0.02 * PAGE_HEIGHT, fault


@given(st.floats(0, 300), st.sampled_from(EXAMPLES))
@settings(max_examples=15, deadline=None)
def test_both_columns_hold_every_entry_once(bars_pt: float, fault: str) -> None:
    view, fit, _ = fitted(example(fault), bars_pt)
    left, right = columns(view.blocks, fit.size_pt)
    shown = [line for block in (*left, *right) for line in block.lines]
    assert shown == [line for block in view.blocks for line in block.lines]
    titles = [block.title for block in (*left, *right) if block.title]
    assert titles == [block.title for block in view.blocks]
    more = sum(block.more for block in (*left, *right))
    assert more == sum(block.more for block in view.blocks)
    heights = [
        body_pt([e._replace(gap=0) for block in side for e in pieces(block, fit.size_pt)])
        for side in (left, right)
    ]
    assert max(heights) <= body_pt([e for b in view.blocks for e in pieces(b, fit.size_pt)])


def test_each_cut_is_counted_once() -> None:
    cut = Cutter()
    assert cut.text("four", 4) == "four"
    assert cut.text("fives", 4) == "fiv…"
    assert cut.text("gone", 0) == ""
    assert cut.text("", 0) == ""
    assert cut.some([1, 2, 3], 2) == ([1, 2], 1)
    assert (cut.shortened, cut.left_out) == (1, 2)
    assert plain("a\u202eb\n c\x1b[0m", 99) == "ab c[0m"
