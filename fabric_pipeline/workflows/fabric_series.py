"""Charts of one drop on one clock: latency of its runs, their slow intervals, errors of its worst links.

Every series has the same bins, so that errors can be seen lining up with slow time. None in a bin means
that nothing was measured there; it is never a zero. Drawing belongs to the front doors.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import ceil, floor
from typing import Any

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.store.lake import read_rows
from fabric_pipeline.workflows import fabric_series_sql as sql
from fabric_pipeline.workflows.fabric_view_model import FabricView, Link
from fabric_pipeline.workflows.link_view import spellings
from fabric_pipeline.workflows.present_tables import present_tables

TABLES = ("collective_timings", "stragglers", "link_counters", "straggler_correlations")
MOST_STRIPS = 8
MOST_RUNS = 6
# A screen shows no more; a narrower window brings finer bins.
MOST_BINS = 1_500
_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
_MOST_RANKS = 12
_MOST_INTERVALS = 200

Values = list[float | None]


@dataclass(frozen=True, slots=True)
class Clock:
    """The common bins: `start` in seconds since 1970, `step_s` each. `native_s`: finest that has a meaning."""

    start: float
    step_s: float
    bins: int
    native_s: float

    @property
    def end(self) -> float:
        """End of the last bin."""
        return self.start + self.bins * self.step_s


@dataclass(frozen=True, slots=True)
class Slow:
    """Slow intervals of one series that overlap, as one. `groups` counts the groups of ranks."""

    start: float
    end: float
    worst_pct: float
    groups: int
    late_ranks: tuple[int, ...] = ()


@dataclass(slots=True)
class RunSeries:
    """One operation and size of one run in ms, with its slow intervals in order of time."""

    run: str
    op: str
    bytes: int | None
    unit_kind: str
    p50: Values
    p99: Values
    baseline_ms: float | None = None
    worst_pct: float | None = None
    slow: list[Slow] = field(default_factory=list)


@dataclass(slots=True)
class Strip:
    """Errors of one link in bins, over both ends and all its error counters.

    `total` is None when no error counter with times was readable. `unplaced` fell into gaps between
    readings. `overlap` are (error bins in slow time, error bins) of the best fitting run.
    """

    component: str
    name: str
    state: str
    errors: Values
    multi: Values | None = None
    total: float | None = None
    unplaced: float = 0.0
    overlap: tuple[int, int] | None = None
    verdict: str = ""


@dataclass(slots=True)
class FabricSeries:
    """All series of a drop. `clock` is None when nothing in it carries a time; `chosen` is a place in `strips`.

    `lead` is the one run that the chosen link is responsible for slowing, "" for none or several; its
    series stand first.
    """

    drop: str
    clock: Clock | None
    runs: list[RunSeries] = field(default_factory=list)
    more_runs: int = 0
    strips: list[Strip] = field(default_factory=list)
    more_strips: int = 0
    chosen: int | None = None
    lead: str = ""


def load_series(
    settings: Settings,
    view: FabricView,
    link: Link | None = None,
    window: tuple[datetime, datetime] | None = None,
    *,
    among: Sequence[Link] | None = None,
) -> FabricSeries:
    """The series of a drop, with that link among the strips; in a window with bins as fine as it allows.

    Strips are those of the degraded links, or of the links `among`, in that order.
    """
    wanted = view.degraded() if among is None else list(among)
    drawn = wanted[:MOST_STRIPS]
    more = len(wanted) - len(drawn)
    if link is not None and not any(one is link for one in drawn):
        drawn = [link, *drawn]
    with present_tables(settings, view.drop, TABLES, refuses_expired=False) as connection:
        clock = _clock(connection.execute(sql.SPAN_SQL).fetchall()[0], window)
        found = FabricSeries(view.drop, clock, more_strips=more)
        found.chosen = next((n for n, one in enumerate(drawn) if one is link), None)
        if clock is None:
            found.strips = [_strip(one, [], None) for one in drawn]
            return found
        _add_runs(connection, clock, found)
        _add_strips(connection, clock, found, view, drawn)
    return found


def _clock(row: Sequence[Any], window: tuple[datetime, datetime] | None) -> Clock | None:
    first, last, timing_s, reading_s = row
    if first is None or last is None:
        return None
    start, end = first.timestamp(), last.timestamp()
    if window is not None:
        start, end = max(start, window[0].timestamp()), min(end, window[1].timestamp())
        if end <= start:
            start, end = first.timestamp(), last.timestamp()
    native = max(1.0, min((gap for gap in (timing_s, reading_s) if gap), default=1.0))
    # A little jitter between readings must not push them into the next longer step.
    least = max(native * 0.95, (end - start) / MOST_BINS)
    step = next((one for one in _STEPS_S if one >= least), ceil(least / 86400) * 86400)
    start = floor(start / step) * step
    return Clock(start, step, max(1, ceil((end - start) / step)), native)


def _add_runs(connection: Any, clock: Clock, found: FabricSeries) -> None:
    given = {"start": clock.start, "step": clock.step_s, "bins": clock.bins, "most": MOST_RUNS}
    rows = read_rows(connection, sql.LATENCY_SQL, given)
    found.more_runs = max(0, rows[0]["series"] - len(rows)) if rows else 0
    runs = sorted({row["run"] for row in rows})
    slow = connection.execute(sql.SLOW_SQL, {"runs": runs}).fetchall()
    for row in rows:
        key = (row["run"], row["op"], row["bytes"])
        found.runs.append(
            RunSeries(
                *key,
                row["unit_kind"],
                _laid_out(clock, row["bins"], row["p50"], 1e-3),
                _laid_out(clock, row["bins"], row["p99"], 1e-3),
                row["baseline_us"] / 1e3 if row["baseline_us"] else None,
                row["worst_pct"],
                _merged(one for one in slow if tuple(one[:3]) == key),
            )
        )


def _add_strips(
    connection: Any, clock: Clock, found: FabricSeries, view: FabricView, drawn: Sequence[Link]
) -> None:
    ends = [
        (place, *name.split("\0", 1))
        for place, link in enumerate(drawn)
        for end in link.ends
        for name in spellings(view, end)
    ]
    connection.execute("create temp table asked (link bigint, node varchar, interface varchar)")
    columns = [("link", "BIGINT"), ("node", "VARCHAR"), ("interface", "VARCHAR")]
    insert_columns(connection, "asked", columns, ends)
    given = {"start": clock.start, "step": clock.step_s, "bins": clock.bins}
    rows = {row["link"]: row for row in read_rows(connection, sql.ERRORS_SQL, given)}
    fits = {row[0]: row[1:] for row in connection.execute(sql.FIT_SQL).fetchall()}
    for place, link in enumerate(drawn):
        row = rows.get(place)
        strip = _strip(link, _errors(clock, row, "errors"), row)
        if row is not None and any(value is not None for value in row["multi"] or ()):
            strip.multi = _errors(clock, row, "multi")
        if place in fits:
            overlap, error_bins, strip.verdict, slowed = fits[place]
            strip.overlap = (overlap, error_bins)
            if place == found.chosen and slowed and len(slowed) == 1:
                found.lead = slowed[0]
        found.strips.append(strip)
    found.runs.sort(key=lambda one: one.run != found.lead)


def _strip(link: Link, errors: Values, row: dict[str, Any] | None) -> Strip:
    end = link.a if link.a.node or link.b is None else link.b
    strip = Strip(link.a.component, end.name, link.state, errors)
    if row is not None:
        strip.total, strip.unplaced = row["total"], row["unplaced"] or 0.0
    return strip


def _errors(clock: Clock, row: dict[str, Any] | None, name: str) -> Values:
    if row is None or row["bins"] is None:
        return [None] * clock.bins
    return _laid_out(clock, row["bins"], [value or 0.0 for value in row[name]], 1.0)


def _laid_out(clock: Clock, bins: Sequence[int], values: Sequence[float | None], unit: float) -> Values:  # fmt: skip
    laid: Values = [None] * clock.bins
    for place, value in zip(bins, values, strict=True):
        if 0 <= place < clock.bins and value is not None:
            laid[place] = value * unit
    return laid


def _merged(rows: Iterable[Sequence[Any]]) -> list[Slow]:
    """Overlapping intervals of all groups as one, in order of time."""
    merged: list[tuple[float, float, float, set[str], set[int]]] = []
    for _, _, _, first, last, worst, group, late in sorted(rows, key=lambda row: row[3]):
        start, end = _seconds(first), _seconds(last or first)
        ranks = {int(rank) for rank in json.loads(late or "[]")}
        if merged and start <= merged[-1][1]:
            was = merged[-1]
            merged[-1] = (was[0], max(was[1], end), max(was[2], worst), was[3] | {group}, was[4] | ranks)  # fmt: skip
        else:
            merged.append((start, end, worst, {group}, ranks))
    worst_kept = sorted(merged, key=lambda one: -one[2])[:_MOST_INTERVALS]
    return [
        Slow(start, end, worst, len(groups), tuple(sorted(ranks)[:_MOST_RANKS]))
        for start, end, worst, groups, ranks in sorted(worst_kept, key=lambda one: one[0])
    ]


def _seconds(at: datetime) -> float:
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
