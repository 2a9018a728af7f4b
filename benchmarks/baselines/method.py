"""What a baseline is, how its answers are judged, and how its one parameter is tuned.

The rules themselves live in the other modules of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchmarks.fleet_window import Observed
from benchmarks.scoring import Answer, Outcome, figures

PLAIN_CONFIDENCE = 0.9


@dataclass(frozen=True, slots=True)
class Method:
    """A rule with the parameters it is tuned over; an empty grid means that it has none.

    `accuse` takes the parameter as its second argument, `source` tells where the rule comes from.
    """

    name: str
    accuse: Callable[[Observed, float], list[Answer]]
    grid: tuple[float, ...]
    source: str


def accused(links: Iterable[int]) -> list[Answer]:
    """Answers of a rule that only says yes, each link once."""
    return [Answer(link, PLAIN_CONFIDENCE) for link in sorted({int(link) for link in links})]


def outcome_of(observed: Observed, answers: list[Answer]) -> Outcome:
    """Answers beside the truth; a guilty link that nothing slowed for is not looked for."""
    felt = [one for one in observed.scenario.truth if one.felt]
    untraceable = frozenset(one.link for one in felt if one.silent == "nostate")
    guilty = frozenset(one.link for one in felt) - untraceable
    return Outcome(observed.scenario.spec.fault, guilty, untraceable, answers)


def best_parameter(method: Method, scenarios: Sequence[Observed]) -> float:
    """The value of the grid with the best F1 on training scenarios, the first of equal ones."""
    if not method.grid:
        return 0.0

    def f1(parameter: float) -> float:
        return figures([outcome_of(one, method.accuse(one, parameter)) for one in scenarios]).f1

    return max(method.grid, key=f1)
