"""What a method answered in one scenario against the truth, and the figures over many scenarios.

A link counts as found when it is named exactly, by either end. A guilty link that left no trace in counters
or states cannot be told from the data; it is counted in a class of its own and never as a miss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

# Any answer of a baseline reaches NAMED_FROM; the diagnosis accuses later, see diagnose.localise.judge.
NAMED_FROM, SURE_FROM = 0.5, 0.8
BINS = 10
_RESAMPLES, _DRAWS, _SEED = 1000, 400, 20_260_101
_Z = 1.96

Pairs = Sequence[tuple[float, bool]]  # stated confidence, and whether the link is guilty
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Answer:
    """One accused link: `link` is its number in the scenario, -1 when no link erred or is known there."""

    link: int
    confidence: float


@dataclass(slots=True)
class Outcome:
    """One scenario: guilty links that can be told, those without a trace, and what was answered.

    `weighed` are the confidences of all candidates with whether they are guilty; `also_wrong` counts
    accusations of innocent links that are not kept one by one.
    """

    fault: str
    guilty: frozenset[int]
    untraceable: frozenset[int]
    answers: list[Answer]
    weighed: list[tuple[float, bool]] = field(default_factory=list)
    also_wrong: int = 0

    @property
    def is_quiet(self) -> bool:
        """True when no link slowed anything."""
        return not self.guilty and not self.untraceable

    def named(self, threshold: float) -> frozenset[int]:
        """Links accused with at least this confidence."""
        return frozenset(one.link for one in self.answers if one.confidence >= threshold)

    def wrong(self, threshold: float) -> int:
        """Accusations of links that slowed nothing."""
        innocent = [one for one in self.answers if one.link not in self.guilty | self.untraceable]
        return sum(one.confidence >= threshold for one in innocent) + self.also_wrong

    def counts(self, threshold: float) -> tuple[int, int, int]:
        """Found, wrongly accused, missed."""
        found = len(self.named(threshold) & self.guilty)
        return found, self.wrong(threshold), len(self.guilty) - found


def shortened(outcome: Outcome) -> Outcome:
    """The same with innocent links only counted; some baselines accuse thousands."""
    known = outcome.guilty | outcome.untraceable
    kept = [one for one in outcome.answers if one.link in known]
    return replace(outcome, answers=kept, also_wrong=outcome.wrong(NAMED_FROM))


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts of the exact link over all scenarios; a share of nothing is 1."""

    found: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        """Share of accusations that are right."""
        named = self.found + self.wrong
        return self.found / named if named else 1.0

    @property
    def recall(self) -> float:
        """Share of guilty links that are found."""
        guilty = self.found + self.missed
        return self.found / guilty if guilty else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of both."""
        total = 2 * self.found + self.wrong + self.missed
        return 2 * self.found / total if total else 1.0


def figures(outcomes: Sequence[Outcome], threshold: float = NAMED_FROM) -> Figures:
    """Over all scenarios together."""
    return _summed(_counts(outcomes, threshold))


def interval(
    outcomes: Sequence[Outcome], of: Callable[[Figures], float], threshold: float = NAMED_FROM
) -> tuple[float, float]:
    """95 % bootstrap interval over scenarios of one of the figures."""
    rng = np.random.default_rng(_SEED)
    counts, size = _counts(outcomes, threshold), len(outcomes)
    values = [of(_summed(counts[rng.integers(size, size=size)])) for _ in range(_RESAMPLES)]
    return float(np.quantile(values, 0.025)), float(np.quantile(values, 0.975))


def _counts(outcomes: Sequence[Outcome], threshold: float) -> Counts:
    rows = [one.counts(threshold) for one in outcomes]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def _summed(counts: Counts) -> Figures:
    found, wrong, missed = (int(number) for number in counts.sum(axis=0))
    return Figures(found, wrong, missed)


def false_accusations(
    outcomes: Sequence[Outcome], threshold: float = NAMED_FROM
) -> tuple[int, int]:
    """Scenarios without any guilty link in which one was accused, and the number of such scenarios."""
    quiet = [one for one in outcomes if one.is_quiet]
    return sum(one.wrong(threshold) > 0 for one in quiet), len(quiet)


def share_interval(hits: int, number: int) -> tuple[float, float]:
    """95 % interval of a share (Wilson), which says something even when there are no hits."""
    if not number:
        return 0.0, 1.0
    share, square = hits / number, _Z**2 / number
    middle = (share + square / 2) / (1 + square)
    half = _Z * np.sqrt(share * (1 - share) / number + square / number / 4) / (1 + square)
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def stated(outcomes: Sequence[Outcome]) -> list[tuple[float, bool]]:
    """Confidence of every candidate link that was weighed, and whether it is guilty."""
    return [pair for one in outcomes for pair in one.weighed]


def reliability(pairs: Pairs) -> list[tuple[int, float, float, int]]:
    """Per tenth of confidence that occurs: its number, mean confidence, share that was right, pairs."""
    confidence, right = _columns(pairs)
    place = _tenths(confidence)
    return [
        (n, float(confidence[mine].mean()), float(right[mine].mean()), int(mine.sum()))
        for n in range(BINS)
        if (mine := place == n).any()
    ]


def calibration_error(pairs: Pairs) -> float:
    """Expected calibration error: mean distance of confidence and share right, weighted by number."""
    rows = reliability(pairs)
    total = sum(number for *_, number in rows)
    return sum(abs(said - right) * n for _, said, right, n in rows) / total if total else 0.0


def sampling_error(pairs: Pairs) -> tuple[float, float]:
    """What the calibration error would be if every confidence were true: its mean and 95 % quantile."""
    if not pairs:
        return 0.0, 0.0
    confidence, _ = _columns(pairs)
    drawn = np.random.default_rng(_SEED).random((_DRAWS, len(confidence))) < confidence
    place = _tenths(confidence)
    members = [np.flatnonzero(place == n) for n in np.unique(place)]
    gaps = [np.abs((drawn[:, m] - confidence[m]).sum(axis=1)) for m in members]
    errors = np.sum(gaps, axis=0) / len(confidence)
    return float(errors.mean()), float(np.quantile(errors, 0.95))


def brier(pairs: Pairs) -> float:
    """Mean squared distance between confidence and truth."""
    confidence, right = _columns(pairs)
    return float(np.mean((confidence - right) ** 2)) if pairs else 0.0


def _columns(pairs: Pairs) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    rows = np.array([(said, float(right)) for said, right in pairs], dtype=np.float64)
    said, right = rows.reshape(-1, 2).T
    return said, right


def _tenths(confidence: npt.NDArray[np.float64]) -> Counts:
    return np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
