"""The resource that hands settings and a clock to the assets."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from fabric_pipeline.orchestration.resources import FabricResource
from fabric_pipeline.settings import load_settings


def test_settings_follow_the_environment_until_a_home_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABRIC_HOME", str(tmp_path / "a"))
    assert FabricResource().settings() == load_settings()
    assert FabricResource().settings().home == tmp_path / "a"
    assert FabricResource(home=str(tmp_path / "b")).settings().home == tmp_path / "b"


def test_the_clock_is_in_utc() -> None:
    before = datetime.now(UTC)
    now = FabricResource().now()
    assert before <= now <= datetime.now(UTC)
    assert now.tzinfo is UTC
