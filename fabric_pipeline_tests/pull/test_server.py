"""A server that fails, refuses, is slow to get well or is something else, over real sockets."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from fabric_pipeline.errors import FabricError, UsageError
from fabric_pipeline.pull import server as module
from fabric_pipeline.pull.server import TRIES, Server, TooMuchError

AT = datetime(2026, 3, 4, tzinfo=UTC)
GOOD = (200, json.dumps({"status": "success", "data": {"resultType": "vector", "result": []}}))
SECRET = "token-that-stays-secret"


@contextmanager
def answering(answers: list[tuple[int, str]]) -> Iterator[tuple[Server, list[str], list[float]]]:
    """A server that gives these answers in turn; what it was sent, and the waits between tries."""
    seen: list[str] = []
    waits: list[float] = []

    class Page(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            seen.append(f"{self.command} {self.path} {body} {self.headers.get('Authorization')}")
            status, text = answers[min(len(seen), len(answers)) - 1]
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text.encode())

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    client = Server(f"http://127.0.0.1:{listening.server_address[1]}/", SECRET, waits.append)
    try:
        yield client, seen, waits
    finally:
        client.close()
        listening.shutdown()
        thread.join()
        listening.server_close()


def test_a_server_that_gets_well_is_waited_for() -> None:
    with answering([(503, ""), (429, "slow down"), GOOD]) as (server, seen, waits):
        assert server.query("up", AT).data["result"] == []
    assert waits == [1.0, 2.0]
    assert seen[0] == f"POST /api/v1/query query=up&time={AT.timestamp():.3f} Bearer {SECRET}"


def test_a_server_that_stays_ill_is_given_up_with_advice() -> None:
    with answering([(503, "")]) as (server, seen, _):
        with pytest.raises(FabricError, match="goes on from there"):
            server.query("up", AT)
        assert len(seen) == TRIES


def test_an_older_server_is_asked_by_get() -> None:
    with answering([(405, ""), GOOD]) as (server, seen, _):
        server.query("up", AT)
        assert seen[1].startswith("GET /api/v1/query?query=up&time=")


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        ((401, ""), FabricError, "FABRIC_PROMETHEUS_TOKEN"),
        ((200, "<html>"), FabricError, "not answer in JSON"),
        ((400, '{"status":"error","error":"parse error"}'), FabricError, "parse error"),
        ((422, '{"status":"error","error":"query processing would load too many samples"}'), TooMuchError, "too many"),
        ((200, "[1]"), FabricError, "refused"),
    ],
)  # fmt: skip
def test_refusals_are_told(answer: tuple[int, str], error: type[Exception], says: str) -> None:
    with answering([answer]) as (server, _, _), pytest.raises(error, match=says) as told:
        server.query("up", AT)
    assert SECRET not in str(told.value)
    assert SECRET not in repr(server)


def test_a_huge_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ANSWER_BYTES", 1000)
    with answering([(200, "x" * 5000)]) as (server, _, _), pytest.raises(TooMuchError):
        server.query("up", AT)


def test_a_server_without_a_version_is_read_all_the_same() -> None:
    with answering([(404, "not found")]) as (server, _, _):
        assert server.version() == ""


@pytest.mark.parametrize("url", ["prometheus:9090", "ftp://x", "http://", "http://me:pw@host:9090"])
def test_an_address_is_checked_before_anything_is_sent(url: str) -> None:
    with pytest.raises(UsageError):
        Server(url)
