"""The score card: monotone in every fact with a direction, read only when it fits, told in parts."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.diagnose.localise.features import FACT_NAMES, Facts
from fabric_pipeline.diagnose.localise.scorecard import (
    PAIRS,
    RAMPS,
    TERMS,
    ScoreCard,
    as_json,
    from_json,
    odds_only,
    shipped_card,
    term_values,
)

# Bounds of every fact, see Facts.
RANGES = {
    "log_odds": (0, 8), "share_slow": (0, 1), "coverage": (0, 1), "contrast": (0, 1), "shift_tens": (0, 2.5),
    "edge": (-1, 1), "edge_count": (0, 2.6), "lead": (-1, 1), "own_fit": (0, 1.5), "state": (0, 1), "siblings_slow": (0, 0.9),
    "slow_anyway": (0, 1), "place_better": (0, 3), "cause_better": (0, 3), "throttled": (0, 1), "congested": (0, 1),
    "rivals": (0, 5), "tried": (0, 5), "lag": (0, 3), "edge_worst": (-1, 1), "near_contrast": (-0.5, 1.5), "steadiness": (0, 1),
    "edge_near": (-1, 1), "misfit": (0, 3.8), "known_cause": (0, 1), "hidden": (0, 1), "picked": (0, 1), "step_noise": (0, 3),
}  # fmt: skip
DIRECTED = [(fact, sign) for fact, (sign, _) in RAMPS.items() if sign]
FACTS = st.builds(Facts, **{name: st.floats(*RANGES[name]) for name in FACT_NAMES})

GOOD = Facts(
    log_odds=5.0, share_slow=0.97, coverage=0.97, contrast=0.7, shift_tens=2.0, edge=1.0, edge_count=1.1, lead=1.0,
    own_fit=1.0, state=0.0, siblings_slow=0.0, slow_anyway=0.02, place_better=0.0, cause_better=0.0, throttled=0.0, congested=0.0,
    rivals=0.0, tried=0.7, lag=0.0, edge_worst=1.0, near_contrast=1.0, steadiness=1.0, edge_near=1.0, misfit=0.0,
    known_cause=0.0, hidden=0.0, picked=0.0, step_noise=3.0,
)  # fmt: skip
CHANCE = replace(
    GOOD, log_odds=1.2, share_slow=0.2, coverage=0.1, contrast=0.0, shift_tens=0.3, edge=0.0, lead=-1.0, own_fit=0.2,
    edge_worst=-1.0, near_contrast=0.0, edge_near=0.0, misfit=2.0, step_noise=0.1, rivals=1.4,
)  # fmt: skip


def test_every_fact_has_a_range_here() -> None:
    assert set(RANGES) == set(FACT_NAMES) == {field.name for field in fields(Facts)}


def test_clear_cases_are_on_the_right_side() -> None:
    card = shipped_card()
    assert card.confidence(GOOD) > 0.7
    assert card.confidence(CHANCE) < 0.5
    assert card.confidence(replace(GOOD, known_cause=1.0)) < card.confidence(GOOD)


def test_shipped_weights_point_the_way_of_their_terms() -> None:
    card = shipped_card()
    assert len(card.weight) == len(TERMS)
    wrong = [name for (name, sign), w in zip(TERMS, card.weight, strict=True) if w * sign < 0]
    assert wrong == []
    assert card.version


@settings(max_examples=150)
@given(FACTS, st.sampled_from(DIRECTED), st.floats(0, 1))
def test_more_of_a_directed_fact_never_turns_round(
    found: Facts, directed: tuple[str, int], share: float
) -> None:
    """A pair may only turn where the other half of it speaks against the link, so partners are not negative."""
    fact, sign = directed
    partners = {b if a == fact else a for a, b in PAIRS if fact in (a, b)}
    found = replace(found, **{name: abs(getattr(found, name)) for name in partners})
    low, high = RANGES[fact]
    value = getattr(found, fact)
    more = replace(found, **{fact: value + share * (high - value)})
    card = shipped_card()
    assert low <= value <= high
    assert sign * (card.confidence(more) - card.confidence(found)) >= -1e-12


@settings(max_examples=40)
@given(FACTS)
def test_contributions_add_up_to_the_log_odds(found: Facts) -> None:
    card = shipped_card()
    parts = card.contributions(found)
    total = card.bias + sum(parts.values())
    assert card.confidence(found) == pytest.approx(1 / (1 + exp(-total)), rel=1e-9)
    assert set(parts) == set(RAMPS)
    sizes = [abs(part) for part in parts.values()]
    assert sizes == sorted(sizes, reverse=True)


@settings(max_examples=40)
@given(FACTS)
def test_ramps_of_a_fact_add_up_to_its_value(found: Facts) -> None:
    """Cut into ramps nothing is lost: with equal weights the value itself comes back, from its first knot."""
    values = dict(zip([name for name, _ in TERMS], term_values(found), strict=True))
    for fact, (_, knots) in RAMPS.items():
        total = sum(values[f"{fact}/{number}"] for number in range(len(knots) + 1))
        assert total == pytest.approx(getattr(found, fact) - (knots[0] if knots else 0.0))
    for a, b in PAIRS:
        assert values[f"{a}*{b}"] == getattr(found, a) * getattr(found, b)


def test_a_card_survives_its_file() -> None:
    rng = np.random.default_rng(1)
    card = ScoreCard(np.round(rng.normal(size=len(TERMS)), 5), -1.25, "a fit")
    back = from_json(as_json(card, {"fitted_by": "a test"}))
    assert back.weight.tolist() == card.weight.tolist()
    assert (back.bias, back.version) == (-1.25, "a fit")


@pytest.mark.parametrize("change", ["missing", "unknown", "moved"])
def test_a_card_for_other_facts_is_refused(change: str) -> None:
    raw = json.loads(as_json(odds_only(), {}))
    names = list(raw["weights"])
    if change == "missing":
        del raw["weights"][names[3]]
    elif change == "unknown":
        raw["weights"]["charm"] = 1.0
    else:
        raw["weights"] = {name: raw["weights"][name] for name in reversed(names)}
    with pytest.raises(ValueError, match=r"run benchmarks\.calibrate again"):
        from_json(json.dumps(raw))


def test_odds_alone_grow_with_the_odds() -> None:
    card = odds_only()
    found = [card.confidence(replace(GOOD, log_odds=odds)) for odds in (0.0, 1.0, 3.0, 6.0)]
    assert found == sorted(found)
    assert found[0] < 0.5 < found[-1]
    assert card.confidence(replace(GOOD, log_odds=3.0)) == card.confidence(
        replace(CHANCE, log_odds=3.0)
    )
