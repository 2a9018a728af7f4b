"""The HTTP side of a Prometheus server (also VictoriaMetrics, Thanos, Mimir): three questions, asked patiently.

Answers are returned as they came; which questions to ask is decided in `pull.window`. The secret is sent
in a header and stands in no message, file or address.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx2

from fabric_pipeline.errors import FabricError, UsageError

TIMEOUT_S = 120.0  # a server's own limit for one query is two minutes by default (--query.timeout)
MAX_ANSWER_BYTES = 256 * 1024 * 1024
TRIES = 5
_AGAIN = frozenset({429, 502, 503, 504})
_LONGEST_WAIT_S = 30.0
_TOO_MUCH = (
    "too many samples",
    "maxSamples",
    "max samples",
    "exceeds the limit",
    "too many points",
)


class TooMuchError(Exception):
    """The server holds more than it gives in one answer; ask for a shorter time."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of the query API: the bytes as they came, and the same decoded."""

    body: bytes
    data: Any
    warnings: tuple[str, ...] = ()


@dataclass
class Server:
    """A server by its address. `pause` waits between tries; tests hand in one that does not."""

    url: str
    token: str = ""
    pause: Callable[[float], None] = time.sleep
    _client: httpx2.Client = field(init=False)

    def __post_init__(self) -> None:
        """Raises UsageError for an address that is none, or that carries a password."""
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(
                f"{self.url!r} is no address of a Prometheus server",
                "name one such as http://prometheus.example:9090",
            )
        if parts.username or parts.password:
            raise UsageError(
                "the address carries a name or password, which would end in logs",
                "put a token into FABRIC_PROMETHEUS_TOKEN and leave it out of the address",
            )
        self.url = urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        self._client = httpx2.Client(
            base_url=self.url, headers=headers, timeout=TIMEOUT_S, follow_redirects=False
        )

    def __repr__(self) -> str:
        """Never prints the token."""
        return f"Server({self.url!r})"

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def version(self) -> str:
        """What the server calls itself, "" when it does not tell (not all relatives do)."""
        try:
            told = self._ask("/api/v1/status/buildinfo", {}).data
        except FabricError:
            return ""
        return str(told.get("version", ""))[:80] if isinstance(told, dict) else ""

    def metric_names(self, selector: str, start: datetime, end: datetime) -> list[str]:
        """Names of all metrics with samples between the two times that fit the selector."""
        asked = {"match[]": selector, "start": _stamp(start), "end": _stamp(end)}
        names = self._ask("/api/v1/label/__name__/values", asked).data
        if not isinstance(names, list):
            raise FabricError(f"{self.url} gave no list of metric names", "is it a Prometheus API?")
        return sorted(str(name) for name in names)

    def query(self, text: str, at: datetime) -> Answer:
        """The answer of an instant query; TooMuchError when the server's limit on samples is met."""
        return self._ask("/api/v1/query", {"query": text, "time": _stamp(at)})

    def _ask(self, path: str, asked: Mapping[str, str]) -> Answer:
        """Ask by POST, as long selectors do not fit into an address; by GET where POST is not known."""
        response = self._patiently(path, asked)
        try:
            told = json.loads(response)
        except ValueError as error:
            raise FabricError(
                f"{self.url}{path} did not answer in JSON",
                "is there a Prometheus API at this address?",
            ) from error
        if not isinstance(told, dict) or told.get("status") != "success":
            reason = str(told.get("error", told) if isinstance(told, dict) else told)[:300]
            if any(words in reason for words in _TOO_MUCH):
                raise TooMuchError(reason)
            raise FabricError(
                f"{self.url}{path} refused: {reason}", "look at the selector and the time"
            )
        warnings = told.get("warnings") or []
        return Answer(response, told.get("data"), tuple(str(one)[:300] for one in warnings))

    def _patiently(self, path: str, asked: Mapping[str, str]) -> bytes:
        problem = ""
        for attempt in range(TRIES):
            if attempt:
                self.pause(min(_LONGEST_WAIT_S, 2.0 ** (attempt - 1)))
            try:
                status, body = self._once("POST", path, asked)
                if status == 405 or (status == 404 and not asked):
                    status, body = self._once("GET", path, asked)
            except httpx2.HTTPError as error:
                problem = f"{type(error).__name__}: {error}"
                continue
            if status in _AGAIN:
                problem = f"status {status}"
                continue
            if status in (401, 403):
                raise FabricError(
                    f"{self.url} does not let us in (status {status})",
                    "put its token into FABRIC_PROMETHEUS_TOKEN",
                )
            return body
        raise FabricError(
            f"{self.url}{path} gave no answer in {TRIES} tries ({problem})",
            "check that the server runs; what was fetched stays, the same command goes on from there",
        )

    def _once(self, method: str, path: str, asked: Mapping[str, str]) -> tuple[int, bytes]:
        body = bytearray()
        sent: dict[str, Any] = {"data": asked} if method == "POST" else {"params": asked}
        with self._client.stream(method, path, **sent) as response:
            for part in response.iter_bytes():
                body += part
                if len(body) > MAX_ANSWER_BYTES:
                    raise TooMuchError(f"an answer of more than {MAX_ANSWER_BYTES:,} bytes")
            return response.status_code, bytes(body)


def _stamp(at: datetime) -> str:
    """Seconds with three digits, as the API takes and gives them."""
    return f"{at.timestamp():.3f}"
