"""Reads a written drop back with the standard library alone, for the tests of the generator."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from fabric_pipeline.synth.rows import COUNTER_COLUMNS

Series = dict[str, float]  # time as written -> value


@dataclass(frozen=True)
class Timing:
    """One row of `collectives.csv`."""

    run: str
    comm: str
    seq: int
    time: datetime
    rank: int | None
    node: str
    gpu: str
    duration_us: float
    arrival_us: float | None
    baseline_us: float

    @property
    def ratio(self) -> float:
        """Duration against the baseline that stands beside it."""
        return self.duration_us / self.baseline_us


def counter_rows(drop: Path) -> list[dict[str, Any]]:
    """Rows of the counter file, blanks left out."""
    if (drop / "counters.jsonl").exists():
        lines = (drop / "counters.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]
    with (drop / "counters.csv").open(newline="") as handle:
        return [{k: v for k, v in row.items() if v != ""} for row in csv.DictReader(handle)]


def counter_series(drop: Path) -> dict[tuple[str, str, str], Series]:
    """(node, link, counter) -> values by time, lanes folded into their link."""
    series: dict[tuple[str, str, str], Series] = defaultdict(dict)
    for row in counter_rows(drop):
        place = (row.get("node", ""), row["link"])
        cells = {row["counter"]: row["value"]} if "counter" in row else row
        for name in (*COUNTER_COLUMNS, "link_up", "width", "speed_gbps"):
            if name in cells:
                series[(*place, name)][row["ts"]] = float(cells[name])
    return dict(series)


def growth(series: Series) -> dict[datetime, float]:
    """Start of each sample interval in which a counter changed -> by how much."""
    points = sorted(series.items())
    return {
        parse(before[0]): after[1] - before[1]
        for before, after in pairwise(points)
        if after[1] != before[1]
    }


def timings(drop: Path) -> list[Timing]:
    """Rows of `collectives.csv`."""
    with (drop / "collectives.csv").open(newline="") as handle:
        return [
            Timing(
                row["run"],
                row["comm"],
                int(row["seq"]),
                parse(row["ts"]),
                int(row["rank"]) if row["rank"] else None,
                row["node"],
                row["gpu"],
                float(row["duration_us"]),
                float(row["arrival_us"]) if row["arrival_us"] else None,
                float(row["baseline_us"]),
            )
            for row in csv.DictReader(handle)
        ]


def parse(text: str) -> datetime:
    """A time as written in a drop."""
    return datetime.fromisoformat(text).astimezone(UTC)


def within(time: datetime, periods: list[list[str]]) -> bool:
    """True inside one of the (first, last) periods of an answer-key entry."""
    return any(parse(first) <= time < parse(last) for first, last in periods)


def bin_start(time: datetime, step_s: int = 30) -> datetime:
    """Start of the sample interval that a time lies in."""
    midnight = time.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + timedelta(seconds=(time - midnight).total_seconds() // step_s * step_s)
