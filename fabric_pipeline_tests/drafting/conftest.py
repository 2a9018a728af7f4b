"""Fixtures of the drafting tests: catalogue, settings, the local Messages server."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pydantic_ai.models
import pytest

from fabric_pipeline.drafting.catalogue import Catalogue, load_catalogue
from fabric_pipeline.drafting.draft import draft_ticket
from fabric_pipeline.drafting.lookup import FabricLookup
from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.drafting.messages_server import MessagesServer, Reply
from fabric_pipeline_tests.drafting.playing import INCIDENT, Play
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


@pytest.fixture
def play(server: MessagesServer, settings: Settings, catalogue: Catalogue) -> Play:
    """Draft the NVLink incident while the server plays these replies."""

    def run(*script: Reply, lookup: FabricLookup | None = None, **changes: object) -> TicketDraft:
        server.script = list(script)
        chosen = dataclasses.replace(settings, **changes)  # type: ignore[arg-type]
        return draft_ticket(INCIDENT, settings=chosen, catalogue=catalogue, lookup=lookup)

    return run


@pytest.fixture
def by_rules(catalogue: Catalogue, settings: Settings) -> TicketDraft:
    keyless = dataclasses.replace(settings, anthropic_api_key="")
    return draft_ticket(INCIDENT, settings=keyless, catalogue=catalogue)
