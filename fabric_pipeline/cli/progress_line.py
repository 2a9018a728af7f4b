"""One line on stderr that says what a long command is doing, for a person at a terminal only.

A pipe, a log file and a dumb terminal get nothing, and a command that ends at once shows nothing. The
line has no colour. Rates and times left come from what was measured; without a total there is none.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from threading import Event, RLock, Thread, current_thread, main_thread
from time import monotonic
from typing import TextIO

from fabric_pipeline.cli.output import plain
from fabric_pipeline.model.progress import Moment

_QUIET_S = 1.0  # a shorter run needs no word
_BETWEEN_S = 0.1
_TICK_S = 0.5  # seconds pass on the line also while nothing is told
# Below these a rate is chance: the first file comes from a warm cache, or is an empty one.
_SURE_S, _SURE_SHARE = 2.0, 0.02
_CLEAR = "\r\x1b[2K"
_MEGA, _GIGA = 1e6, 1e9


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


class Pace:
    """Rate and time left of one kind of work, from the moments heard of it and a clock in seconds."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        """No work yet."""
        self._clock = clock
        self._began = clock()
        self._first = self._last = Moment("")
        self._at = self._began

    def hear(self, moment: Moment) -> None:
        """Start anew with another kind of work, or where the counts go back."""
        now = self._clock()
        if moment.work != self._last.work or moment.size < self._last.size:
            self._began, self._first = now, moment
        if (moment.size, moment.files) != (self._last.size, self._last.files):
            self._at = now
        self._last = moment

    def words(self) -> str:
        """The line: what is done, how much of how much, how fast, how long still."""
        last = self._last
        parts = [last.words]
        if last.of_files > 1:
            parts.append(f"{last.files:,} of {last.of_files:,} files")
        if last.size or last.of_size:
            parts.append(_sizes(last.size, last.of_size))
        return "   ".join([*parts, *self._times()])

    def _times(self) -> Iterator[str]:
        last, now = self._last, self._clock()
        done, took = last.size - self._first.size, self._at - self._began
        is_sure = took >= _SURE_S and done > 0
        if is_sure:
            yield f"{done / took / _MEGA:,.1f} MB/s"
        if is_sure and last.of_size and done >= last.of_size * _SURE_SHARE:
            left = (last.of_size - last.size) / (done / took) - (now - self._at)
            # A file that takes longer than the others: the estimate is used up, and says so no longer.
            if left > 0:
                yield f"{_duration(left)} left"
                return
        if now - self._began >= 1:
            yield f"{_duration(now - self._began)} so far"


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


def _sizes(size: int, of_size: int) -> str:
    unit, scale = ("GB", _GIGA) if max(size, of_size) >= _GIGA else ("MB", _MEGA)
    known = f" of {of_size / scale:,.1f}" if of_size else ""
    return f"{size / scale:,.1f}{known} {unit}"


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 90:
        return f"{whole} s"
    if whole < 5400:
        return f"{whole // 60} min {whole % 60} s" if whole < 600 else f"{round(whole / 60)} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
