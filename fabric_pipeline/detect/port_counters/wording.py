"""Words, numbers and evidence of counts, the same for every rule of this package."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fabric_pipeline.detect.port_counters.counts import Count
from fabric_pipeline.model.counters import COUNTERS, ERROR_CLASSES
from fabric_pipeline.model.findings import EvidenceRef

_MAX_REFS = 60  # a finding about a whole switch need not quote each of its ports


def listed(counts: Sequence[Count]) -> str:
    """Counts as text: `4120 symbol_error, at least 65535 rx_errors`."""
    return ", ".join(_one(count) for count in counts)


def numbers_of(counts: Iterable[Count]) -> dict[str, Any]:
    """Every figure of `listed`, and the totals behind growth."""
    numbers: dict[str, Any] = {}
    for count in counts:
        numbers[count.counter] = _plain(count.amount)
        if count.is_growth:
            numbers[f"{count.counter}_total"] = _plain(count.total)
        if count.is_full:
            numbers[f"{count.counter}_is_at_least"] = True
    return numbers


def evidence_of(counts: Iterable[Count]) -> list[EvidenceRef]:
    """Where the counts stand."""
    refs: dict[EvidenceRef, None] = {}
    for count in counts:
        for reading in count.readings:
            if len(refs) < _MAX_REFS:
                named = f"{reading.counter_text}: {reading.value_text}"
                text = f"{reading.interface} {named}".strip()[:300]
                refs[EvidenceRef(reading.file, reading.line, excerpt=text)] = None
    return list(refs)


def worst_class(counts: Iterable[Count]) -> str:
    """The worst error class among counts, "" when none is an error."""
    classes = [COUNTERS[count.counter].error_class for count in counts]
    known = [name for name in classes if name]
    return max(known, key=ERROR_CLASSES.index, default="")


def _one(count: Count) -> str:
    if COUNTERS[count.counter].kind == "gauge":
        return f"{count.counter} {count.amount:g}"
    least = "at least " if count.is_full else ""
    more = " more" if count.is_growth or count.is_run_delta else ""
    return f"{least}{count.amount:.0f}{more} {count.counter}"


def _plain(value: float) -> float | int:
    return int(value) if value == int(value) else value
