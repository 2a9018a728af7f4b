"""From facts to a confidence: a monotone score card whose parts are printed with every verdict.

Each fact is cut into ramps, so that it may count more in one range than in another but never turns round:
more coincidence never lowers the confidence. The weights come from `scorecard.json`, fitted by
`benchmarks.calibrate` on generated fleets; nothing here fits.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise
from math import exp

import numpy as np

from fabric_pipeline.diagnose.localise.features import Facts
from fabric_pipeline.diagnose.localise.window import Floats

# fact: (direction, knots between its ramps). Direction 1: more is evidence for the link, -1: against it,
# 0: what it means depends on the other facts (much slow time elsewhere makes a good fit rarer, not worse).
RAMPS: dict[str, tuple[int, tuple[float, ...]]] = {
    "log_odds": (1, (2.5, 4.5)),
    "share_slow": (1, (0.3, 0.6, 0.85)),
    "coverage": (1, (0.3, 0.7)),
    "contrast": (1, (0.08, 0.25)),
    "shift_tens": (1, (1.0, 1.8)),
    "edge": (1, (0.0, 0.4, 0.75)),
    "edge_near": (1, (0.0, 0.4, 0.75)),
    "edge_worst": (0, (0.0, 0.5)),
    "lead": (1, (-0.5, 0.0, 0.8)),
    "own_fit": (0, (0.3, 0.8)),
    "near_contrast": (1, (0.3, 0.8)),
    "steadiness": (0, (0.5,)),
    "step_noise": (0, (0.5, 1.5)),
    "state": (1, ()),
    "siblings_slow": (-1, (0.08, 0.35)),
    "slow_anyway": (0, (0.1, 0.3)),
    "place_better": (-1, (0.5, 1.5)),
    "cause_better": (-1, (0.5, 1.5)),
    "throttled": (-1, ()),
    "congested": (-1, ()),
    "rivals": (-1, (1.0, 2.0)),
    "tried": (-1, ()),
    "misfit": (-1, (0.7, 1.5, 2.5)),
    "known_cause": (-1, (0.4,)),
    "hidden": (-1, ()),
    "picked": (-1, (0.3,)),
    "lag": (-1, (1.0,)),
}
# What counts only together: both must hold.
PAIRS: tuple[tuple[str, str], ...] = (
    ("share_slow", "lead"),
    ("share_slow", "edge"),
    ("edge", "edge_count"),
    ("edge_near", "edge_count"),
    ("share_slow", "coverage"),
    ("lead", "edge_near"),
    ("lead", "coverage"),
)
_FILE = "scorecard.json"


def _terms() -> tuple[tuple[str, int], ...]:
    ramps = [
        (f"{fact}/{number}", sign)
        for fact, (sign, knots) in RAMPS.items()
        for number in range(len(knots) + 1)
    ]
    return (*ramps, *((f"{a}*{b}", 1) for a, b in PAIRS))


TERMS = _terms()


@dataclass(frozen=True, slots=True)
class ScoreCard:
    """`weight` per term of TERMS in log odds, and the bias; `version` names the fit."""

    weight: Floats
    bias: float
    version: str = ""

    def confidence(self, found: Facts) -> float:
        """Probability that the link slows these collectives."""
        return 1 / (1 + exp(-(self.bias + float(self.weight @ term_values(found)))))

    def contributions(self, found: Facts) -> dict[str, float]:
        """Log odds per fact (a pair counts for its first fact), the largest first."""
        parts: dict[str, float] = {}
        for (term, _), part in zip(TERMS, self.weight * term_values(found), strict=True):
            fact = term.split("/")[0].split("*")[0]
            parts[fact] = parts.get(fact, 0.0) + float(part)
        return dict(sorted(parts.items(), key=lambda item: -abs(item[1])))


def term_values(found: Facts) -> Floats:
    """[terms] the ramps and pairs of one set of facts."""
    values: list[float] = []
    for fact, (_, knots) in RAMPS.items():
        value = getattr(found, fact)
        edges = (-np.inf, *knots, np.inf)
        for low, high in pairwise(edges):
            start = low if low != -np.inf else (high if high != np.inf else 0.0)
            values.append(float(min(max(value, low), high) - start))
    values += [getattr(found, a) * getattr(found, b) for a, b in PAIRS]
    return np.array(values)


def as_json(card: ScoreCard, notes: dict[str, str]) -> str:
    """The file form: weights by name, so that a changed set of terms is noticed."""
    weights = {
        name: round(float(weight), 5) for (name, _), weight in zip(TERMS, card.weight, strict=True)
    }
    return (
        json.dumps(
            {"version": card.version, **notes, "bias": round(card.bias, 5), "weights": weights},
            indent=1,
        )
        + "\n"
    )


def from_json(text: str) -> ScoreCard:
    """Read a card; raises ValueError when its terms are not those of this version."""
    raw = json.loads(text)
    names = [name for name, _ in TERMS]
    if list(raw["weights"]) != names:
        raise ValueError(
            "the score card was fitted for other facts: run benchmarks.calibrate again"
        )
    return ScoreCard(
        np.array([raw["weights"][name] for name in names]), float(raw["bias"]), raw["version"]
    )


@cache
def shipped_card() -> ScoreCard:
    """The card that this version ships."""
    return from_json(resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8"))


def odds_only() -> ScoreCard:
    """Odds alone: what collects facts before any weights are fitted."""
    weight = np.zeros(len(TERMS))
    for place, (name, _) in enumerate(TERMS):
        if name.startswith("log_odds/"):
            weight[place] = 2.5
    return ScoreCard(weight, 1.25, "odds only")
