"""Tables of the benchmark page on who was named: by suite, method and class of fault.

Also the cases that count apart: nobody guilty, no trace left, cables swapped, another cause.
"""

from __future__ import annotations

from collections import Counter

from benchmarks.baselines import METHODS
from benchmarks.causes import RIGHT, SAID_CAUSES, TRUE_CAUSES
from benchmarks.judging import OURS, Judged
from benchmarks.results import (
    NOTHING,
    Benchmark,
    has_guilty,
    share,
    table,
    threshold_of,
    with_interval,
)
from benchmarks.scoring import NAMED_FROM, SURE_FROM, Figures, false_accusations, figures
from fabric_pipeline.diagnose.localise.judge import ACCUSE_FROM

# Others repeat what base shows, from the same seeds.
CAUSE_SUITES = ("base", "hard", "quiet")


def suites_table(found: Benchmark) -> str:
    """Figures of the diagnosis in every suite with guilty links."""
    head = (
        "suite", "scenarios", "guilty links", f"precision from {ACCUSE_FROM}", f"recall from {ACCUSE_FROM}",
        f"F1 from {ACCUSE_FROM}", f"F1 from {NAMED_FROM}", f"precision from {SURE_FROM}", f"recall from {SURE_FROM}",
    )  # fmt: skip
    rows = [_suite_row(found, name) for name in found.judged if has_guilty(found.outcomes(name))]
    return table(head, rows)


def _suite_row(found: Benchmark, suite: str) -> list[object]:
    outcomes = found.outcomes(suite)
    sure = figures(outcomes, SURE_FROM)
    return [
        suite,
        len(outcomes),
        sum(len(one.guilty) for one in outcomes),
        with_interval(outcomes, lambda one: one.precision, ACCUSE_FROM),
        with_interval(outcomes, lambda one: one.recall, ACCUSE_FROM),
        with_interval(outcomes, lambda one: one.f1, ACCUSE_FROM),
        f"{figures(outcomes, NAMED_FROM).f1:.2f}",
        with_interval(outcomes, lambda one: one.precision, SURE_FROM) if _named(sure) else NOTHING,
        f"{sure.recall:.2f}",
    ]


def _named(found: Figures) -> int:
    return found.found + found.wrong


def quiet_table(found: Benchmark) -> str:
    """Accusations where no link is guilty, and wrong ones of all scenarios by time."""
    head = (
        "suite",
        f"accused from {ACCUSE_FROM} though no link is guilty",
        f"accused from {NAMED_FROM}",
        "wrong accusations in 1000 node-days, all scenarios",
    )
    rows = []
    for suite, judged in found.judged.items():
        outcomes = found.outcomes(suite)
        days = sum(one.node_days for one in judged)
        wrong = figures(outcomes, ACCUSE_FROM).wrong / days * 1000
        hits = [false_accusations(outcomes, level) for level in (ACCUSE_FROM, NAMED_FROM)]
        rows.append([suite, *(share(*one) for one in hits), f"{wrong:.1f}"])
    return table(head, rows)


def methods_table(found: Benchmark) -> str:
    """Precision / recall / F1 of every method in every suite with guilty links."""
    rows = []
    for suite in found.judged:
        if has_guilty(found.outcomes(suite, found.methods[0])):
            cells = [figures(found.outcomes(suite, m), threshold_of(m)) for m in found.methods]
            rows.append([suite, *(_three(one) for one in cells)])
    return table(("suite", *found.methods), rows)


def _three(one: Figures) -> str:
    precision = f"{one.precision:.2f}" if _named(one) else NOTHING
    return f"{precision} / {one.recall:.2f} / {one.f1:.2f}"


def methods_quiet_table(found: Benchmark) -> str:
    """Share of scenarios without a guilty link in which a method accused one."""
    rows = []
    for suite in found.judged:
        counts = [
            false_accusations(found.outcomes(suite, m), threshold_of(m)) for m in found.methods
        ]
        if counts[0][1]:
            rows.append([suite, counts[0][1], *(f"{hits / n:.0%}" for hits, n in counts)])
    return table(("suite", "scenarios", *found.methods), rows)


def sources_table(found: Benchmark) -> str:
    """What the methods are and the parameters that tuning chose."""
    rows = []
    for method in METHODS:
        if method.name in found.parameters:
            grid = f"{min(method.grid):g} to {max(method.grid):g}" if method.grid else NOTHING
            value = f"{found.parameters[method.name]:g}" if method.grid else NOTHING
            rows.append([method.name, method.source, grid, value])
    return table(("method", "is", "tried", "chosen"), rows, texts=2)


def classes_table(found: Benchmark) -> str:
    """Recall of the diagnosis by class of fault in each suite."""
    suites = [name for name in found.judged if has_guilty(found.outcomes(name))]
    faults = dict.fromkeys(
        one.fault for name in suites for one in found.outcomes(name) if one.guilty
    )
    rows = [[fault, *(_recall(found, name, fault) for name in suites)] for fault in faults]
    return table(("class", *suites), rows)


def _recall(found: Benchmark, suite: str, fault: str) -> str:
    mine = [one for one in found.outcomes(suite) if one.fault == fault and one.guilty]
    counts = figures(mine, ACCUSE_FROM)
    return f"{counts.recall:.2f} ({counts.found + counts.missed})" if mine else NOTHING


def untraceable_table(found: Benchmark) -> str:
    """Guilty links without a trace: was their place named, was somebody else accused."""
    rows = []
    for suite, judged in found.judged.items():
        mine = [one for one in judged if one.outcomes[OURS].untraceable]
        if mine:
            said = Counter(place for one in mine for place in one.places)
            number = said.total()
            accused = sum(one.outcomes[OURS].wrong(ACCUSE_FROM) > 0 for one in mine)
            named, also = share(said["named"], number), share(said["among others"], number)
            rows.append([suite, named, also, share(accused, len(mine))])
    head = ("suite", "place named", "only as fitting nearly as well", "an innocent link accused")
    return table(head, rows)


def miswired_table(found: Benchmark) -> str:
    """Swapped cables: found when guilty, accused when not."""
    rows = []
    for suite, judged in found.judged.items():
        swapped = [one for one in judged if one.swapped is not None]
        if swapped:
            rows.append([suite, *_swapped_cells(swapped)])
    head = (
        "suite",
        "guilty swapped cables found",
        "other guilty links found",
        "wrong accusations of a swapped cable",
        "of other links",
    )
    return table(head, rows)


def _swapped_cells(judged: list[Judged]) -> list[str]:
    hits, numbers, wrong = Counter[bool](), Counter[bool](), Counter[bool]()
    for one in judged:
        outcome, pair = one.outcomes[OURS], set(one.swapped or ())
        named = outcome.named(ACCUSE_FROM)
        for link in outcome.guilty:
            numbers[link in pair] += 1
            hits[link in pair] += link in named
        for link in named - outcome.guilty - outcome.untraceable:
            wrong[link in pair] += 1
    found = [share(hits[kind], numbers[kind]) for kind in (True, False)]
    return [*found, str(wrong[True]), str(wrong[False])]


def causes_table(found: Benchmark) -> str:
    """What was said (columns) for each true cause (rows)."""
    rows = []
    for suite in CAUSE_SUITES:
        counts = Counter(one.cause for one in found.judged.get(suite, ()) if one.cause)
        for true in TRUE_CAUSES:
            number = sum(counts[true, said] for said in SAID_CAUSES)
            right = sum(counts[true, said] for said in RIGHT[true])
            if number:
                cells = [counts[true, said] or "" for said in SAID_CAUSES]
                rows.append([suite, true, number, *cells, f"{right / number:.0%}"])
    head = ("suite", "true cause", "scenarios", *SAID_CAUSES, "right")
    return table(head, rows, texts=2)


def cause_accuracy_table(found: Benchmark) -> str:
    """Share of scenarios with the right class of cause, by suite."""
    rows = []
    for suite, judged in found.judged.items():
        pairs = [one.cause for one in judged if one.cause]
        if pairs:
            right = sum(said in RIGHT[true] for true, said in pairs)
            rows.append([suite, share(right, len(pairs))])
    return table(("suite", "class of cause right"), rows)
