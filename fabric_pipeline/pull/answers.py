"""What is kept of an answer: its samples inside the stretch that was asked for, else the bytes as they came.

Nothing is resampled, filled or renamed. A sample at the edge belongs to one stretch alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from fabric_pipeline.errors import FabricError
from fabric_pipeline.pull.plan import Stretch
from fabric_pipeline.pull.server import Answer


@dataclass(frozen=True, slots=True)
class Kept:
    """Bytes to write, and how many series and samples they hold."""

    body: bytes
    series: int
    samples: int


def within(answer: Answer, stretch: Stretch) -> Kept:
    """The answer without samples outside the stretch. Raises FabricError for another kind of answer."""
    data = answer.data
    if not isinstance(data, dict) or data.get("resultType") != "matrix":
        raise FabricError("the server gave no matrix for a range", "is it a Prometheus query API?")
    after, until = stretch.after.timestamp(), stretch.until.timestamp()
    kept: list[dict[str, Any]] = []
    samples = cut = 0
    for series in data.get("result", []):
        values = series.get("values", [])
        inside = [pair for pair in values if after < float(pair[0]) <= until]
        cut += len(values) - len(inside)
        samples += len(inside)
        if inside:
            kept.append({**series, "values": inside})
    if not cut:
        return Kept(answer.body, len(kept), samples)
    told: dict[str, Any] = {
        "status": "success",
        "data": {"resultType": "matrix", "result": kept},
    }
    if answer.warnings:
        told["warnings"] = list(answer.warnings)
    return Kept(json.dumps(told, separators=(",", ":")).encode(), len(kept), samples)


def count_in(answer: Answer) -> int:
    """The number that a `count(...)` answered, 0 when no series fits."""
    data = answer.data
    result = data.get("result", []) if isinstance(data, dict) else []
    return int(float(result[0]["value"][1])) if result else 0
