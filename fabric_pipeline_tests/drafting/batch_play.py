"""The Message Batches API as `messages_server` plays it: create, ask, cancel, read the results."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Result = dict[str, Any]
BATCH_ID = "msgbatch_test"


def succeeded(message: dict[str, Any]) -> Result:
    """The model answered."""
    return {"type": "succeeded", "message": message}


def errored(kind: str = "api_error") -> Result:
    """The service failed on this request."""
    error = {"type": kind, "message": "request req_secret_2 failed"}
    return {"type": "errored", "error": {"type": "error", "error": error, "request_id": None}}


EXPIRED: Result = {"type": "expired"}
CANCELED: Result = {"type": "canceled"}


@dataclass
class BatchPlay:
    """One batch after the other. `polls` questions are answered with `in_progress` first; -1: for ever.

    `result` makes the result of a request from its custom id, None for none at all. A cancelled batch
    ends at the next question unless `ignores_cancel`. `failures` are statuses to answer with at first.
    """

    result: Callable[[str, dict[str, Any]], Result | None] = lambda _name, _params: EXPIRED
    polls: int = 1
    ignores_cancel: bool = False
    failures: dict[str, list[int]] = field(default_factory=dict)
    created: list[list[dict[str, Any]]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    cancelled: bool = False
    _asked: int = 0

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        """Status and body of the reply."""
        what = _what(method, path)
        self.calls.append(what)
        if self.failures.get(what):
            error = {"type": "error", "error": {"type": "api_error", "message": "no"}}
            return self.failures[what].pop(0), json.dumps(error).encode()
        if what == "results":
            return 200, self._results()
        if what == "create":
            self.created.append(json.loads(body)["requests"])
            self._asked, self.cancelled = 0, False
        elif what == "cancel":
            self.cancelled = True
        else:
            self._asked += 1
        return 200, json.dumps(self._batch()).encode()

    def _batch(self) -> dict[str, Any]:
        count = len(self.created[-1])
        ended = 0 <= self.polls < self._asked or (self.cancelled and not self.ignores_cancel)
        status = "ended" if ended else "canceling" if self.cancelled else "in_progress"
        counts = {"canceled": 0, "errored": 0, "expired": 0, "succeeded": 0, "processing": count}
        return {
            "id": BATCH_ID,
            "type": "message_batch",
            "processing_status": status,
            "request_counts": counts,
            "created_at": "2026-11-30T12:00:00Z",
            "expires_at": "2026-12-01T12:00:00Z",
            "ended_at": "2026-11-30T12:05:00Z" if ended else None,
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": f"/v1/messages/batches/{BATCH_ID}/results" if ended else None,
        }

    def _results(self) -> bytes:
        """One line for each request, the last one first, as the order is not promised."""
        lines = []
        for request in reversed(self.created[-1]):
            result = self.result(request["custom_id"], request["params"])
            if result is not None:
                lines.append(json.dumps({"custom_id": request["custom_id"], "result": result}))
        return "\n".join(lines).encode()


def _what(method: str, path: str) -> str:
    end = path.partition("?")[0].rstrip("/").rpartition("/")[2]
    if end in ("results", "cancel"):
        return end
    return "create" if method == "POST" else "ask"
