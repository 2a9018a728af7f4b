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


def parse_time(text: str, zone: tzinfo) -> datetime:
    """ISO 8601 time as UTC; a time without an offset is in `zone`."""
    cleaned = text.strip()
    if cleaned.isdigit():  # fromisoformat would read 20261120 as a date
        raise ValueError(f"time {cleaned[:40]!r} is not ISO 8601 (such as 2026-11-20T08:00:00Z)")
    try:
        value = datetime.fromisoformat(cleaned)
    except ValueError:
        raise ValueError(
            f"time {cleaned[:40]!r} is not ISO 8601 (such as 2026-11-20T08:00:00Z)"
        ) from None
    if value.tzinfo is None:
        value = value.replace(tzinfo=zone)
    return value.astimezone(UTC)


def optional_time(text: str | None, zone: tzinfo) -> datetime | None:
    """As `parse_time`, None for an empty field."""
    return parse_time(text, zone) if text else None


def parse_number(text: object, name: str) -> float:
    """A finite number; the rule names the field."""
    try:
        value = float(str(text).strip())
    except ValueError:
        raise ValueError(f"{name} {str(text)[:40]!r} is not a number") from None
    if not math.isfinite(value):
        raise ValueError(f"{name} {str(text)[:40]!r} is not a finite number")
    return value


def optional_number(text: object, name: str) -> float | None:
    """As `parse_number`, None for an empty field."""
    return None if text is None or str(text).strip() == "" else parse_number(text, name)


def optional_int(text: object, name: str) -> int | None:
    """A whole number or None for an empty field."""
    value = optional_number(text, name)
    if value is None:
        return None
    if value != int(value):
        raise ValueError(f"{name} {str(text)[:40]!r} is not a whole number")
    return int(value)
