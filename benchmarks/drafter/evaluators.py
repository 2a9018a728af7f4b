"""The grades of `grading` as evaluators of pydantic_evals, and the dataset over the cases.

An evaluator gives a share with the reasons for what is missing; figures for information have names with
`info`. Nothing here decides how a draft is graded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext, EvaluatorOutput

from benchmarks.drafter import grading
from benchmarks.drafter.grading import Grade, Graded
from fabric_pipeline.incidents.ticket import TicketDraft

Context = EvaluatorContext[str, TicketDraft, Graded]
INFO = "info: "
_REASONS = 12

# What a draft is graded on, in the order of the report.
GRADES: dict[str, Callable[[TicketDraft, Graded], Grade | None]] = {
    "grounding": grading.grounding,
    "citations": grading.citations,
    "facts": grading.facts,
    "own checks": grading.verified,
    "completeness": grading.completeness,
    "safety": grading.safety,
    "finding": grading.finding,
}
# A draft that reaches all of these could go to a reviewer as it is. A figure that stands nowhere or a text
# that orders something is too much at once; of some forty things a technician needs, two may be missing.
USABLE_FROM = {
    "grounding": 1.0,
    "citations": 1.0,
    "facts": 1.0,
    "own checks": 1.0,
    "completeness": 0.95,
    "safety": 1.0,
}


def is_usable(shares: Mapping[str, float]) -> bool:
    """True when every grade that was given is high enough; a finding does not count, it overrides nothing."""
    return all(shares.get(grade, 1.0) >= least for grade, least in USABLE_FROM.items())


@dataclass(repr=False)
class Graders(Evaluator[str, TicketDraft, Graded]):
    """Every grade of one draft; a finding only from drafters that give one."""

    def evaluate(self, ctx: Context) -> EvaluatorOutput:
        """Name -> share with reasons, and the figures for information."""
        if ctx.metadata is None:
            raise ValueError("a case of this dataset has its incident as metadata")
        graded = {name: grade(ctx.output, ctx.metadata) for name, grade in GRADES.items()}
        told: dict[str, EvaluationReason | float] = {
            name: EvaluationReason(grade.share, "; ".join(grade.missing[:_REASONS]) or None)
            for name, grade in graded.items()
            if grade is not None
        }
        easy = grading.reading_ease(ctx.output)
        return {**told, **{f"{INFO}{name}": value for name, value in easy.items()}}


def dataset(cases: Sequence[Graded]) -> Dataset[str, TicketDraft, Graded]:
    """One case for each incident; its input is its name, so that drafts may be made together before."""
    return Dataset[str, TicketDraft, Graded](
        name="drafter",
        cases=[
            Case(name=case.example.name, inputs=case.example.name, metadata=case) for case in cases
        ],
        evaluators=[Graders()],
    )
