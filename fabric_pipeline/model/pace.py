"""Rate and time left of work that goes on, in words: from what was measured, and none without a total.

Shown on the line of a terminal and in the log of a step; what is done is told by `model.progress`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic

from fabric_pipeline.model.progress import Moment

# Below these a rate is chance: the first file comes from a warm cache, or is an empty one.
_SURE_S, _SURE_SHARE = 2.0, 0.02
_MEGA, _GIGA = 1e6, 1e9


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
