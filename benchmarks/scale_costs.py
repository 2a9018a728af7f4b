"""What shards and their driver cost, as planes through what `scale_measure` measured.

That they fit is shown in the tables of `scale_simulation`; nothing is assumed here.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Costs:
    """What the measurements come to; seconds are processor seconds of one core of the machine that measured."""

    shard_s: float
    shard_series_s: float
    reading_s: float
    spread: tuple[float, ...]
    driver_s: float
    driver_series_s: float
    driver_reading_s: float
    in_bytes: float
    out_bytes: float
    peak_mb: float
    handout_s: float
    gap_s: float
    start_s: float
    move_s_per_mb: float

    def of_shard(self, series: int, readings: int) -> float:
        """Processor seconds of a shard of so many series and readings, noisy as the middle one was."""
        return self.shard_s + self.shard_series_s * series + self.reading_s * readings

    def of_shards(self, number: int, series: int, readings: int, seed: int) -> list[float]:
        """Costs of so many shards of one size, scattered as measured ones were."""
        random = Random(seed)  # noqa: S311
        middle_s = self.of_shard(series, readings)
        return [middle_s * random.choice(self.spread) for _ in range(number)]

    def of_driver(self, series: int, readings: int) -> float:
        """Seconds of all that the driver does for one drop when its shards are counted."""
        return self.driver_s + self.driver_series_s * series + self.driver_reading_s * readings


def costs_of(measured: dict[str, list[dict[str, Any]]]) -> Costs:
    """Planes through what was measured; how well they fit is seen in `fit_errors`."""
    shards, engine = measured["shards"], measured["engine"]
    sized, similar = sizes(shards), alike(shards)
    middle = statistics.median(one["cpu_s"] for one in similar)
    shard_s, shard_series_s, reading_s = _plane(sized, [one["cpu_s"] for one in sized])
    driver = _plane(sized, [sum(one["driver_cpu_s"].values()) for one in sized])
    alone = [one for one in engine if one["workers"] == 1]
    handout_s = statistics.median(one["driver_cpu_s"] / one["tasks"] for one in engine)
    file = next(one for one in measured["transfer"] if one["store"] == "s3 on loopback")
    return Costs(
        shard_s=shard_s,
        shard_series_s=shard_series_s,
        reading_s=reading_s,
        spread=tuple(one["cpu_s"] / middle for one in similar),
        driver_s=driver[0],
        driver_series_s=driver[1],
        driver_reading_s=driver[2],
        in_bytes=sum(one["in_mb"] for one in shards) * 1e6 / sum(o["readings"] for o in shards),
        out_bytes=sum(one["out_mb"] for one in shards) * 1e6 / sum(o["readings"] for o in shards),
        peak_mb=max(one["peak_mb"] for one in shards),
        handout_s=handout_s,
        gap_s=max(min(one["wall_s"] / one["tasks"] for one in alone) - handout_s, 0.0),
        start_s=statistics.median(one["cluster_start_s"] + one["first_tasks_s"] for one in engine),
        move_s_per_mb=file["collect_cpu_s"] / file["mb"],
    )


def sizes(shards: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Shards of the usual noise, of many sizes."""
    return [one for one in shards if one["noisy"] == 0.02]


def alike(shards: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Shards of one size that differ in their noise."""
    size = statistics.mode(one["readings"] for one in shards)
    return [one for one in shards if one["readings"] == size]


def _plane(shards: Sequence[dict[str, Any]], costs: Sequence[float]) -> list[float]:
    """Seconds at all, per series and per reading, with the least relative errors, none below zero."""
    weights = 1 / np.array(costs)
    rows = np.array([[1, one["series"], one["readings"]] for one in shards], dtype=float)
    return _positive(rows * weights[:, None], np.array(costs) * weights)


def _positive(rows: np.ndarray, wanted: np.ndarray) -> list[float]:
    """Least squares; a column that would be taken off is left out, because no work costs less than nothing."""
    columns = list(range(rows.shape[1]))
    while True:
        solved = np.linalg.lstsq(rows[:, columns], wanted, rcond=None)[0]
        if (solved >= 0).all():
            break
        columns.pop(int(np.argmin(solved)))
    full = [0.0] * rows.shape[1]
    for column, value in zip(columns, solved, strict=True):
        full[column] = float(value)
    return full


def fit_errors(
    costs: Costs, shards: Sequence[dict[str, Any]]
) -> list[tuple[int, int, float, float, float, float]]:
    """Readings and series, what was measured and what the line says, for shard and driver."""
    return [
        (
            one["readings"], one["series"], one["cpu_s"], costs.of_shard(one["series"], one["readings"]), sum(one["driver_cpu_s"].values()),
            costs.of_driver(one["series"], one["readings"]),
        )
        for one in sizes(shards)
    ]  # fmt: skip
