"""Counts of each port: the present total, and the growth when several captures saw the port.

A counter that fell was reset, so the later value is all that grew. A value at its ceiling says "at
least"; two readings at the ceiling hide any growth, so the total is judged then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from fabric_pipeline.detect.port_state.link_ends import device_id
from fabric_pipeline.model.components import Component
from fabric_pipeline.model.counters import COUNTERS, ERROR_CLASSES
from fabric_pipeline.model.records import Reading

JUDGED_LINK_TYPES = frozenset({"infiniband", "roce", "ethernet"})
_RATES = (
    "effective_ber",
    "symbol_ber",
)  # have the same limit on NVLink, where counts have rules of their own
_ROLES = frozenset({"error", "upstream", "congestion", "loss", "quality"})


@dataclass(slots=True)
class Count:
    """One counter of one port.

    `amount` is what is judged: the growth between captures (`is_growth`), the increase during the
    tool's own run (`is_run_delta`), or the total. `is_full`: at its ceiling, so at least.
    """

    counter: str
    amount: float
    total: float
    readings: list[Reading]
    is_growth: bool = False
    is_run_delta: bool = False
    is_full: bool = False


@dataclass(slots=True)
class PortCounts:
    """All judged counters of one port; `lanes` are raw errors per lane."""

    component: str
    link_type: str
    is_sum: bool
    counts: dict[str, Count] = field(default_factory=dict)
    lanes: dict[int, Count] = field(default_factory=dict)

    @property
    def device(self) -> str:
        """The host or switch it belongs to."""
        return self.component if self.is_sum else device_id(self.component)

    def amount(self, counter: str) -> float:
        """What is judged of a counter; 0 when it was not read, so use it for tests only."""
        count = self.counts.get(counter)
        return count.amount if count else 0.0

    def errors(self) -> Iterator[Count]:
        """Counters that accuse the link itself, worst class last."""
        found = [c for c in self.counts.values() if COUNTERS[c.counter].role == "error"]
        yield from sorted(found, key=lambda c: ERROR_CLASSES.index(COUNTERS[c.counter].error_class))


def gather(readings: Sequence[Reading], names: Mapping[str, str]) -> dict[str, PortCounts]:
    """Counts by component id; `names` maps GUID and LID ids to port names."""
    ports: dict[str, PortCounts] = {}
    series: dict[tuple[str, str, int | None], list[Reading]] = {}
    for reading in readings:
        if not _is_judged(reading):
            continue
        raw = Component(reading.node, reading.interface).id
        component = names.get(raw, raw)
        if component not in ports:
            is_sum = reading.scope == "switch_sum"
            ports[component] = PortCounts(component, reading.link_type, is_sum)
        series.setdefault((component, reading.counter, reading.lane), []).append(reading)
    for (component, counter, lane), found in series.items():
        count = _count(counter, _one_spelling(found))
        if lane is None:
            ports[component].counts[counter] = count
        else:
            ports[component].lanes[lane] = count
    return ports


def _is_judged(reading: Reading) -> bool:
    spec = COUNTERS.get(reading.counter)
    return (
        spec is not None
        and spec.role in _ROLES
        and (reading.link_type in JUDGED_LINK_TYPES or reading.counter in _RATES)
        and reading.value is not None
        and reading.quality != "not_supported"
        and reading.scope in ("link", "lane", "gpu_sum", "switch_sum")
    )


def _one_spelling(readings: list[Reading]) -> list[Reading]:
    """Readings of one spelling: two names of one canonical counter are no two moments."""
    first = readings[0].counter_text
    return [reading for reading in readings if reading.counter_text == first]


def _count(counter: str, readings: list[Reading]) -> Count:
    deltas = [reading for reading in readings if reading.kind == "delta"]
    last = readings[-1]
    is_full = last.quality == "saturated"
    total = last.value or 0.0
    if deltas:
        grown = sum(reading.value or 0.0 for reading in deltas)
        return Count(counter, grown, total, deltas, is_run_delta=True, is_full=is_full)
    if COUNTERS[counter].kind == "gauge" or len(readings) == 1 or is_full:
        return Count(counter, total, total, [last], is_full=is_full)
    values = [reading.value or 0.0 for reading in readings]
    grown = sum(b - a if b >= a else b for a, b in pairwise(values))
    return Count(counter, grown, total, [readings[0], last], is_growth=True)
