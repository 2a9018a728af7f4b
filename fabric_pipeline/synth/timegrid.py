"""Sample times of a synthetic drop and the bins between them.

Bin k lies between sample k and sample k + 1; faults act in bins, counters are read at samples.
Times are fixed by the scenario: nothing here looks at the wall clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

Minutes = tuple[float, float]  # from, to; minutes after the start of the drop


@dataclass(frozen=True, slots=True)
class TimeGrid:
    """`start` is timezone-aware UTC, `minutes` the length of the drop; a sample each `step_s`."""

    start: datetime
    minutes: int
    step_s: int = 30

    @property
    def bins(self) -> int:
        """Number of bins; there is one sample more."""
        return self.minutes * 60 // self.step_s

    @property
    def samples(self) -> int:
        """Number of sample times, both ends of the window included."""
        return self.bins + 1

    @property
    def end(self) -> datetime:
        """Time of the last sample."""
        return self.time_of(self.bins)

    def time_of(self, sample: int) -> datetime:
        """Time of one sample."""
        return self.start + timedelta(seconds=sample * self.step_s)

    def at(self, minute: float) -> datetime:
        """Time so many minutes after the start."""
        return self.start + timedelta(minutes=minute)

    def bin_of(self, minute: float) -> int:
        """Bin that holds this minute, kept inside the window."""
        return min(max(int(minute * 60 // self.step_s), 0), self.bins - 1)

    def sample_of(self, minute: float) -> int:
        """First sample at or after this minute, kept inside the window."""
        return min(max(-int(-minute * 60 // self.step_s), 0), self.bins)

    def mask(self, periods: tuple[Minutes, ...]) -> NDArray[np.bool_]:
        """True for each bin whose middle lies in one of the periods; shape (bins,)."""
        middle = (np.arange(self.bins) + 0.5) * self.step_s / 60
        inside = np.zeros(self.bins, dtype=np.bool_)
        for first, last in periods:
            inside |= (middle >= first) & (middle < last)
        return inside

    def spans(self, active: NDArray[np.bool_]) -> list[tuple[str, str]]:
        """Unbroken stretches of active bins as (first, last) ISO times."""
        padded = np.concatenate(([False], active, [False]))
        edges = np.flatnonzero(padded[1:] != padded[:-1])
        return [
            (iso_utc(self.time_of(int(first))), iso_utc(self.time_of(int(last))))
            for first, last in zip(edges[::2], edges[1::2], strict=True)
        ]


def iso_utc(time: datetime, *, milliseconds: bool = False) -> str:
    """ISO 8601 text with a `Z`; the time must be UTC."""
    precision = "milliseconds" if milliseconds else "seconds"
    return time.isoformat(timespec=precision).replace("+00:00", "Z")
