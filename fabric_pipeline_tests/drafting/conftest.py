"""Fixtures of the drafting tests: catalogue, settings, the local Messages server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pydantic_ai.models
import pytest

from fabric_pipeline.drafting.catalogue import Catalogue, load_catalogue
from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.drafting.messages_server import MessagesServer
from fabric_pipeline_tests.pipeline_runs import ROOT


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    return load_catalogue(ROOT / "data" / "catalogue")


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    """The local Messages server, and leave to ask it."""
    running = MessagesServer()
    with pydantic_ai.models.override_allow_model_requests(True):
        yield running
    running.stop()


@pytest.fixture
def settings(server: MessagesServer, tmp_path: Path) -> Settings:
    """Settings with a key and the local server as the only address."""
    return Settings(
        root=ROOT,
        home=tmp_path,
        model="claude-sonnet-5-5",
        anthropic_api_key="test-key-not-real",
        anthropic_base_url=server.url,
        draft_timeout_s=20.0,
    )
