"""A small scenario that tests vary, and a folder with it written out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fabric_pipeline.synth import Scenario, generate
from fabric_pipeline.synth.effects import Plant
from fabric_pipeline.synth.rows import Layout
from fabric_pipeline.synth.timegrid import TimeGrid
from fabric_pipeline.synth.timings import Sampling
from fabric_pipeline.synth.topology import ClusterSpec
from fabric_pipeline.synth.workload import LLAMA_70B, OLMO_32B, Job


@dataclass(frozen=True)
class Written:
    """A drop on disk with its answer key."""

    path: Path
    answer: dict[str, Any]

    @property
    def fault(self) -> dict[str, Any]:
        """The only planted fault."""
        (fault,) = self.answer["faults"]
        return dict(fault)


def small_scenario(*plants: Plant, layout: Layout | None = None) -> Scenario:
    """Three nodes, twenty minutes: a hybrid job on nodes 0 and 1, a flat one on node 2."""
    return Scenario(
        "small",
        "for tests",
        TimeGrid(datetime(2026, 11, 20, 6, tzinfo=UTC), 20),
        (
            Job("llama-a", LLAMA_70B, (0, 1), 0, 20),
            Job("olmo-b", OLMO_32B, (2,), 0, 20, flat=True),
        ),
        plants,
        layout or Layout(),
        Sampling(ranks_of_every=2, outlier_share=0.0),
        ClusterSpec(nodes=3),
    )


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Scenario], Written]:
    """Writes a scenario under a fresh folder with seed 7."""

    def _write(scenario: Scenario) -> Written:
        out, key = tmp_path / "drops" / scenario.name, tmp_path / "answers" / "key.json"
        generate(scenario, out, seed=7, answer_key=key)
        return Written(out, json.loads(key.read_text()))

    return _write
