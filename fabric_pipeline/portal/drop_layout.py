"""Where drops stand on a time axis, in percent of its width: bars for drops, gaps between them, labels of time.

Time runs evenly inside the bars and inside short gaps. A long gap is shortened and says so, and a short drop
keeps a bar that can be hit; drops of the same time stand under each other. Pure values, drawn elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from statistics import median

from fabric_pipeline.workflows.drop_axis import DropMark, in_time

# More marks than this cannot be told apart; those nearest to the chosen drop are kept.
MOST_MARKS = 36
MOST_LANES = 5
_LEAST_BAR, _LEAST_GAP = 2.4, 0.5
# A gap longer than so many usual drops is shortened to their length.
_LONG_GAP = 3.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One drop: its left edge and width in percent, and the lane it stands in from the top."""

    mark: DropMark
    left: float
    width: float
    lane: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Time that no drop covers; `is_cut` when it is drawn shorter than it was."""

    left: float
    width: float
    start: datetime
    end: datetime
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Axis:
    """Everything on the axis. `before` and `after` count drops that are left out at either side."""

    bars: tuple[Bar, ...]
    gaps: tuple[Gap, ...]
    before: int
    after: int
    under: int

    @property
    def lanes(self) -> int:
        """How many lanes the bars need."""
        return max((bar.lane + 1 for bar in self.bars), default=0)


@dataclass(slots=True)
class _Group:
    """Drops whose times overlap, as one stretch of the axis."""

    marks: list[DropMark]
    start: float
    end: float
    left: float = 0.0
    width: float = 0.0


def axis_of(marks: Sequence[DropMark], *chosen: str) -> Axis:
    """The axis of these drops around the chosen ones; drops without a time have no place on it.

    Two that lie too far apart for one axis have it around the last of them.
    """
    ordered = in_time(marks)
    kept, before, after = _around(ordered, chosen)
    groups = _groups(kept)
    gaps = _placed(groups)
    bars = [bar for group in groups for bar in _bars(group)]
    # A chosen drop is drawn in any case, in a lane below the others.
    shown = tuple(
        replace(bar, lane=min(bar.lane, MOST_LANES))
        for bar in bars
        if bar.lane < MOST_LANES or bar.mark.drop in chosen
    )
    return Axis(shown, gaps, before, after, len(bars) - len(shown))


def _around(
    ordered: Sequence[DropMark], chosen: Sequence[str]
) -> tuple[Sequence[DropMark], int, int]:
    places = {mark.drop: n for n, mark in enumerate(ordered)}
    known = [places[name] for name in chosen if name in places] or [len(ordered) - 1]
    fits = max(known) - min(known) < MOST_MARKS
    at = (min(known) + max(known)) // 2 if fits else known[-1]
    first = max(0, min(at - MOST_MARKS // 2, len(ordered) - MOST_MARKS))
    kept = ordered[first : first + MOST_MARKS]
    return kept, first, len(ordered) - first - len(kept)


def _groups(ordered: Sequence[DropMark]) -> list[_Group]:
    groups: list[_Group] = []
    for mark in ordered:
        start, end = _span(mark)
        if groups and start < groups[-1].end:
            groups[-1].marks.append(mark)
            groups[-1].end = max(groups[-1].end, end)
        else:
            groups.append(_Group([mark], start, end))
    return groups


def _placed(groups: list[_Group]) -> tuple[Gap, ...]:
    """Give every group its place; returns the gaps between them."""
    if not groups:
        return ()
    usual = median(group.end - group.start for group in groups) or 1.0
    between = [after.start - before.end for before, after in pairwise(groups)]
    drawn = [min(gap, usual) if gap > _LONG_GAP * usual else gap for gap in between]
    parts: list[tuple[float, float]] = []
    for n, group in enumerate(groups):
        parts.append((group.end - group.start, _LEAST_BAR))
        if n < len(drawn):
            parts.append((drawn[n], _LEAST_GAP))
    widths = _shares(parts)
    left, gaps = 0.0, []
    for n, group in enumerate(groups):
        group.left, group.width = left, widths[2 * n]
        left += group.width
        if n < len(drawn):
            width = widths[2 * n + 1]
            if between[n] > 0:
                span = _moment(group, -1), _moment(groups[n + 1], 0)
                gaps.append(Gap(left, width, *span, is_cut=drawn[n] < between[n]))
            left += width
    return tuple(gaps)


def _moment(group: _Group, end: int) -> datetime:
    """The last end of a group for -1, its first start for 0."""
    times = [mark.end if end else mark.start for mark in group.marks]
    known = [time for time in times if time is not None]
    return max(known) if end else min(known)


def _shares(parts: Sequence[tuple[float, float]]) -> list[float]:
    """Percent for each (length, least percent), in proportion where the least allows it; 100 in all."""
    small: set[int] = set()
    while True:
        room = 100.0 - sum(parts[n][1] for n in small)
        length = sum(part for n, (part, _) in enumerate(parts) if n not in small)
        unit = room / length if length > 0 else 0.0
        more = {n for n, (p, least) in enumerate(parts) if n not in small and p * unit < least}
        if not more:
            shares = [least if n in small else p * unit for n, (p, least) in enumerate(parts)]
            scale = 100.0 / sum(shares)
            return [share * scale for share in shares]
        small |= more


def _bars(group: _Group) -> list[Bar]:
    """Drops of one group, each in the first lane in which it does not touch another."""
    ends: list[float] = []
    bars = []
    length = group.end - group.start
    for mark in group.marks:
        start, end = _span(mark)
        left = group.left + (group.width * (start - group.start) / length if length else 0.0)
        width = group.width * (end - start) / length if length else group.width
        width = max(width, min(_LEAST_BAR, group.width))
        left = max(0.0, min(left, group.left + group.width - width))
        lane = next((n for n, taken in enumerate(ends) if left >= taken - 1e-9), len(ends))
        if lane == len(ends):
            ends.append(0.0)
        ends[lane] = left + width
        bars.append(Bar(mark, left, width, lane))
    return bars


def _span(mark: DropMark) -> tuple[float, float]:
    start, end = mark.start, mark.end
    if start is None or end is None:
        raise ValueError(f"drop {mark.drop} carries no time")
    return start.timestamp(), end.timestamp()
