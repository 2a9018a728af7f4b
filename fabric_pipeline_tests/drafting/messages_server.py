"""A Messages API on 127.0.0.1 that plays scripted replies to the real client over real HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fabric_pipeline_tests.drafting.batch_play import BatchPlay


@dataclass(frozen=True)
class Reply:
    """One HTTP reply. `delay_s` keeps the caller waiting until then or until the server stops."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0


def message(
    content: list[dict[str, Any]], stop_reason: str, tokens: tuple[int, ...] = (2000, 700)
) -> Reply:
    """A message of the API with this content; tokens are (in, out) or (in, out, read, written)."""
    return Reply(json.dumps(message_body(content, stop_reason, tokens)).encode())


def message_body(
    content: list[dict[str, Any]], stop_reason: str, tokens: tuple[int, ...] = (2000, 700)
) -> dict[str, Any]:
    """The message itself; the service counts cache tokens beside `input_tokens`, not in it."""
    cached = tokens[2:] or (0, 0)
    return {
        "id": "msg_test",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5-5",
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {
            "input_tokens": tokens[0],
            "output_tokens": tokens[1],
            "cache_read_input_tokens": cached[0],
            "cache_creation_input_tokens": cached[1],
        },
    }


def call(name: str, arguments: object) -> dict[str, Any]:
    """The block of a message that calls one tool."""
    return {"type": "tool_use", "id": f"toolu_{name}", "name": name, "input": arguments}


def tool_call(
    name: str,
    arguments: object,
    stop_reason: str = "tool_use",
    tokens: tuple[int, ...] = (2000, 700),
) -> Reply:
    """The model calls one tool; the final answer is such a call too."""
    return message([call(name, arguments)], stop_reason, tokens)


def draft(
    answer: dict[str, Any], stop_reason: str = "tool_use", tokens: tuple[int, ...] = (2000, 700)
) -> Reply:
    """The model hands in its draft."""
    return tool_call("ticket_draft", answer, stop_reason, tokens)


def words(text: str, stop_reason: str) -> Reply:
    """The model writes plain text instead of a draft."""
    return message([{"type": "text", "text": text}] if text else [], stop_reason)


def failure(status: int, kind: str, **headers: str) -> Reply:
    """An error of the API; the header keeps the client's pauses short."""
    body = {"type": "error", "error": {"type": kind, "message": "request req_secret_1 failed"}}
    pause = {
        "retry-after-ms": "5",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return Reply(json.dumps(body).encode(), status, pause)


class MessagesServer:
    """Plays `script` reply by reply, the last one for ever; keeps what it was asked.

    `choose`, when set, picks the reply by the request instead, for drafts that are asked for at once.
    `batches` plays the Message Batches API. `busiest` is the most requests that were open together.
    """

    def __init__(self) -> None:
        self.script: list[Reply] = []
        self.choose: Callable[[dict[str, Any]], Reply] | None = None
        self.batches = BatchPlay()
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.busiest = 0
        self._open = 0
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}
        )
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def stop(self) -> None:
        self._stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def next_reply(self, request: dict[str, Any], key: str) -> Reply:
        with self._lock:
            self.requests.append(request)
            self.keys.append(key)
            number = len(self.requests)
        if self.choose:
            return self.choose(request)
        return self.script[min(number, len(self.script)) - 1]

    def answer(self, method: str, path: str, body: bytes, key: str) -> Reply:
        """The reply to one HTTP request."""
        if "/batches" in path:
            status, data = self.batches.answer(method, path, body)
            return Reply(data, status, {"retry-after-ms": "5"})
        return self.next_reply(json.loads(body), key)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Counts a request as open."""
        with self._lock:
            self._open += 1
            self.busiest = max(self.busiest, self._open)
        try:
            yield
        finally:
            with self._lock:
                self._open -= 1

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._play("GET", b"")

            def do_POST(self) -> None:
                self._play("POST", self.rfile.read(int(self.headers.get("content-length", "0"))))

            def _play(self, method: str, body: bytes) -> None:
                key = self.headers.get("authorization", "")
                with server.counted():
                    reply = server.answer(method, self.path, body, key)
                    if reply.delay_s and server._stopping.wait(reply.delay_s):
                        return
                self.send_response(reply.status)
                headers = {"content-type": "application/json", **reply.headers}
                for name, value in {**headers, "content-length": str(len(reply.body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Keep the test output quiet."""

        return Handler
