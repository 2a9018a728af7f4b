"""A portal on a free port of 127.0.0.1 for tests, and plain requests to it with any header."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette


@dataclass(frozen=True)
class Answer:
    """One answer; header names are small."""

    status: int
    headers: dict[str, str]
    text: str
    body: bytes


@contextmanager
def served(app: Starlette) -> Iterator[str]:
    """Serve the app while the block runs; gives its address."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="error", proxy_headers=False, lifespan="off")
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def ask(
    address: str, path: str, *, body: str | None = None, headers: Mapping[str, str] | None = None
) -> Answer:
    """GET, or POST when there is a body. Headers given here replace those that a client would set."""
    target = urlsplit(address)
    sent = dict(headers or {})
    if body is not None:
        sent.setdefault("Content-Type", "application/x-www-form-urlencoded")
    connection = HTTPConnection(target.hostname or "", target.port, timeout=20)
    try:
        connection.request("GET" if body is None else "POST", path, body, sent)
        reply = connection.getresponse()
        sent_back = reply.read()
        text = sent_back.decode("utf-8", "replace")
        return Answer(reply.status, {k.lower(): v for k, v in reply.getheaders()}, text, sent_back)
    finally:
        connection.close()
