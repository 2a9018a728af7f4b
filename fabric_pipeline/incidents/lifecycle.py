"""The life of an incident: new, ongoing, worse, quiet, repaired, verified or reopened, and why.

A pure function of what is known (`life_history`): drops that are read late, twice or in another order
give the same state. A drop that did not measure the link is never counted as quiet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import sqrt
from typing import Literal

from fabric_pipeline.incidents.life_history import (
    History,
    Repair,
    Sighting,
    Span,
    clean_time,
    error_spans,
    in_order,
    placed_sightings,
    unmeasured_since,
    unplaced_drops,
)

State = Literal["new", "ongoing", "worse", "quiet", "repaired", "verified", "reopened", "withdrawn"]
Outcome = Literal["waiting", "verified", "came_back", "unknown"]

# "Observe for about 30 minutes" before a repaired link is trusted: NVIDIA InfiniBand cluster operation
# guide, list of scenarios (field guide [Q2]). The same time makes a link quiet without a repair.
CLEAN_S = 30 * 60.0
# A fault that comes back within this time was not repaired (field guide Appendix C, 16). Later returns
# reopen the incident as well; the reason says which of the two it was.
RETURN_WINDOW = timedelta(days=7)
# Errors this soon after the reported time belong to the work itself: plugging in counts link downs
# (NVIDIA Quantum firmware notes, known issues), and people report to the minute. Policy value.
SETTLE = timedelta(minutes=5)
# Worse is a doubled error rate that chance does not explain (3 sigma of the counted errors), or half as
# much degradation again and at least five points, the step that raises a ticket's priority. Policy values.
WORSE_FACTOR = 2.0
NOISE_SIGMAS = 3.0
WORSE_DEGRADATION_FACTOR = 1.5
WORSE_POINTS = 5.0


@dataclass(frozen=True, slots=True)
class RepairOutcome:
    """What followed a repair. `unknown`: the next repair was made before anything could be known.

    `clean_s` are the seconds measured clean after it; `returned_in` is the drop that shows the errors.
    """

    repair: Repair
    outcome: Outcome
    clean_s: float = 0.0
    verified_at: datetime | None = None
    returned_at: datetime | None = None
    returned_in: str = ""


@dataclass(frozen=True, slots=True)
class LifeState:
    """Where an incident stands. `reason` is words with figures; `since` the moment it became so.

    `clean_s` are seconds measured clean since the last error or repair, `unmeasured` the drops since then
    that could not tell. `next_step` is the step of the repair order after those that did not help.
    """

    state: State
    reason: str
    since: datetime | None = None
    first_seen: datetime | None = None
    last_seen: datetime | None = None
    drops: tuple[str, ...] = ()
    clean_s: float = 0.0
    unmeasured: tuple[str, ...] = ()
    repairs: tuple[RepairOutcome, ...] = ()
    next_step: int = 1


@dataclass(frozen=True, slots=True)
class _Standing:
    state: State
    reason: str
    since: datetime | None
    clean_s: float = 0.0
    unmeasured: tuple[str, ...] = ()


def life_of(history: History) -> LifeState:
    """The state of one incident from everything that is known of it."""
    sightings, spans = placed_sightings(history), error_spans(history)
    outcomes = outcomes_of(history)
    if not history.sightings:
        standing = _Standing(
            "withdrawn", "no standing diagnosis of any drop finds it any more", None
        )
    elif outcomes:
        standing = _after_repair(history, outcomes)
    else:
        standing = _without_repair(history, sightings, spans)
    unplaced = unplaced_drops(history)
    note = f"; {_drops(unplaced)} without times cannot be placed" if unplaced else ""
    return LifeState(
        state=standing.state,
        reason=standing.reason + note,
        since=standing.since,
        first_seen=min((one.first for one in spans), default=None),
        last_seen=max((one.last for one in spans), default=None),
        drops=tuple(sorted({one.drop for one in history.sightings})),
        clean_s=standing.clean_s,
        unmeasured=standing.unmeasured,
        repairs=tuple(outcomes),
        next_step=next_step(outcomes),
    )


def outcomes_of(history: History) -> list[RepairOutcome]:
    """What followed each repair, in the order in which they were done.

    Errors count for the repair before them. A repair that was followed by another one before anything was
    known shares its return: neither has helped.
    """
    repairs, spans = in_order(history.repairs), error_spans(history)
    found: list[RepairOutcome] = []
    for place in reversed(range(len(repairs))):
        later = repairs[place + 1] if place + 1 < len(repairs) else None
        followed = found[-1] if found else None
        found.append(_outcome(history, repairs[place], later, followed, spans))
    return found[::-1]


def next_step(outcomes: Sequence[RepairOutcome]) -> int:
    """The step after the last one that did not help, leaving out steps that failed before; from 1."""
    failed = [
        one.repair.step
        for one in outcomes
        if one.outcome == "came_back" and one.repair.step is not None
    ]
    step = failed[-1] + 1 if failed else 1
    while step in failed:
        step += 1
    return step


def _outcome(
    history: History,
    repair: Repair,
    later: Repair | None,
    followed: RepairOutcome | None,
    spans: Sequence[Span],
) -> RepairOutcome:
    back = _return_after(repair, later, spans)
    until = min(
        (moment for moment in (later and later.repaired_at, back and back.first) if moment),
        default=None,
    )
    clean_s, verified_at = clean_time(history.checks, repair.repaired_at, until, CLEAN_S)
    if back is not None:
        return RepairOutcome(repair, "came_back", clean_s, verified_at, back.first, back.drop)
    if verified_at is not None:
        return RepairOutcome(repair, "verified", clean_s, verified_at)
    if followed is None:
        return RepairOutcome(repair, "waiting", clean_s)
    if followed.outcome == "came_back":
        return RepairOutcome(
            repair, "came_back", clean_s, None, followed.returned_at, followed.returned_in
        )
    return RepairOutcome(repair, "unknown", clean_s)


def _return_after(repair: Repair, later: Repair | None, spans: Sequence[Span]) -> Span | None:
    """The first error after the repair had settled and before the next one had."""
    start = repair.repaired_at + SETTLE
    end = later.repaired_at + SETTLE if later else None
    found = [
        Span(moment, moment, span.drop)
        for span in spans
        for moment in (span.first, span.last)
        if moment > start and (end is None or moment <= end)
    ]
    return min(found, key=lambda span: (span.first, span.drop), default=None)


def _after_repair(history: History, outcomes: Sequence[RepairOutcome]) -> _Standing:
    last = outcomes[-1]
    repair = last.repair
    unmeasured = unmeasured_since(history, last.returned_at or repair.repaired_at)
    done = f"{repair.action} of {_minute(repair.repaired_at)}"
    if last.outcome == "came_back" and last.returned_at is not None:
        after = last.returned_at - repair.repaired_at
        days = RETURN_WINDOW.days
        within = f"within {days} days" if after <= RETURN_WINDOW else f"after more than {days} days"
        reason = (
            f"errors again at {_minute(last.returned_at)} in drop {last.returned_in}, {_long(after)} after "
            f"{done} ({within}); next is step {next_step(outcomes)} of the repair order"
        )
        return _Standing("reopened", reason, last.returned_at, 0.0, unmeasured)
    measured = f"measured clean for {_minutes(last.clean_s)} after {done}"
    silent = f"; {_drops(unmeasured)} could not tell" if unmeasured else ""
    if last.outcome == "verified":
        return _Standing("verified", measured + silent, last.verified_at, last.clean_s, unmeasured)
    wanted = f"{measured}, {_minutes(CLEAN_S)} are wanted in drops that begin after it"
    return _Standing("repaired", wanted + silent, repair.repaired_at, last.clean_s, unmeasured)


def _without_repair(
    history: History, sightings: Sequence[Sighting], spans: Sequence[Span]
) -> _Standing:
    if not sightings:
        return _Standing("new", f"found in {_drops(_names(history))}", None)
    last_error = spans[-1].last
    clean_s, quiet_since = clean_time(history.checks, last_error, None, CLEAN_S)
    unmeasured = unmeasured_since(history, last_error)
    silent = f"; {_drops(unmeasured)} since then could not tell" if unmeasured else ""
    if quiet_since is not None:
        reason = (
            f"measured clean for {_minutes(clean_s)} since the last error at {_minute(last_error)}, "
            f"without a reported repair{silent}"
        )
        return _Standing("quiet", reason, quiet_since, clean_s, unmeasured)
    newest = sightings[-1]
    state: State = "new" if len(sightings) == 1 else "ongoing"
    reason = f"found in {_drops(_names(history))}, last error at {_minute(last_error)}"
    since = sightings[0].first_seen
    rise = _rise(sightings[-2], newest) if len(sightings) > 1 else ""
    if rise:
        state, since = "worse", newest.first_seen
        reason = f"{rise} from drop {sightings[-2].drop} to drop {newest.drop}"
    clean = f"; measured clean for {_minutes(clean_s)} since" if clean_s else ""
    return _Standing(state, reason + clean + silent, since, clean_s, unmeasured)


def _rise(before: Sighting, now: Sighting) -> str:
    """What became worse, in words; "" when nothing did beyond noise."""
    if now.rank > before.rank:
        return f"severity {before.severity} to {now.severity}"
    old, new = before.rate_per_hour, now.rate_per_hour
    if old and new and new >= WORSE_FACTOR * old and new - old > NOISE_SIGMAS * _noise(before, now):
        return f"errors {old:,.0f} to {new:,.0f} per hour"
    low, high = before.degradation_pct, now.degradation_pct
    if low is None or high is None or high - low < WORSE_POINTS:
        return ""
    is_more = high >= WORSE_DEGRADATION_FACTOR * low
    return f"degradation {low:.1f} to {high:.1f} %" if is_more else ""


def _noise(before: Sighting, now: Sighting) -> float:
    """One sigma of the difference of two rates, from the errors counted for each."""
    return sqrt(
        sum((one.rate_per_hour or 0.0) ** 2 / max(one.events or 1.0, 1.0) for one in (before, now))
    )


def _names(history: History) -> list[str]:
    return sorted({one.drop for one in history.sightings})


def _drops(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    return f"drop {shown}" if len(names) == 1 else f"{len(names)} drops ({shown})"


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min"


def _long(span: timedelta) -> str:
    hours = span.total_seconds() / 3600
    return f"{hours / 24:.1f} days" if hours >= 48 else f"{hours:.1f} h"
