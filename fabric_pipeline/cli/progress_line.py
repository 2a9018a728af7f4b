"""One line on stderr that says what a long command is doing, for a person at a terminal only.

A pipe, a log file and a dumb terminal get nothing, and a command that ends at once shows nothing. The
line has no colour. What it says of rate and time left comes from `model.pace`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from threading import Event, RLock, Thread, current_thread, main_thread
from time import monotonic
from typing import TextIO

from fabric_pipeline.cli.output import plain
from fabric_pipeline.model.pace import Pace
from fabric_pipeline.model.progress import Moment

_QUIET_S = 1.0  # a shorter run needs no word
_BETWEEN_S = 0.1
_TICK_S = 0.5  # seconds pass on the line also while nothing is told
_CLEAR = "\r\x1b[2K"


class ProgressLine:
    """Hears moments, or words; `clear` takes the line away before something else is printed."""

    def __call__(self, moment: Moment | str) -> None:
        """What is done now."""

    def clear(self) -> None:
        """The next moment, or half a second, brings the line back."""

    @property
    def is_shown_to_somebody(self) -> bool:
        """True at a terminal."""
        return False


@contextmanager
def progress_line() -> Iterator[ProgressLine]:
    """The line, which is gone when the work is. SIGTERM ends the work as Ctrl-C does."""
    stream = sys.stderr
    with _stopped_like_ctrl_c():
        if not stream.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
            yield ProgressLine()
            return
        line = _Line(stream)
        # One large file is named once, before the line may show: it comes up by itself.
        over = Event()
        ticking = Thread(target=_tick, args=(line, over), daemon=True)
        ticking.start()
        try:
            yield line
        finally:
            over.set()
            line.end()
            ticking.join()


def _tick(line: _Line, over: Event) -> None:
    wait = _QUIET_S
    while not over.wait(wait):
        line.show()
        wait = _TICK_S


@contextmanager
def _stopped_like_ctrl_c() -> Iterator[None]:
    """Temporary folders and child processes are then cleared away as after Ctrl-C."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class _Line(ProgressLine):
    """The line, written by the work and by the ticking thread."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = RLock()  # an interrupt may come while it is held, and clears the line
        self._pace = Pace()
        self._last = monotonic() + _QUIET_S
        self._is_told = self._is_shown = self._is_over = False

    @property
    def is_shown_to_somebody(self) -> bool:
        return True

    def __call__(self, moment: Moment | str) -> None:
        with self._lock:
            self._is_told = True
            self._pace.hear(moment if isinstance(moment, Moment) else Moment(moment, moment))
        if monotonic() - self._last >= _BETWEEN_S:
            self.show()

    def show(self) -> None:
        with self._lock:
            if self._is_over or not self._is_told:
                return
            room = max(20, get_terminal_size().columns - 1)
            self._stream.write(_CLEAR + _fitted(plain(self._pace.words()), room))
            self._stream.flush()
            self._last, self._is_shown = monotonic(), True

    def clear(self) -> None:
        with self._lock:
            if self._is_shown:
                self._stream.write(_CLEAR)
                self._stream.flush()
                self._is_shown = False

    def end(self) -> None:
        with self._lock:
            self._is_over = True
            self.clear()


def _fitted(text: str, room: int) -> str:
    """The text in the room there is: the figures stay, long names lose their end."""
    if len(text) <= room:
        return text
    words, gap, figures = text.partition("   ")
    for_words = room - len(gap) - len(figures) - 1
    return f"{words[:for_words]}…{gap}{figures}" if for_words >= 12 else text[:room]
