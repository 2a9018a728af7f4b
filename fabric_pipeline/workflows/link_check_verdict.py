"""Judging one link in one drop: clean, dirty or unmeasured, from counted errors, traffic and states.

Pure: rows in, a verdict with its figures out. Limits and their sources stand here; reading the lake is
done in `link_checks`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import sqrt
from typing import Any

from fabric_pipeline.detect.port_counters.thresholds import SnapshotLimits
from fabric_pipeline.detect.spikes.thresholds import SpikeLimits, pcie_replay_allowance_per_hour

LIMITS = SpikeLimits()
# Turns a median absolute deviation into a standard deviation of normal noise.
_MAD_TO_SIGMA = 1.4826
# How far above its own past a count may lie by chance.
_SIGMAS = 3.0


@dataclass(frozen=True, slots=True)
class LinkEnd:
    """One end of the checked link as this drop shows it. None: not stated or not counted."""

    component: str
    link_type: str
    first_ts: datetime | None
    last_ts: datetime | None
    bytes: float | None
    traffic_s: float | None
    last_up: float | None
    width: float | None
    width_max: float | None
    speed: float | None
    speed_max: float | None
    pcie_gen: float | None
    state_s: float


@dataclass(frozen=True, slots=True)
class Count:
    """Errors of one counter at one end, beside the siblings (median and MAD per hour) and the own past."""

    component: str
    counter: str
    error_class: str
    events: float
    seconds: float
    last_error: datetime | None
    siblings: int
    siblings_of: str
    siblings_median: float | None
    siblings_mad: float | None
    past_per_hour: float | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome with the facts behind it, as they are recorded."""

    verdict: str
    measured_s: float
    facts: dict[str, Any]


def judge(
    ends: Sequence[LinkEnd],
    counts: Sequence[Count],
    *,
    erred: Sequence[str],
    fault_type: str,
    is_accused: bool,
) -> Verdict:
    """How the link looks in this drop.

    `erred` are the counters that accused it: unless one of them was read here, nothing is known of it. A
    fault of width or speed needs the state of the link, an accusation in this drop is never clean.
    """
    seconds, why_not = _measured(ends, counts, erred, fault_type)
    worst = max(counts, key=lambda one: (_excess(one, ends), one.events), default=None)
    broken = _broken_states(ends)
    errs = worst is not None and _excess(worst, ends) > 0
    facts = _facts(ends, counts, worst) | {"is_accused": is_accused, "states": broken}
    if is_accused or broken or errs:
        why = broken or _errors_in_words(worst, ends) or ["the diagnosis of this drop accuses it"]
        return Verdict("dirty", seconds, facts | {"why": "; ".join(why)})
    if why_not:
        return Verdict("unmeasured", 0.0, facts | {"why": why_not})
    return Verdict("clean", seconds, facts | {"why": "no worse than its past and its siblings"})


def allowed(count: Count, ends: Sequence[LinkEnd]) -> float:
    """Errors that this counter may count in its time before they speak against the link.

    The most of: what siblings do (median and 6 MADs, field guide R4), what the link did before its fault
    (and 3 sigma), and for PCIe replays what the specification's bit error rate allows.
    """
    hours = count.seconds / 3600
    spread = LIMITS.sibling_mads * _MAD_TO_SIGMA * (count.siblings_mad or 0.0)
    beside = ((count.siblings_median or 0.0) + spread) * hours
    before = (count.past_per_hour or 0.0) * hours
    limits = [beside, before + _SIGMAS * sqrt(before)]
    if count.counter == "pcie_replay":
        limits += [_allowance(end) * hours for end in ends if end.component == count.component]
    return max(limits)


def _excess(count: Count, ends: Sequence[LinkEnd]) -> float:
    """By how many events the count lies above what is allowed; 0 or less: it does not speak against it.

    Single events prove nothing: three count (the floor beside silent siblings, field guide R4), and more
    than one link down, because plugging in counts one.
    """
    is_down = count.error_class == "link_down"
    floor = SnapshotLimits().single_down + 1 if is_down else LIMITS.sibling_events
    return count.events - allowed(count, ends) if count.events >= floor else 0.0


def _allowance(end: LinkEnd) -> float:
    if end.pcie_gen is None or end.width is None:
        return 0.0
    return pcie_replay_allowance_per_hour(int(end.pcie_gen), int(end.width)) or 0.0


def _measured(
    ends: Sequence[LinkEnd], counts: Sequence[Count], erred: Sequence[str], fault_type: str
) -> tuple[float, str]:
    """Seconds that tell something of the link, and why there are none in words ("" when there are)."""
    if not ends:
        return 0.0, "the drop has no counters of this link"
    traffic = [end.traffic_s for end in ends if end.traffic_s is not None]
    if traffic and max(traffic) <= 0:
        return 0.0, "the link carried no traffic"
    if fault_type == "width_or_speed_downgrade":
        seconds = max((end.state_s for end in ends if _has_rate(end)), default=0.0)
        missing = "the drop does not state the width or speed of this link"
    else:
        read = [c for c in counts if not erred or c.counter in erred]
        seconds = max((count.seconds for count in read), default=0.0)
        missing = f"none of the counters that erred was read: {', '.join(erred)}"
        if not counts or not erred:
            missing = "no error counter of this link was read twice"
    seconds = min([seconds, max(traffic)]) if traffic else seconds
    return seconds, "" if seconds > 0 else missing


def _has_rate(end: LinkEnd) -> bool:
    return end.width is not None or end.speed is not None


def _broken_states(ends: Sequence[LinkEnd]) -> list[str]:
    """States that no error counter shows: at the end of the drop the link is down, narrow or slow.

    A PCIe link that idles is slow on purpose, so its speed alone says nothing here; the diagnosis knows more.
    """
    found = []
    for end in ends:
        if end.last_up is not None and end.last_up <= 0:
            found.append(f"{end.component} is down")
        for name, now, most in (
            ("width", end.width, end.width_max),
            ("speed", None if end.link_type == "pcie" else end.speed, end.speed_max),
        ):
            if now is not None and most is not None and now < most:
                found.append(f"{end.component}: {name} {now:g} of {most:g}")
    return found


def _facts(ends: Sequence[LinkEnd], counts: Sequence[Count], worst: Count | None) -> dict[str, Any]:
    shown = worst or Count("", "", "", 0, 0, None, 0, "", None, None)
    last = max((c.last_error for c in counts if c.last_error is not None), default=None)
    moved = [end.bytes for end in ends if end.bytes is not None]
    return {
        "ends": [end.component for end in ends],
        "counters": sorted({count.counter for count in counts}),
        "counter": shown.counter,
        "events": shown.events,
        "own_rate": _hourly(shown.events, shown.seconds),
        "past_rate": _rounded(shown.past_per_hour),
        "siblings": shown.siblings,
        "siblings_of": shown.siblings_of,
        "siblings_median": _rounded(shown.siblings_median),
        "bytes": max(moved) if moved else None,
        "last_error_at": last.isoformat() if last is not None else None,
    }


def _errors_in_words(worst: Count | None, ends: Sequence[LinkEnd]) -> list[str]:
    if worst is None or _excess(worst, ends) <= 0:
        return []
    limit = allowed(worst, ends)
    return [f"{worst.component}: {worst.events:.0f} {worst.counter}, {limit:.1f} allowed"]


def _hourly(events: float, seconds: float) -> float | None:
    return _rounded(events * 3600 / seconds) if seconds > 0 else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), 6)


def count_of(row: Mapping[str, Any], past: Mapping[tuple[str, str, str], float]) -> Count:
    """A compared row of the lake with the rate of the own past where one is known."""
    key = (row["incident_id"], row["component"], row["counter"])
    names = Count.__slots__[:-1]
    return Count(**{name: row[name] for name in names}, past_per_hour=past.get(key))
