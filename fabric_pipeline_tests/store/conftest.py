"""An object store on loopback, and every kind of place that shards are exchanged at."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric_pipeline.store.shard_files import (
    Place,
)
from fabric_pipeline_tests.store.shard_places import (
    SECRET,
    Server,
    file_place,
    shared_place,
)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield Server(f"http://{host}:{port}")
    running.stop()


@pytest.fixture
def bucket(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The store with one empty bucket, and the environment that leads to it."""
    server.ask("POST", "/moto-api/reset")
    server.ask("PUT", "/bucket")
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {
        "AWS_ENDPOINT_URL": server.url, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "known-id", "AWS_SECRET_ACCESS_KEY": SECRET,
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    return server


@pytest.fixture(params=["s3", "file", "shared"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Every kind of place, empty."""
    if request.param == "s3":
        request.getfixturevalue("bucket")
        return Place("s3://bucket/shards of site")
    (tmp_path / "kept").mkdir()
    return (file_place if request.param == "file" else shared_place)(tmp_path / "kept")


@pytest.fixture(params=["s3", "file"])
def apart(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Places that files have to be sent to."""
    if request.param == "s3":
        request.getfixturevalue("bucket")
        return Place("s3://bucket")
    (tmp_path / "kept").mkdir()
    return file_place(tmp_path / "kept")
