"""The rules that accuse a port by its counters: several kinds together, or one far above others.

A single past link-down, symbols of a link that was plugged in, or corrected bits in billions are
no picture of a bad cable. Each rule returns the counters that speak, or nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabric_pipeline.detect.port_counters import thresholds as t
from fabric_pipeline.detect.port_counters.counts import Count, PortCounts

# Counts whose meaning depends on the bits that passed: where the rate is known it alone decides.
_RATE_OF = {"effective_error": "effective_ber", "symbol_error": "symbol_ber"}
# Errors of the signal itself. `link_downed` is not among them: switching a host off counts it too.
_SIGNAL = frozenset(t.ERROR_LIMITS) - {"link_downed"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A rule that fired, the counters behind it, and how bad it is."""

    rule: str
    severity: str
    counts: tuple[Count, ...]


def judge(
    port: PortCounts, siblings: Sequence[PortCounts], limits: t.SnapshotLimits = t.LIMITS
) -> Verdict | None:
    """The strongest rule that accuses this port, or None."""
    return (
        _during_run(port)
        or _together(port, limits)
        or _error_rate(port, limits)
        or _alone(port, siblings, limits)
        or _flapping(port, siblings, limits)
    )


def watched(port: PortCounts, limits: t.SnapshotLimits = t.LIMITS) -> list[Count]:
    """Error counters above their limit, or error rates worth watching, that accuse nobody yet."""
    over = [
        count
        for count in port.errors()
        if max(count.amount, count.total) > t.ERROR_LIMITS.get(count.counter, float("inf"))
        and _RATE_OF.get(count.counter, "") not in port.counts
    ]
    rates = [
        count
        for name in ("effective_ber", "symbol_ber")
        if (count := port.counts.get(name)) is not None and count.amount > limits.watch_ber
    ]
    return over + rates


def _during_run(port: PortCounts) -> Verdict | None:
    """The tool itself saw the counter grow within its short run."""
    grown = tuple(c for c in port.errors() if c.is_run_delta and c.amount > 0)
    return Verdict(t.RULE_DELTA, "warning", grown) if grown else None


def _together(port: PortCounts, limits: t.SnapshotLimits) -> Verdict | None:
    """A signal error above its limit with another kind of error beside it."""
    present = tuple(
        c
        for c in port.errors()
        if c.amount > (limits.single_down if c.counter == "link_downed" else 0)
        and _RATE_OF.get(c.counter, "") not in port.counts
    )
    over = [c for c in present if c.counter in _SIGNAL and _is_over(c)]
    if not over or len(present) < 2:
        return None
    is_critical = any(c.is_full or _ratio(c) >= limits.critical_factor for c in over)
    return Verdict(t.RULE_PICTURE, "critical" if is_critical else "warning", present)


def _error_rate(port: PortCounts, limits: t.SnapshotLimits) -> Verdict | None:
    bad = tuple(
        count
        for name in ("effective_ber", "symbol_ber")
        if (count := port.counts.get(name)) is not None and count.amount > limits.worst_ber
    )
    return Verdict(t.RULE_BER, "warning", bad) if bad else None


def _alone(
    port: PortCounts, siblings: Sequence[PortCounts], limits: t.SnapshotLimits
) -> Verdict | None:
    """One signal counter, far above its limit and above every other port of the device."""
    for count in port.errors():
        if count.counter not in _SIGNAL or _RATE_OF.get(count.counter, "") in port.counts:
            continue
        if not count.is_full and _ratio(count) < limits.alone_factor:
            continue
        others = [s.amount(count.counter) for s in siblings if count.counter in s.counts]
        if all(count.amount >= limits.sibling_factor * other for other in others):
            return Verdict(t.RULE_ALONE, "warning", (count,))
    return None


def _flapping(
    port: PortCounts, siblings: Sequence[PortCounts], limits: t.SnapshotLimits
) -> Verdict | None:
    """Many link downs where the device's other ports counted few."""
    count = port.counts.get("link_downed")
    if count is None or not _is_over(count):
        return None
    others = [s.amount("link_downed") for s in siblings if "link_downed" in s.counts]
    if len(others) < limits.min_siblings:
        return None
    highest = max(max(others), limits.single_down)
    is_far = count.amount >= limits.sibling_factor * highest
    return Verdict(t.RULE_FLAPS, "warning", (count,)) if is_far else None


def _is_over(count: Count) -> bool:
    return count.is_full or count.amount > t.ERROR_LIMITS[count.counter]


def _ratio(count: Count) -> float:
    return count.amount / t.ERROR_LIMITS[count.counter]
