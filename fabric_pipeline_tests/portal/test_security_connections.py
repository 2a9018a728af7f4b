"""Slow senders: a head or a body that never ends is cut off, and nobody else waits for it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from fabric_pipeline.portal import security
from fabric_pipeline.portal.forms import Form, posted
from fabric_pipeline.portal.identity import Auth
from fabric_pipeline.portal.security import Guard
from fabric_pipeline.portal.security_connections import PunctualProtocol
from fabric_pipeline_tests.portal.serving import ask

HEAD_S, BODY_S = 0.4, 0.6


class Hasty(PunctualProtocol):
    """The same with a short patience."""

    head_within_s = HEAD_S


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    def form(request: Request, sent: Form) -> Response:
        return PlainTextResponse(f"{len(sent)}")

    def slowly(request: Request) -> Response:
        def parts() -> Iterator[str]:
            for _ in range(6):
                time.sleep(BODY_S / 3)
                yield "x"

        return StreamingResponse(parts())

    routes = [Route("/form", posted(form), methods=["POST"]), Route("/slowly", slowly)]
    app = Guard(Starlette(routes=routes), Auth(), frozenset({"127.0.0.1"}))
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="critical", http=Hasty, lifespan="off", limit_concurrency=20)  # fmt: skip
    server = uvicorn.Server(config)
    patch = pytest.MonkeyPatch()
    patch.setattr(security, "BODY_WITHIN_S", BODY_S)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join()
    listening.close()
    patch.undo()


def opened(address: str, sent: bytes) -> socket.socket:
    target = urlsplit(address)
    connection = socket.create_connection((target.hostname, target.port), timeout=10)
    connection.sendall(sent)
    return connection


def until_closed(connection: socket.socket) -> bytes:
    with connection:
        received = b""
        while part := connection.recv(4096):
            received += part
    return received


def test_heads_that_never_end_are_closed_and_others_are_served(address: str) -> None:
    slow = [opened(address, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ") for _ in range(25)]
    silent = [opened(address, b"")]
    for connection in [*slow, *silent]:
        until_closed(connection)
    assert ask(address, "/slowly").text == "xxxxxx"


def test_a_second_head_on_a_connection_is_timed_too(address: str) -> None:
    connection = opened(address, b"GET /none HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert connection.recv(12) == b"HTTP/1.1 404"
    connection.sendall(b"GET / HT")
    started = time.monotonic()
    until_closed(connection)
    assert time.monotonic() - started < 3  # sooner than an idle connection is closed


def test_a_body_that_never_ends_is_refused(address: str) -> None:
    head = (
        b"POST /form HTTP/1.1\r\nHost: 127.0.0.1\r\nSec-Fetch-Site: same-origin\r\nConnection: close\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 20\r\n\r\n"
    )
    started = time.monotonic()
    assert until_closed(opened(address, head + b"a=1")).startswith(b"HTTP/1.1 400")
    assert time.monotonic() - started < 5
    assert until_closed(opened(address, head + b"a=1&b=2&c=3&d=4&e=56")).endswith(b"5")


def test_an_answer_may_take_longer_than_a_body_may(address: str) -> None:
    assert ask(address, "/slowly").text == "xxxxxx"
