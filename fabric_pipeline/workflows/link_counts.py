"""The counters of one link beside their limits, and which of its corrected errors had several wrong bits.

Both ends stand side by side and are never added up. What was not measured is None with a reason, and a
share of single and multi-bit errors is given only where a counter of the link tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fabric_pipeline.model.components import natural_key
from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.workflows.link_limits import (
    IN_TOTAL,
    PER_BIT,
    CounterLimit,
    limit_of,
)
from fabric_pipeline.workflows.link_view_model import BitSplit, Count, CountPair, Quality

_FLAWS: tuple[tuple[str, Quality], ...] = (
    ("saturated", "ceiling"),
    ("reset", "reset"),
    ("clock_skew", "unsure"),
    ("out_of_order", "unsure"),
)
# How a split of bits is known, in the order in which one is preferred.
_BASIS_WORDS = {
    "reported": "reported: the counters themselves tell single from multi-bit errors",
    "measured": "measured: FEC counted the wrong symbols of every code word",
}
_BIT_CLASSES = {"corrected_single": "single-bit", "corrected_multi": "multi-bit"}

Row = Mapping[str, Any]


def count_of(
    row: Row,
    link_type: str,
    bits_moved: float | None,
    peaks: Mapping[tuple[str, int | None], float],
) -> Count:
    """One row of `fabric_lookup_sql.COUNTERS_SQL` beside its limit."""
    spec = COUNTERS[row["counter"]]
    quality = _quality(row)
    events, hours = row["events"], row["measured_hours"]
    per_hour = (
        events / hours
        if quality not in ("total", "once") and events is not None and hours
        else None
    )
    peak = peaks.get((spec.name, row["lane"]))
    limit = limit_of(
        spec.name, link_type, is_total=quality == "total" or not hours, has_bits=bool(bits_moved)
    )
    value = _value(limit, events, per_hour, peak, bits_moved)
    return Count(
        spec.name, spec.says, spec.role, row["lane"], quality, events, per_hour, peak, value,
        limit.amount if limit else None, limit.unit if limit else "", limit.source if limit else "",
        row["siblings_median"], row["first_seen"], row["last_seen"],
    )  # fmt: skip


def absent_count(counter: str, link_type: str) -> Count:
    """A counter that sibling links have and this end has not."""
    spec, limit = COUNTERS[counter], limit_of(counter, link_type)
    known = (limit.amount, limit.unit, limit.source) if limit else (None, "", "")
    return Count(counter, spec.says, spec.role, None, "absent", limit=known[0], unit=known[1], source=known[2])  # fmt: skip


def paired(near: Iterable[Count], far: Iterable[Count]) -> list[CountPair]:
    """Both ends side by side: nearest to a limit first, then what counted most, then by name."""
    ends = [{(one.counter, one.lane): one for one in counts} for counts in (near, far)]
    pairs = []
    for counter, lane in {**ends[0], **ends[1]}:
        a, b = (end.get((counter, lane)) for end in ends)
        pairs.append(CountPair(counter, COUNTERS[counter].says, lane, a, b))
    return sorted(pairs, key=_order)


def bit_split(rows: Sequence[tuple[Any, ...]], pairs: Sequence[CountPair]) -> BitSplit:
    """Single beside multi-bit errors from rows of `BITS_SQL`; at the end that counted more of them."""
    ends: dict[tuple[str, str], dict[str, float]] = {}
    for link_end, _, error_class, basis, events in rows:
        counted = ends.setdefault((link_end, basis), {})
        counted[error_class] = counted.get(error_class, 0.0) + events
    both = [key for key, counted in ends.items() if len(counted) == len(_BIT_CLASSES)]
    if both:
        best = max(both, key=lambda key: (sum(ends[key].values()), key[1] == "reported"))
        counted = ends[best]
        words = _BASIS_WORDS.get(best[1], best[1])
        return BitSplit(words, best[1], counted["corrected_single"], counted["corrected_multi"])
    return _no_split({name for counted in ends.values() for name in counted}, pairs)


def _no_split(known: set[str], pairs: Sequence[CountPair]) -> BitSplit:
    if known:
        there = _BIT_CLASSES[next(iter(known))]
        other = next(words for name, words in _BIT_CLASSES.items() if name not in known)
        return BitSplit(f"only {there} errors have a counter here; {other} errors are not counted")
    proxies = sorted(
        pair.counter
        for pair in pairs
        if pair.has_errors and COUNTERS[pair.counter].class_basis == "proxy"
    )
    if proxies:
        named = ", ".join(dict.fromkeys(proxies))
        return BitSplit(f"not known: {named} count errors without saying how many bits were wrong", "proxy")  # fmt: skip
    return BitSplit("not known: no counter of this link tells single from multi-bit errors")


def _quality(row: Row) -> Quality:
    if row["last_value"] is None:
        return "no_data"
    if row["events"] is None:
        return "once"
    if row["steps"] == 0:
        return "total"
    return next((word for flaw, word in _FLAWS if flaw in row["qualities"]), "ok")


def _value(
    limit: CounterLimit | None,
    events: float | None,
    per_hour: float | None,
    peak: float | None,
    bits_moved: float | None,
) -> float | None:
    """What stands against the limit: the worst rate, the count, or errors per bit."""
    if limit is None or events is None:
        return None
    if limit.unit == PER_BIT:
        return events / bits_moved if bits_moved else None
    if limit.unit == IN_TOTAL:
        return events
    rates = [rate for rate in (peak, per_hour) if rate is not None]
    return max(rates, default=None)


def _order(pair: CountPair) -> tuple[Any, ...]:
    worse = pair.worse
    is_error = worse.role == "error"
    lane = -1 if pair.lane is None else pair.lane
    return (
        not (is_error and pair.has_errors),
        -(worse.share or 0.0),
        not is_error,
        -(worse.events or 0.0),
        natural_key(pair.counter),
        lane,
    )
