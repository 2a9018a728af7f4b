"""Small, strict conversions of text fields of the normalized drop: times, numbers, lists.

Each returns None (or raises ValueError with the rule in words) for text that is not what it should be.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, tzinfo

UP_WORDS = frozenset({"up", "active", "linkup", "link_up", "1", "u", "ok", "enabled"})
DOWN_WORDS = frozenset(
    {
        "down",
        "inactive",
        "<inactive>",
        "linkdown",
        "link_down",
        "0",
        "d",
        "polling",
        "disabled",
        "init",
    }
)


# No counter, duration or index is larger than a 64-bit counter can be (or has such a negative value).
MAX_NUMBER = 2.0**64


def parse_time(text: str, zone: tzinfo) -> datetime:
    """ISO 8601 time as UTC; a time without an offset is in `zone`.

    A local hour that comes twice (clocks set back) is read as its second run, one that never comes
    as if the clock had not been set forward: so does the SQL that reads the bulk counters.
    """
    cleaned = text.strip()
    refusal = f"time {cleaned[:40]!r} is not ISO 8601 (such as 2026-11-20T08:00:00Z)"
    if cleaned.isdigit():  # fromisoformat would read 20261120 as a date
        raise ValueError(refusal)
    try:
        value = datetime.fromisoformat(cleaned)
        if value.tzinfo is not None:
            return value.astimezone(UTC)
        return max(value.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    except (ValueError, OverflowError):  # OverflowError: an offset leads out of the calendar
        raise ValueError(refusal) from None


def optional_time(text: str | None, zone: tzinfo) -> datetime | None:
    """As `parse_time`, None for an empty field."""
    return parse_time(text, zone) if text else None


def parse_number(text: object, name: str) -> float:
    """A finite number; the rule names the field."""
    written = str(text).strip()
    shown = repr(written[:40])
    if "_" in written or not written.isascii():  # Python would read 1_0 and other digits
        raise ValueError(f"{name} {shown} is not a number")
    try:
        value = float(written)
    except ValueError:
        raise ValueError(f"{name} {shown} is not a number") from None
    if not math.isfinite(value):
        raise ValueError(f"{name} {shown} is not a finite number")
    return value


def optional_number(text: object, name: str) -> float | None:
    """A number that a 64-bit counter could hold, or None for an empty field."""
    if text is None or str(text).strip() == "":
        return None
    value = parse_number(text, name)
    if abs(value) > MAX_NUMBER:
        raise ValueError(f"{name} {str(text)[:40]!r} is larger than a 64-bit counter can be")
    return value


def optional_span(text: object, name: str) -> float | None:
    """As `optional_number`, never below zero: a duration."""
    value = optional_number(text, name)
    if value is not None and value < 0:
        raise ValueError(f"{name} {value:g} is negative")
    return value


def optional_int(text: object, name: str) -> int | None:
    """A whole number of any size, or None for an empty field."""
    if text is None or str(text).strip() == "":
        return None
    value = parse_number(text, name)
    if value != int(value):
        raise ValueError(f"{name} {str(text)[:40]!r} is not a whole number")
    return int(value)


def optional_count(text: object, name: str) -> int | None:
    """As `optional_int`, not below zero and within 63 bits: an index, a size, a position."""
    value = optional_int(text, name)
    if value is not None and not 0 <= value < 2**63:
        raise ValueError(f"{name} {str(text)[:40]!r} is negative or too large")
    return value
