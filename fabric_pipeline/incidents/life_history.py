"""What is known of one incident over all drops: sightings, checks of its link, reported repairs.

Plain values with times, gathered by the store; what follows from them is decided in `lifecycle`. The
order in which drops were read is no part of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

SEVERITY_ORDER = ("INFO", "WATCH", "WARNING", "CRITICAL")


@dataclass(frozen=True, slots=True)
class Sighting:
    """One drop whose standing diagnosis accuses the link. Times are those of its first and last error.

    `rate_per_hour` is the highest rate of errors, `events` what was counted; None when not measured.
    """

    drop: str
    first_seen: datetime | None
    last_seen: datetime | None
    severity: str
    degradation_pct: float | None = None
    rate_per_hour: float | None = None
    events: float | None = None

    @property
    def rank(self) -> int:
        """Place of the severity, the worst last."""
        return SEVERITY_ORDER.index(self.severity) if self.severity in SEVERITY_ORDER else 0


@dataclass(frozen=True, slots=True)
class Check:
    """How the link looks in one drop; `measured_s` are seconds of counters under traffic.

    `start` and `end` are the first and last reading of the link, of the drop when the link has none.
    `is_accused`: the diagnosis of this drop accuses the link, so the sighting says it better.
    """

    drop: str
    verdict: str
    start: datetime | None
    end: datetime | None
    measured_s: float = 0.0
    last_error: datetime | None = None
    is_accused: bool = False


@dataclass(frozen=True, slots=True)
class Repair:
    """One reported repair; `seq` tells apart two that were done at the same moment."""

    seq: int
    action: str
    step: int | None
    repaired_at: datetime


@dataclass(frozen=True, slots=True)
class History:
    """Everything about one incident, in any order, with any repetition."""

    sightings: tuple[Sighting, ...] = ()
    checks: tuple[Check, ...] = ()
    repairs: tuple[Repair, ...] = ()


@dataclass(frozen=True, slots=True)
class Span:
    """Errors from `first` to `last`, and the drop that shows them."""

    first: datetime
    last: datetime
    drop: str


def placed_sightings(history: History) -> list[Sighting]:
    """Sightings in the order of their errors, the same evidence once.

    One without times takes those of its drop's readings of the link; one that has none either cannot be
    placed and is left out: it proves neither that a fault came back nor that it went on.
    """
    windows = {check.drop: check for check in sorted(history.checks, key=_check_order)}
    found: dict[tuple[object, ...], Sighting] = {}
    placed = [_placed(one, windows.get(one.drop)) for one in history.sightings]
    for sighting in sorted((one for one in placed if one is not None), key=_sighting_order):
        found.setdefault(_evidence_of(sighting), sighting)
    return sorted(found.values(), key=_sighting_order)


def unplaced_drops(history: History) -> list[str]:
    """Drops that accuse the link without any time."""
    windows = {check.drop: check for check in history.checks}
    return sorted({s.drop for s in history.sightings if _placed(s, windows.get(s.drop)) is None})


def error_spans(history: History) -> list[Span]:
    """When errors were seen: by diagnoses, and by checks that found the link dirty below them."""
    spans = {
        Span(one.first_seen or _end_of(one), _end_of(one), one.drop)
        for one in placed_sightings(history)
    }
    for check in history.checks:
        if check.verdict == "dirty" and not check.is_accused and check.last_error is not None:
            spans.add(Span(check.last_error, check.last_error, check.drop))
    return sorted(spans, key=lambda span: (span.last, span.first, span.drop))


def clean_time(
    checks: Iterable[Check], after: datetime, before: datetime | None, enough_s: float
) -> tuple[float, datetime | None]:
    """Seconds measured clean in windows that begin at or after `after` and end by `before`.

    With them the end of the window in which `enough_s` was reached, None when it was not. Time that two
    drops both cover counts once.
    """
    total, covered, reached = 0.0, after, None
    for check in sorted(set(checks), key=_check_order):
        if check.verdict != "clean" or check.start is None or check.end is None:
            continue
        if check.start < after or (before is not None and check.end > before):
            continue
        length = (check.end - check.start).total_seconds()
        new = (check.end - max(check.start, covered)).total_seconds()
        if length <= 0 or new <= 0:
            continue
        total += check.measured_s * min(1.0, new / length)
        covered = max(covered, check.end)
        if reached is None and total >= enough_s:
            reached = check.end
    return total, reached


def unmeasured_since(history: History, moment: datetime | None) -> tuple[str, ...]:
    """Drops that cannot tell how the link is and do not lie wholly before `moment`."""
    return tuple(
        sorted(
            {
                check.drop
                for check in history.checks
                if check.verdict == "unmeasured"
                and (moment is None or check.end is None or check.end > moment)
            }
        )
    )


def in_order(repairs: Iterable[Repair]) -> list[Repair]:
    """Repairs by the time they were done."""
    return sorted(set(repairs), key=lambda repair: (repair.repaired_at, repair.seq))


def _placed(sighting: Sighting, window: Check | None) -> Sighting | None:
    if sighting.last_seen is not None:
        return sighting
    if window is None or window.end is None:
        return None
    return replace(sighting, first_seen=window.start, last_seen=window.end)


def _evidence_of(sighting: Sighting) -> tuple[object, ...]:
    return (
        sighting.first_seen, sighting.last_seen, sighting.severity, sighting.degradation_pct, sighting.rate_per_hour, sighting.events,
    )  # fmt: skip


def _end_of(sighting: Sighting) -> datetime:
    if sighting.last_seen is None:
        raise ValueError(f"{sighting.drop}: this sighting has no time")
    return sighting.last_seen


def _sighting_order(sighting: Sighting) -> tuple[object, ...]:
    """By the last error; what two sightings have alike is told apart by the rest, so no order is left open."""
    known = (sighting.degradation_pct, sighting.rate_per_hour, sighting.events)
    first = sighting.first_seen or _end_of(sighting)
    figures = tuple(-1.0 if value is None else value for value in known)
    return (_end_of(sighting), first, sighting.drop, sighting.rank, *figures)


def _check_order(check: Check) -> tuple[float, float, str, str, float]:
    return (
        check.start.timestamp() if check.start else 0.0,
        check.end.timestamp() if check.end else 0.0,
        check.drop,
        check.verdict,
        check.measured_s,
    )
