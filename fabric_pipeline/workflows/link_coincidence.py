"""Coincidence of a link's errors with slow runs in words: what was weighed, against chance, and why.

Reads rows of straggler_correlations as dicts; the weighing itself is done in `diagnose.localise`.
"""

from __future__ import annotations

import json
from typing import Any

from fabric_pipeline.workflows.link_view_model import Coincidence

VERDICT_WORDS = {
    "responsible": "its errors slow the collectives that cross it",
    "suspect": "may slow collectives; the evidence does not accuse it",
    "masked": "fits, but another link explains the same slow time better",
    "not_responsible": "its errors do not explain the slow time",
    "not_weighed": "not weighed: too few errors, or none in slow time",
}
# The facts of the score card (`diagnose.localise.features`) for readers.
FACT_WORDS = {
    "log_odds": "how far the overlap is from chance",
    "share_slow": "how much is slow while it errs",
    "coverage": "how much of the slow time it covers",
    "contrast": "latency with errors against without",
    "near_contrast": "latency against the time close by",
    "shift_tens": "no shifted copy of its errors fits as well",
    "edge": "latency moves when its errors start and stop",
    "edge_near": "latency moves within two bins of them",
    "edge_worst": "the start or end that fits worst",
    "edge_count": "how many starts and ends can be seen",
    "lead": "how far it is ahead of other links",
    "own_fit": "how well its place fits without it",
    "state": "width or speed was lost",
    "siblings_slow": "how slow the run is beside its path",
    "slow_anyway": "how slow other runs were at that time",
    "place_better": "whether another place explains more",
    "cause_better": "whether a host or fabric-wide event explains more",
    "known_cause": "whether a throttled GPU or congested port explains it",
    "throttled": "GPUs were throttled",
    "congested": "ports were congested",
    "rivals": "other links erred at that time",
    "tried": "how many erring links were compared",
    "lag": "a difference of clocks had to be assumed",
    "steadiness": "how even the slow time is",
    "misfit": "edges that fit elsewhere better",
    "hidden": "which groups cross it is not known",
    "picked": "how much was picked among candidates",
    "step_noise": "the step against the noise",
}
_MOST_FACTS = 3


def coincidence(row: dict[str, Any]) -> Coincidence:
    """One row of straggler_correlations."""
    bins = row["bins"]
    weights = json.loads(row["because"] or "{}")
    ranked = sorted(
        ((fact_words(name), float(weight)) for name, weight in weights.items()),
        key=lambda one: -abs(one[1]),
    )
    return Coincidence(
        **{name: row[name] for name in _SAME},
        verdict_words=VERDICT_WORDS.get(row["verdict"], row["verdict"]),
        expected_bins=row["slow_bins"] * row["error_bins"] / bins if bins else 0.0,
        for_it=tuple([one for one in ranked if one[1] > 0][:_MOST_FACTS]),
        against_it=tuple([one for one in ranked if one[1] < 0][:_MOST_FACTS]),
        behind=tuple(str(one) for one in json.loads(row["behind"] or "[]")),
    )


def fact_words(name: str) -> str:
    """A fact of the score card for readers."""
    return FACT_WORDS.get(name, name.replace("_", " "))


_SAME = (
    "run", "communicator", "in_path", "verdict", "bins", "slow_bins", "error_bins", "overlap_bins", "lag_bins",
    "covered_share", "effect_pct", "p_value", "q_value", "confidence", "share_slow", "slow_anyway",
)  # fmt: skip
