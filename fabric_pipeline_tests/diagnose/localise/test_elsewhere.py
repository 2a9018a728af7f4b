"""Explanations without an erring link: the best slow interval of every place, against trying them all."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fabric_pipeline.diagnose.localise.cells import noise, slowness
from fabric_pipeline.diagnose.localise.elsewhere import PlaceIndex, Scan
from fabric_pipeline.diagnose.localise.support import BASE_RATE, Cells
from fabric_pipeline.diagnose.localise.window import (
    HOST,
    NODE_RAIL,
    NVLINK_DOMAIN,
    Floats,
    Place,
    Window,
)
from fabric_pipeline_tests.diagnose.localise.windows import BINS, BURST, bare_window, flags, noisy

PLACES = [
    Place(NVLINK_DOMAIN, "n1: NVLinks", 0, np.array([0])),
    Place(NODE_RAIL, "n1: rail 0", 0, np.array([1])),
    Place(HOST, "n1: host", 0, np.array([0, 1, 2])),
]


def scanned(deviation: Floats, places: list[Place], taken: set[int] | None = None) -> Scan:
    window = bare_window(deviation, [0] * len(deviation), places=places)
    cells = Cells(window, slowness(deviation, noise(deviation)), window.series.valid)
    return PlaceIndex(window).scan(cells, None, taken or set())


def test_the_slow_place_and_its_interval_are_found() -> None:
    deviation = noisy(4)
    deviation[1] += 0.7 * flags(BURST)
    found = scanned(deviation, PLACES)
    assert int(np.argmax(found.odds)) == 1
    assert np.flatnonzero(found.mask(1, BINS)).tolist() == list(BURST)
    assert found.odds[1] > 20
    assert found.odds[0] < 4


def test_all_groups_of_a_host_slow_is_the_host() -> None:
    deviation = noisy(6)
    deviation[:3] += 0.7 * flags(BURST)
    found = scanned(deviation, PLACES)
    assert int(np.argmax(found.odds)) == 2
    assert np.flatnonzero(found.mask(2, BINS)).tolist() == list(BURST)


def test_a_taken_place_is_never_proposed_again() -> None:
    deviation = noisy(4)
    deviation[1] += 0.7 * flags(BURST)
    found = scanned(deviation, PLACES, {1})
    assert found.odds[1] == -np.inf
    assert int(np.argmax(found.odds)) != 1
    assert np.isinf(scanned(deviation, PLACES, {0, 1, 2}).odds).all()


def test_places_of_a_group() -> None:
    index = PlaceIndex(bare_window(noisy(4), [0, 0, 0, 1], places=PLACES))
    assert [places.tolist() for places in index.places_of] == [[0, 2], [1, 2], [2], []]


def test_a_second_scan_looks_again_at_what_changed() -> None:
    """The place of a cause that was explained away is clear then, the others are as they were."""
    deviation = noisy(6)
    deviation[0] += 0.7 * flags(BURST)
    deviation[1] += 0.7 * flags(range(42, 54))
    window = bare_window(deviation, [0] * 6, places=PLACES)
    soft, valid = slowness(deviation, noise(deviation)), window.series.valid
    index = PlaceIndex(window)
    first = index.scan(Cells(window, soft, valid), None, set())
    soft[0, list(BURST)] = 0.0
    again = index.scan(Cells(window, soft, valid), {0}, set())
    fresh = PlaceIndex(window).scan(Cells(window, soft, valid), None, set())
    assert again.odds[[0, 2]] == pytest.approx(fresh.odds[[0, 2]])
    assert again.odds[0] < 4 < first.odds[0]
    assert again.odds[1] == first.odds[1]
    assert again.mask(1, BINS).tolist() == fresh.mask(1, BINS).tolist()


def gains_by_hand(soft: Floats, valid: Floats) -> Floats:
    """What each bin of a place of all groups is worth; nobody else tells what is slow anyway."""
    usual = np.clip(4 * BASE_RATE / 4, BASE_RATE, 0.9)
    number = valid.sum(axis=0)
    share = soft.sum(axis=0) / np.maximum(number, 1)
    gain = share * np.log(0.9 / usual) + (1 - share) * np.log(0.1 / (1 - usual))
    made: Floats = np.where(number > 0, np.minimum(number, 3) * gain, 0.0)
    return made


def window_of_all(soft: Floats) -> Window:
    everywhere = Place(NODE_RAIL, "all", 0, np.arange(len(soft)))
    return bare_window(np.zeros(soft.shape), [0] * len(soft), places=[everywhere])


@given(
    arrays(
        float,
        st.tuples(st.integers(1, 4), st.integers(1, 14)),
        elements=st.sampled_from([0.0, 0.0, 0.3, 0.8, 1.0]),
    ),
    st.randoms(use_true_random=False),
)
def test_the_best_interval_is_that_of_all_tried_by_hand(soft: Floats, random: Random) -> None:
    valid = np.array([[random.random() < 0.8 for _ in row] for row in soft])
    window = window_of_all(soft)
    found = PlaceIndex(window).scan(Cells(window, soft, valid), None, set())
    bins = soft.shape[1]
    gains = gains_by_hand(np.where(valid, soft, 0.0), valid.astype(float))
    best = max(gains[a:b].sum() for a in range(bins) for b in range(a + 1, bins + 1))
    assert found.odds[0] == pytest.approx(best - np.log(bins), abs=1e-4)
    inside = found.mask(0, bins)
    assert inside.any()
    assert gains[inside].sum() == pytest.approx(best, abs=1e-4)
