"""Tables of the benchmark page on how true the confidences are and how long everything takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.detect_time import MINUTES, Naming
from benchmarks.judging import Judged
from benchmarks.results import NOTHING, Benchmark, share, table
from benchmarks.scoring import (
    BINS,
    Pairs,
    brier,
    calibration_error,
    reliability,
    sampling_error,
    stated,
)


def calibration_table(found: Benchmark) -> str:
    """Calibration error beside what chance alone would give, and the Brier score."""
    head = (
        "suite", "weighed links", "guilty", "ECE", "ECE if every confidence were true", "its 95 % quantile", "Brier",
    )  # fmt: skip
    rows = []
    for name, pairs in _pairs(found).items():
        guilty = sum(right for _, right in pairs)
        chance, most = sampling_error(pairs)
        errors = (calibration_error(pairs), chance, most, brier(pairs))
        rows.append([name, len(pairs), guilty, *(f"{error:.3f}" for error in errors)])
    return table(head, rows)


def reliability_table(found: Benchmark) -> str:
    """Per tenth of confidence: mean stated confidence, share guilty, number."""
    tenths = [f"{n / BINS:.1f}–{(n + 1) / BINS:.1f}" for n in range(BINS)]
    rows = []
    for name, pairs in _pairs(found).items():
        cells = {
            tenth: f"{said:.2f} → {right:.2f} ({count})"
            for tenth, said, right, count in reliability(pairs)
        }
        rows.append([name, *(cells.get(tenth, NOTHING) for tenth in range(BINS))])
    return table(("suite", *tenths), rows)


def _pairs(found: Benchmark) -> Mapping[str, Pairs]:
    """Weighed links by suite where there were any, and of all suites."""
    by_suite = {name: stated(found.outcomes(name)) for name in found.judged}
    every = [pair for pairs in by_suite.values() for pair in pairs]
    return {name: pairs for name, pairs in by_suite.items() if pairs} | {"all": every}


def naming_table(namings: Sequence[Naming]) -> str:
    """Minutes to lasting naming by method, also of links whose trouble began inside the window."""
    rows = []
    for name in namings[0].minutes:
        for title, mine in (
            ("all", namings),
            ("began inside the window", [one for one in namings if not one.is_older]),
        ):
            if mine:
                rows.append(
                    [f"{name}, {title}", *_naming_cells([one.minutes[name] for one in mine])]
                )
    head = ("method, links", "median, min", "p90, min", "within 5 min", f"within {MINUTES[-1]} min")
    return table(head, rows)


def _naming_cells(minutes: Sequence[int | None]) -> list[str]:
    values = np.array([np.inf if one is None else one for one in minutes])
    quantiles = np.quantile(values, (0.5, 0.9), method="inverted_cdf")
    within = [share(int((values <= most).sum()), len(values)) for most in (5, MINUTES[-1])]
    return [*(f"{q:.0f}" if np.isfinite(q) else f"> {MINUTES[-1]}" for q in quantiles), *within]


def runtime_table(found: Benchmark) -> str:
    """Mean time of a window on one processor, and memory of the process."""
    rows = []
    for suite, judged in found.judged.items():
        times = [_mean_ms(judged, part) for part in ("spikes_s", "window_s", "localise_s")]
        peak = max(one.peak_mb for one in judged)
        rows.append([suite, *times, f"{peak:.0f}"])
    head = ("suite", "spikes, ms", "groups and window, ms", "verdicts, ms", "peak memory, MB")
    return table(head, rows)


def _mean_ms(judged: Sequence[Judged], part: str) -> str:
    return f"{1000 * float(np.mean([getattr(one, part) for one in judged])):.0f}"
