"""Connections that send a request too slowly are closed, so that a few of them cannot shut everybody out.

Only the head of a request is timed here; its body is bounded in `portal.security`. The limit on the size
of a head holds for this parser (h11) alone, so the portal is always served with it.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

# A browser sends a head in one go; this is room for a slow line.
HEAD_WITHIN_S = 10.0


class PunctualProtocol(H11Protocol):
    """HTTP/1.1 in which each head has to be whole within `head_within_s` of its connection or its first byte."""

    head_within_s = HEAD_WITHIN_S
    _due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock with the connection."""
        super().connection_made(transport)
        self._start()

    def data_received(self, data: bytes) -> None:
        """Stop the clock once a request has begun; start it for the next one on this connection."""
        super().data_received(data)
        if self._is_answering():
            self._stop()
        elif self._due is None and not self.transport.is_closing():
            self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is due any more."""
        self._stop()
        super().connection_lost(exc)

    def _start(self) -> None:
        self._due = self.loop.call_later(self.head_within_s, self._close)

    def _stop(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _close(self) -> None:
        self._due = None
        if not self._is_answering():
            self.transport.close()

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request
        return cycle is not None and not cycle.response_complete
