"""Dose and response: a rank correlation over the erring bins, or nothing when it cannot be told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fabric_pipeline.diagnose.localise.dose import dose_response
from fabric_pipeline.diagnose.localise.window import Flags, Floats
from fabric_pipeline_tests.diagnose.localise.windows import flags

ACTIVE = flags(range(20, 32), 40) > 0.5
COUNTS = np.arange(40.0)


def test_more_errors_and_slower_is_one_whatever_the_curve() -> None:
    assert dose_response(COUNTS, ACTIVE, np.log1p(COUNTS)) == pytest.approx(1.0)
    assert dose_response(COUNTS, ACTIVE, -(COUNTS**3)) == pytest.approx(-1.0)


def test_equal_counts_share_a_rank() -> None:
    pairs = np.repeat(np.arange(20.0), 2)
    assert dose_response(pairs, ACTIVE, pairs) == pytest.approx(1.0)
    found = dose_response(pairs, ACTIVE, COUNTS)
    assert found is not None
    assert 0.9 < found < 1.0


def test_noise_is_near_zero() -> None:
    rng = np.random.default_rng(5)
    every = np.ones(400, dtype=bool)
    found = dose_response(rng.random(400), every, rng.random(400))
    assert found == pytest.approx(0.0, abs=0.15)


def test_too_little_tells_nothing() -> None:
    few = flags(range(20, 27), 40) > 0.5
    assert dose_response(COUNTS, few, COUNTS) is None
    assert dose_response(None, ACTIVE, COUNTS) is None
    assert dose_response(np.ones(40), ACTIVE, COUNTS) is None
    assert dose_response(COUNTS, ACTIVE, np.ones(40)) is None
    gaps = COUNTS.copy()
    gaps[20:26] = np.nan
    assert dose_response(COUNTS, ACTIVE, gaps) is None


@settings(max_examples=40)
@given(
    arrays(float, 15, elements=st.integers(0, 5).map(float)),
    arrays(bool, 15),
    arrays(float, 15, elements=st.one_of(st.floats(-2, 2), st.just(np.nan))),
)
def test_the_dose_is_a_correlation(counts: Floats, active: Flags, deviation: Floats) -> None:
    found = dose_response(counts, active, deviation)
    assert found is None or -1 <= found <= 1
