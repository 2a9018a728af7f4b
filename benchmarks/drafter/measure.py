"""Makes the cases, asks a drafter for all drafts at once, and grades them: figures, no wording.

Drops and tables live in a temporary folder that is gone afterwards. The drafter is asked through the
doors of the product, with budget and concurrency of the settings.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.drafter.bad_drafters import BAD_DRAFTERS, BadDrafter
from benchmarks.drafter.evaluators import GRADES, INFO, dataset, is_usable
from benchmarks.drafter.grading import Graded
from benchmarks.drafter.incidents import Example, examples
from benchmarks.drafter.scenes import Scene
from fabric_pipeline.drafting.catalogue import Catalogue, load_catalogue
from fabric_pipeline.drafting.draft import DraftRequest, draft_tickets
from fabric_pipeline.drafting.lookup import FabricLookup
from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.fabric_lookup import lake_lookup

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Score:
    """One grade of one case, with the reasons for what is missing."""

    case: str
    kind: str
    grade: str
    share: float
    why: str


@dataclass(frozen=True, slots=True)
class Control:
    """One bad drafter: how many of its drafts would be usable, and the mean of the grade that has to fall."""

    bad: BadDrafter
    usable: int
    of: int
    mean: float
    mean_of_good: float


@dataclass(slots=True)
class Evaluation:
    """Everything that a report is written from."""

    asked: str
    cases: list[Graded]
    drafts: list[TicketDraft]
    scores: list[Score]
    controls: list[Control] = field(default_factory=list)
    address: str = ""  # where Claude was asked, when not at the public service

    def shares(self, grade: str, kind: str | None = None) -> list[float]:
        """The shares of one grade, of one kind of fault or of all."""
        return [one.share for one in self.scores if one.grade == grade and kind in (None, one.kind)]

    def usable(self, kind: str | None = None) -> int:
        """How many drafts could go to a reviewer as they are."""
        by_case: dict[str, dict[str, float]] = {}
        for one in self.scores:
            if kind in (None, one.kind):
                by_case.setdefault(one.case, {})[one.grade] = one.share
        return sum(is_usable(shares) for shares in by_case.values())


@contextmanager
def prepared(
    settings: Settings, scenes: Sequence[Scene], limit: int | None, progress: Progress
) -> Iterator[tuple[list[Graded], list[DraftRequest]]]:
    """Cases and the requests for their drafts, with look-ups open; `limit` takes the first ones."""
    catalogue = load_catalogue(settings.catalogue)
    with TemporaryDirectory(prefix="drafter-evaluation-") as folder, ExitStack() as open_lookups:
        home = replace(settings, home=Path(folder) / "home")
        ledger = Ledger(home.ledger)
        (Path(folder) / "drops").mkdir()
        lookups: dict[str, FabricLookup] = {}
        cases, requests = [], []
        for example in islice(examples(scenes, home, Path(folder) / "drops"), limit):
            if example.scene not in lookups:
                progress(f"{example.scene}: {example.platform}")
                opened = lake_lookup(home, example.scene, ledger)
                lookups[example.scene] = open_lookups.enter_context(opened)
            lookup = lookups[example.scene]
            cases.append(_case(example, catalogue, lookup))
            requests.append(DraftRequest(example.incident, lookup=lookup))
        yield cases, requests


def _case(example: Example, catalogue: Catalogue, lookup: FabricLookup) -> Graded:
    """What a drafter may have been shown of the fabric: for both ends, and what they share."""
    incident = example.incident
    ends = [end for end in (incident.isolated_component, incident.far_end) if end]
    near = [row for end in ends for row in lookup.neighbours(end)]
    seen: list[Any] = [near, *(lookup.counters(end) for end in ends)]
    seen.append(lookup.straggler_timeline(incident.isolated_component))
    seen.append(lookup.shared_components([row["component"] for row in near]))
    return Graded(example, catalogue, tuple(seen))


def evaluate(
    settings: Settings,
    asked: str,
    cases: Sequence[Graded],
    requests: Sequence[DraftRequest],
    progress: Progress = lambda _: None,
) -> Evaluation:
    """Draft and grade what `prepared` gave, at least one case. `asked` names the drafter in the report."""
    catalogue = cases[0].catalogue
    drafts = draft_tickets(requests, settings=settings, catalogue=catalogue, progress=progress)
    scores = graded(cases, drafts)
    return Evaluation(asked, list(cases), drafts, scores, address=settings.anthropic_base_url)


def with_controls(evaluation: Evaluation) -> Evaluation:
    """The same with what the bad drafters get."""
    found = [_control(evaluation, bad) for bad in BAD_DRAFTERS]
    return replace(evaluation, controls=found)


def _control(evaluation: Evaluation, bad: BadDrafter) -> Control:
    """Without the product's own checks: the grades here have to notice by themselves."""
    grades = {name: grade for name, grade in GRADES.items() if name != "own checks"}
    usable, got = 0, []
    for case, draft in zip(evaluation.cases, evaluation.drafts, strict=True):
        spoilt = bad.spoil(draft)
        found = {name: grade(spoilt, case) for name, grade in grades.items()}
        shares = {name: grade.share for name, grade in found.items() if grade is not None}
        usable += is_usable(shares)
        got.append(shares[bad.grade])
    good = evaluation.shares(bad.grade)
    return Control(bad, usable, len(got), mean(got), mean(good))


def graded(cases: Sequence[Graded], drafts: Sequence[TicketDraft]) -> list[Score]:
    """Every grade of every draft, through the dataset."""
    by_name = {case.example.name: draft for case, draft in zip(cases, drafts, strict=True)}

    async def answer(name: str) -> TicketDraft:
        return by_name[name]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no telemetry is set up; the library says so once a run
        report = asyncio.run(dataset(cases).evaluate(answer, progress=False, max_concurrency=1))
    broken = [failure.error_message for one in report.cases for failure in one.evaluator_failures]
    broken += [failure.error_message for failure in report.failures]
    if broken:
        raise RuntimeError(f"a grader failed: {broken[0]}")
    kinds = {case.example.name: case.example.kind for case in cases}
    order = {case.example.name: number for number, case in enumerate(cases)}
    found = [
        Score(one.name, kinds[one.name], name, float(result.value), result.reason or "")
        for one in report.cases
        for name, result in one.scores.items()
    ]
    return sorted(found, key=lambda score: order[score.case])


def is_information(grade: str) -> bool:
    """True for figures that grade nothing."""
    return grade.startswith(INFO)


def mean(values: Sequence[float]) -> float:
    """0 for no values."""
    return sum(values) / max(1, len(values))
