"""A Messages API on 127.0.0.1 that plays scripted replies to the real client over real HTTP."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """One HTTP reply. `delay_s` keeps the caller waiting until then or until the server stops."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0


def message(
    content: list[dict[str, Any]], stop_reason: str, tokens: tuple[int, int] = (2000, 700)
) -> Reply:
    """A message of the API with this content."""
    body = {
        "id": "msg_test",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5-5",
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": tokens[0], "output_tokens": tokens[1]},
    }
    return Reply(json.dumps(body).encode())


def tool_call(name: str, arguments: object, stop_reason: str = "tool_use") -> Reply:
    """The model calls one tool; the final answer is such a call too."""
    call = {"type": "tool_use", "id": f"toolu_{name}", "name": name, "input": arguments}
    return message([call], stop_reason)


def draft(answer: dict[str, Any], stop_reason: str = "tool_use") -> Reply:
    """The model hands in its draft."""
    return tool_call("ticket_draft", answer, stop_reason)


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
    """Plays `script` reply by reply, the last one for ever; keeps what it was asked."""

    def __init__(self) -> None:
        self.script: list[Reply] = []
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
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
        self.requests.append(request)
        self.keys.append(key)
        return self.script[min(len(self.requests), len(self.script)) - 1]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                reply = server.next_reply(json.loads(body), self.headers.get("authorization", ""))
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
