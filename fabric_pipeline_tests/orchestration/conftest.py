"""Fixtures of the orchestration tests: an instance that forgets, and a home to publish from."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.orchestration.runs import DROP


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """An instance in memory that knows the partition of the small drop."""
    with dg.DagsterInstance.ephemeral() as made:
        made.add_dynamic_partitions("drops", [DROP])
        yield made


@pytest.fixture
def home(diagnosed: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A diagnosed home of this test's own, to which FABRIC_HOME points."""
    monkeypatch.setenv("FABRIC_HOME", str(diagnosed.home))
    return diagnosed
