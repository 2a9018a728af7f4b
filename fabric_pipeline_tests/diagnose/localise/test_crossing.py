"""Rivals of a link are found by what they cross, the same ones as when every pair is asked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.diagnose.localise.crossing import Crossing, Rivals
from fabric_pipeline.diagnose.localise.window import Candidate, Ints, Window, by_number
from fabric_pipeline_tests.diagnose.localise.windows import bare_window

GROUPS = 6


def window_of(links: list[tuple[str, int]], paths: list[set[int]]) -> Window:
    candidates = [Candidate(name, np.zeros(4), path, -1, 0, False) for name, path in links]
    crossed: list[Ints] = [np.array(sorted(path), dtype=np.int64) for path in paths]
    return bare_window(np.zeros((GROUPS, 4)), [0] * GROUPS, candidates, crossed)


def by_hand(window: Window, odds: dict[int, float], number: int) -> tuple[float, int]:
    """Every other weighed candidate asked one by one."""
    one = window.candidates[number]
    rivals = [
        nats
        for other, nats in odds.items()
        if window.candidates[other].link != one.link
        and (
            window.candidates[other].path == one.path
            or set(window.paths[window.candidates[other].path]) & set(window.paths[one.path])
        )
    ]
    return max(rivals, default=0.0), len(rivals)


@st.composite
def windows(draw: st.DrawFn) -> tuple[Window, dict[int, float]]:
    paths = draw(st.lists(st.sets(st.integers(0, GROUPS - 1)), min_size=1, max_size=4))
    names = st.tuples(st.sampled_from("abc"), st.integers(0, len(paths) - 1))
    links = draw(st.lists(names, min_size=1, max_size=8))
    numbers = draw(st.sets(st.integers(0, len(links) - 1)))
    odds = {number: draw(st.floats(-3, 9)) for number in sorted(numbers)}
    return window_of(links, paths), odds


@given(windows())
def test_rivals_are_those_of_every_pair(given_: tuple[Window, dict[int, float]]) -> None:
    window, odds = given_
    rivals = Rivals(Crossing(window), window, odds.get)
    for number in odds:
        assert rivals.of(window.candidates[number]) == by_hand(window, odds, number)


def test_only_links_over_changed_groups_are_looked_at_again() -> None:
    window = window_of([("a", 0), ("b", 1), ("c", 1), ("d", 2)], [{0, 1}, {1, 2}, {5}])
    crossing = Crossing(window)
    assert crossing.touched([0]) == {0}
    assert crossing.touched([1, 3]) == {0, 1, 2}
    assert crossing.touched([4]) == set()
    assert crossing.candidates.tolist() == [1, 3, 2, 0, 0, 1]


@pytest.mark.parametrize("numbers", [[], [3], [2, 0, 2, 2, 7, 0]])
def test_places_by_number(numbers: list[int]) -> None:
    found = by_number(np.array(numbers, dtype=np.int64))
    assert {number: places.tolist() for number, places in found.items()} == {
        number: [place for place, one in enumerate(numbers) if one == number]
        for number in sorted(set(numbers))
    }
