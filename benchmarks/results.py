"""All results of one run of the benchmark, and Markdown cells and tables to show them in.

What the tables show is decided in `tables_accuracy` and `tables_other`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.detect_time import Naming
from benchmarks.judging import OURS, Judged
from benchmarks.scoring import NAMED_FROM, Figures, Outcome, figures, interval, share_interval
from fabric_pipeline.diagnose.localise.judge import ACCUSE_FROM

NOTHING = "–"


@dataclass(slots=True)
class Benchmark:
    """Judged scenarios by suite; `parameters` are those of the tuned baselines, by name."""

    methods: tuple[str, ...]
    first_seed: int
    card: str
    revision: str
    parameters: dict[str, float] = field(default_factory=dict)
    judged: dict[str, list[Judged]] = field(default_factory=dict)
    namings: list[Naming] = field(default_factory=list)
    command: str = ""
    date: str = ""

    def outcomes(self, suite: str, method: str = OURS) -> list[Outcome]:
        """What a method answered in a suite."""
        return [one.outcomes[method] for one in self.judged[suite]]

    @property
    def has_ours(self) -> bool:
        """True when the diagnosis itself was measured."""
        return OURS in self.methods


def threshold_of(method: str) -> float:
    """From which confidence on a method accuses."""
    return ACCUSE_FROM if method == OURS else NAMED_FROM


def table(head: Sequence[str], rows: Iterable[Sequence[object]], texts: int = 1) -> str:
    """A Markdown table; the first columns are texts, the others figures."""
    lines = [_row(one) for one in rows]
    rules = ["---"] * texts + ["---:"] * (len(head) - texts)
    return "\n".join([_row(head), _row(rules), *lines]) if lines else "No scenario of this kind."


def _row(cells: Sequence[object]) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def with_interval(
    outcomes: Sequence[Outcome], of: Callable[[Figures], float], threshold: float
) -> str:
    """A figure with its 95 % bootstrap interval."""
    low, high = interval(outcomes, of, threshold)
    return f"{of(figures(outcomes, threshold)):.2f} [{low:.2f}, {high:.2f}]"


def share(hits: int, number: int) -> str:
    """A count out of a number with its share and Wilson interval."""
    if not number:
        return NOTHING
    low, high = share_interval(hits, number)
    return f"{hits} of {number}: {hits / number:.1%} [{low:.1%}, {high:.1%}]"


def has_guilty(outcomes: Iterable[Outcome]) -> bool:
    """True when there was a link to find."""
    return any(one.guilty for one in outcomes)
