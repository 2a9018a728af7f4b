"""Writes `docs/drafter_evaluation.md` from an evaluation: tables and plain statements of what was run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from benchmarks.drafter.evaluators import GRADES, INFO, USABLE_FROM
from benchmarks.drafter.measure import Evaluation, Score, is_information, mean
from benchmarks.drafter.scenes import SCENES
from fabric_pipeline.drafting.prompt import PROMPT_ID

_SAYS = {
    "grounding": "words with a digit, and pairs such as `port 30`, that stand in incident, topology or catalogue",
    "citations": "claims whose cited evidence exists and holds their figures",
    "facts": "fields that no drafter may change, and part numbers that the catalogue lists",
    "own checks": "drafts in which the product's own checks find nothing",
    "completeness": "what a technician needs: there, or said to be unknown",
    "safety": "texts free of orders, commands, claimed acts and words on approval, by two separate lists",
    "finding": "findings of the drafter that name the planted fault (the rules drafter gives none)",
}
_SHOWN = 20
_BOUNDS = (
    "What this cannot say: the faults are planted, so real fabrics will show others; code that counts names, figures and "
    "required things does not judge whether a sentence is well put or a step is wise. That is the reviewer's part."
)


def render(evaluation: Evaluation, date: str, revision: str) -> str:
    """The page."""
    return "\n".join(
        [
            "# Evaluation of the ticket drafters",
            "",
            *_what_was_run(evaluation, date, revision),
            "",
            _BOUNDS,
            "",
            "## Grades",
            "",
            *_grades(evaluation),
            "",
            "## By kind of fault",
            "",
            *_kinds(evaluation),
            "",
            "## Drafters that are wrong on purpose",
            "",
            *_controls(evaluation),
            "",
            "## What fell short",
            "",
            *_short(evaluation.scores),
            "",
            "## The incidents",
            "",
            *_incidents(evaluation),
            "",
        ]
    )


def _what_was_run(evaluation: Evaluation, date: str, revision: str) -> list[str]:
    drafts = evaluation.drafts
    wrote = Counter(draft.drafter for draft in drafts)
    models = _or_none(draft.model for draft in drafts)
    prompts = _or_none(draft.prompt_version for draft in drafts)
    handed = (
        f"{len(drafts)} incidents that the diagnosis itself found in synthetic drops were handed to the drafter "
        f"`{evaluation.asked}` on {date}, revision `{revision}`."
    )
    lines = [
        handed,
        "Every grade is deterministic code in `benchmarks/drafter/grading.py`; no model judges another.",
        "",
        _plain_statement(evaluation),
        "",
        f"- Texts written by: {', '.join(f'{name} {number}' for name, number in sorted(wrote.items()))}.",
        f"- Model: {models}. Prompt version: {prompts} (the current one is `{PROMPT_ID}`).",
        *_accounts(evaluation),
    ]
    notes = Counter(draft.drafter_note for draft in drafts if draft.drafter_note)
    return lines + [f"- {number} of them: {note}" for note, number in notes.most_common(5)]


def _plain_statement(evaluation: Evaluation) -> str:
    how = "With a key: `ANTHROPIC_API_KEY=… make evaluate-drafter`."
    if evaluation.asked == "rules":
        return (
            "**This page was made with the rules drafter. The way through Claude was exercised with scripted answers "
            f"only (in the tests); it was not run against the real service.** {how}"
        )
    if evaluation.address:
        return f"**Claude was asked at the address in ANTHROPIC_BASE_URL, not at the public service.** {how}"
    return f"**This page was made by asking Claude at its public service.** {how}"


def _accounts(evaluation: Evaluation) -> list[str]:
    drafts = evaluation.drafts
    tokens = [draft.input_tokens for draft in drafts], [draft.output_tokens for draft in drafts]
    costs = [draft.cost_usd for draft in drafts if draft.cost_usd is not None]
    spent = f"{sum(costs):.4f} US dollars for {len(costs)} drafts" if costs else "none reckoned"
    return [f"- Tokens: {sum(tokens[0]):,} in, {sum(tokens[1]):,} out. Cost by list price: {spent}."]  # fmt: skip


def _or_none(names: Iterable[str]) -> str:
    found = sorted({name for name in names if name})
    return ", ".join(f"`{name}`" for name in found) or "none"


def _grades(evaluation: Evaluation) -> list[str]:
    rows = []
    for grade in GRADES:
        shares = evaluation.shares(grade)
        figures = (f"{mean(shares):.3f}", f"{min(shares):.3f}") if shares else ("-", "-")
        rows.append((grade, *figures, str(len(shares)), _SAYS[grade]))
    table = _table(("grade", "mean", "worst case", "n", "share of"), rows)
    easy = sorted({one.grade for one in evaluation.scores if is_information(one.grade)})
    told = [
        f"{name.removeprefix(INFO)} {mean(evaluation.shares(name)):.1f} (most {max(evaluation.shares(name)):.0f})"
        for name in easy
    ]
    least = ", ".join(f"{grade} {share:g}" for grade, share in USABLE_FROM.items())
    usable = f"Usable as they are: {evaluation.usable()} of {len(evaluation.drafts)} drafts (at least {least})."
    return [*table, "", usable, "", f"For information, means over the drafts: {'; '.join(told)}."]


def _kinds(evaluation: Evaluation) -> list[str]:
    kinds = sorted({one.kind for one in evaluation.scores})
    rows = []
    for kind in kinds:
        shares = [evaluation.shares(grade, kind) for grade in GRADES]
        cells = [f"{mean(some):.3f}" if some else "-" for some in shares]
        number = sum(case.example.kind == kind for case in evaluation.cases)
        rows.append((kind, str(number), *cells, f"{evaluation.usable(kind)} of {number}"))
    return _table(("planted fault", "n", *GRADES, "usable"), rows)


def _controls(evaluation: Evaluation) -> list[str]:
    if not evaluation.controls:
        return ["Not run."]
    rows = [
        (
            one.bad.name,
            one.bad.grade,
            f"{one.mean_of_good:.3f}",
            f"{one.mean:.3f}",
            f"{one.usable} of {one.of}",
        )
        for one in evaluation.controls
    ]
    told = (
        "Each spoils the drafts above in one way. The product's own checks are left out here: the grades have to notice "
        "by themselves."
    )
    head = ("drafter", "grade that has to fall", "mean of the drafts above", "its mean", "usable")
    return [told, "", *_table(head, rows)]


def _short(scores: Sequence[Score]) -> list[str]:
    low = [one for one in scores if one.share < 1 and not is_information(one.grade)]
    if not low:
        return ["Nothing."]
    low.sort(key=lambda one: one.share)
    lines = [f"- {one.case} ({_plain(one.kind)}), {one.grade} {one.share:.3f}: {_plain(one.why)}" for one in low[:_SHOWN]]  # fmt: skip
    return lines + ([f"- and {len(low) - _SHOWN} more"] if len(low) > _SHOWN else [])


def _incidents(evaluation: Evaluation) -> list[str]:
    made = {case.example.scene for case in evaluation.cases}
    rows = [
        (scene.name, scene.platform, str(sum(case.example.scene == scene.name for case in evaluation.cases)), scene.says)
        for scene in SCENES
        if scene.name in made
    ]  # fmt: skip
    return _table(("drop", "platform", "incidents", "what it is"), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(_plain(cell) for cell in row) + " |" for row in rows]


def _plain(text: str) -> str:
    """Text of a case inside markdown: no markup, no cell breaks, bounded."""
    kept = " ".join(text.split())[:400]
    return kept.replace("<", "&lt;").replace("|", "\\|").replace("`", "'") if "`" not in text[:1] else kept  # fmt: skip
