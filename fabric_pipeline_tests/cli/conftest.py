"""Fixtures of the command line: the command itself, and a home with two drafts in it."""

from __future__ import annotations

import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.cli.calls import Shell


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """The command, called in this process."""
    return Shell(monkeypatch, capsys)


@pytest.fixture
def home(diagnosed: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A diagnosed home of this test's own, to which FABRIC_HOME points."""
    monkeypatch.setenv("FABRIC_HOME", str(diagnosed.home))
    return diagnosed
