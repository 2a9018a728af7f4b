"""Latency of runs above the errors of links, on one clock, one sign for a stretch of time.

What lines up is the point: a link whose errors stand under the slow time of a run. Values come from
`workflows.fabric_series`; a stretch in which nothing was read of a link is hatched, never zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from math import ceil

from rich.text import Text

from fabric_pipeline.cli.fabric_style import COLOURS, MUTED, TITLE, Glyphs, figure, plural
from fabric_pipeline.cli.text_layout import Lines, packed, padded, text, wrapped
from fabric_pipeline.workflows.fabric_series import Clock, FabricSeries, RunSeries, Strip, Values

_WIDEST = 160
_BESIDE = 90  # narrower terminals get the name of a series above it
_LABEL = 34
_NOTE = 14
_TICK = 12  # columns from one time of day to the next, at least
_ROUND_S = (5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
_SIZES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


class ClockChart:
    """Draws all series of one drop into the same columns."""

    def __init__(self, series: FabricSeries, clock: Clock, signs: Glyphs, width: int) -> None:
        """`width` is that of the terminal; `clock` is the one of the series."""
        self._series = series
        self._clock = clock
        self._signs = signs
        self._width = min(width, _WIDEST)
        self._is_beside = self._width >= _BESIDE
        room = self._width - (_LABEL + _NOTE + 2 if self._is_beside else 0)
        self.columns = max(8, room)

    def run(self, run: RunSeries) -> Lines:
        """p99 of one operation of a run, and under it where it was slow."""
        size = _size(run.bytes)
        name = self._signs.name(" ".join(filter(None, (run.run, size))), _LABEL)
        values = _columns(run.p99, self.columns)
        known = [value for value in values if value is not None]
        slow = self._slow(run)
        base = run.baseline_ms or min(known, default=0.0)
        top = max([*known, base * 1.5])
        line = text()
        for value, is_slow in zip(values, slow, strict=True):
            if value is None:
                line.append(" ")
                continue
            share = (value - base) / (top - base) if top > base else 0.0
            line.append(_level(share, self._signs), COLOURS["critical"] if is_slow else MUTED)
        most = f"max {figure(max(known))} ms" if known else "no times"
        lines = self._row(text(name), line, most)
        if any(slow):
            marks = text().join(
                text((self._signs.slow, COLOURS["critical"])) if one else text(" ") for one in slow
            )
            worst = "" if run.worst_pct is None else f"+{run.worst_pct:.0f} %"
            lines += self._row(text(("  slow time", MUTED)), marks, worst)
        return lines

    def strip(self, strip: Strip, *, multi: bool = False) -> Lines:
        """Errors of one link in time, or only those with several wrong bits."""
        state = strip.state
        name = self._signs.name(strip.name, _LABEL - 2)
        label = text((f"{self._signs.states[state]} ", COLOURS[state]), name)
        values = (strip.multi or []) if multi else strip.errors
        if multi:
            label = text(("  multi-bit alone", MUTED))
        shown = _columns(values, self.columns)
        top = max((value for value in _columns(strip.errors, self.columns) if value), default=0.0)
        line = text()
        for value in shown:
            if value is None:
                line.append(self._signs.states["no_data"], COLOURS["no_data"])
            elif not value:
                line.append(self._signs.states["healthy"], MUTED)
            else:
                line.append(_level(value / top if top else 0.0, self._signs), COLOURS[state])
        total = sum(value or 0.0 for value in values) if multi else strip.total
        note = "no times" if total is None else f"{figure(total)} err."
        return self._row(label, line, note)

    def axis(self) -> Lines:
        """Times of day under the columns, at round times as far apart as their words need."""
        start, span = self._clock.start, self._clock.end - self._clock.start
        least = span * _TICK / self.columns
        step = next((one for one in _ROUND_S if one >= least), ceil(least / 86400) * 86400)
        form = "%H:%M:%S" if step < 60 else "%H:%M" if step < 86400 else "%d %b"
        line, at = "", ceil(start / step) * step
        while at < self._clock.end:
            column = int((at - start) * self.columns / span)
            line = f"{line.ljust(column)[:column]}|{datetime.fromtimestamp(at, UTC):{form}}"
            at += step
        drawn = text((line[: self.columns], MUTED))
        return self._row(text(), drawn, "UTC" if self._is_beside else "")

    def _slow(self, run: RunSeries) -> list[bool]:
        """Which columns fall into a slow interval."""
        step = (self._clock.end - self._clock.start) / self.columns
        starts = [self._clock.start + step * column for column in range(self.columns)]
        return [
            any(one.start < start + step and one.end >= start for one in run.slow)
            for start in starts
        ]

    def _row(self, label: Text, line: Text, note: str) -> Lines:
        if self._is_beside:
            row = padded(label, _LABEL).append(" ").append_text(padded(line, self.columns))
            return [row.append(f" {note}", MUTED)]
        if not label.plain.strip():
            return [line]
        head = text(label, (f"  {note}" if note else "", MUTED))
        return [head, line]


def clock_lines(
    series: FabricSeries,
    signs: Glyphs,
    width: int,
    *,
    most_runs: int = 2,
    most_strips: int = 4,
    is_split: bool = False,
) -> Lines:
    """The chart with its heading and what it left out; [] when there is nothing to draw.

    `is_split` adds errors with several wrong bits under those of each link, where they are counted.
    """
    if not series.strips and not series.runs:
        return []
    if series.clock is None:
        said = "No reading of this drop carries a time: nothing can be put on a clock."
        return wrapped(said, width, style=MUTED)
    chart = ClockChart(series, series.clock, signs, width)
    runs = ([run for run in series.runs if run.slow] or series.runs)[:most_runs]
    strips = chosen_strips(series)[:most_strips]
    lines = [*packed(_heading(series.clock, chart), width)]
    for run in runs:
        lines += chart.run(run)
    for strip in strips:
        lines += chart.strip(strip)
        if is_split and strip.multi:
            lines += chart.strip(strip, multi=True)
    lines += chart.axis()
    more = []
    if len(series.runs) + series.more_runs > len(runs):
        number = len(series.runs) + series.more_runs - len(runs)
        more.append(f"{number:,} more of the runs")
    if len(series.strips) + series.more_strips > len(strips):
        more.append(plural(len(series.strips) + series.more_strips - len(strips), "more link"))
    keys = [
        f"{signs.slow} slow time",
        "blank: the run sent nothing",
        f"{signs.states['no_data']} link not read",
    ]
    said = "; ".join([*keys, *([f"not drawn: {' and '.join(more)}"] if more else [])])
    return lines + wrapped(said, width, style=MUTED)


def chosen_strips(series: FabricSeries) -> Sequence[Strip]:
    """The strips, the chosen one first."""
    if series.chosen is None:
        return series.strips
    chosen = series.strips[series.chosen]
    return [chosen, *(one for one in series.strips if one is not chosen)]


def _heading(clock: Clock, chart: ClockChart) -> list[Text]:
    start, end = (datetime.fromtimestamp(at, UTC) for at in (clock.start, clock.end))
    each = (clock.end - clock.start) / chart.columns
    seconds = f"{each:.0f} s" if each < 120 else f"{each / 60:.0f} min"
    return [
        text(("One clock", TITLE)),
        text((f"{start:%Y-%m-%d %H:%M} to {end:%H:%M} UTC", MUTED)),
        text(("latency of runs (p99) above errors of links", MUTED)),
        text((f"one sign is {seconds}", MUTED)),
    ]


def _columns(values: Values, columns: int) -> Values:
    """The largest value of each column; None where nothing was read."""
    if not values:
        return [None] * columns
    found: Values = []
    for column in range(columns):
        first = column * len(values) // columns
        last = max(first + 1, (column + 1) * len(values) // columns)
        known = [value for value in values[first:last] if value is not None]
        found.append(max(known) if known else None)
    return found


def _level(share: float, signs: Glyphs) -> str:
    place = min(len(signs.blocks) - 1, max(0, int(share * len(signs.blocks))))
    return signs.blocks[place]


def _size(size: int | None) -> str:
    if size is None:
        return ""
    for amount, unit in _SIZES:
        if size >= amount:
            return f"{size / amount:.4g} {unit}"
    return f"{size} B"
