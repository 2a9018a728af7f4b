"""Numbers, shares, sizes and times as people read them on link pages and charts.

None is always said in words by the caller; nothing here turns it into a zero.
"""

from __future__ import annotations

from datetime import UTC, datetime

_UNITS = {"per hour": "/h", "in total": "", "per bit": " per bit"}
_BINARY = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def number(value: float | None) -> str:
    """A count or rate with no more digits than it deserves, "" for None."""
    if value is None:
        return ""
    if value and abs(value) < 1e-3:
        return f"{value:.1e}".replace(".0e", "e")
    return f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:,.2g}"


def with_unit(value: float | None, unit: str) -> str:
    """A value in the unit of its limit, "" for None."""
    return "" if value is None else number(value) + _UNITS.get(unit, f" {unit}")


def share_words(share: float | None) -> str:
    """A share of a limit: percent, from twice the limit on as a multiple; "" for None."""
    if share is None:
        return ""
    if share >= 2:
        return f"{number(share if share >= 10 else round(share, 1))}×"
    percent = share * 100
    if 0 < percent < 0.1:
        return "<0.1 %"
    return f"{percent:.0f} %" if percent >= 10 or not percent else f"{percent:.1f} %"


def percent(value: float | None) -> str:
    """A share of one in percent, "" for None."""
    return "" if value is None else f"{value * 100:.0f} %"


def size_words(size: int | None) -> str:
    """A message size, "" when it is not stated."""
    if size is None:
        return ""
    for amount, unit in _BINARY:
        if size >= amount:
            return f"{size / amount:.4g} {unit}"
    return f"{size} B"


def moment(seconds: float) -> datetime:
    """Seconds since 1970 as a UTC time."""
    return datetime.fromtimestamp(seconds, UTC)


def utc(at: datetime | None, form: str = "%Y-%m-%d %H:%M UTC") -> str:
    """A time for people, "" for none."""
    if at is None:
        return ""
    return (at.astimezone(UTC) if at.tzinfo else at).strftime(form)


def span_words(start: float, end: float) -> str:
    """A stretch of time in UTC, with its day."""
    first, last = moment(start), moment(end)
    to = utc(last, "%H:%M:%S" if last.date() == first.date() else "%Y-%m-%d %H:%M:%S")
    return f"{utc(first, '%Y-%m-%d %H:%M:%S')} to {to}"
