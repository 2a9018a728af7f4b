"""States are gathered where they change, from a fleet's many readings the same ones as from a few."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from fabric_pipeline.model.records import Reading
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.workflows.diagnose import gather_evidence
from fabric_pipeline_tests.detect.telemetry import Row, count, new_connection, reading

_STAGES = (
    "spike_detections", "stragglers", "straggler_correlations", "fabric_events", "collective_timings",
)  # fmt: skip
_LIMIT = "fabric_pipeline.workflows.gathered_readings._MANY_STATES"
STEPS = 6


@contextmanager
def counted(rows: list[Row]) -> Iterator[Any]:
    connection = new_connection()
    for name in _STAGES:
        connection.execute(f"create temp table {name} as {TABLES[name].empty_sql()}")
    count(connection, rows)
    yield connection
    connection.close()


def gathered(connection: Any) -> list[Reading]:
    return list(gather_evidence(connection, Topology()).states)


def states(seed: int) -> list[Row]:
    """Series that stand still, change, have blanks, other words, lanes or another GPU from the middle on."""
    random = Random(seed)  # noqa: S311
    rows: list[Row] = []
    for number in range(12):
        counter = random.choice(["width", "link_up", "speed_gbps"])
        best = {"width": 16.0, "link_up": 1.0, "speed_gbps": 400.0}[counter]
        form = random.choice(["still", "still", "moves", "blank", "words", "swapped", "lanes"])
        for step in range(random.randint(1, STEPS)):
            late = step >= STEPS // 2
            value = random.choice([best, best / 2]) if form == "moves" else best
            rows.append(
                reading(
                    counter, None if form == "blank" and step == 1 else value, 30.0 * step, line=len(rows) + 1,
                    interface=f"mlx5_{number}/1", link_type="infiniband", kind="gauge",
                    state="down" if form == "words" and late else "up",
                    gpu_uuid="GPU-2" if form == "swapped" and late else "GPU-1",
                    lane=step % 2 if form == "lanes" else None,
                )
            )  # fmt: skip
    return rows


@pytest.mark.parametrize("seed", range(8))
def test_many_are_gathered_as_few_are(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(states(seed)) as connection:
        few = gathered(connection)
        monkeypatch.setattr(_LIMIT, 0)
        assert gathered(connection) == few
    assert few


def test_of_a_state_that_stands_still_the_first_and_the_last_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_LIMIT, 0)
    rows = [reading("width", 16, 30.0 * step, line=step + 1, kind="gauge") for step in range(STEPS)]
    with counted(rows) as connection:
        assert [one.line for one in gathered(connection)] == [1, STEPS]
