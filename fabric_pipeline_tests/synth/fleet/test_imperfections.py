"""Lost samples move counts and lose none; resets lose counts and say so; clocks shift nodes."""

from __future__ import annotations

import numpy as np
import pytest

from fabric_pipeline.synth.fleet.bursts import COUNTERS, Counted, error_counts
from fabric_pipeline.synth.fleet.flaws import Flaws
from fabric_pipeline.synth.fleet.imperfections import Observed, observe
from fabric_pipeline.synth.fleet.spec import FleetSpec
from fabric_pipeline.synth.fleet.topology_arrays import Shape, shape_of

SPEC = FleetSpec(nodes=2, bins=50)


@pytest.fixture
def shape() -> Shape:
    return shape_of("h100", 2, False)


def true_counts(shape: Shape, seed: int = 1) -> Counted:
    rng = np.random.default_rng(seed)
    size = 4000
    return Counted(
        rng.integers(0, 2 * shape.size, size),
        rng.integers(0, len(COUNTERS), size),
        rng.integers(0, SPEC.bins, size),
        rng.integers(1, 50, size).astype(float),
    )


def seen(shape: Shape, counts: Counted, flaws: Flaws) -> Observed:
    return observe(counts, flaws, SPEC, shape, np.random.default_rng(2))


def no_flaws() -> Flaws:
    return Flaws(np.zeros(2, np.int64))


def per_end(ends: np.ndarray, amounts: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(ends, amounts, size)


def test_perfect_telemetry_shows_every_count(shape: Shape) -> None:
    counts = true_counts(shape)
    got = seen(shape, counts, no_flaws())
    dense = np.zeros((2 * shape.size, len(COUNTERS), SPEC.bins))
    np.add.at(dense, (counts.end, counts.counter, counts.bin), counts.count)
    inc = got.increments
    assert (dense[inc.end, inc.counter, inc.bin] == inc.delta).all()
    assert inc.delta.sum() == counts.count.sum()
    assert (inc.elapsed_s == SPEC.step_s).all()
    assert (got.samples == SPEC.bins).all()


def test_lost_samples_move_counts_to_the_next_one(shape: Shape) -> None:
    counts = true_counts(shape)
    flaws = no_flaws()
    flaws.lost_share, flaws.gap = 0.3, (1, 10, 30)
    got = seen(shape, counts, flaws)
    covered = counts.bin < np.rint(got.exposure_s[counts.end] / SPEC.step_s)
    size = 2 * shape.size
    expected = per_end(counts.end[covered], counts.count[covered], size)
    inc = got.increments
    assert (per_end(inc.end, inc.delta, size) == expected).all()
    assert covered.mean() > 0.9
    silent = shape.end_node[inc.end] == 1
    assert not (silent & (inc.bin >= 10) & (inc.bin < 30)).any()
    first_after = silent & (inc.bin >= 30) & (inc.elapsed_s > 20 * SPEC.step_s)
    assert first_after.any()


def test_a_reset_is_marked_and_loses_what_came_before_it(shape: Shape) -> None:
    counts = true_counts(shape)
    flaws = no_flaws()
    flaws.resets = {0: (20, 0.5)}
    got = seen(shape, counts, flaws)
    inc = got.increments
    marked = inc.is_reset
    assert marked.any()
    assert (inc.bin[marked] == 20).all()
    assert (shape.end_node[inc.end[marked]] == 0).all()
    others = counts.bin != 20
    untouched = inc.bin != 20
    assert inc.delta[untouched].sum() == counts.count[others].sum()
    assert inc.delta.sum() < counts.count.sum()


def test_a_skewed_clock_shifts_the_ends_of_its_node_only(shape: Shape) -> None:
    counts = true_counts(shape)
    flaws = no_flaws()
    flaws.shift[1] = 3
    inc = seen(shape, counts, flaws).increments
    node = shape.end_node
    shifted = per_end(inc.bin[node[inc.end] == 1], inc.delta[node[inc.end] == 1], SPEC.bins)
    mine = node[counts.end] == 1
    plain = per_end(counts.bin[mine], counts.count[mine], SPEC.bins)
    assert (shifted[3:] == plain[:-3]).all()
    assert inc.delta[node[inc.end] != 1].sum() == counts.count[~mine].sum()


@pytest.mark.parametrize("law", ["gamma", "markov", "pareto", "poisson"])
def test_every_burst_law_keeps_the_rate_and_the_active_bins(law: str) -> None:
    active = np.zeros(20_000, bool)
    active[5_000:15_000] = True
    counts = error_counts(np.full(20_000, 6.0), active, law, np.random.default_rng(3))
    assert not counts[~active].any()
    assert counts[active].mean() == pytest.approx(6.0, rel=0.2)
    spread = counts[active].var() / counts[active].mean()
    assert (spread < 1.2) == (law == "poisson")
