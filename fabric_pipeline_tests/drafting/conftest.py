"""Fixtures of the drafting tests: catalogue, settings, the local Messages server, the network guard."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pydantic_ai.models
import pytest

from fabric_pipeline.drafting.catalogue import Catalogue, load_catalogue
from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.drafting.messages_server import MessagesServer

ROOT = Path(__file__).resolve().parents[2]
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


@pytest.fixture(autouse=True)
def no_model_requests() -> Iterator[None]:
    """Models may not be asked, except by a test that asks for the local server."""
    with pydantic_ai.models.override_allow_model_requests(False):
        yield


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Refuse and remember every connection that is not to 127.0.0.1; the test fails if there was one."""
    strangers: list[Any] = []
    for call in ("connect", "connect_ex"):
        original = getattr(socket.socket, call)

        def guarded(self: socket.socket, address: Any, original: Any = original) -> Any:
            if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in (
                "127.0.0.1",
                "::1",
            ):
                strangers.append(address)
                raise ConnectionRefusedError(f"the tests may not connect to {address[0]}")
            return original(self, address)

        monkeypatch.setattr(socket.socket, call, guarded)
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
    yield strangers
    assert strangers == []


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
