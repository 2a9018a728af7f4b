"""Fits the score card on generated fleets and writes it where the product reads it.

Seeds and laws are those of the training side only; the benchmark states its figures on other seeds and
other laws. Run: python -m benchmarks.calibrate [--scenarios 400]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple
from pathlib import Path

import numpy as np

from benchmarks.card_fit import fit
from benchmarks.fleet_window import observe
from fabric_pipeline.diagnose.localise import scorecard
from fabric_pipeline.diagnose.localise.features import Facts
from fabric_pipeline.diagnose.localise.localise import localise
from fabric_pipeline.diagnose.localise.scorecard import ScoreCard, odds_only, term_values
from fabric_pipeline.synth.fleet import generate_fleet, suite

TRAINING_SEEDS = 10_000_000
SUITES = {
    "base": 1.0,
    "hard": 1.0,
    "one_job": 0.6,
    "dirty": 0.4,
    "gpu_totals": 0.2,
    "a100": 0.2,
    "slow_sampling": 0.3,
    "fast_sampling": 0.12,
    "quiet": 0.64,
    "nvl72": 0.12,
    "nodes_128": 0.32,
    "quiet_128": 0.18,
}
CARD = Path(scorecard.__file__).with_name("scorecard.json")


def collect(job: tuple[str, int]) -> tuple[list[tuple[float, ...]], list[bool]]:
    """Facts of every candidate of one training scenario, the truth guiding what is explained away."""
    name, index = job
    scenario = generate_fleet(suite(name, "train")(index), TRAINING_SEEDS + index)
    seen = observe(scenario)
    if seen.built is None:
        return [], []
    guilty = {one.link for one in scenario.truth if one.felt}
    truth = {c.link for c in seen.built.window.candidates if seen.names.get(c.link) in guilty}
    found = localise(seen.built.window, odds_only(), truth=truth, most=6)
    every = found.accepted + found.others
    return [astuple(one.facts) for one in every], [one.candidate.link in truth for one in every]


def jobs(scenarios: int) -> list[tuple[str, int]]:
    """Suite and index of every training scenario."""
    return [
        (name, index) for name, share in SUITES.items() for index in range(int(scenarios * share))
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Collect, fit, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--scenarios", type=int, default=500, help="scenarios of a suite of weight 1"
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rows", type=Path, help="keep the collected facts here (npz)")
    given = parser.parse_args(arguments)
    with ProcessPoolExecutor(given.processes) as pool:
        results = list(pool.map(collect, jobs(given.scenarios), chunksize=4))
    rows = np.array([row for facts, _ in results for row in facts])
    labels = np.array([label for _, found in results for label in found], dtype=float)
    values = np.array([term_values(Facts(*row)) for row in rows])
    if given.rows:
        scenario = np.repeat(np.arange(len(results)), [len(facts) for facts, _ in results])
        np.savez(given.rows, rows=rows, labels=labels, values=values, scenario=scenario)
    weights, bias = fit(values, labels)
    card = ScoreCard(
        weights,
        bias,
        f"{len(results)} training scenarios, {len(rows)} candidates, {int(labels.sum())} guilty",
    )
    CARD.write_text(
        scorecard.as_json(card, {"fitted_by": "benchmarks.calibrate"}), encoding="utf-8"
    )
    print(card.version)  # noqa: T201


if __name__ == "__main__":
    main()
