"""Rows of the staging tables from what readers hand over, one function a kind of record.

A reader states what stood in the file; here the surroundings (node, time) are filled in and what no
table can hold is kept out of its columns, so that one odd record never costs the drop its table.
"""

from __future__ import annotations

import json
from datetime import datetime
from math import isfinite
from typing import Any

from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.model.records import (
    MAX_TEXT,
    CollectiveTiming,
    FabricEvent,
    Reading,
    RejectedLine,
)
from fabric_pipeline.sources.base import SourceFile

_LARGEST = 2.0**64  # no counter, duration or index is larger than 64 bits hold
_LARGEST_WHOLE = 2**63


def reading_row(
    file: SourceFile, head: tuple[str, str], r: Reading, latest: datetime
) -> tuple[Any, ...]:
    """Row of raw_telemetry; `head` is format and parser version, `latest` the newest sound time."""
    time = r.time or (None if r.is_undated else file.hints.time)
    quality = r.quality
    if time is not None and time > latest and quality == "ok":
        quality = "clock_skew"
    return (
        file.name, r.line, *head, r.time_text, r.entity_text[:MAX_TEXT], r.counter_text[:MAX_TEXT], r.value_text[:MAX_TEXT],
        r.node or file.hints.node, r.interface, r.link_type, _whole(r.lane), r.counter if r.counter in COUNTERS else None, r.kind,
        r.scope, time, sound_number(r.value), quality, r.gpu_uuid, _whole(r.socket), r.state[:MAX_TEXT], refusal(r, quality),
    )  # fmt: skip


def rejected_row(file: SourceFile, head: tuple[str, str], refused: RejectedLine) -> tuple[Any, ...]:
    """Row of raw_telemetry for a line (or a whole file) that could not be read."""
    return (
        file.name, refused.line, *head, "", refused.text[:MAX_TEXT], "", "", file.hints.node, "", "", None, None, "", "link", None,
        None, "ok", "", None, "", refused.rule,
    )  # fmt: skip


def timing_row(file: SourceFile, t: CollectiveTiming) -> tuple[Any, ...]:
    """Row of collective_timings. NaN for a duration: the source gives a bandwidth alone."""
    return (
        file.name, t.line, t.run, t.communicator, _whole(t.seq) or 0, t.op, _count(t.bytes), _count(t.ranks), _count(t.rank),
        t.node or file.hints.node, _count(t.gpu), t.start, _span(t.duration_us), sound_number(t.arrival_us), _span(t.baseline_us),
        _span(t.busbw_gbs), t.model, t.variant, t.unit_kind,
    )  # fmt: skip


def event_row(file: SourceFile, e: FabricEvent) -> tuple[Any, ...]:
    """Row of fabric_events."""
    return (
        file.name, e.line, e.last_line, e.kind, _whole(e.code), e.node or file.hints.node, e.interface, _count(e.lane), e.time,
        e.time_text, sound_number(e.seconds), e.role, e.severity, max(1, _whole(e.count) or 1), e.reason, e.text[:MAX_TEXT],
        json.dumps(e.details, sort_keys=True, default=str),
    )  # fmt: skip


def refusal(r: Reading, quality: str) -> str | None:
    """The rule that refuses a reading, in words; None when it is accepted."""
    shown = r.value_text[:40]
    if r.counter not in COUNTERS:
        return f"counter {r.counter_text[:80]!r} is not in the catalogue: kept here, not judged"
    if r.value is None:
        return f"value {shown!r} is not a number" if quality == "ok" else None
    if not isfinite(r.value):
        return f"value {shown!r} is not a finite number"
    if r.value > _LARGEST:
        return f"value {shown!r} is larger than a 64-bit counter can be"
    return f"a counter or state cannot be negative: {shown}" if r.value < 0 else None


def sound_number(value: float | None) -> float | None:
    """The number if a column can hold it and a 64-bit counter can be so large."""
    return value if value is not None and isfinite(value) and abs(value) <= _LARGEST else None


def _span(value: float | None) -> float | None:
    number = sound_number(value)
    return number if number is not None and number >= 0 else None


def _whole(value: int | None) -> int | None:
    return value if value is not None and abs(value) < _LARGEST_WHOLE else None


def _count(value: int | None) -> int | None:
    whole = _whole(value)
    return whole if whole is not None and whole >= 0 else None
